"""Find the files of a model on this machine."""

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from bertviz_core.errors import CheckpointError, MissingFilesError
from bertviz_core.isolation.regular_files import VOCABULARY_NBYTES, json_object, present, read_file
from bertviz_core.models import catalog, sources
from bertviz_core.models.gliner import ENCODER, is_gliner
from bertviz_core.models.safetensors.adapters.contents import fitted, read_adapter, trained_class
from bertviz_core.models.safetensors.adapters.results import BaseClass, FittedAdapter
from bertviz_core.models.safetensors.folder import INDEX_FILE, SINGLE_FILE, read_header
from bertviz_core.models.sources import AdapterPart, ModelSource
from bertviz_core.settings import DEFAULT_MODEL, Settings
from bertviz_core.text import counted, quoted

TOKENIZER_FILES = (
    "tokenizer.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "spiece.model",
    "spm.model",
    "sentencepiece.bpe.model",
    "sentencepiece.model",
    "tokenizer.model",
    "tokenizer_config.json",
)


def weights_folder(source: ModelSource, settings: Settings) -> Path:
    """The folder with the safetensors files of a model; that of an adapter contains the merged model."""
    if source.adapter is not None:
        return _merged(source, source.adapter, settings)
    if source.folder is not None and (source.has_weights or source.hub_id is None):
        return source.folder
    cached = _cached(source, (SINGLE_FILE, INDEX_FILE))
    if cached is None:
        raise _missing("weights", source, settings)
    return cached


def modules_folder(source: ModelSource, settings: Settings) -> Path:
    """The folder with modules.json and other files of sentence-transformers; that of the weights for most models."""
    weights = weights_folder(source, settings)
    return source.modules_folder or weights


def _merged(source: ModelSource, part: AdapterPart, settings: Settings) -> Path:
    # Imported here, since it imports NumPy, for which a ledger must not wait.
    from bertviz_core.models.safetensors.adapters.merging import merged_folder

    if source.folder is None:
        raise _missing("weights", source, settings)
    base = weights_folder(part.base, settings)
    header = read_header(base)
    numbers = sum(math.prod(tensor.shape) for tensor in header.tensors)
    if 4 * numbers > settings.max_model_bytes:
        raise CheckpointError(
            f"The base of the adapter {source.name!r} needs {4 * numbers:,} bytes in float32; this instance loads at "
            f"most {settings.max_model_bytes:,} (INSIDE_BERT_MAX_MODEL_BYTES)."
        )
    adapter = read_adapter(source.name, source.folder)
    return merged_folder(adapter, part.base.name, base, header, base_class(part), source.revision)


def base_class(part: AdapterPart) -> BaseClass:
    """What is known of the class that an adapter changes."""
    config, facts = part.base.config, catalog.type_facts(part.base.model_type)
    if facts is None:
        return BaseClass("", {}, config.get("vocab_size"))
    architecture, rows = saved_class(config), config.get("vocab_size", facts.defaults.get("vocab_size"))
    trained, classes = trained_class(facts.base_class, part.settings), catalog.type_tensors(facts.model_type)
    lacks = {facts.base_class: [], **{name: row["lacks"] for name, row in classes.get("classes", {}).items()}}
    return BaseClass(
        f"{facts.prefix}." if facts.prefix else "",
        facts.of_class(part.settings.base_class or architecture).tied,
        rows,
        architecture,
        trained in lacks and not any("pooler" in name for name in lacks[trained]),
    )


def saved_class(config: Mapping[str, Any]) -> str:
    """The class that a config names; "" if it names none."""
    named = (config.get("architectures") or [""])[0]
    return named if isinstance(named, str) else ""


def fitted_adapter(source: ModelSource, part: AdapterPart, settings: Settings) -> tuple[FittedAdapter, Path]:
    """An adapter matched to its base, and the folder with the files of the base."""
    if source.folder is None:
        raise _missing("weights", source, settings)
    base = weights_folder(part.base, settings)
    adapter = read_adapter(source.name, source.folder)
    fit = fitted(adapter, part.base.name, read_header(base), base_class(part))
    return replace(fit, notices=(*fit.notices, *_tokens_without_rows(source, source.folder))), base


