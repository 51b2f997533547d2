"""Determine the sizes of a model from its config and its parameters."""

from collections.abc import Mapping, Sequence
from typing import Any

from bertviz_core.architecture.capabilities import capabilities, has_pooler
from bertviz_core.architecture.results import Architecture
from bertviz_core.architecture.structure.results import ModelFacts
from bertviz_core.models.families import family
from bertviz_core.models.sources import ModelSource
from bertviz_core.parameters.components import layer_applications
from bertviz_core.parameters.results import Ledger

SIZES: Mapping[str, Sequence[str]] = {
    "num_hidden_layers": (
        "num_hidden_layers",
        "n_layers",
        "n_layer",
        "num_layers",
        "encoder_layers",
        "num_encoder_layers",
    ),
    "num_attention_heads": (
        "num_attention_heads",
        "n_heads",
        "n_head",
        "num_heads",
        "encoder_attention_heads",
        "attention_heads",
        "num_encoder_attention_heads",
    ),
    "hidden_size": ("hidden_size", "dim", "d_model", "n_embd", "emb_dim"),
    "embedding_size": ("embedding_size", "input_embedding_size"),
    "intermediate_size": (
        "intermediate_size",
        "hidden_dim",
        "d_inner",
        "n_inner",
        "d_ff",
        "encoder_ffn_dim",
        "feed_forward_size",
    ),
    "vocab_size": ("vocab_size", "n_words", "src_vocab_size"),
    "max_position_embeddings": (
        "max_position_embeddings",
        "n_positions",
        "max_encoder_position_embeddings",
        "context_length",
    ),
    "type_vocab_size": ("type_vocab_size",),
    "head_dim": ("head_dim", "d_head", "d_kv", "attention_head_size"),
    "hidden_act": ("hidden_act", "hidden_activation", "activation", "activation_function", "feed_forward_proj"),
}
"""Size -> names of its config entry in different families."""


def describe(source: ModelSource, ledger: Ledger, facts: ModelFacts | None = None) -> Architecture:
    """The sizes and capabilities of a model.

    Args:
        source: its source.
        ledger: its parameters.
        facts: dataflow of the class; without it fewer capabilities are known.
    """
    of_text = source.config.get("text_config")  # of a multimodal model
    config = {**of_text, **source.config} if isinstance(of_text, Mapping) else source.config
    sizes = {name: _size(config, words) for name, words in SIZES.items()}
    applications = layer_applications(config)
    if applications:
        sizes["num_hidden_layers"] = sum(applications.values())
    if sizes["type_vocab_size"] is None:
        sizes["type_vocab_size"] = _table_rows(ledger, "token_type")
    if sizes["vocab_size"] is None or sizes["hidden_size"] is None:
        sizes["vocab_size"] = sizes["vocab_size"] or _table_rows(ledger, "word")
    layers = sizes["num_hidden_layers"] or len(ledger.layers) or None
    heads, hidden = sizes["num_attention_heads"], sizes["hidden_size"]
    ratio = config.get("head_ratio")  # ConvBERT has convolutions in place of the other heads
    if heads and isinstance(ratio, int) and ratio > 0:
        heads = max(heads // ratio, 1)
    width = _query_width(ledger) or hidden
    if sizes["head_dim"] is None and heads and width and width % heads == 0:
        sizes["head_dim"] = width // heads
    return Architecture(
        model=source.name,
        title=family(source.model_type).title,
        model_type=source.model_type,
        architecture=ledger.architecture,
        kind=source.kind,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        head_dim=sizes["head_dim"],
        hidden_size=hidden,
        embedding_size=sizes["embedding_size"] or hidden,
        intermediate_size=sizes["intermediate_size"] or _middle(ledger, hidden),
        vocab_size=sizes["vocab_size"],
        max_position_embeddings=sizes["max_position_embeddings"],
        type_vocab_size=sizes["type_vocab_size"],
        hidden_act=sizes["hidden_act"],
        config_class=str(next(iter(config.get("architectures") or ()), "")),
        has_pooler=has_pooler(ledger),
        facts=facts,
        capabilities=capabilities(source, ledger, facts),
    )


def _size(config: Mapping[str, Any], words: Sequence[str]) -> Any:
    return next((config[word] for word in words if isinstance(config.get(word), int | str)), None)


def _table_rows(ledger: Ledger, word: str) -> int | None:
    """Rows of the embedding table with this word in its name."""
    shapes = [row.shape for row in ledger.parameters if row.component == "embeddings" and word in row.name]
    return next((shape[0] for shape in shapes if len(shape) == 2), None)


def _query_width(ledger: Ledger) -> int | None:
    """Width of all queries of a layer, which is not the hidden size in MobileBERT and ConvBERT."""
    rows = (row for row in ledger.parameters if row.part == "query" and row.name.endswith(".weight"))
    return next((row.shape[0] for row in rows if len(row.shape) == 2 and ".lora_" not in row.name), None)


def _middle(ledger: Ledger, hidden: int | None) -> int | None:
    """Width of the feed-forward block of the last layer, if the config (GPT-2) does not have it."""
    rows = (row for row in ledger.parameters if row.part == "feed_forward" and ".lora_" not in row.name)
    shapes = [row.shape for row in rows if len(row.shape) == 2]
    others = [size for size in shapes[-1] if size != hidden] if shapes else []
    return others[0] if len(others) == 1 else None
