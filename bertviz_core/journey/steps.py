"""Steps of a journey: its stages, layers, feed-forward blocks, numbers and words."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from threading import get_ident
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from bertviz_core.architecture.results import Architecture, Block, LayerFacts
from bertviz_core.attention.maps import attention_block, attention_probs, head_batches, row_tiles, with_sink
from bertviz_core.errors import SupersededError
from bertviz_core.heads.results import LayerRun
from bertviz_core.hidden_states.geometry import cosine
from bertviz_core.hidden_states.results import EmbeddingSum
from bertviz_core.interventions.hooks import feed_forward_maps, is_convolution, model_parts
from bertviz_core.journey.results import (
    ChangedJourney,
    EmbeddingOpening,
    Journey,
    LayerOpening,
    Operation,
    Ribbons,
    Stage,
    Strips,
)
from bertviz_core.lazy_imports import torch
from bertviz_core.models.loading import LoadedModel
from bertviz_core.parameters.results import LayerCount, Ledger, Parameter
from bertviz_core.text import counted, shortened
from bertviz_core.trace.results import Tokens, Trace
from bertviz_core.trace.run import RUN_LOCK, to_numpy
from bertviz_core.trace.two_tokenizers import unchanged_positions, word_edits
from bertviz_core.trace.verification import forward, model_inputs, reset_model_state

KINDS: Mapping[str, str] = {
    "attention": "attention",
    "cross-attention": "cross-attention",
    "feed-forward": "feed-forward",
    "mixing": "mixing of tokens",
    "other": "other modules",
}
ROLES: Mapping[str, str] = {"feed_forward": "feed-forward", "layer_norm": "norm", "other": "other modules"}
"""Role of a parameter -> step without a recorded run; every other role belongs to the attention."""


def layer_steps(fact: LayerFacts | None, owned: Sequence[Parameter]) -> tuple[Operation, ...]:
    """Return the operations of a layer.

    Law: their parameters sum to those of the layer. A parameter belongs to the operation whose module owns it; one that
    no recorded module owns, such as a bias that a layer adds by itself, belongs to the first operation of its role.

    Args:
        fact: blocks of the layer from a recorded run; without blocks, the steps are in no order.
        owned: parameters of the layer, tied ones excluded.
    """
    steps = [step for block in (() if fact is None else fact.blocks) for step in _block_steps(block, fact)]
    numels: dict[int | str, int] = {}
    for parameter in owned:
        owner = _owner(steps, parameter)
        numels[owner] = numels.get(owner, 0) + parameter.numel
    known = [
        Operation(name, kind, None if kind == "add" else numels.get(at, 0)) for at, (name, kind, _) in enumerate(steps)
    ]
    rest = [Operation(name, name, numel, placed=False) for name, numel in numels.items() if isinstance(name, str)]
    return (*known, *rest)


def _block_steps(block: Block, fact: LayerFacts | None) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield name, kind and modules of each operation of a block."""
    norms = {*block.norms_before, *block.norms_within, *block.norms_behind}
    if block.norms_before:
        yield "norm", "norm", block.norms_before
    names = [KINDS[kind] for kind in block.kinds]
    if fact is not None and fact.gated:
        names = [f"gated {name}" if name == "feed-forward" else name for name in names]
    yield " beside ".join(names), KINDS[block.kinds[0]], tuple(name for name in block.modules if name not in norms)
    if block.norms_within:
        yield "norm", "norm", block.norms_within
    yield "add what entered", "add", ()
    if block.norms_behind:
        yield "norm", "norm", block.norms_behind


def _owner(steps: Sequence[tuple[str, str, tuple[str, ...]]], parameter: Parameter) -> int | str:
    """Index of the step of a parameter, or the name of a further step."""
    module = parameter.name.rpartition(".")[0]
    for at, (_, _, modules) in enumerate(steps):
        if any(module == each or module.startswith(f"{each}.") for each in modules):
            return at
    role = ROLES.get(parameter.part, "attention")
    kinds = [kind for _, kind, _ in steps]
    return kinds.index(role) if role in kinds and role != "norm" else role


POOLER = (Operation("dense", "other modules"), Operation("activation", "other modules"))
MODULES: Mapping[str, str] = {
    "embedding_hidden_mapping_in": "projection",
    "rel_embeddings": "relative positions",
    "relative_attention_bias": "relative positions",
    "emb_layer_norm_after": "norm",
    "ln_f": "norm",
    "ln": "norm",
    "conv": "convolution",
}
"""Name of a module outside the layers -> its description; a name that contains "norm" is a norm."""
AFTER = "{} after the last layer"


