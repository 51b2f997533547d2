"""Describe the capabilities of a model, from its parameters and the dataflow of its modules."""

from collections import Counter

from bertviz_core.architecture.results import Capability
from bertviz_core.architecture.structure.results import LayerFacts, ModelFacts, Window
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


def _is_causal(layers: tuple[LayerFacts, ...]) -> bool:
    """Whether no token of any layer attends to a later one."""
    windows = [row.attention and row.attention.window for row in layers]
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
        if facts is not None and _is_causal(layer_facts(facts)):
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
        (window, _), *_ = Counter(local).most_common()
        words = f"There a token sees {window_words(window)}; in the other layers all of the text."
        if len(local) == len(layers):
            words = f"A token sees {window_words(window)}."
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
            "Shared layers",
            f"{applications} applications of {blocks} {noun}",
            "Layers run the same parameters again.",
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
            "Heads also attend to a learned sink beside the tokens, so query and key alone do not give the weights. "
            "Maps of the family's own code are shown where each row sums to 1."
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
