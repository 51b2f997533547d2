"""Near duplicates, and groups of a column."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Bool, Float, Int

from bertviz_core.corpus.analysis.results import DuplicateGroups
from bertviz_core.corpus.analysis.row_samples import blocks
from bertviz_core.corpus.exact_search import exact_units
from bertviz_core.corpus.folder import plain_values
from bertviz_core.errors import CorpusError, Progress
from bertviz_core.hidden_states.geometry import unit
from bertviz_core.sentences.store.vectors import Vectors
from bertviz_core.tables.cells import label_text
from bertviz_core.text import counted

BLOCK_ROWS = 2_048
"""Rows and columns of a block of cosines: 16 MiB at a time, for any number of rows."""
LOWEST = 0.5
"""Minimum threshold: below it pairs are not duplicates, and far too many."""
MAX_PAIRS = 100_000
"""Maximum number of listed pairs, the most similar ones."""
MAX_EDGES = 1_000_000
"""Number of pairs after which groups are merged, so that not all pairs are in memory."""
ROUNDING = 1e-4
"""Upper bound of the float32 error of the product of two unit vectors; pairs this close below the threshold or above it
are recomputed in float64."""
DENSE = 64
"""Share of pairs, as one in this number, from which on a whole block is recomputed in float64."""


def duplicate_groups(
    vectors: Float[Vectors, "rows dimensions"],
    threshold: float = 0.95,
    progress: Progress | None = None,
    on_partial: Callable[[DuplicateGroups], None] | None = None,
) -> DuplicateGroups:
    """Group all rows with a cosine to another row of at least the threshold (connected components of these pairs).

    Exact: every pair is compared. Cosines are computed in float64 from the stored vectors and rounded to float32 before
    the comparison, so that equal vectors have cosine 1; a zero vector is similar to none.

    Args:
        threshold: minimum cosine of a pair, 0.5 to 1.
        progress: called as progress(done, total) in pairs of blocks; may raise to cancel.
        on_partial: called with the groups of the pairs so far, after each block that has been compared with all others
            but the last.
    """
    if not LOWEST <= threshold <= 1:
        raise CorpusError(f"The threshold {threshold:g} was requested; give a cosine from {LOWEST:g} to 1.")
    pairs, count = _Pairs(len(vectors)), -(-len(vectors) // BLOCK_ROWS)
    done, total = 0, count * (count + 1) // 2
    for top, upper in blocks(vectors, BLOCK_ROWS):
        rows = unit(upper)
        for left, lower in blocks(vectors[top.start :], BLOCK_ROWS):
            others = unit(lower)
            scores = rows @ others.T
            found = np.flatnonzero(scores >= threshold - ROUNDING)  # np.nonzero takes ten times as long
            first, second = np.unravel_index(found, scores.shape)
            if left.start == 0:  # a block with itself: each pair once, without the diagonal
                first, second = first[first < second], second[first < second]
            exact = _exact(upper, lower, first, second)
            alike = exact >= np.float32(threshold)
            pairs.add(top.start + first[alike], top.start + left.start + second[alike], exact[alike])
            done += 1
            if progress is not None:
                progress(done, total)
        if on_partial is not None and top.stop < len(vectors):
            on_partial(pairs.groups(threshold))
    return pairs.groups(threshold)


class _Pairs:
    """Collects pairs: merged into groups, counted, the most similar listed."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._group = np.arange(rows, dtype=np.int32)  # group of each row so far
        self._edges: list[tuple[np.ndarray, np.ndarray]] = []
        self._waiting, self._count = 0, 0
        nothing = np.zeros(0, dtype=np.int64)
        self._best: tuple[np.ndarray, np.ndarray, np.ndarray] = (nothing, nothing, np.zeros(0, dtype=np.float32))

    def add(
        self, first: Int[np.ndarray, " pairs"], second: Int[np.ndarray, " pairs"], scores: Float[np.ndarray, " pairs"]
    ) -> None:
        """Add pairs."""
        if not len(first):
            return
        self._count += len(first)
        self._edges.append((first, second))
        self._waiting += len(first)
        if self._waiting >= MAX_EDGES:
            self._join()
        best = tuple(np.concatenate(both) for both in zip(self._best, (first, second, scores), strict=True))
        order = np.lexsort((best[1], best[0], -best[2]))[:MAX_PAIRS]
        self._best = (best[0][order], best[1][order], best[2][order])

    def groups(self, threshold: float) -> DuplicateGroups:
        """Return the groups of all pairs so far."""
        self._join()
        sizes = np.bincount(self._group, minlength=self._rows)
        members = np.flatnonzero(sizes[self._group] > 1)
        groups, lowest, place, counts = np.unique(
            self._group[members], return_index=True, return_inverse=True, return_counts=True
        )
        largest_first = np.lexsort((lowest, -counts))  # ties by the lowest row
        rank = np.empty(len(groups), dtype=np.int64)
        rank[largest_first] = np.arange(len(groups))
        counts = counts[largest_first]
        return DuplicateGroups(
            threshold=threshold,
            rows=members[np.argsort(rank[place], kind="stable")],
            starts=np.cumsum(counts) - counts,
            first=self._best[0],
            second=self._best[1],
            scores=self._best[2],
            pairs=self._count,
            searched=self._rows,
        )

    def _join(self) -> None:
        """Merge the groups of the paired rows."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        if not self._edges:
            return
        first, second = (self._group[np.concatenate(ends)] for ends in zip(*self._edges, strict=True))
        graph = coo_array((np.ones(len(first), dtype=np.bool_), (first, second)), shape=(self._rows, self._rows))
        _, joined = connected_components(graph, directed=False)
        self._group, self._edges, self._waiting = joined[self._group].astype(np.int32), [], 0


def _exact(
    upper: Float[np.ndarray, "rows dimensions"],
    lower: Float[np.ndarray, "others dimensions"],
    first: Int[np.ndarray, " pairs"],
    second: Int[np.ndarray, " pairs"],
) -> Float[np.ndarray, " pairs"]:
    """Compute cosines of some pairs of two blocks in float64, as float32; 0 for a zero vector."""
    if len(first) * DENSE > len(upper) * len(lower):
        cosines = (exact_units(upper) @ exact_units(lower).T)[first, second]
    else:
        cosines = np.einsum("pd,pd->p", exact_units(upper[first]), exact_units(lower[second]))
    return np.asarray(np.clip(cosines, -1, 1), dtype=np.float32)


NAMED = 8
"""Number of values of a column with a code of their own; all others share one."""
OTHER, MISSING = "other", "no value"


@dataclass(frozen=True, slots=True, eq=False)
class ColumnValues:
    """Values of a column as indices into a short list."""

    names: tuple[str, ...]
    """The values, most frequent first; then one for all others and one for missing values, if any."""
    codes: Int[np.ndarray, " rows"]
    """Index of every row's value."""


