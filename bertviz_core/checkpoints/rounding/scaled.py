"""Round tensors to whole numbers or levels with a scale for each group, piece by piece.

A group's scale is a float32: its largest magnitude over 127 (int8) or 7 (int4), or its largest magnitude (nf4). A
number becomes the nearest multiple of the scale, ties to even, or the nearest level times the scale, as bitsandbytes
rounds; the result is a float32. NaN and infinite numbers have no code in these formats: they stay as they are, and the
scale is that of the finite numbers of the group.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int, UInt8

from bertviz_core.checkpoints.rounding.formats import SCALED, Rounding, group_layout

NF4_LEVELS = (
    -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453,
    -0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0,
    0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
    0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0,
)  # fmt: skip
"""Levels of 4-bit NormalFloat: quantiles of the normal distribution, scaled to -1 and 1 (Dettmers et al. 2023, QLoRA,
appendix E)."""
MIDDLES = tuple((low + high) / 2 for low, high in itertools.pairwise(NF4_LEVELS))
"""Numbers halfway between two levels, which become the lower one."""
MOST = float(np.finfo(np.float32).max)


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """The groups of a tensor in a format with scales."""

    rounding: Rounding
    """The format."""
    rows: int
    """Number of rows."""
    columns: int
    """Numbers of a row."""
    size: int
    """Numbers of a group, but for the last of a row."""
    scales: Float[np.ndarray, " groups"]
    """Scale of each group; 0 for a group of zeros."""

    def rounded(self, values: Float[np.ndarray, " numbers"], start: int) -> Float[np.ndarray, " numbers"]:
        """Round a piece of the tensor.

        Args:
            values: consecutive numbers.
            start: place of the first of them in the tensor.
        """
        first, starts = _group_starts(self.rows, self.columns, self.size, start, len(values))
        lengths = np.diff(np.append(starts, len(values)))
        scale = np.repeat(self.scales[first : first + len(starts)], lengths)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            shares = np.where(scale > 0, values / scale, 0.0)
            largest = SCALED[self.rounding].largest
            if largest:
                codes = np.clip(np.rint(shares), -largest, largest)
            else:
                codes = np.asarray(NF4_LEVELS)[_level_numbers(shares)]
            near = np.clip(codes * scale, -MOST, MOST).astype(np.float32).astype(np.float64)
        return np.where(np.isfinite(values), near, values)


def groups_of(pieces: Iterable[Float[np.ndarray, " _"]], shape: Sequence[int], rounding: Rounding) -> Groups:
    """Compute the scales of a tensor.

    Args:
        pieces: all numbers of the tensor, in order.
        shape: its shape.
        rounding: a format with scales.
    """
    rows, columns, size = group_layout(shape, rounding)
    largest: Float[np.ndarray, " groups"] = np.zeros(rows * -(-columns // size))
    at = 0
    for values in pieces:
        if len(values):
            sizes = np.where(np.isfinite(values), np.abs(values), 0.0)
            first, starts = _group_starts(rows, columns, size, at, len(values))
            inside = largest[first : first + len(starts)]
            np.maximum(inside, np.maximum.reduceat(sizes, starts), out=inside)
        at += len(values)
    scales = np.minimum(largest / (SCALED[rounding].largest or 1), MOST).astype(np.float32).astype(np.float64)
    return Groups(rounding, rows, columns, size, scales)


def rounded_pieces(
    values: Float[np.ndarray, " numbers"], shape: Sequence[int], rounding: Rounding, piece: int
) -> Iterator[tuple[int, Float[np.ndarray, " _"]]]:
    """Round a tensor that is in memory, yielding the place of each piece and its numbers.

    Args:
        values: all numbers of the tensor, in order; they stay as they are.
        shape: its shape.
        rounding: a format with scales.
        piece: numbers of a piece, in float64.
    """
    starts = range(0, len(values), piece)
    groups = groups_of((values[at : at + piece].astype(np.float64) for at in starts), shape, rounding)
    return ((at, groups.rounded(values[at : at + piece].astype(np.float64), at)) for at in starts)


def _level_numbers(shares: Float[np.ndarray, " numbers"]) -> UInt8[np.ndarray, " numbers"]:
    """Return the number of the nearest level; a comparison with each middle is faster than a search in them."""
    numbers = np.zeros(len(shares), dtype=np.uint8)
    for middle in MIDDLES:
        numbers += shares > middle
    return numbers


def _group_starts(rows: int, columns: int, size: int, start: int, count: int) -> tuple[int, Int[np.ndarray, " groups"]]:
    """Return the number of the first group of a piece, and where in the piece each of its groups begins."""
    if not count:
        return 0, np.zeros(0, dtype=np.int64)
    of_row = -(-columns // size)
    first, last = (place // columns * of_row + place % columns // size for place in (start, start + count - 1))
    numbers = np.arange(first, last + 1)
    begins = numbers // of_row * columns + numbers % of_row * size
    return first, np.maximum(begins - start, 0)