def stages_of(model: Architecture, ledger: Ledger, layers: int) -> tuple[Stage, ...]:
    """Return the stages of a model in the order of a run.

    Law: their parameters sum to the ledger's total. Layers that share parameters are counted at the first of them; a
    decoder beside an encoder is counted and not run.

    Args:
        model: sizes of the model, and the record of a run of its modules.
        ledger: parameters of the model.
        layers: number of layers that a text passes.
    """
    totals = {component.name: component.total for component in ledger.components}
    stack = _stack(ledger, layers)
    if stack == "encoder" and "decoder" in totals:  # its own tables are no embeddings of the text
        tables = [each for each in ledger.parameters if each.component == "embeddings" and each.tied_to is None]
        own = sum(each.numel for each in tables if "decoder" in each.name.split("."))
        totals |= {"embeddings": totals.get("embeddings", 0) - own, "decoder": totals["decoder"] + own}
    rows = [row for row in ledger.layers if row.component == stack]
    outside = _outside(model, ledger, stack)
    first = (
        *_embedding_steps(model),
        *(Operation(name, "embeddings", count) for name, count in outside["before"].items()),
    )
    before = sum(outside["before"].values())
    stages = [Stage("embeddings", "embeddings", totals.pop("embeddings", 0) + before, first)]
    if outside["inside"]:
        note = "The layers use it: it is neither before the first nor after the last."
        stages.append(Stage("shared", ", ".join(outside["inside"]), sum(outside["inside"].values()), note=note))
    stages += _layers(model, ledger, rows, layers)
    stages += [Stage("norm", AFTER.format(name), numel) for name, numel in outside["after"].items()]
    note = "It reads the attention of the layers and changes no vector."
    stages += [Stage("aside", name, numel, note=note, run=False) for name, numel in outside["head"].items()]
    totals.pop(stack, 0)
    for name, numel in totals.items():
        if name in ("encoder", "decoder"):
            note = f"The {name} is counted, but a text alone does not pass it."
            stages.append(Stage("decoder", name, numel, note=note, run=False))
        elif name == "pooler":
            stages.append(Stage("pooler", "pooler", numel, POOLER, run=model.has_pooler))
        else:
            stages.append(
                Stage("task head", name, numel, run=False, note="The task head reads what comes out of the layers.")
            )
    return tuple(stages)


def _outside(model: Architecture, ledger: Ledger, stack: str) -> dict[str, dict[str, int]]:
    """Count the parameters of a stack that are in none of its layers, by their place in the run and their description.

    The place comes from the recorded run; without one, norms are after the last layer, projections before the first.
    Modules that are neither before nor after the layers are used inside them, except heads, such as that of ESM, which
    reads the attention of all layers.
    """
    found: dict[str, dict[str, int]] = {"before": {}, "inside": {}, "after": {}, "head": {}}
    facts = model.facts
    recorded = {} if facts is None else {"before": facts.before, "after": getattr(facts, f"{stack}_behind")}
    for parameter in ledger.parameters:
        if (parameter.component, parameter.layer, parameter.tied_to) != (stack, None, None):
            continue
        name = _description(parameter)
        within = {place: tuple(f"{module}." for module in modules) for place, modules in recorded.items()}
        place = next((place for place, starts in within.items() if parameter.name.startswith(starts)), "inside")
        if facts is None:
            place = {"norm": "after", "projection": "before"}.get(name, "inside")
        if name.endswith(" head"):
            place = "head"
        found[place][name] = found[place].get(name, 0) + parameter.numel
    # A norm that the layers use is that of their relative positions.
    if len(found["inside"]) > 1 and "norm" in found["inside"]:
        numel = found["inside"].pop("norm")
        found["inside"][next(iter(found["inside"]))] += numel
    return found


def _description(parameter: Parameter) -> str:
    """Describe a module outside the layers, such as "projection"."""
    parts = [part for part in parameter.name.split(".")[:-1] if part not in ("encoder", "decoder")]
    module = parts[0] if parts else parameter.name
    known = "norm" if "norm" in module.lower() else module.replace("_", " ")
    return MODULES.get(module, known)


def _stack(ledger: Ledger, layers: int) -> str:
    """Return the component with the layers that the text passes: the encoder if there is one."""
    names = [row.component for row in ledger.layers]
    return "encoder" if "encoder" in names or not names else names[0]