def _tokens_without_rows(adapter: ModelSource, folder: Path) -> tuple[str, ...]:
    """A notice about tokens of the tokenizer beside an adapter for which the table of words has no row."""
    rows = adapter.config.get("vocab_size")
    more = [each for each in _added_ids(folder) if isinstance(rows, int) and each >= rows]
    if not more:
        return ()
    return (
        f"The tokenizer beside the adapter {quoted(adapter.name)} has {counted(len(more), 'token')} for which its base "
        f"has no row (it has {rows:,}), nor has the adapter's file: they were added before it was trained, and a text "
        "with one cannot be run; save the adapter with save_embedding_layers=True.",
    )


def _added_ids(folder: Path) -> list[int]:
    file = next((name for name in ("tokenizer.json", "added_tokens.json") if present(folder, name)), None)
    if file is None:
        return []
    content = json_object(file, read_file(folder, file, VOCABULARY_NBYTES))
    listed = content.get("added_tokens") if file == "tokenizer.json" else [{"id": each} for each in content.values()]
    rows = listed if isinstance(listed, list) else []
    return [each["id"] for each in rows if isinstance(each, dict) and isinstance(each.get("id"), int)]


def adapter_notices(source: ModelSource, settings: Settings) -> tuple[str, ...]:
    """What the file of an adapter lacks of what its settings name; () for a whole model, and if a file is not here."""
    if source.adapter is None or source.folder is None or not source.adapter.base.has_weights:
        return ()
    return fitted_adapter(source, source.adapter, settings)[0].notices


def tokenizer_folder(source: ModelSource, settings: Settings) -> Path:
    """The folder with the tokenizer of a model."""
    if source.folder is not None and any(present(source.folder, name) for name in TOKENIZER_FILES):
        return source.folder
    if source.adapter is not None:
        return tokenizer_folder(source.adapter.base, settings)
    if source.folder is not None and source.hub_id is None:
        raise CheckpointError(
            f"{source.name!r} has no tokenizer: none of {', '.join(TOKENIZER_FILES[:4])}, ... is in its folder; "
            "put the files there that tokenizer.save_pretrained writes."
        )
    cached = _cached(source, TOKENIZER_FILES)
    if cached is None:
        raise _missing("tokenizer", source, settings)
    return cached


def _cached(source: ModelSource, files: tuple[str, ...]) -> Path | None:
    """The folder in the Hub cache that contains one of the files."""
    if source.hub_id is None:
        return None
    revision = source.revision if source.kind in ("hub", "cache") else None
    return sources.cached_folder(source.hub_id, revision, files)


def _missing(what: str, source: ModelSource, settings: Settings) -> MissingFilesError:
    are = "are" if what == "weights" else "is"
    message = f"The {what} of {source.name!r} {are} not on this machine; {_advice(source, settings)}."
    return MissingFilesError(source.name, what, message)


def _advice(source: ModelSource, settings: Settings) -> str:
    other = f"go on with {DEFAULT_MODEL}, which is always here"
    if not settings.allow_hub:
        return f"fetching from the Hub is switched off here (INSIDE_BERT_ALLOW_HUB), so {other}"
    return f"fetch {source.hub_id} from the Hub first (hf download {source.hub_id}), or {other}"


def file_renames(source: ModelSource) -> dict[str, str] | None:
    """Patterns of parameter names in the files -> replacements in the base model; None if transformers needs no help.

    Most classes of a family use one name for the base model. LlamaForQuestionAnswering calls it `transformer`, where
    LlamaModel expects `model`.
    """
    facts = catalog.type_facts(source.model_type)
    named = saved_class(source.config)
    if is_gliner(source.folder):
        return {rf"^{re.escape(ENCODER)}": ""}
    if facts is None:
        return None
    own, usual = facts.of_class(named).prefix, facts.of_class(facts.base_class).prefix
    return {rf"^{re.escape(own)}\.": ""} if own and own != usual else None
