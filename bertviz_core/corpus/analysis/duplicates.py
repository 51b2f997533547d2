"""Find near duplicates: groups of rows whose cosine reaches a threshold, compared block by block."""

import numpy as np
from jaxtyping import Float, Int

from bertviz_core.corpus.analysis.results import DuplicateGroups
from bertviz_core.corpus.analysis.row_samples import blocks
from bertviz_core.corpus.search.exact import exact_units
from bertviz_core.errors import CorpusError, Progress
from bertviz_core.hidden_states.geometry import unit
from bertviz_core.sentences.store.vector_rows import Vectors

BLOCK_ROWS = 2_048
"""Rows and columns of a block of cosines: 16 MiB at a time, whatever the count of rows."""
LOWEST = 0.5
"""Least threshold: below it pairs are nothing like duplicates, and there is no end of them."""
MAX_PAIRS = 100_000
"""Pairs that are listed; of more the most alike."""
MAX_EDGES = 1_000_000
"""Pairs after which groups are joined anew, so that not all pairs are in memory."""
ROUNDING = 1e-4
"""Far more than the product of two unit vectors in float32 can be off; from so far below the threshold on a pair is
computed in float64."""
DENSE = 64
"""One pair in so many of a block from which on the whole block is computed in float64 at once."""


def duplicate_groups(
    vectors: Float[Vectors, "rows dimensions"], threshold: float = 0.95, progress: Progress | None = None
) -> DuplicateGroups:
    """All rows whose cosine with another reaches the threshold, as groups (connected components of these pairs).

    Exact: every pair is compared. A cosine is computed in float64 from the stored vectors and rounded to float32 before
    it is held against the threshold, so that equal vectors have cosine 1; a zero vector is like none.

    Args:
        vectors: all vectors, such as Corpus.vectors() opens them.
        threshold: least cosine of a pair, 0.5 to 1.
        progress: called as progress(pairs of blocks done, pairs of blocks); may raise to cancel.

    Raises:
        CorpusError: a threshold out of this range, more rows than are compared with each other, or a vector with NaN or
            infinity.
    """
    if not LOWEST <= threshold <= 1:
        raise CorpusError(f"The threshold {threshold:g} was asked for; give a cosine from {LOWEST:g} to 1.")
    pairs, count = _Pairs(len(vectors)), -(-len(vectors) // BLOCK_ROWS)
    done, total = 0, count * (count + 1) // 2
    for top, upper in blocks(vectors, BLOCK_ROWS):
        rows = unit(upper)
        for left, lower in blocks(vectors[top.start :], BLOCK_ROWS):
            others = unit(lower)
            scores = rows @ others.T
            first, second = np.nonzero(scores >= threshold - ROUNDING)
            if left.start == 0:  # a block with itself: each pair once, no row with itself
                first, second = first[first < second], second[first < second]
            exact = _exact(upper, lower, first, second)
            alike = exact >= np.float32(threshold)
            pairs.add(top.start + first[alike], top.start + left.start + second[alike], exact[alike])
            done += 1
            if progress is not None:
                progress(done, total)
    return pairs.groups(threshold)


class _Pairs:
    """Collects pairs: joined to groups, counted, the most similar kept."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._group = np.arange(rows, dtype=np.int32)  # of each row so far
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
        """The groups of all pairs so far."""
        self._join()
        sizes = np.bincount(self._group, minlength=self._rows)
        members = np.flatnonzero(sizes[self._group] > 1)
        groups, lowest, place, counts = np.unique(
            self._group[members], return_index=True, return_inverse=True, return_counts=True
        )
        largest_first = np.lexsort((lowest, -counts))  # equally large ones by their lowest row
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
        """Union the groups of the paired rows."""
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
    """Cosines of some pairs of two blocks, computed in float64, as float32; 0 for a zero vector."""
    if len(first) * DENSE > len(upper) * len(lower):
        cosines = (exact_units(upper) @ exact_units(lower).T)[first, second]
    else:
        cosines = np.einsum("pd,pd->p", exact_units(upper[first]), exact_units(lower[second]))
    return np.asarray(np.clip(cosines, -1, 1), dtype=np.float32)
