"""Results for a whole corpus: map, near duplicates, clusters, head profiles."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from bertviz_core.attention.results import HeadMeasure
from bertviz_core.sentences.results import MapMethod

ClusterMethod = Literal["HDBSCAN", "k-means"]
CLUSTER_METHODS: tuple[ClusterMethod, ...] = ("k-means", "HDBSCAN")


@dataclass(frozen=True, slots=True, eq=False)
class CorpusMap:
    """Every row of a corpus as a point in a plane."""

    points: Float[np.ndarray, "rows 2"]
    """Coordinates, in the order of the rows."""
    explained: Float[np.ndarray, "2"] | None
    """Share of the variance along each axis, 0 to 1; None for a method whose axes have no such meaning."""
    axes: Float[np.ndarray, "2 dimensions"] | None
    """Directions of the two axes, unit vectors; None for a method that has none."""
    method: MapMethod
    """How the points were placed."""
    fitted: int
    """Rows that the method was fitted on; the others were placed by what it had learned."""
    note: str
    """What the picture shows and what not, one sentence or two."""


@dataclass(frozen=True, slots=True)
class MapWindow:
    """A part of a map."""

    left: float
    """Least first coordinate."""
    right: float
    """Greatest first coordinate."""
    bottom: float
    """Least second coordinate."""
    top: float
    """Greatest second coordinate."""


@dataclass(frozen=True, slots=True, eq=False)
class MapDensity:
    """How many points lie in each cell of a grid over a window of a map."""

    window: MapWindow
    """The part of the map that the grid covers."""
    counts: Int[np.ndarray, "down across"]
    """Points of each cell; the first row is the lowest."""
    total: int
    """Points in the window."""
    values: tuple[str, ...]
    """Values of the column that the cells are coloured by, the most frequent first, the rest as one; () for none."""
    value_counts: Int[np.ndarray, " values"]
    """Points of each value in the window."""
    majority: Int[np.ndarray, "down across"] | None
    """Place of the value that most points of a cell have, the first of equals, -1 for an empty cell; None for none."""


@dataclass(frozen=True, slots=True, eq=False)
class MapPoints:
    """The points in a window of a map, or a sample of them where they are many."""

    window: MapWindow
    """The part of the map."""
    rows: Int[np.ndarray, " points"]
    """Row of each point, ascending."""
    points: Float[np.ndarray, "points 2"]
    """Their coordinates."""
    total: int
    """Points that lie in the window; more than are listed where a sample was drawn."""
    seed: int
    """Seed of the sample."""


@dataclass(frozen=True, slots=True, eq=False)
class DuplicateGroups:
    """Rows that are alike, as groups: two rows of a group are joined by a chain of pairs above the threshold."""

    threshold: float
    """Least cosine of a pair."""
    rows: Int[np.ndarray, " members"]
    """Rows of all groups, one group after the other, the largest first; within a group ascending."""
    starts: Int[np.ndarray, " groups"]
    """Place in `rows` at which each group begins."""
    first: Int[np.ndarray, " pairs"]
    """Lower row of each pair that is listed."""
    second: Int[np.ndarray, " pairs"]
    """Higher row of the pair."""
    scores: Float[np.ndarray, " pairs"]
    """Its cosine; the most alike pair stands first, of equals that of the lower rows."""
    pairs: int
    """Pairs at or above the threshold; more than are listed where there are very many."""
    searched: int
    """Rows that were compared, each with each."""

    @property
    def sizes(self) -> Int[np.ndarray, " groups"]:
        """Rows of every group."""
        return np.diff(np.append(self.starts, len(self.rows)))

    def group(self, place: int) -> Int[np.ndarray, " size"]:
        """The rows of one group."""
        return np.split(self.rows, self.starts[1:])[place]


@dataclass(frozen=True, slots=True, eq=False)
class CorpusClusters:
    """Every row of a corpus in a cluster, or in none."""

    method: ClusterMethod
    """How clusters were found."""
    labels: Int[np.ndarray, " rows"]
    """Cluster of every row, the largest is 0; -1 for a row of none (HDBSCAN)."""
    sizes: Int[np.ndarray, " clusters"]
    """Rows of every cluster."""
    centres: Float[np.ndarray, "clusters dimensions"]
    """Mean direction of every cluster's rows: unit vectors."""
    typical: Int[np.ndarray, "clusters examples"]
    """Rows nearest to the centre, the nearest first; -1 where a cluster has fewer."""
    typical_scores: Float[np.ndarray, "clusters examples"]
    """Cosine of each with the centre; NaN where there is none."""
    fitted: int
    """Rows on which clusters were found; the others went to the nearest centre."""
    seed: int
    """Seed of the sample and of the starts."""
    note: str
    """What the clusters are, one sentence or two."""


@dataclass(frozen=True, slots=True, eq=False)
class HeadProfile:
    """What every head does over some sentences: mean and spread of each measure of attention."""

    name: str
    """The value of the column that these sentences share; "" for all of them."""
    sentences: int
    """How many there are."""
    mean: Float[np.ndarray, "measures layers heads"]
    """Mean over the sentences of each measure, in its own unit."""
    spread: Float[np.ndarray, "measures layers heads"]
    """Standard deviation over the sentences, in the same unit."""


@dataclass(frozen=True, slots=True, eq=False)
class HeadProfiles:
    """What every head does on a sample of a corpus, over all of it and for each value of a column."""

    corpus: str
    """Name of the corpus' folder."""
    model: str
    """Name of the model."""
    revision: str
    """Revision of its files."""
    measures: tuple[HeadMeasure, ...]
    """What is measured, in the order of the profiles' first axis."""
    overall: HeadProfile
    """Over all sentences of the sample."""
    column: str
    """Column of the parts; "" for none."""
    parts: tuple[HeadProfile, ...]
    """One for each value of the column, the most frequent first."""
    rows: Int[np.ndarray, " sentences"]
    """Rows of the sample, ascending."""
    seed: int
    """Seed of the sample."""
    notices: tuple[str, ...]
    """Notices, one sentence each."""
