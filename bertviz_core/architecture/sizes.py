"""What a model is, in the numbers that every page shows: sizes from the config, capabilities from config and names."""

from collections.abc import Mapping, Sequence
from typing import Any

from bertviz_core.architecture.results import Architecture, Capability
from bertviz_core.models import catalog
from bertviz_core.models.families import Family, family
from bertviz_core.models.sources import ModelSource
from bertviz_core.parameters.components import layer_applications
from bertviz_core.parameters.results import Ledger

SIZES: Mapping[str, Sequence[str]] = {
    "num_hidden_layers": ("num_hidden_layers", "n_layers", "n_layer", "num_layers", "encoder_layers"),
    "num_attention_heads": ("num_attention_heads", "n_heads", "n_head", "num_heads", "encoder_attention_heads"),
    "hidden_size": ("hidden_size", "dim", "d_model", "n_embd", "emb_dim"),
    "embedding_size": ("embedding_size", "input_embedding_size"),
    "intermediate_size": ("intermediate_size", "hidden_dim", "d_inner", "n_inner", "d_ff", "encoder_ffn_dim"),
    "vocab_size": ("vocab_size", "n_words"),
    "max_position_embeddings": ("max_position_embeddings", "n_positions"),
    "type_vocab_size": ("type_vocab_size",),
    "head_dim": ("head_dim", "d_head", "d_kv"),
    "hidden_act": ("hidden_act", "hidden_activation", "activation", "activation_function", "feed_forward_proj"),
}
"""Size -> the words that families use for it in their configs."""


def describe(source: ModelSource, ledger: Ledger) -> Architecture:
    """The sizes and capabilities of a model."""
    config = source.config
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
    if sizes["head_dim"] is None and heads and hidden and hidden % heads == 0:
        sizes["head_dim"] = hidden // heads
    names = {component.name for component in ledger.components}
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
        intermediate_size=sizes["intermediate_size"],
        vocab_size=sizes["vocab_size"],
        max_position_embeddings=sizes["max_position_embeddings"],
        type_vocab_size=sizes["type_vocab_size"],
        hidden_act=sizes["hidden_act"],
        has_pooler="pooler" in names,
        norm_first=family(source.model_type).norm_first,
        encoder_only="decoder" not in names,
        capabilities=_capabilities(source, ledger, sizes["type_vocab_size"] or 0),
    )


def _size(config: Mapping[str, Any], words: Sequence[str]) -> Any:
    return next((config[word] for word in words if isinstance(config.get(word), int | str)), None)


def _table_rows(ledger: Ledger, word: str) -> int | None:
    """Rows of the embedding table whose name has this word."""
    shapes = [row.shape for row in ledger.parameters if row.component == "embeddings" and word in row.name]
    return next((shape[0] for shape in shapes if len(shape) == 2), None)


def _capabilities(source: ModelSource, ledger: Ledger, types: int) -> tuple[Capability, ...]:
    row = family(source.model_type)
    return (
        _pooler(ledger),
        Capability(
            "Token types",
            f"{types:,}" if types > 1 else "no",
            "A learned vector says which of two sequences a token is in."
            if types > 1
            else "Two sequences are told apart by the separator alone.",
        ),
        _positions(row, source.config, ledger),
        _sharing(source.config, ledger),
        _projections(ledger),
        _attention(row, source.model_type),
        _weights(source),
    )


def _pooler(ledger: Ledger) -> Capability:
    if any(component.name == "pooler" for component in ledger.components):
        return Capability(
            "Pooler", "yes", "A linear layer and tanh turn the first token's vector into one for the text."
        )
    return Capability("Pooler", "no", "The family gives token vectors only; a text's vector is made by averaging them.")


def _positions(row: Family, config: Mapping[str, Any], ledger: Ledger) -> Capability:
    stated = str(config.get("position_embedding_type") or row.positions)
    names = [row.name for row in ledger.parameters]
    table = any("position" in name and "embed" in name for name in names if "relative" not in name)
    relative = any("relative" in name or "rel_embeddings" in name for name in names)
    if "rotary" in stated or any("rope" in key for key in config) or row.positions == "rotary":
        return Capability(
            "Positions", "rotary", "Queries and keys are turned by an angle that grows with the position."
        )
    if table and relative:
        return Capability(
            "Positions", "absolute and relative", "A vector per position is added, and distances change the scores."
        )
    if "relative" in stated or relative:
        return Capability("Positions", "relative", "The distance between two tokens changes their attention score.")
    if table or "absolute" in stated:
        return Capability("Positions", "absolute", "A vector per position is added to the word's vector.")
    return Capability("Positions", "none found", "Neither the names nor the config tell how positions enter.")


def _sharing(config: Mapping[str, Any], ledger: Ledger) -> Capability:
    runs = layer_applications(config)
    blocks, applications = len(ledger.layers), sum(row.applications for row in ledger.layers)
    if runs and applications != blocks:
        noun = "block" if blocks == 1 else "blocks"
        return Capability(
            "Shared layers", f"{applications} applications of {blocks} {noun}", "Layers run the same parameters again."
        )
    return Capability("Shared layers", "no", "Every layer has parameters of its own.")


def _projections(ledger: Ledger) -> Capability:
    if any(row.query_key_value for row in ledger.layers):
        return Capability("Projections", "fused", "One matrix makes query, key and value at once.")
    if any(row.query for row in ledger.layers):
        return Capability("Projections", "separate", "Query, key and value have a matrix each.")
    return Capability("Projections", "none", "No query, key and value projections were found among the names.")


def _attention(row: Family, model_type: str) -> Capability:
    facts = catalog.type_facts(model_type)
    if not row.has_attention:
        return Capability(
            "Attention maps", "none", "The family mixes tokens without attention, so there is no map to show."
        )
    if facts is not None and facts.records_attention:
        return Capability(
            "Attention maps", "exact, with q, k and v", "The model runs transformers' exchangeable attention function."
        )
    return Capability(
        "Attention maps", "maps only", "The model has attention code of its own, which hands out maps but no q, k, v."
    )


def _weights(source: ModelSource) -> Capability:
    if source.has_weights:
        return Capability("Weights", "on this machine", "Texts can be run through the model.")
    return Capability(
        "Weights", "not on this machine", "Counts and shapes are exact; to run a text, fetch the weights."
    )
