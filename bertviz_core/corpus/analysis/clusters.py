"""Clusters of a corpus, and how dense its map is."""

import math
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from bertviz_core.corpus.analysis.duplicates import ColumnValues
from bertviz_core.corpus.analysis.results import ClusterMethod, CorpusClusters, MapDensity, MapPoints, MapWindow
from bertviz_core.corpus.analysis.row_samples import blocks, sampled_rows
from bertviz_core.errors import CorpusError, Progress
from bertviz_core.hidden_states.geometry import inside_polygon, unit
from bertviz_core.lazy_imports import optional
from bertviz_core.sentences.store.vectors import Vectors

MAX_FITTED: dict[ClusterMethod, int] = {"k-means": 50_000, "HDBSCAN": 5_000}
"""Maximum number of rows for clustering: k-means takes some seconds, HDBSCAN, with quadratic time, half a minute."""
MAX_CLUSTERS, FEW_CLUSTERS = 200, 10
"""Maximum and default number of k-means clusters."""
FEWEST_ROWS, MOST_LEAST = (5, 20), 100
"""Bounds of the default minimum cluster size of HDBSCAN, and the largest that is offered."""
STARTS = 3
"""Number of random starts of k-means; the best is used."""
EXAMPLES = 5
"""Number of typical rows listed per cluster."""
K_MEANS_NOTE = "k-means puts every row into one of {count} clusters, even if the rows do not form that many groups."
FEWER_NOTE = (
    "There are {count} clusters instead of the {requested} that were requested: the rows have no more directions."
)
HDBSCAN_NOTE = (
    "HDBSCAN (Campello et al. 2013) finds dense groups of at least {least} rows; the rest, {rest:.1%}, is in none."
)
SAMPLE_NOTE = (
    "Clusters were found on {fitted:,} of {rows:,} rows, drawn by seed {seed}; the others went to the nearest "
    "centre{far}."
)
FAR_NOTE = ", or to none where they are further from it than any row it was found on"