def _layers(model: Architecture, ledger: Ledger, rows: list[LayerCount], layers: int) -> Iterator[Stage]:
    stack = _stack(ledger, layers)
    owners = [row for row in rows for _ in range(max(row.applications, 1))]
    if len(owners) != layers:  # groups that are passed in turn are counted one after another
        owners = [rows[min(place, len(rows) - 1)] for place in range(layers)] if rows else []
    visited: set[int] = set()
    facts = [] if model.facts is None else [row for row in model.facts.layers if row.stack == stack]
    facts = facts or ([] if model.facts is None else list(model.facts.layers))
    for layer in range(layers):
        owner = owners[layer] if owners else None
        first = owner is not None and owner.layer not in visited
        numel = owner.total if owner is not None and first else 0
        stored = layer if owner is None else owner.layer
        fact = facts[min(stored, len(facts) - 1)] if facts else None
        note = (
            ""
            if owner is None or first
            else f"It has no parameters of its own: they are those of stored layer {stored}."
        )
        if owner is not None:
            visited.add(owner.layer)
        owned = [row for row in ledger.parameters if (row.component, row.layer, row.tied_to) == (stack, stored, None)]
        yield Stage("layer", f"layer {layer}", numel, layer_steps(fact, owned), _build(fact, owner, owned), note)


def _build(fact: LayerFacts | None, owner: LayerCount | None, owned: Sequence[Parameter]) -> str:
    """Describe the design of a layer, as far as it distinguishes layers."""
    counts = [] if owner is None else [counted(owner.total, "parameter")]
    if any(".lora_" in row.name for row in owned):
        counts.append("some of them of a LoRA adapter")
    if fact is None:
        return ", ".join(counts)
    attention = fact.attention
    if attention is None:
        words = (
            "without attention"
            if any("mixing" in block.kinds for block in fact.blocks)
            else "no softmax attention seen"
        )
    elif attention.window is not None and not attention.window.limited and attention.window.after == 0:
        words = "attention to earlier tokens"
    elif attention.window is not None and attention.window.limited:
        words = f"local attention, {attention.window.before} tokens before"
        words += "" if attention.window.after is None else f" and {attention.window.after} after"
    else:
        words = "attention over the whole text"
    parts = [words, *(f"{position} positions" for position in attention.positions)] if attention else [words]
    if fact.gated:
        parts.append("gated feed-forward")
    return ", ".join([*parts, *counts])


def _embedding_steps(model: Architecture) -> tuple[Operation, ...]:
    """Return the components of the first vector."""
    if model.facts is None:
        return ()
    tables = tuple(dict.fromkeys(table.role for table in model.facts.tables))
    added = Operation(" + ".join(tables), "embeddings")
    return (added, *([Operation("norm", "norm")] if model.facts.before else [])) if tables else ()


MOST_EDITS, LONGEST = 3, 40
"""Maximum number of edits named in a sentence, and of characters of each text in it."""


def compare_wordings(before: Journey, after: Journey, runs: tuple[Trace, Trace]) -> ChangedJourney:
    """Compare the journeys of a text and of its edited version, and their runs, at the tokens of the second."""
    first, second = runs
    unchanged = unchanged_positions(first.tokens, second.tokens)
    sources = {new: old for old, new in unchanged.items()}
    origin = tuple(sources.get(at, -1) for at in range(len(second.tokens)))
    known = np.array(origin) >= 0

    def placed(values: Float[np.ndarray, "layers old"] | None) -> Float[np.ndarray, "layers new"] | None:
        return None if values is None else np.where(known, values[:, origin], np.float32(np.nan))

    gone = tuple(
        (max((new + 1 for old, new in unchanged.items() if old < at), default=0), before.labels[at])
        for at in range(len(first.tokens))
        if at not in unchanged
    )
    edits = list(_edits(first.tokens.text, second.tokens.text))
    if len(edits) > MOST_EDITS:
        edits[MOST_EDITS:] = [counted(len(edits) - MOST_EDITS, "more edit")]
    same = cosine(first.hidden_states[-1][list(origin)], second.hidden_states[-1])
    words = ", ".join(edits) or "white space alone"
    sentence = f"The text is edited: {words} ({counted(origin.count(-1), 'new token')}, {len(gone)} gone)."
    return ChangedJourney(
        " ".join([sentence, *(each for each in second.tokens.notices if each not in first.tokens.notices)]),
        replace(after, turn=placed(before.turn), length=placed(before.length), entropy=placed(before.entropy)),
        after,
        np.where(known, same, np.float32(np.nan)),
        origin,
        gone,
    )


