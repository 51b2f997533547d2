"""Compute statistics of every tensor in pieces, as exact as on the whole array and in little memory."""

import math
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any

import numpy as np
from jaxtyping import Float

from bertviz_core.checkpoints.results import CheckpointStatistics, Histogram, TensorLocation, TensorStatistics
from bertviz_core.checkpoints.tensor_map import locations
from bertviz_core.checkpoints.values import (
    Checkpoint,
    TensorSlice,
    is_readable,
    number_pieces,
    numbers,
    raw_pieces,
    tensor_slices,
)

Tell = Callable[[int, int, str], None]
"""Called as progress(bytes read, total bytes, name of the tensor); may raise to cancel."""
BINS = 101
"""Odd, so that one bin is centred at 0 in a symmetric range."""
SPREADS = ("initializer_range", "init_std", "embed_init_std", "initializer_std")
"""Config entries with the spread of new weights."""
COMMON_SPREAD = 0.02
"""Default of transformers without a config entry (PreTrainedModel._init_weights)."""


class _StreamedSums:
    """Sums over pieces; squares also around the first value, which preserves the precision of the std."""

    def __init__(self) -> None:
        self.shift: float | None = None
        self.count = self.zeros = self.nan = self.infinite = 0
        self.total = self.shifted = self.shifted_squares = self.squares = self.fourths = 0.0
        self.minimum, self.maximum = math.inf, -math.inf

    def add(self, values: Float[np.ndarray, " numbers"]) -> None:
        finite = np.isfinite(values)
        if not finite.all():
            nan = int(np.isnan(values).sum())
            self.nan += nan
            self.infinite += values.size - int(finite.sum()) - nan
            values = values[finite]
        if not values.size:
            return
        self.shift = float(values[0]) if self.shift is None else self.shift
        self.minimum, self.maximum = min(self.minimum, float(values.min())), max(self.maximum, float(values.max()))
        self.count += values.size
        self.zeros += values.size - int(np.count_nonzero(values))
        squares = values * values
        self.squares += float(squares.sum())
        self.fourths += dot(squares, squares)
        deviation = values - self.shift
        self.shifted += float(deviation.sum())
        self.shifted_squares += dot(deviation, deviation)

    @property
    def mean(self) -> float:
        return math.nan if self.shift is None else self.shift + self.shifted / self.count

    @property
    def std(self) -> float:
        if not self.count:
            return math.nan
        return math.sqrt(max(self.shifted_squares - self.shifted**2 / self.count, 0.0) / self.count)


def checkpoint_statistics(checkpoint: Checkpoint, progress: Tell | None = None) -> CheckpointStatistics:
    """Compute the statistics of every tensor, in the order of the data flow; each byte of the file is read once."""
    tensor_locations = locations(checkpoint)
    slices = tensor_slices(checkpoint)
    total, done = checkpoint.nbytes, 0
    statistics, unread = [], []
    for location in tensor_locations:
        tensor_slice = slices[location.name]
        if not is_readable(tensor_slice.tensor.dtype):
            unread.append(location.name)
        else:
            statistics.append(
                tensor_statistics(tensor_slice, location, _progress_from(progress, done, total, location.name))
            )
        done += tensor_slice.tensor.nbytes
    spreads = standard_deviations(checkpoint.config)
    return CheckpointStatistics(checkpoint.name, checkpoint.revision, tuple(statistics), tuple(unread), total, spreads)


def tensor_statistics(
    place: TensorSlice, location: TensorLocation, progress: Callable[[int], None] | None = None
) -> TensorStatistics:
    """Compute the statistics of one tensor; progress is called with the bytes read.

    Sums are in float64; the population variance is computed from sums around the first value (Chan, Golub & LeVeque
    1983, "shifted data").
    """
    tensor, sums = place.tensor, _StreamedSums()
    digest = blake2b(f"{tensor.dtype} {tensor.shape}".encode(), digest_size=16)
    done = 0
    with np.errstate(over="ignore", invalid="ignore"):
        for raw in raw_pieces(place):
            digest.update(raw)
            sums.add(numbers(raw, place))
            done += len(raw)
            if progress:
                progress(done)
    nonzero = sums.count - sums.zeros
    return TensorStatistics(
        location=location,
        shape=tensor.shape,
        dtype=tensor.dtype,
        numel=math.prod(tensor.shape),
        mean=sums.mean,
        std=sums.std,
        minimum=sums.minimum if sums.count else math.nan,
        maximum=sums.maximum if sums.count else math.nan,
        zeros=sums.zeros,
        nan=sums.nan,
        infinite=sums.infinite,
        second_moment=sums.squares / nonzero if nonzero else 0.0,
        fourth_moment=sums.fourths / nonzero if nonzero else 0.0,
        digest=digest.digest(),
    )


def tensor_histogram(place: TensorSlice, low: float, high: float, bins: int = BINS) -> Histogram:
    """Compute the histogram of a tensor with bins of equal width from low to high."""
    edges = even_edges(low, high, bins)
    counts = np.zeros(bins, dtype=np.int64)
    for values in number_pieces(place):
        counts += histogram_counts(values, edges)
    return Histogram(edges.astype(np.float64), counts, math.prod(place.tensor.shape) - int(counts.sum()))


def dot(first: Float[np.ndarray, " numbers"], second: Float[np.ndarray, " numbers"]) -> float:
    """Compute a sum of products in one thread: BLAS waits for all its threads, long on busy cores."""
    return float(np.einsum("i,i->", first, second))


def even_edges(low: float, high: float, bins: int = BINS) -> Float[np.ndarray, " edges"]:
    """Return the edges of bins of equal width; a single value gets a range around it."""
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ValueError(f"a histogram from {low} to {high}")
    if not low < high:
        spare = abs(low) / 2 or 1.0
        low, high = low - spare, high + spare
    return np.linspace(low, high, bins + 1)


def histogram_counts(values: Float[np.ndarray, " numbers"], edges: Float[np.ndarray, " edges"]) -> Any:
    """Count values between equidistant edges; NaN and values outside are not counted."""
    finite = values[np.isfinite(values)]
    return np.histogram(finite, bins=len(edges) - 1, range=(float(edges[0]), float(edges[-1])))[0]


def standard_deviations(config: Mapping[str, Any]) -> tuple[float, ...]:
    """Return the standard deviations of new weights in a config; transformers' default if there are none."""
    named = [config[key] for key in SPREADS if isinstance(config.get(key), int | float) and config[key] > 0]
    return tuple(dict.fromkeys(float(spread) for spread in named)) or (COMMON_SPREAD,)


def _progress_from(progress: Tell | None, before: int, total: int, name: str) -> Callable[[int], None] | None:
    if progress is None:
        return None
    return lambda done: progress(before + done, total, name)
