"""Sizes of a model, and what its family has."""

from collections.abc import Mapping, Sequence
from typing import Any

from bertviz_core.architecture.results import Architecture, Capability, LayerFacts, ModelFacts, Window
from bertviz_core.models.families import family
from bertviz_core.models.sources import ModelSource
from bertviz_core.parameters.components import layer_applications
from bertviz_core.parameters.results import Ledger

ORDERS = {
    "post-norm": "Each block's result is added to what entered it, and the sum is normalised.",
    "pre-norm": "Each block reads normalised vectors, and its result is added to the vectors before the norm.",
    "norms on both sides": "Each block reads normalised vectors, and its result is normalised before it is added.",
    "parallel": "Attention and feed-forward read the same vectors, and both results are added at once.",
}
POSITIONS = {
    "absolute": "A vector per position is added to the word's vector.",
    "relative": "The distance between two tokens changes their attention score.",
    "rotary": "Queries and keys are rotated by an angle that grows with the position.",
}
TYPES = {
    "words": ("rows of the vocabulary", "Where types are given, rows of the vocabulary table are added for them."),
    "scores": ("in the scores", "Whether two tokens are of the same sequence changes their attention score."),
    "": ("no", "The model has no input for the sequence of a token; only separators mark it."),
}


def capabilities(source: ModelSource, ledger: Ledger, facts: ModelFacts | None) -> tuple[Capability, ...]:
    """The capabilities of a model; what cannot be derived is left out."""
    derived = () if facts is None else (*_of_run(facts, ledger), _attention_maps(facts, source.model_type))
    return (
        *_class(source, ledger),
        _pooler(ledger, facts),
        *derived,
        _sharing(source, ledger),
        _projections(ledger),
        _weights(source),
    )


def has_pooler(ledger: Ledger) -> bool:
    """Whether the ledger has a pooler."""
    return any(component.name == "pooler" for component in ledger.components)


def layer_facts(facts: ModelFacts) -> tuple[LayerFacts, ...]:
    """The layers of the encoder, or of a decoder-only model."""
    encoder = tuple(row for row in facts.layers if row.stack == "encoder")
    return encoder or facts.layers


def is_causal(facts: ModelFacts | None) -> bool:
    """Whether no token of any layer attends to a later one; False if nothing is known."""
    windows = [row.attention.window if row.attention else None for row in layer_facts(facts)] if facts else []
    return bool(windows) and all(window and window.after == 0 for window in windows)


def window_words(window: Window) -> str:
    """Description of a window."""
    if window.before == window.after:
        return f"{window.before:,} tokens to each side"
    after = "" if not window.after else f" and {window.after:,} after it"
    return f"{window.before:,} tokens before it{after}"


def _class(source: ModelSource, ledger: Ledger) -> tuple[Capability, ...]:
    named = next(iter(source.config.get("architectures") or ()), "")
    if not named or named == ledger.architecture:
        return ()
    words = f"The config names {named}; the parameters here are those of {ledger.architecture}."
    return (Capability("Class", ledger.architecture, words),)


def _pooler(ledger: Ledger, facts: ModelFacts | None) -> Capability:
    if has_pooler(ledger):
        words = "A linear layer and tanh turn the first token's vector into one for the text."
        if is_causal(facts):
            words = "A linear layer and tanh read the first token's vector, which depends on no later token here."
        return Capability("Pooler", "yes", words)
    if facts is not None and facts.pooler:
        words = f"{facts.base_class} has one, which this checkpoint ({ledger.architecture}) leaves out."
        return Capability("Pooler", "no", words)
    return Capability("Pooler", "no", f"{ledger.architecture} gives a vector per token, none for the whole text.")


