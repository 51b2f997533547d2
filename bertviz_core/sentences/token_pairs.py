"""Decompose the cosine of two sentences into a sum over pairs of tokens."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from bertviz_core.attention.axes import token_groups
from bertviz_core.errors import UnsupportedModelError
from bertviz_core.lazy_imports import torch
from bertviz_core.sentences.pooling import applied
from bertviz_core.sentences.results import ADDITIVE_POOLINGS, SentencePlan, TokenPair, TokenPairShares
from bertviz_core.trace.results import Tokens, Trace

TOP_PAIRS = 20
MEAN_NOTE = (
    "A cell is the dot product of two tokens' vectors, over the counts of tokens and the lengths of the two sentence "
    "vectors; all cells add up to the cosine."
)
WEIGHTED_NOTE = (
    "A cell is the dot product of two tokens' vectors, each weighted as the pooling weights it, over the lengths of "
    "the two sentence vectors; all cells add up to the cosine."
)
MAX_NOTE = (
    "Every dimension of a sentence vector is counted to the one token that has the largest value there; a cell is the "
    "sum over the dimensions of its two tokens, over the lengths of the vectors, and all cells add up to the cosine."
)
SINGLE_VECTOR_NOTE = (
    "An approximation: {what} is one vector that no sum over tokens makes up, so the cells are those of mean pooling "
    "of the same layer. They add up to {total:.4f}; the cosine of the two sentences is {score:.4f}."
)
NOT_LINEAR_NOTE = (
    "An approximation: the model's dense layers ({names}) are not linear, so the cells are those of the vectors in "
    "front of them. They add up to {total:.4f}; the cosine of the two sentences is {score:.4f}."
)


def token_pair_shares(first: Trace, second: Trace, plan: SentencePlan, skipped: int = 0) -> TokenPairShares:
    """Split the cosine of two sentences into contributions of pairs of tokens.

    Each sentence vector is a sum of one part per token, m = sum_i u_i: for mean pooling u_i = h_i / n; for max pooling
    u_i contains the dimensions in which token i is largest; a linear dense layer maps each part separately. So the
    cosine is exactly sum_ij <u_i, v_j> / (|m_a| |m_b|). Single-token poolings, the pooler and dense layers with an
    activation have no such sum; the cells are then those of mean pooling, `exact` is False and `note` explains it.

    Args:
        first: trace of the first sentence, from sentences.batches.sentence_tokens under the plan.
        second: trace of the second sentence, from the same model.
        plan: pooling plan of the sentence vectors.
        skipped: number of leading tokens of both that are not pooled (sentences.batches.prompt_tokens).

    Raises:
        UnsupportedModelError: the plan requires a pooler and the model has none.
        ValueError: the traces are of different models, of pairs of texts, or longer than the limit of the plan.
    """
    _check(first, second, plan)
    layer = first.num_hidden_layers if plan.layer is None else plan.layer
    score = _cosine(*(_sentence(trace, layer, plan, skipped) for trace in (first, second)))
    parts = [_parts(trace, layer, plan, skipped) for trace in (first, second)]
    lengths = [float(np.linalg.norm(vectors.sum(axis=0))) for vectors in parts]
    scale = lengths[0] * lengths[1]
    cells = parts[0] @ parts[1].T / scale if scale else np.zeros((len(parts[0]), len(parts[1])))
    total = float(cells.sum())
    exact = _summed(plan)
    words, groups = zip(*(_words(trace.tokens) for trace in (first, second)), strict=True)
    word_cells = groups[0] @ cells @ groups[1].T
    return TokenPairShares(
        first_tokens=first.tokens.tokens,
        second_tokens=second.tokens.tokens,
        cells=cells.astype(np.float32),
        score=score,
        total=total,
        exact=exact,
        note=_note(plan, exact, total, score),
        pooling=plan.pooling,
        layer=layer,
        first_totals=cells.sum(axis=1).astype(np.float32),
        second_totals=cells.sum(axis=0).astype(np.float32),
        first_words=words[0],
        first_word_totals=word_cells.sum(axis=1).astype(np.float32),
        second_words=words[1],
        second_word_totals=word_cells.sum(axis=0).astype(np.float32),
        word_cells=word_cells.astype(np.float32),
        top=_top(cells, first.tokens, second.tokens),
    )


def _check(first: Trace, second: Trace, plan: SentencePlan) -> None:
    if (first.model, first.revision) != (second.model, second.revision):
        raise ValueError(f"traces of {first.model} and {second.model}")
    for trace in (first, second):
        if trace.tokens.pair is not None:
            raise ValueError("a trace of a pair of texts is no sentence")
        if plan.max_seq_length is not None and len(trace.tokens) > plan.max_seq_length:
            raise ValueError(f"{len(trace.tokens)} tokens where the plan reads {plan.max_seq_length}")
        if plan.pooling == "pooler" and trace.pooler_output is None:
            raise UnsupportedModelError(f"{trace.model!r} has no pooler; choose mean, cls or max.")


def _summed(plan: SentencePlan) -> bool:
    """Return whether the sentence vector is a sum of one part per token."""
    return plan.pooling in ADDITIVE_POOLINGS and all(dense.linear for dense in plan.dense)


def _sentence(trace: Trace, layer: int, plan: SentencePlan, skipped: int) -> Float[np.ndarray, " dimensions"]:
    """Compute the sentence vector of the plan from the trace's hidden states."""
    pooled = trace.hidden_states[layer][_first(trace, skipped) :]
    if plan.pooling == "pooler":
        vector = trace.pooler_output
    elif plan.pooling in ADDITIVE_POOLINGS:
        vector = _pooled_parts(trace, layer, plan, skipped).sum(axis=0)
    else:
        vector = pooled[-1 if plan.pooling == "lasttoken" else 0]
    mapped: np.ndarray = applied(torch.tensor(vector, dtype=torch.float32)[None], plan.dense)[0].numpy()
    return mapped.astype(np.float64)[: plan.truncate_dim]


