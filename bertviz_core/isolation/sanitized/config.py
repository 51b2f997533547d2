"""Remove entries of an untrusted config.json that name a file, a repository or code.

transformers interprets many entries in this way. They are recognised by their names and values; sizes, flags, words and
nested configs stay.
"""

import re
from collections.abc import Mapping
from typing import Any

from bertviz_core.errors import CheckpointError
from bertviz_core.text import quoted

PLACES = re.compile(
    r"(.*_)?(paths?|files?|filenames?|dirs?|folders?|repos?|repo_id|repository|urls?|uri|endpoint|checkpoint|revision"
    r"|commit_hash|name_or_path|weights|backbone|backbone_kwargs|auto_map|pipelines?|implementation"
    r"|implementation_internal|dataset|dataset_split|index_name|gguf)|token|attn_impl"
)
"""Names of entries that refer to a file, a repository or code; numbers with such names are sizes, and stay."""
KERNELS = re.compile(r".*kernels?(_(config|mapping|function|name|repo).*)?")
"""Names of entries that may select a kernel from the Hub; lists of sizes with such names stay."""
NEVER = frozenset({"quantization_config", "fusion_config", "distributed_config", "base_model_tp_plan", "peft_config"})
"""Entries about how a model is run or where its weights come from."""
LABELS = frozenset({"id2label", "label2id", "vocab_list", "task_specific_params", "prefix", "doc_sep", "title_sep"})
"""Entries with labels and texts, which may look like paths."""
PLACE = re.compile(r"[/\\]|^~|^\.\.|^[\w-]+:")
"""A path, an address, or a name with a scheme: "hf-hub:org/name", "local-dir:name"."""
MAX_DEPTH = 32
"""Maximum nesting depth; models have at most 5 levels."""
MAX_ENTRY_NAME = 200
"""Maximum length of the name of an entry; the patterns above take quadratic time."""


def harmless_config(name: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of a config.json for transformers, without entries that name a file, a repository or code."""
    return _cleaned(name, config, MAX_DEPTH)


def check_entry_name(name: str, entry: str) -> None:
    """Check the length of the name of an entry before it is matched with patterns."""
    if len(entry) > MAX_ENTRY_NAME:
        raise CheckpointError(
            f"The config of {quoted(name)} has an entry {quoted(entry, 40)} whose name has {len(entry):,} characters; "
            f"at most {MAX_ENTRY_NAME} are read. Remove it."
        )


def looks_like_place(text: str) -> bool:
    """Whether a text could be a path or an address."""
    return PLACE.search(text) is not None


def _cleaned(name: str, config: Mapping[str, Any], depth: int) -> dict[str, Any]:
    if depth == 0:
        raise CheckpointError(
            f"The config of {quoted(name)} is nested more than {MAX_DEPTH} levels deep, unlike any model's config."
        )
    backbone = config.get("backbone")
    if isinstance(backbone, str) and not isinstance(config.get("backbone_config"), Mapping):
        raise CheckpointError(
            f"The config of {quoted(name)} takes a part of the model from another repository ({quoted(backbone, 40)}), "
            "which is never contacted; save the model with its backbone_config."
        )
    cleaned = {}
    for key, value in config.items():
        check_entry_name(name, key)
        if key in LABELS:
            cleaned[key] = value
        elif not _is_place(key, value):
            cleaned[key] = _cleaned_value(name, value, depth - 1)
    return cleaned


def _cleaned_value(name: str, value: Any, depth: int) -> Any:
    if isinstance(value, Mapping):
        return _cleaned(name, value, depth)
    if isinstance(value, list) and any(isinstance(item, Mapping | list) for item in value):
        if depth == 0:
            raise CheckpointError(f"The config of {quoted(name)} is nested more than {MAX_DEPTH} levels deep.")
        return [_cleaned_value(name, item, depth - 1) for item in value]
    return value


def _is_place(key: str, value: Any) -> bool:
    if key in NEVER:
        return True
    if not _holds_words(value):
        return False
    if PLACES.fullmatch(key.lower()) or KERNELS.fullmatch(key.lower()):
        return True
    words = value if isinstance(value, list) else [value]
    return any(isinstance(word, str) and looks_like_place(word) for word in words)


def _holds_words(value: Any) -> bool:
    """Whether a nested value contains a text."""
    if isinstance(value, Mapping):
        return any(map(_holds_words, value.values()))
    return isinstance(value, str) or (isinstance(value, list) and any(map(_holds_words, value)))