def column_values(column: pa.ChunkedArray, named: int = NAMED) -> ColumnValues:
    """Encode a column by its most frequent values, ties by name.

    Numbers with more than `named` distinct values are binned into as many ranges with equally many rows.

    Args:
        column: a whole column of a corpus.
        named: number of values with a code of their own.
    """
    missing = np.asarray(pc.is_null(column, nan_is_null=True).to_numpy(), dtype=np.bool_)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    if number:
        column = column.cast(kind)
        if pc.count_distinct(column).as_py() > named:
            # Integers of 64 bits, such as ids, may not be representable exactly; their ranges are rounded anyway.
            numbers = pc.cast(column, pa.float64(), safe=False)
            return _ranges(np.asarray(numbers.to_numpy(), dtype=np.float64), missing, named)
    if not pa.types.is_dictionary(column.type):
        column = pc.dictionary_encode(column)
    encoded = column.unify_dictionaries().combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.chunk(0) if encoded.num_chunks else pa.DictionaryArray.from_arrays([], pa.array([], kind))
    codes = np.asarray(pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False), dtype=np.int64)
    names = [label_text(value) for value in plain_values(encoded.dictionary)]
    codes[missing] = -1
    counts = np.bincount(codes[codes >= 0], minlength=len(names))
    order = sorted((place for place in range(len(names)) if counts[place]), key=lambda at: (-counts[at], names[at]))
    return _listed([names[place] for place in order[:named]], np.array(order, dtype=np.int64), codes, len(names), named)


def unlike(name: str, names: Collection[str]) -> str:
    """A name that none of these is: in parentheses where a value of the column is the name itself."""
    while name in names:
        name = f"({name})"
    return name


def _listed(
    names: list[str], order: Int[np.ndarray, " occurring"], codes: Int[np.ndarray, " rows"], known: int, named: int
) -> ColumnValues:
    """Encode values by frequency, with one code for all others and one for missing values."""
    place_of = np.full(known + 1, -1, dtype=np.int64)
    place_of[order] = np.minimum(np.arange(len(order)), named)
    if len(order) > named:
        names = [*names, unlike(counted(len(order) - named, OTHER), names)]
    if (codes < 0).any():
        place_of[-1] = len(names)
        names = [*names, unlike(MISSING, names)]
    return ColumnValues(tuple(names), place_of[codes].astype(np.int16))


def _ranges(numbers: Float[np.ndarray, " rows"], missing: Bool[np.ndarray, " rows"], named: int) -> ColumnValues:
    """Bin numbers into ranges with equally many rows."""
    known = numbers[~missing]
    method: Literal["linear", "lower"] = "linear" if np.isfinite(known).all() else "lower"  # between infinities is NaN
    edges = np.unique(np.quantile(known, np.linspace(0, 1, named + 1), method=method))
    if len(edges) < 2:
        edges = np.array([edges[0], edges[0]])
    codes = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, len(edges) - 2)
    names = [f"{low:,.6g} to {high:,.6g}" for low, high in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)]
    if missing.any():
        codes[missing] = len(names)
        names = [*names, MISSING]
    return ColumnValues(tuple(names), codes.astype(np.int16))
