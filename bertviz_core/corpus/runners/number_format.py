"""Choose the number format of a corpus' runs by a trial of one batch."""

import statistics
from collections.abc import Sequence
from time import perf_counter
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from bertviz_core.corpus.shards import Encoder
from bertviz_core.hidden_states.geometry import unit
from bertviz_core.models.loading import fast_formats
from bertviz_core.sentences.encoding import SentenceRow, SentenceRun, batches, prompt_tokens, tokenized
from bertviz_core.sentences.results import SentenceDtype
from bertviz_core.text import counted

TEXTS, ROUNDS = 64, 3
"""Texts of the trial at most, and how often their batch is run."""
LEAST_COSINE = 0.999
"""A format is chosen only if no vector's cosine to that of float32 is smaller."""


class TriedFormat(NamedTuple):
    """A number format in the trial."""

    dtype: SentenceDtype
    seconds: float
    """Median seconds of the batch."""
    cosine: float
    """Smallest cosine of a vector to that of float32; NaN if a vector has a number that is not finite."""


def fastest_format(encoder: Encoder, texts: Sequence[str]) -> tuple[SentenceDtype, str]:
    """The number format in which texts are encoded fastest, of those whose vectors stay close to float32's.

    Args:
        texts: first texts of the input, at least one.

    Returns:
        The format, and a notice with what was measured.
    """
    formats = fast_formats(encoder.loaded.device)
    if not formats:
        return "float32", f"Runs are in float32: {encoder.loaded.device} has no fast format of 16 bits."
    rows = [row for chunk in tokenized(encoder.tokenizer, texts[:TEXTS], encoder.plan) for row in chunk]
    batch = [rows[index] for index in batches(encoder.loaded, [len(row) for row in rows])[0]]
    exact, seconds = _timed(encoder, "float32", batch)
    tried = [TriedFormat("float32", seconds, 1.0)]
    for dtype in formats:
        vectors, seconds = _timed(encoder, dtype, batch)
        tried.append(TriedFormat(dtype, seconds, float((unit(vectors) * unit(exact)).sum(axis=1).min())))
    best = min((each for each in tried if each.cosine >= LEAST_COSINE), key=lambda each: each.seconds)
    measured = ", ".join(f"{each.dtype} {each.seconds * 1000:,.0f} ms{_distance(each)}" for each in tried)
    return best.dtype, f"Runs are in {best.dtype}, by a trial of {counted(len(batch), 'text')}: {measured}."


def _timed(
    encoder: Encoder, dtype: SentenceDtype, batch: Sequence[SentenceRow]
) -> tuple[Float[np.ndarray, "batch dimensions"], float]:
    """Vectors of a batch, and the median seconds after a first run."""
    run, times = SentenceRun(encoder.loaded, encoder.plan, dtype, prompt_tokens(encoder.tokenizer, encoder.plan)), []
    vectors = run.vectors(batch)
    for _ in range(ROUNDS):
        started = perf_counter()
        run.vectors(batch)
        times.append(perf_counter() - started)
    return vectors, statistics.median(times)


def _distance(tried: TriedFormat) -> str:
    """How close the vectors of a format are to those of float32, in brackets."""
    if tried.dtype == "float32":
        return ""
    return f" (cosine at least {tried.cosine:.5f})" if np.isfinite(tried.cosine) else " (numbers that are not finite)"
