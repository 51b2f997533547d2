"""Results for a whole corpus: map, near duplicates, clusters, head profiles."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from bertviz_core.attention.results import HeadMeasure
from bertviz_core.sentences.results import MapMethod
from bertviz_core.trace.results import Noticed

ClusterMethod = Literal["HDBSCAN", "k-means"]
CLUSTER_METHODS: tuple[ClusterMethod, ...] = ("k-means", "HDBSCAN")


@dataclass(frozen=True, slots=True, eq=False)
class CorpusMap:
    """Every row of a corpus as a point in a plane."""

    points: Float[np.ndarray, "rows 2"]
    """Coordinates, in the order of the rows."""
    explained: Float[np.ndarray, "2"] | None
    """Share of the variance along each axis, 0 to 1; None if the method has no such shares."""
    axes: Float[np.ndarray, "2 dimensions"] | None
    """Directions of the two axes, unit vectors; None if the method has none."""
    method: MapMethod
    fitted: int
    """Number of fitted rows; the others were transformed by the fitted method."""
    note: str
    """Explanation of the map, one or two sentences."""


@dataclass(frozen=True, slots=True)
class MapWindow:
    """A rectangular part of a map."""

    left: float
    right: float
    bottom: float
    top: float


@dataclass(frozen=True, slots=True, eq=False)
class MapDensity:
    """Counts of points in each cell of a grid over a window of a map."""

    window: MapWindow
    counts: Int[np.ndarray, "down across"]
    """Number of points of each cell; the first row is the lowest."""
    total: int
    values: tuple[str, ...]
    """Values of the colour column, most frequent first, the rest combined; () for none."""
    value_counts: Int[np.ndarray, " values"]
    """Number of points of each value in the window."""
    majority: Int[np.ndarray, "down across"] | None
    """Index of the most frequent value of each cell, the first of equals, -1 for an empty cell; None without a
    column."""


@dataclass(frozen=True, slots=True, eq=False)
class MapPoints:
    """Points in a window of a map, or a sample of them."""

    window: MapWindow
    rows: Int[np.ndarray, " points"]
    """Row of each point, ascending."""
    points: Float[np.ndarray, "points 2"]
    total: int
    """Number of points in the window, which may exceed the listed sample."""
    seed: int
    """Seed of the sample."""


@dataclass(frozen=True, slots=True, eq=False)
class DuplicateGroups:
    """Groups of similar rows: two rows of a group are connected by pairs above the threshold."""

    threshold: float
    """Minimum cosine of a pair."""
    rows: Int[np.ndarray, " members"]
    """Rows of all groups, one group after another, the largest first; ascending within a group."""
    starts: Int[np.ndarray, " groups"]
    """Index in `rows` at which each group begins."""
    first: Int[np.ndarray, " pairs"]
    """Lower row of each listed pair."""
    second: Int[np.ndarray, " pairs"]
    """Higher row of each listed pair."""
    scores: Float[np.ndarray, " pairs"]
    """Cosine of each pair, descending; ties by the lower rows."""
    pairs: int
    """Number of pairs at or above the threshold, which may exceed the listed pairs."""
    searched: int
    """Number of rows compared with each other."""

    @property
    def sizes(self) -> Int[np.ndarray, " groups"]:
        """Number of rows of every group."""
        return np.diff(np.append(self.starts, len(self.rows)))

    def group(self, place: int) -> Int[np.ndarray, " size"]:
        """Return the rows of one group."""
        return np.split(self.rows, self.starts[1:])[place]


@dataclass(frozen=True, slots=True, eq=False)
class CorpusClusters:
    """Assignment of every row of a corpus to a cluster, or to none."""

    method: ClusterMethod
    labels: Int[np.ndarray, " rows"]
    """Cluster of every row, 0 for the largest; -1 for noise (HDBSCAN)."""
    sizes: Int[np.ndarray, " clusters"]
    centres: Float[np.ndarray, "clusters dimensions"]
    """Mean direction of every cluster's fitted rows, unit vectors."""
    typical: Int[np.ndarray, "clusters examples"]
    """Rows nearest to the centre, nearest first; -1 if a cluster has fewer."""
    typical_scores: Float[np.ndarray, "clusters examples"]
    """Cosine of each with the centre; NaN if missing."""
    fitted: int
    """Number of fitted rows; the others were assigned to the nearest centre."""
    seed: int
    """Seed of the sample and of the starts."""
    note: str
    """Explanation of the clusters, one or two sentences."""


@dataclass(frozen=True, slots=True, eq=False)
class HeadProfile:
    """Mean and standard deviation of each measure of every head's attention over some sentences."""

    name: str
    """Column value of these sentences; "" for all sentences."""
    sentences: int
    mean: Float[np.ndarray, "measures layers heads"]
    """Mean of each measure over the sentences, in its own unit."""
    spread: Float[np.ndarray, "measures layers heads"]
    """Standard deviation over the sentences, in the same unit."""


@dataclass(frozen=True, slots=True, eq=False)
class HeadProfiles(Noticed):
    """Profiles of every head on a sample of a corpus, over all of it and for each value of a column."""

    corpus: str
    """Name of the corpus' folder."""
    model: str
    revision: str
    measures: tuple[HeadMeasure, ...]
    """Measures, in the order of the profiles' first axis."""
    overall: HeadProfile
    column: str
    """Column of the parts; "" for none."""
    parts: tuple[HeadProfile, ...]
    """One for each value of the column, the most frequent first."""
    rows: Int[np.ndarray, " sentences"]
    """Rows of the sample, ascending."""
    seed: int
    """Seed of the sample."""


@dataclass(frozen=True, slots=True, eq=False)
class NeighbourChanges(Noticed):
    """The nearest rows of some rows of a corpus by its vectors, and by those of another model."""

    corpus: str
    """Name of the corpus' folder."""
    first: str
    """Name of the model of the stored vectors."""
    second: str
    """Name of the other model."""
    total: int
    """Number of rows of the corpus, of which the compared ones may be a part."""
    neighbours: int
    """Number of nearest rows that are compared."""
    rows: Int[np.ndarray, " compared"]
    """Row number of each compared row, ascending; neighbours are sought among these rows."""
    texts: tuple[str, ...]
    """Text of each compared row."""
    first_nearest: Int[np.ndarray, "compared neighbours"]
    """Index in `rows` of the nearest other rows by the stored vectors, nearest first, ties by row."""
    first_cosines: Float[np.ndarray, "compared neighbours"]
    """Their cosines."""
    second_nearest: Int[np.ndarray, "compared neighbours"]
    """Index in `rows` of the nearest other rows by the other model."""
    second_cosines: Float[np.ndarray, "compared neighbours"]
    """Their cosines."""
    same: Int[np.ndarray, " compared"]
    """Number of the nearest rows that are the same; one that is as near as another, up to rounding, counts as kept."""

    @property
    def changed(self) -> int:
        """Number of rows that have other nearest rows."""
        return int((self.same < self.neighbours).sum())

    @property
    def counts(self) -> Int[np.ndarray, " numbers"]:
        """Number of rows that keep 0, 1, ... of their nearest rows."""
        return np.bincount(self.same, minlength=self.neighbours + 1)

    @property
    def most_changed(self) -> Int[np.ndarray, " changed"]:
        """Indices of the rows with other nearest rows, fewest kept first, ties by row."""
        order = np.argsort(self.same, kind="stable")
        return order[: self.changed]