def _edits(before: str, after: str) -> Iterator[str]:
    for edit in word_edits(before, after):
        old, new = (
            f"“{shortened(' '.join(text[slice(*span)].split()), LONGEST)}”"
            for text, span in ((before, edit.before), (after, edit.after))
        )
        if edit.kind != "same":
            yield {"inserted": f"{new} inserted", "deleted": f"{old} deleted"}.get(edit.kind, f"{old} → {new}")


@dataclass(frozen=True, slots=True, eq=False)
class FeedForwardRun:
    """Input and output of the last linear map of a feed-forward block."""

    activations: Float[np.ndarray, "seq intermediate"]
    """Inner activations: after the activation function, and after the product with the gate if there is one."""
    output: Float[np.ndarray, "seq hidden"]
    """Output of the block with its bias, before any norm: what is added to the residual stream."""


class _BlockPassedError(SupersededError):
    """Ends the run after the block was recorded."""


def feed_forward_run(loaded: LoadedModel, tokens: Tokens, layer: int) -> FeedForwardRun | None:
    """Run a text up to the feed-forward block of a layer; None if that is not a single known one, a row per token."""
    served = feed_forward_maps(loaded)
    module, layers = next(((module, layers) for module, layers in served.items() if layer in layers), (None, ()))
    if module is None:
        return None

    def both(module: Any, entered: Any, left: Any) -> tuple[Any, Any]:
        return _rows(module, entered), _rows(module, left)

    seq, recorded = len(tokens), _recorded(loaded, tokens, module, layers.index(layer), both)
    if recorded is None or len(recorded[0]) < seq:  # Funnel and CANINE pool their tokens
        return None
    return FeedForwardRun(*(rows[:seq] for rows in recorded))  # without padding


def mixing_output(loaded: LoadedModel, tokens: Tokens, layer: int) -> Float[np.ndarray, "seq hidden"] | None:
    """Run a text up to the Fourier transform of a layer: what it adds to the residual stream; None without."""
    blocks = model_parts(loaded, heads_needed=False).layers
    block = next((block for block, layers in blocks.items() if layer in layers), None)
    module = None if block is None else next(filter(_is_transform, block.modules()), None)
    if module is None:
        return None
    recorded = _recorded(loaded, tokens, module, 0, lambda module, _, left: (_rows(module, left),))
    return None if recorded is None else recorded[0][: len(tokens)]


def _is_transform(module: Any) -> bool:
    return "Fourier" in type(module).__name__ and not any(True for _ in module.children())


def _recorded(
    loaded: LoadedModel, tokens: Tokens, module: Any, call: int, read: Callable[[Any, Any, Any], tuple[Any, ...]]
) -> tuple[Any, ...] | None:
    """Read from the input and the output of one call of a module, where the run ends; None if it is not reached."""
    thread, calls = get_ident(), [0]
    recorded: list[Any] = []

    def record(module: Any, args: tuple[Any, ...], output: Any) -> None:
        if get_ident() != thread:
            return
        calls[0] += 1
        if calls[0] > call:
            recorded.extend(read(module, args[0], output[0] if isinstance(output, tuple) else output))
            raise _BlockPassedError

    with RUN_LOCK:
        inputs = model_inputs(loaded, (tokens,))
        reset_model_state(loaded.model, len(tokens))
        handle = module.register_forward_hook(record)
        try:
            with torch.inference_mode(), suppress(_BlockPassedError):
                forward(loaded, inputs)
        finally:
            handle.remove()
    return tuple(recorded) or None


def _rows(module: Any, vectors: "torch.Tensor") -> Any:
    """The vectors of one text as (seq, width)."""
    if is_convolution(module):
        vectors = vectors.transpose(1, 2)
    return to_numpy(vectors.reshape(-1, vectors.shape[-1]), copy=True)


MOST_RIBBONS, COVERED = 8, 0.9
"""Maximum number of keys with an own ribbon, and the share of a row after which no further key is taken."""
THUMBNAIL = 48
"""Maximum number of rows and columns of a head's thumbnail."""


def bin_edges(width: int, bins: int) -> Int[np.ndarray, " edges"]:
    """Return the first dimension of every bin, and the end of the last: nonempty bins of nearly equal size."""
    count = min(width, bins)
    return np.arange(count + 1) * width // count


