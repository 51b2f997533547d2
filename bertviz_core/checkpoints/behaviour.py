"""Compare two models on one text by cosine of hidden states and divergence of attention."""

from math import log

import numpy as np
from jaxtyping import Float

from bertviz_core.attention.maps import attention_block, head_batches, row_tiles, with_sink
from bertviz_core.checkpoints.results import Behaviour
from bertviz_core.errors import Progress, TextError, UnsupportedModelError, no_progress
from bertviz_core.hidden_states.geometry import cosine
from bertviz_core.text import counted
from bertviz_core.trace.results import Tokens, Trace
from bertviz_core.trace.two_tokenizers import same_tokens

DIVERGENCE_CELLS = 2**18
"""Cells compared at once: 2 MiB in float64, a few of which fit into a processor's cache."""


def behaviour(first: Trace, second: Trace, progress: Progress = no_progress) -> Behaviour:
    """Compare two models on the same tokens by cosine of hidden states and divergence of attention.

    Parts of different size (layers, hidden size, heads) are not compared; a notice reports them.
    """
    require_same_ids(first.model, first.tokens, second.model, second.tokens)
    layers, notices = _common_layers(first, second)
    notices += _not_finite(first, second)
    widths = first.hidden_states.shape[-1], second.hidden_states.shape[-1]
    cosines = None
    if widths[0] == widths[1]:
        cosines = cosine(first.hidden_states[: layers + 1], second.hidden_states[: layers + 1])
    else:
        notices.append(f"Their vectors have {widths[0]} and {widths[1]} numbers, so no cosine between them is defined.")
    divergences = None
    heads = first.num_attention_heads, second.num_attention_heads
    if "none" in (first.attention_source, second.attention_source):
        unknown = first if first.attention_source == "none" else second
        notices.append(f"The attention of {unknown.model} cannot be compared. {unknown.attention_note}")
    elif heads[0] != heads[1]:
        notices.append(f"Their layers have {heads[0]} and {heads[1]} heads, so their heads do not correspond.")
    else:
        divergences = attention_divergences(first, second, layers, progress)
    notices = list(dict.fromkeys((*first.tokens.notices, *second.tokens.notices, *notices)))
    return Behaviour(first.model, second.model, first.tokens, cosines, divergences, notices=tuple(notices))


def compared_states(first: Trace, second: Trace) -> Behaviour:
    """Compare two models on the same tokens by cosine of hidden states; the divergences are None.

    Unlike `behaviour` it takes models with different vocabularies where they read the text as the same tokens.
    """
    require_same_tokens(first, second, "their hidden states have no cosines")
    widths = first.hidden_states.shape[-1], second.hidden_states.shape[-1]
    if widths[0] != widths[1]:
        raise UnsupportedModelError(
            f"The vectors of {first.model!r} have {widths[0]:,} numbers and those of {second.model!r} {widths[1]:,}, "
            "so no cosine between them is defined."
        )
    layers, notices = _common_layers(first, second)
    cosines = cosine(first.hidden_states[: layers + 1], second.hidden_states[: layers + 1])
    notices += _not_finite(first, second)
    return Behaviour(first.model, second.model, first.tokens, cosines, None, notices=tuple(notices))


def compared_heads(first: Trace, second: Trace, progress: Progress = no_progress) -> Behaviour:
    """Compare two models on the same tokens by divergence of attention; the cosines are None.

    Unlike `behaviour` it takes models with different vocabularies where they read the text as the same tokens.
    """
    require_same_tokens(first, second, "their heads have no divergence")
    sizes = [(each.num_hidden_layers, each.num_attention_heads) for each in (first, second)]
    if sizes[0] != sizes[1]:
        numbers = [f"{counted(layers, 'layer')} of {counted(heads, 'head')}" for layers, heads in sizes]
        raise UnsupportedModelError(
            f"{first.model!r} has {numbers[0]} and {second.model!r} {numbers[1]}, so their heads do not correspond."
        )
    divergences = attention_divergences(first, second, first.num_hidden_layers, progress)
    notices = tuple(_not_finite(first, second))
    return Behaviour(first.model, second.model, first.tokens, None, divergences, notices=notices)


