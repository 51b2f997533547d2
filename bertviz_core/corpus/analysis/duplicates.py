"""Find near duplicates: groups of rows with cosines of at least a threshold, compared block by block."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int

from bertviz_core.corpus.analysis.results import DuplicateGroups
from bertviz_core.corpus.analysis.row_samples import blocks
from bertviz_core.corpus.search.exact import exact_units
from bertviz_core.errors import CorpusError, Progress
from bertviz_core.hidden_states.geometry import unit
from bertviz_core.sentences.store.vector_rows import Vectors

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
        vectors: all vectors, for example Corpus.vectors().
        threshold: minimum cosine of a pair, 0.5 to 1.
        progress: called as progress(done, total) in pairs of blocks; may raise to cancel.
        on_partial: called with the groups of the pairs so far, after each block that has been compared with all others
            but the last.

    Raises:
        CorpusError: the threshold is out of range, there are too many rows, or a vector contains NaN or infinity.
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