def fewest_rows(rows: int) -> int:
    """Default minimum cluster size of HDBSCAN: one in 50 rows, but 5, as in scikit-learn, for few of them."""
    return min(max(rows // 50, FEWEST_ROWS[0]), FEWEST_ROWS[1])


def corpus_clusters(
    vectors: Float[Vectors, "rows dimensions"],
    method: ClusterMethod = "k-means",
    count: int = FEW_CLUSTERS,
    least: int = FEWEST_ROWS[1],
    seed: int = 0,
    progress: Progress | None = None,
    on_partial: Callable[[CorpusClusters], None] | None = None,
) -> CorpusClusters:
    """Assign every row to a cluster of similar directions, the largest cluster first.

    Vectors are normalised to unit length, so that Euclidean distances order pairs like cosines. A centre is the mean
    direction of the fitted rows of its cluster.

    Args:
        method: clustering method.
        count: number of k-means clusters.
        least: minimum cluster size of HDBSCAN.
        seed: seed of the sample and of the starts of k-means.
        progress: called as progress(rows done, rows) during the assignment; may raise to cancel.
        on_partial: called with the fitted rows in clusters, and the others in none, each time that a start of k-means
            but the last is the best so far; may raise to cancel.
    """
    rows = len(vectors)
    if rows < 2:
        raise CorpusError(f"Clusters need at least two rows, and this corpus has {rows}.")
    number, most = (count, MAX_CLUSTERS) if method == "k-means" else (least, MAX_FITTED["HDBSCAN"])
    if not 2 <= number <= min(rows, most):
        what = "clusters" if method == "k-means" else "rows as the least of a cluster"
        raise CorpusError(f"{number:,} {what} were requested; give 2 to {min(rows, most):,} here.")
    if progress is not None:
        progress(0, rows)
    sample = sampled_rows(rows, MAX_FITTED[method], seed)
    ((_, fitted_on),) = blocks(vectors[sample], len(sample))
    fitted_on = unit(fitted_on)

    def grouped(fitted_labels: Int[np.ndarray, " sample"], others: bool) -> CorpusClusters:
        """The clusters of the fitted rows, with the other rows placed among them or in none."""
        centres = _centres(fitted_on, fitted_labels)
        fitted_scores = _own_scores(fitted_on, fitted_labels, centres)
        labels, scores = np.full(rows, -1, dtype=np.int32), np.zeros(rows, dtype=np.float32)
        if others:
            reach = np.full(len(centres), -np.inf if method == "k-means" else np.inf, dtype=np.float32)
            np.minimum.at(reach, fitted_labels[fitted_labels >= 0], fitted_scores[fitted_labels >= 0])
            labels, scores = _nearest(vectors, centres, reach, progress)
        labels[sample], scores[sample] = fitted_labels, fitted_scores
        note = _note(method, labels, len(centres), len(sample), number, seed)
        return _ordered(labels, scores, centres, method, seed, note)

    if method == "HDBSCAN":
        return grouped(_hdbscan(fitted_on, least), True)

    def on_better(labels: Int[np.ndarray, " sample"]) -> None:
        if on_partial is not None:
            on_partial(grouped(labels, False))

    return grouped(_k_means(fitted_on, count, seed, on_better), True)


def _nearest(
    vectors: Float[Vectors, "rows dimensions"],
    centres: Float[np.ndarray, "clusters dimensions"],
    reach: Float[np.ndarray, " clusters"],
    progress: Progress | None,
) -> tuple[Int[np.ndarray, " rows"], Float[np.ndarray, " rows"]]:
    """The nearest centre of every row, -1 where the cosine is below the reach of the centre, and the cosines."""
    labels, scores = np.full(len(vectors), -1, dtype=np.int32), np.zeros(len(vectors), dtype=np.float32)
    for place, block in blocks(vectors):
        if len(centres):
            cosines = unit(block) @ centres.T
            nearest = cosines.argmax(axis=1)
            scores[place] = cosines[np.arange(len(block)), nearest]
            labels[place] = np.where(scores[place] < reach[nearest], -1, nearest)
        if progress is not None:
            progress(place.stop, len(vectors))
    return labels, scores


def _k_means(
    units: Float[np.ndarray, "sample dimensions"],
    count: int,
    seed: int,
    on_better: Callable[[Int[np.ndarray, " sample"]], None],
) -> Int[np.ndarray, " sample"]:
    """Label rows by k-means (Lloyd), the best of several starts: those of scikit-learn with this seed."""
    with optional("corpus", "scikit-learn", "Clustering a corpus"):
        from sklearn.cluster import KMeans
        from sklearn.exceptions import ConvergenceWarning

    drawn, least, best = np.random.RandomState(seed), math.inf, np.zeros(0, dtype=np.int32)
    for start in range(STARTS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than clusters: the note says so
            fitted = KMeans(count, n_init=1, random_state=drawn).fit(units)
        if fitted.inertia_ < least:
            least, best = fitted.inertia_, fitted.labels_
            if start + 1 < STARTS:
                on_better(best)
    return best


def _hdbscan(units: Float[np.ndarray, "sample dimensions"], least: int) -> Int[np.ndarray, " sample"]:
    """Label rows by HDBSCAN; -1 for noise."""
    with optional("corpus", "scikit-learn", "Clustering a corpus"):
        from sklearn.cluster import HDBSCAN

    labels: np.ndarray = HDBSCAN(min_cluster_size=least, copy=True).fit_predict(units)
    return labels


def _centres(
    units: Float[np.ndarray, "sample dimensions"], labels: Int[np.ndarray, " sample"]
) -> Float[np.ndarray, "clusters dimensions"]:
    """Return the mean direction of every cluster's rows."""
    count = int(labels.max(initial=-1)) + 1
    if not count:
        return np.zeros((0, units.shape[1]), dtype=np.float32)
    return unit(np.stack([units[labels == cluster].mean(axis=0) for cluster in range(count)]))


def _own_scores(
    units: Float[np.ndarray, "sample dimensions"],
    labels: Int[np.ndarray, " sample"],
    centres: Float[np.ndarray, "clusters dimensions"],
) -> Float[np.ndarray, " sample"]:
    """Return the cosine of every row with its own centre; 0 for noise."""
    if not len(centres):
        return np.zeros(len(labels), dtype=np.float32)
    scores = np.einsum("nd,nd->n", units, centres[labels])
    return np.asarray(np.where(labels >= 0, scores, 0), dtype=np.float32)


def _ordered(
    labels: Int[np.ndarray, " rows"],
    scores: Float[np.ndarray, " rows"],
    centres: Float[np.ndarray, "clusters dimensions"],
    method: ClusterMethod,
    seed: int,
    note: "_Note",
) -> CorpusClusters:
    """Sort clusters by descending size, with the rows nearest to each centre."""
    sizes = np.bincount(labels[labels >= 0], minlength=len(centres))
    order = np.argsort(-sizes, kind="stable")
    rank = np.full(len(centres) + 1, -1, dtype=np.int32)
    rank[order] = np.arange(len(centres))
    labels, centres, sizes = rank[labels], centres[order], sizes[order]
    typical = np.full((len(centres), EXAMPLES), -1, dtype=np.int64)
    typical_scores = np.full((len(centres), EXAMPLES), np.nan, dtype=np.float32)
    nearest_first = np.lexsort((np.arange(len(labels)), -scores, labels))
    starts = np.searchsorted(labels[nearest_first], np.arange(len(centres)))
    for cluster, (start, size) in enumerate(zip(starts.tolist(), sizes.tolist(), strict=True)):
        rows = nearest_first[start : start + min(size, EXAMPLES)]
        typical[cluster, : len(rows)], typical_scores[cluster, : len(rows)] = rows, scores[rows]
    return CorpusClusters(method, labels, sizes, centres, typical, typical_scores, note.fitted, seed, note.words)


class _Note(NamedTuple):
    """Notes on the clustering."""

    fitted: int
    """Number of fitted rows."""
    words: str
    """Explanation of the clusters."""


def _note(
    method: ClusterMethod, labels: Int[np.ndarray, " rows"], count: int, fitted: int, number: int, seed: int
) -> _Note:
    """Explain clusters; `number` is that of the requested clusters, or the least of rows for HDBSCAN."""
    words = K_MEANS_NOTE.format(count=count)
    if method == "HDBSCAN":
        words = HDBSCAN_NOTE.format(least=number, rest=float((labels < 0).mean()))
    elif count < number:
        words = f"{words} {FEWER_NOTE.format(requested=number, count=count)}"
    if fitted < len(labels):
        far = FAR_NOTE if method == "HDBSCAN" else ""
        words = f"{words} {SAMPLE_NOTE.format(fitted=fitted, rows=len(labels), seed=seed, far=far)}"
    return _Note(fitted, words)


LEAST, MOST = 38, 253
"""Minimum and maximum number of cells along a square window: two or three pixels per cell for many points."""
STRETCHED = 4.0
"""Aspect ratio of a window from which on cells are not square."""
MAX_CELLS = 250_000
"""Maximum number of cells: their counts and majorities take 1.3 MB in transfer to a browser."""
BLOCK_ROWS = 1_048_576
"""Number of points counted at once: 45 MB, for any number of points."""
MAX_POINTS = 20_000
"""Maximum number of individually listed points."""
MARGIN = 0.02
"""Margin around the outermost points, as a share of width and height."""


def whole_window(points: Float[np.ndarray, "rows 2"]) -> MapWindow:
    """Return the window of all points with a margin; one unit wide if they all coincide."""
    if not len(points):
        return MapWindow(-1.0, 1.0, -1.0, 1.0)
    low, high = points.min(axis=0).astype(np.float64), points.max(axis=0).astype(np.float64)
    margin = np.where(high > low, MARGIN * (high - low), 0.5)
    (left, bottom), (right, top) = (low - margin).tolist(), (high + margin).tolist()
    return MapWindow(left, right, bottom, top)


def map_density(
    points: Float[np.ndarray, "rows 2"],
    window: MapWindow,
    values: ColumnValues | None = None,
    across: int = 0,
    down: int = 0,
) -> MapDensity:
    """Count the points in each cell of a window, and find the most frequent value there.

    A cell includes its left and lower edge; the last of a row or column also its outer edge, so that the counts sum to
    the points in the window. Points are counted block by block, so that memory does not grow with them.

    Args:
        window: the part of the map to cover.
        values: value of a column for each point; None for none.
        across: number of cells horizontally; 0 for square cells that suit the number of points.
        down: number of cells vertically; 0 for square cells that suit the number of points.
    """
    suited = _suited(len(points), window)
    across, down = across or suited[0], down or suited[1]
    if across < 1 or down < 1 or across * down > MAX_CELLS:
        raise ValueError(f"a grid of {across} times {down} cells")
    names: tuple[str, ...] = () if values is None else values.names
    of_values = np.zeros((max(len(names), 1), down * across), dtype=np.int64)
    for start in range(0, max(len(points), 1), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        inside = rows_inside(points[block], window)
        cells = _cells(points[block][inside], window, across, down)
        if values is not None:
            cells += values.codes[block][inside].astype(np.int64) * (across * down)
        of_values += np.bincount(cells, minlength=of_values.size).reshape(of_values.shape)
    counts = of_values.sum(axis=0).astype(np.int32).reshape(down, across)
    if values is None:
        return MapDensity(window, counts, int(counts.sum()), (), np.zeros(0, dtype=np.int64), None)
    majority = np.where(counts > 0, of_values.argmax(axis=0).reshape(down, across), -1).astype(np.int8)
    return MapDensity(window, counts, int(counts.sum()), names, of_values.sum(axis=1), majority)


def map_points(
    points: Float[np.ndarray, "rows 2"], window: MapWindow, most: int = MAX_POINTS, seed: int = 0
) -> MapPoints:
    """Return the points in a window; a random sample if there are more than `most`."""
    inside = rows_inside(points, window)
    rows = inside[sampled_rows(len(inside), most, seed)]
    return MapPoints(window, rows, points[rows], len(inside), seed)


def rows_inside(points: Float[np.ndarray, "rows 2"], window: MapWindow) -> Int[np.ndarray, " inside"]:
    """Return the rows with points in a window, edges included, ascending."""
    if not (window.left < window.right and window.bottom < window.top):
        raise ValueError(f"a window without an area: {window}")
    across, down = points[:, 0], points[:, 1]
    inside: np.ndarray = np.flatnonzero(
        (across >= window.left) & (across <= window.right) & (down >= window.bottom) & (down <= window.top)
    )
    return inside


def rows_in_outline(
    points: Float[np.ndarray, "rows 2"], outline: Float[np.ndarray, "corners 2"]
) -> Int[np.ndarray, " inside"]:
    """Return the rows with points inside a polygon, ascending, by the even-odd rule.

    Args:
        outline: corners of the polygon in order; the last is joined to the first.
    """
    if len(outline) < 3:
        raise ValueError(f"an outline of {len(outline)} corners")
    corners = outline.astype(np.float64)
    low, high = corners.min(axis=0).tolist(), corners.max(axis=0).tolist()
    near = rows_inside(points, MapWindow(low[0], high[0], low[1], high[1]))
    inside: np.ndarray = near[inside_polygon(points[near], corners)]
    return inside


def _suited(count: int, window: MapWindow) -> tuple[int, int]:
    """Return the numbers of square cells across and down; fewer points get larger cells."""
    side = min(max(1.9 * math.sqrt(count), LEAST), MOST)
    height = window.top - window.bottom
    shape = min(max((window.right - window.left) / height, 1 / STRETCHED), STRETCHED) if height > 0 else 1.0
    return round(side * math.sqrt(shape)), round(side / math.sqrt(shape))


def _cells(
    points: Float[np.ndarray, "inside 2"], window: MapWindow, across: int, down: int
) -> Int[np.ndarray, " inside"]:
    """Return the number of the cell of each point in a window, row by row."""
    cells: np.ndarray = _places(points[:, 1], window.bottom, window.top, down) * across
    cells += _places(points[:, 0], window.left, window.right, across)
    return cells


def _places(numbers: Float[np.ndarray, " inside"], low: float, high: float, cells: int) -> Int[np.ndarray, " inside"]:
    """Return the cell of each number between low and high."""
    shares = (numbers.astype(np.float64) - low) / (high - low)
    places: np.ndarray = np.minimum((shares * cells).astype(np.int64), cells - 1)
    return places