def require_same_tokens(first: Trace, second: Trace, consequence: str) -> None:
    """Check that two models read a text as the same tokens, whatever their ids.

    Args:
        consequence: what does not exist otherwise, as the end of a sentence.
    """
    if same_tokens(first.tokens, second.tokens):
        return
    sizes = len(first.tokens), len(second.tokens)
    how = f"{sizes[0]:,} and {sizes[1]:,} tokens" if sizes[0] != sizes[1] else f"different {sizes[0]:,} tokens"
    raise TextError(f"{first.model!r} and {second.model!r} read this text as {how}, so {consequence}.")


def _not_finite(first: Trace, second: Trace) -> list[str]:
    """A sentence for each run whose hidden states hold NaN or infinity, with the first entry that does."""
    notices = []
    for run in (first, second):
        broken = [entry for entry, states in enumerate(run.hidden_states) if not np.isfinite(states).all()]
        if broken:
            notices.append(
                f"The hidden states of {run.model!r} hold NaN or infinity from entry {broken[0]} on, so there is "
                "nothing to compare there."
            )
    return notices


def _common_layers(first: Trace, second: Trace) -> tuple[int, list[str]]:
    """Number of layers that both models have, and a notice where one has more."""
    layers = min(first.num_hidden_layers, second.num_hidden_layers)
    if first.num_hidden_layers == second.num_hidden_layers:
        return layers, []
    notice = (
        f"{first.model} has {first.num_hidden_layers} layers and {second.model} has {second.num_hidden_layers}: "
        f"the first {layers} layers are compared."
    )
    return layers, [notice]


def require_same_ids(first: str, tokens: Tokens, second: str, others: Tokens) -> None:
    """Check that two models read a text as the same ids."""
    if np.array_equal(tokens.input_ids, others.input_ids):
        return
    if len(tokens) != len(others):
        difference = f"{len(tokens)} and {len(others)} tokens"
    else:
        position = int(np.flatnonzero(tokens.input_ids != others.input_ids)[0])
        ids = f"{int(tokens.input_ids[position])} and {int(others.input_ids[position])}"
        difference = f"different ids, first at position {position} ({ids})"
    raise TextError(
        f"{first!r} and {second!r} read this text as {difference}, so their tokens do not correspond; "
        "compare two models with the same vocabulary."
    )


def attention_divergences(
    first: Trace, second: Trace, layers: int, progress: Progress = no_progress
) -> Float[np.ndarray, "layers heads"]:
    """Compute the Jensen-Shannon divergence of every head's attention in two runs, mean over the queries, in nats.

    An attention sink is one of the keys; of a model without one it has no share.
    """
    seq, heads = len(first.tokens), first.num_attention_heads
    if (seq, heads) != (len(second.tokens), second.num_attention_heads):
        raise ValueError(f"{seq} tokens, {heads} heads against {len(second.tokens)}, {second.num_attention_heads}")
    divergences, sinks = np.zeros((layers, heads)), first.sinks is not None or second.sinks is not None
    for layer in range(layers):
        for batch in head_batches(heads, seq, DIVERGENCE_CELLS):
            for rows in row_tiles(seq, cells=DIVERGENCE_CELLS):
                one, two = (attention_block(trace, layer, batch, rows) for trace in (first, second))
                if sinks:
                    one, two = with_sink(one), with_sink(two)
                divergences[layer, batch] += jensen_shannon(one, two).sum(axis=-1)
        progress(layer + 1, layers)
    return np.clip(divergences / max(seq, 1), 0, log(2)).astype(np.float32)


def jensen_shannon(
    first: Float[np.ndarray, "*rows keys"], second: Float[np.ndarray, "*rows keys"]
) -> Float[np.ndarray, "*rows"]:
    """Compute (KL(p || m) + KL(q || m)) / 2 with m = (p + q) / 2, in nats: from 0 for equal to ln 2 for disjoint rows.

    Symmetric (Lin 1991, Divergence measures based on the Shannon entropy, section 4).
    """
    one, two = first.astype(np.float64), second.astype(np.float64)
    middle = (one + two) / 2
    total = np.zeros(one.shape[:-1])
    for part in (one, two):
        ratio = np.divide(part, middle, out=np.ones_like(part), where=part > 0)
        total += np.einsum("...k,...k->...", part, np.log(ratio, out=ratio))
    return np.asarray(np.clip(total / 2, 0, log(2)))
