"""The config of a merged model: that of its base, with the head that the adapter was trained with."""

from collections.abc import Mapping
from typing import Any

from bertviz_core.isolation.sanitized.terms import OpenedConfig, changed
from bertviz_core.models.safetensors.adapters.results import Adapter
from bertviz_core.models.safetensors.adapters.settings import AdapterSettings

HEADS: Mapping[str, str] = {
    "SEQ_CLS": "ForSequenceClassification",
    "TOKEN_CLS": "ForTokenClassification",
    "QUESTION_ANS": "ForQuestionAnswering",
}
"""Task of peft -> ending of the class that has its head."""
LABELLED = ("ForSequenceClassification", "ForTokenClassification")
OUTPUTS = (
    *("classifier.weight", "classifier.out_proj.weight", "classification_head.out_proj.weight", "score.weight"),
    *("logits_proj.weight", "out_proj.weight"),
)
"""Last matrices of heads, with one row for each label."""
TABLES = frozenset(
    ("word_embeddings", "word_embedding", "embed_tokens", "embed_in", "embeddings", "shared", "tok_embeddings", "wte")
)
"""Modules of transformers with a row for each word."""
OWN = ("id2label", "label2id", "problem_type")
"""Entries of a config.json beside an adapter that say what its labels mean."""


def merged_config(
    base: Mapping[str, Any],
    base_class: str,
    settings: AdapterSettings,
    adapter: Adapter | None,
    beside: Mapping[str, Any],
) -> OpenedConfig:
    """The config of the merged model.

    Args:
        base: config of the base.
        base_class: class of the family without a head, such as "BertModel".
        settings: settings of the adapter.
        adapter: the adapter; None if its tensors are not on this machine.
        beside: the config.json beside the adapter; empty if there is none.
    """
    entries = dict(base)
    current = str((base.get("architectures") or [base_class])[0])
    ending = HEADS.get(settings.task_type, "")
    if settings.base_class.isidentifier() or (ending and base_class and not current.endswith(ending)):
        entries["architectures"] = [trained_class(base_class, settings)]
    labels = _labels(adapter)
    if str((entries.get("architectures") or [""])[0]).endswith(LABELLED) and labels:
        known = entries.get("id2label")
        if not isinstance(known, Mapping) or len(known) != labels:
            entries["id2label"] = {str(label): f"LABEL_{label}" for label in range(labels)}
            entries["label2id"] = {f"LABEL_{label}": label for label in range(labels)}
            entries.pop("num_labels", None)
    if (rows := _rows(adapter)) is not None:
        entries["vocab_size"] = rows
    return changed(base, {**entries, **{key: beside[key] for key in OWN if key in beside}})


def trained_class(base_class: str, settings: AdapterSettings) -> str:
    """The class that an adapter was trained with, by its settings; "" if they do not tell."""
    if settings.base_class.isidentifier():
        return settings.base_class
    ending = HEADS.get(settings.task_type, "")
    headless = base_class if settings.task_type == "FEATURE_EXTRACTION" else ""
    return f"{base_class.removesuffix('Model')}{ending}" if ending and base_class else headless


def _labels(adapter: Adapter | None) -> int | None:
    """Number of labels of a saved head; None without one."""
    if adapter is None:
        return None
    ends = (each for each in adapter.saved if f".{each.name}".endswith(tuple(f".{name}" for name in OUTPUTS)))
    return next((each.stored.shape[0] for each in ends if len(each.stored.shape) == 2), None)


def _rows(adapter: Adapter | None) -> int | None:
    """Size of the vocabulary by a table of embeddings in the file, which peft saves if it was resized; None without."""
    if adapter is None:
        return None
    named = [(each.parameter, each.table) for each in adapter.updates if each.table is not None]
    named += [(each.name, each.stored) for each in adapter.saved]
    tables = (stored for name, stored in named if name.split(".")[-2:-1] and name.split(".")[-2] in TABLES)
    return next((stored.shape[0] for stored in tables if len(stored.shape) == 2), None)