def _of_run(facts: ModelFacts, ledger: Ledger) -> tuple[Capability, ...]:
    """Token types, positions, normalisation, feed-forward and windows, from the dataflow."""
    layers = layer_facts(facts)
    answers = [_types(facts), _positions(facts)]
    orders = {row.order for row in layers}
    if len(orders) == 1 and (order := orders.pop()):
        answers.append(Capability("Normalisation", order, ORDERS[order]))
    if any(row.gated for row in layers):
        words = "One of two widening maps passes the activation and multiplies the other."
        answers.append(Capability("Feed-forward", "gated", words))
    local = [row.attention.window for row in layers if row.attention and row.attention.window]
    local = [window for window in local if window.limited]
    if local:
        spans = [window_words(each) for each in sorted({*local}, key=lambda each: (each.before, each.after))]
        sees = f"token sees {' or '.join(spans)}{', depending on the layer' * (len(spans) > 1)}"
        words = f"There a {sees}; in the other layers all of the text."
        if len(local) == len(layers):
            words = f"A {sees}."
        answers.append(Capability("Local attention", f"in {len(local)} of {len(layers)} layers", words))
    return tuple(answers)


def _types(facts: ModelFacts) -> Capability:
    if facts.types != "table":
        answer, words = TYPES[facts.types]
        return Capability("Token types", answer, words)
    rows = max(table.rows for table in facts.tables if table.role == "token type")
    if rows == 1:
        words = "The same vector is added to every token, so it does not tell two sequences apart."
        return Capability("Token types", "1", words)
    return Capability("Token types", f"{rows:,}", "A learned vector says which of two sequences a token is in.")


def _positions(facts: ModelFacts) -> Capability:
    if not facts.positions:
        return Capability("Positions", "none found", "The run shows no way on which positions enter.")
    words = [POSITIONS[each] for each in facts.positions]
    if "absolute" in facts.positions and not facts.learned_positions:
        words[0] = "A fixed vector per position, not a learned one, is added to the word's vector."
    return Capability("Positions", " and ".join(facts.positions), " ".join(words))


def _sharing(source: ModelSource, ledger: Ledger) -> Capability:
    runs = layer_applications(source.config)
    blocks, applications = len(ledger.layers), sum(row.applications for row in ledger.layers)
    if runs and applications != blocks:
        noun = "layer" if blocks == 1 else "layers"
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


def _attention_maps(facts: ModelFacts, model_type: str) -> Capability:
    row = family(model_type)
    if row.attention_maps == "none":
        return Capability("Attention maps", "none", row.no_maps)
    if not facts.keeps_tokens:
        words = "Not every layer has a vector per token, so no map is one of the text's tokens."
        return Capability("Attention maps", "none", words)
    if facts.sinks:
        words = (
            "Heads also attend to a learned sink, which has a score and no value: it is a column of its own beside the "
            "tokens, and with it each row sums to 1."
        )
        return Capability("Attention maps", "with a learned sink", words)
    if facts.recorded:
        words = "Query, key and value of every layer and head are recorded; attention is computed from them."
        return Capability("Attention maps", "exact, with q, k and v", words)
    words = "The family's own attention code returns the maps, but not query, key and value."
    return Capability("Attention maps", "maps only", words)


def _weights(source: ModelSource) -> Capability:
    if source.has_weights:
        return Capability("Weights", "on this machine", "Texts can be run through the model.")
    return Capability(
        "Weights", "not on this machine", "Counts and shapes are exact; to run a text, fetch the weights."
    )


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
        facts: dataflow of the class; without it fewer capabilities are known.
    """
    of_text = source.config.get("text_config")  # of a multimodal model
    config = {**of_text, **source.config} if isinstance(of_text, Mapping) else source.config
    values: dict[str, Any] = {word: value for word, value in config.items() if isinstance(value, int | str)}
    sizes = {name: next((values[word] for word in words if word in values), None) for name, words in SIZES.items()}
    applications = layer_applications(config)
    if applications:
        sizes["num_hidden_layers"] = sum(applications.values())
    if sizes["type_vocab_size"] is None:
        sizes["type_vocab_size"] = _table_rows(ledger, "token_type")
    if sizes["vocab_size"] is None or sizes["hidden_size"] is None:
        sizes["vocab_size"] = sizes["vocab_size"] or _table_rows(ledger, "word")
    layers = sizes["num_hidden_layers"] or len(ledger.layers) or None
    heads, hidden = sizes["num_attention_heads"], sizes["hidden_size"]
    if facts and not any(row.attention for row in facts.layers) and not any(row.attention for row in ledger.layers):
        heads = None  # FNet's config has a number of them
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


def _table_rows(ledger: Ledger, word: str) -> int | None:
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