def _parts(trace: Trace, layer: int, plan: SentencePlan, skipped: int) -> Float[np.ndarray, "seq dimensions"]:
    """Compute one part per token, float64; they sum to the sentence vector if such a sum exists."""
    parts, start = _pooled_parts(trace, layer, plan, skipped), _first(trace, skipped)
    if _summed(plan):
        for dense in plan.dense:
            parts = parts @ dense.weight.T
            if dense.bias is not None:
                parts[start:] += dense.bias / (len(parts) - start)  # distributed evenly
        parts = parts[:, : plan.truncate_dim]
    return parts


def _pooled_parts(trace: Trace, layer: int, plan: SentencePlan, skipped: int) -> Float[np.ndarray, "seq hidden"]:
    """Compute the part of each token in the pooled vector, float64; of the mean for a pooling that is no sum."""
    hidden: np.ndarray = trace.hidden_states[layer].astype(np.float64)
    start = _first(trace, skipped)
    if plan.pooling == "max":
        largest, dimensions = hidden[start:].argmax(axis=0) + start, np.arange(hidden.shape[1])
        parts = np.zeros_like(hidden)
        parts[largest, dimensions] = hidden[largest, dimensions]
        return parts
    weights = np.zeros(len(hidden))
    if plan.pooling == "weightedmean":
        weights[start:] = np.arange(start, len(hidden)) + 1
        weights /= weights.sum()
    else:
        count = len(hidden) - start
        weights[start:] = 1 / (np.sqrt(count) if plan.pooling == "mean_sqrt_len_tokens" else count)
    return np.asarray(hidden * weights[:, None])


def _first(trace: Trace, skipped: int) -> int:
    """Return the index of the first pooled token; the last token is always pooled."""
    return min(skipped, len(trace.tokens) - 1)


def _cosine(first: Float[np.ndarray, " dimensions"], second: Float[np.ndarray, " dimensions"]) -> float:
    lengths = float(np.linalg.norm(first) * np.linalg.norm(second))
    return float(first @ second) / lengths if lengths else 0.0


def _words(tokens: Tokens) -> tuple[tuple[str, ...], Float[np.ndarray, "words seq"]]:
    """Return words in order, and a 0/1 matrix of their tokens; other tokens are words of their own."""
    axis = token_groups(tokens, words=True)
    groups = np.zeros((len(axis), len(tokens)))
    for row, positions in enumerate(axis.positions):
        groups[row, list(positions)] = 1
    return axis.labels, groups


def _top(cells: Float[np.ndarray, "first second"], first: Tokens, second: Tokens) -> tuple[TokenPair, ...]:
    plain = ~first.special[:, None] & ~second.special[None, :]
    order = np.argsort(np.where(plain, -cells, np.inf), axis=None, kind="stable")[: min(TOP_PAIRS, int(plain.sum()))]
    pairs: Sequence[tuple[int, int]] = [divmod(int(cell), cells.shape[1]) for cell in order]
    return tuple(TokenPair(row, column, float(cells[row, column])) for row, column in pairs)


def _note(plan: SentencePlan, exact: bool, total: float, score: float) -> str:
    if exact:
        return {"mean": MEAN_NOTE, "max": MAX_NOTE}.get(plan.pooling, WEIGHTED_NOTE)
    if plan.pooling in ADDITIVE_POOLINGS:
        names = ", ".join(dense.activation for dense in plan.dense if not dense.linear)
        return NOT_LINEAR_NOTE.format(names=names, total=total, score=score)
    vector_name = {"cls": "the first token's vector", "lasttoken": "the last token's vector"}.get(
        plan.pooling, "the pooler's output"
    )
    return SINGLE_VECTOR_NOTE.format(what=vector_name, total=total, score=score)
