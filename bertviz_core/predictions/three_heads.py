"""The three heads of BGE-M3 (Chen et al. 2024): one vector, weights of tokens, and a vector for each token."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from bertviz_core.errors import Progress, no_progress
from bertviz_core.hidden_states.geometry import unit
from bertviz_core.lazy_imports import torch
from bertviz_core.models.loading import LoadedModel
from bertviz_core.predictions.late_interaction import max_sims
from bertviz_core.predictions.late_interaction_modules import TokenHeads
from bertviz_core.predictions.results import HeadScores, SharedTokens
from bertviz_core.sentences.encoding import SentenceRow, batches, model_states, tokenized
from bertviz_core.sentences.pooling import applied
from bertviz_core.sentences.results import SentencePlan
from bertviz_core.text import counted, quoted
from bertviz_core.trace.run import RUN_LOCK
from bertviz_core.trace.tokenization import TextTokenizer
from bertviz_core.trace.verification import check_recording, model_inputs

UNUSED = ("cls_token_id", "eos_token_id", "sep_token_id", "pad_token_id", "unk_token_id")
"""Tokens without a weight, as attributes of a tokenizer."""


class TextHeads(NamedTuple):
    """What the heads make of a text."""

    dense: Float[np.ndarray, " hidden"]
    """Vector of the text, of length 1."""
    ids: Int[np.ndarray, " words"]
    """Indices in the vocabulary of the tokens with a weight above 0, ascending."""
    weights: Float[np.ndarray, " words"]
    """Their weights, the largest of each."""
    vectors: Float[np.ndarray, "tokens dimensions"]
    """Vectors of the tokens after the first, of length 1."""
    truncated: bool
    """Whether the text was cut."""


def encoded(
    loaded: LoadedModel, tokenizer: TextTokenizer, heads: TokenHeads, plan: SentencePlan, texts: Sequence[str]
) -> Iterator[tuple[int, TextHeads]]:
    """Yield the index of a text and what the heads make of it, from one run of each, in batches."""
    rows = [row for chunk in tokenized(tokenizer, texts, plan) for row in chunk]
    unused = [getattr(tokenizer.tokenizer, name) for name in UNUSED]
    with RUN_LOCK:
        check_recording(loaded)
    for batch in batches(loaded, [len(row) for row in rows]):
        lengths = [len(rows[index]) for index in batch]
        inputs = model_inputs(loaded, [rows[index] for index in batch])
        with RUN_LOCK, torch.inference_mode():
            output, _ = model_states(loaded, inputs, lengths, 0, None, inside=False)
            states = output["last_hidden_state"].float()
            made = [_text_heads(heads, states[place, :length]) for place, length in enumerate(lengths)]
        for index, (dense, weights, vectors) in zip(batch, made, strict=True):
            ids, largest = _by_word(rows[index], weights, unused)
            yield index, TextHeads(dense, ids, largest, vectors, bool(rows[index].truncated))


def _text_heads(heads: TokenHeads, states: "torch.Tensor") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    weights = applied(states, (heads.sparse,)).relu()[:, 0].cpu().numpy()
    vectors = applied(states[1:], (heads.colbert,)).cpu().numpy()
    return unit(states[0].cpu().numpy()), weights, unit(vectors)


def _by_word(row: SentenceRow, weights: np.ndarray, unused: Sequence[int | None]) -> tuple[np.ndarray, np.ndarray]:
    """The tokens with a weight, and the largest weight of each."""
    counts = (weights > 0) & ~np.isin(row.input_ids, [each for each in unused if each is not None])
    ids, places = np.unique(row.input_ids[counts], return_inverse=True)
    largest = np.zeros(len(ids), dtype=np.float32)
    np.maximum.at(largest, places, weights[counts])
    return ids, largest


def head_scores(
    loaded: LoadedModel,
    tokenizer: TextTokenizer,
    heads: TokenHeads,
    plan: SentencePlan,
    query: str,
    texts: Sequence[str],
    weights: tuple[float, float, float],
    progress: Progress = no_progress,
) -> HeadScores:
    """Score a query with each text by the three heads.

    The scores are those of FlagEmbedding: the dot product of the two vectors; the sum, over the tokens that both have,
    of the product of their weights; the mean, over the tokens of the query, of the largest cosine with one of the text.

    Args:
        weights: of the three scores in their weighted mean.
    """
    ((_, query_heads),) = encoded(loaded, tokenizer, heads, plan, [query])
    scores = np.zeros((3, len(texts)), dtype=np.float32)
    shared = [SharedTokens((), np.zeros(0, dtype=np.float32))] * len(texts)
    cut, done = 0, 0
    for index, text in encoded(loaded, tokenizer, heads, plan, texts):
        shared[index] = _shared(tokenizer, query_heads, text)
        scores[0, index] = query_heads.dense @ text.dense
        scores[1, index] = shared[index].products.sum(dtype=np.float64)
        scores[2, index] = max_sims(query_heads.vectors, [text.vectors])[0] / np.float32(len(query_heads.vectors))
        cut, done = cut + text.truncated, done + 1
        progress(done, len(texts))
    scores.setflags(write=False)
    notices = [*loaded.notices, *tokenizer.notices]
    notices += ["The query was cut to the length that the model reads."] if query_heads.truncated else []
    notices += [f"{counted(cut, 'text')} cut to the length that the model reads."] if cut else []
    notices += [f"The checkpoint puts {quoted(plan.prompt, 40)} in front of every text."] if plan.prompt else []
    return HeadScores(
        model=loaded.name,
        query=query,
        texts=tuple(texts),
        dense=scores[0],
        sparse=scores[1],
        multi_vector=scores[2],
        weights=weights,
        shared=tuple(shared),
        notices=tuple(notices),
    )


def _shared(tokenizer: TextTokenizer, query: TextHeads, text: TextHeads) -> SharedTokens:
    ids, first, second = np.intersect1d(query.ids, text.ids, assume_unique=True, return_indices=True)
    products = query.weights[first] * text.weights[second]
    order = np.argsort(-products, kind="stable")
    return SharedTokens(tokenizer.spelled(ids[order].tolist()), products[order])
