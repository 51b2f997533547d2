"""What a stranger's config.json may tell transformers: what the model is, never where something else lies.

The library takes a good many entries as the name of a file, of a repository on the Hub or of code. Such an entry is
left out, by its name and by the look of its value; sizes, switches, words and the configs inside a config stay.
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
"""Names of entries that lead to a file, a repository or code; a number under such a name is a size, and stays."""
KERNELS = re.compile(r".*kernels?(_(config|mapping|function|name|repo).*)?")
"""Names of entries that may choose a kernel from the Hub; lists of sizes are called so too, and stay."""
NEVER = frozenset({"quantization_config", "fusion_config", "distributed_config", "base_model_tp_plan", "peft_config"})
"""Entries that change how a model is run or where its weights come from, not what it is."""
LABELS = frozenset({"id2label", "label2id", "vocab_list", "task_specific_params", "prefix", "doc_sep", "title_sep"})
"""Entries that hold words for people or for a text, whatever they look like."""
PLACE = re.compile(r"[/\\]|^~|^\.\.|^[\w-]+:")
"""A path, an address, or a name with a scheme before it: "hf-hub:org/name", "local-dir:name"."""
MAX_DEPTH = 32
MAX_ENTRY_NAME = 200
"""Characters of an entry's name: the patterns above need time that grows with the square of it."""


def harmless_config(name: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of a config.json without what names a file, a repository or code; for transformers alone.

    Args:
        name: the model's name, for messages.
        config: its config.json.

    Raises:
        CheckpointError: a part of the model is described in another repository, or the config is nested too deeply.
    """
    return _cleaned(name, config, MAX_DEPTH)


def check_entry_name(name: str, entry: str) -> None:
    """Refuse the name of an entry that is longer than any, before a pattern is looked for in it.

    Raises:
        CheckpointError: with its beginning and both lengths.
    """
    if len(entry) > MAX_ENTRY_NAME:
        raise CheckpointError(
            f"The config of {quoted(name)} has an entry {quoted(entry, 40)} whose name has {len(entry):,} characters; "
            f"at most {MAX_ENTRY_NAME} are read. Remove it."
        )


def looks_like_place(text: str) -> bool:
    """Whether a word could be a path or an address, and is no plain name."""
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
    """Whether there is a text anywhere in a value."""
    if isinstance(value, Mapping):
        return any(map(_holds_words, value.values()))
    return isinstance(value, str) or (isinstance(value, list) and any(map(_holds_words, value)))