def binned(
    vectors: Float[np.ndarray, "*rows width"], edges: Int[np.ndarray, " edges"]
) -> Float[np.ndarray, "*rows bins"]:
    """Return the value of largest magnitude in each bin, with its sign."""
    highest = np.maximum.reduceat(vectors, edges[:-1], axis=-1)
    lowest = np.minimum.reduceat(vectors, edges[:-1], axis=-1)
    return np.where(-lowest > highest, lowest, highest)


def strips_of(trace: Trace, bins: int) -> Strips:
    """Bin the vectors of every token at every entry of hidden_states, into at most this number of bins."""
    edges = bin_edges(trace.hidden_states.shape[-1], bins)
    return Strips(edges, binned(trace.hidden_states, edges))


def strongest_weights(trace: Trace, token: int) -> tuple[Int[np.ndarray, " layers"], Int[np.ndarray, " layers"]]:
    """Return the head and the key of the largest attention weight of a token in each layer."""
    heads, keys = np.zeros((2, trace.num_hidden_layers), dtype=np.int64)
    for layer in range(trace.num_hidden_layers):
        rows = attention_block(trace, layer, slice(0, trace.num_attention_heads), slice(token, token + 1))[:, 0]
        heads[layer], keys[layer] = np.unravel_index(int(rows.argmax()), rows.shape)
    return heads, keys


def token_entropy(trace: Trace) -> Float[np.ndarray, "layers seq"]:
    """Compute the entropy of every token's row of attention in nats, mean over the heads of each layer.

    It is 0 for a row with a single key, and log(seq) for a uniform row; an attention sink is one of the keys.
    """
    seq, heads = len(trace.tokens), trace.num_attention_heads
    entropy = np.zeros((trace.num_hidden_layers, seq), dtype=np.float64)
    for layer in range(trace.num_hidden_layers):
        for batch in head_batches(heads, seq):
            for rows in row_tiles(seq):
                probs = attention_block(trace, layer, batch, rows)
                probs = probs if trace.sinks is None else with_sink(probs)
                logs = np.log(np.where(probs > 0, probs, 1))
                entropy[layer, rows] -= np.einsum("hqk,hqk->q", probs, logs, dtype=np.float64)
    return (entropy / heads).astype(np.float32)


def ribbons(shares: Float[np.ndarray, " seq"]) -> Ribbons:
    """Select the fewest keys that cover most of a row, strongest first, and the share of all others.

    Args:
        shares: a row that sums to 1.
    """
    order = np.argsort(-shares, kind="stable")
    behind = np.cumsum(shares[order], dtype=np.float64)
    count = min(MOST_RIBBONS, int(np.searchsorted(behind, COVERED)) + 1, len(order))
    keys = order[:count]
    key_shares = tuple(float(share) for share in shares[keys])
    return Ribbons(tuple(int(key) for key in keys), key_shares, max(0.0, 1.0 - float(np.sum(key_shares))))


def embedding_opening(parts: EmbeddingSum, token: int) -> EmbeddingOpening:
    """Return the vectors that form one token's embedding, in the order of the sum."""
    named = {name: vectors[token] for name, vectors in parts.parts.items()}
    if len(named) > 1:
        named["sum"] = parts.total[token]
    if parts.normalized is not None:
        named[f"after {parts.norm_name}"] = parts.normalized[token]
    if parts.projected:
        named["projected"] = parts.output[token]
    return EmbeddingOpening(token, named, " ".join(filter(None, (parts.inexact, parts.note))))


def layer_opening(
    trace: Trace, layer: int, token: int, run: LayerRun | None, norms: Float[np.ndarray, "heads seq"] | None
) -> LayerOpening:
    """Return the details of one layer for one token.

    Args:
        token: its position.
        run: inputs and outputs of the layer's projections; None if they are not known.
        norms: output of value_norms for the layer; None if they are not known.
    """
    probs = attention_probs(trace, layer)
    step = -(-probs.shape[-1] // THUMBNAIL)
    starts = np.arange(0, probs.shape[-1], step)
    small = np.maximum.reduceat(np.maximum.reduceat(probs, starts, axis=1), starts, axis=2) if step > 1 else probs
    rows = np.ascontiguousarray(probs[:, token])
    if run is None or norms is None:
        return LayerOpening(layer, token, small, rows, None, None)
    lengths = rows * norms
    total = lengths.sum(axis=1, keepdims=True)
    weighted = np.divide(lengths, total, out=np.zeros_like(lengths), where=total > 0)
    return LayerOpening(layer, token, small, rows, weighted, None if run.output is None else run.output[token])
