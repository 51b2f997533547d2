"""Figures of a corpus: map, sizes, layers, hits."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Int

from bertviz_core.attention.results import HeadMeasure
from bertviz_core.corpus.analysis.results import (
    CorpusClusters,
    CorpusMap,
    DuplicateGroups,
    HeadProfile,
    HeadProfiles,
    MapDensity,
    NeighbourChanges,
)
from bertviz_core.corpus.results import CorpusHit, CorpusHits
from bertviz_core.figures.base.axes import HOVERED, even_axes, sentence_text, tie_axes
from bertviz_core.figures.base.marks import add_bars
from bertviz_core.figures.base.panels import PairSizes, Panel, head_panels, pair_grid
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import HUES, TEXT_SIZE, THICKNESS, Theme, escape, layout, sequential, tick_words
from bertviz_core.figures.predictions.probes import accuracy_spec
from bertviz_core.figures.sentences.poolings import POOLING_WORDS
from bertviz_core.figures.sentences.similarity import name_rows, sentence_bars, sentence_names, sentence_row
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.predictions.probing.results import ProbeScores
from bertviz_core.predictions.tables import accuracy_table
from bertviz_core.tables.typeset import plain_cell
from bertviz_core.text import counted, quoted

HEIGHT = 560
STEPS = 255
"""Number of shades of a density map: one byte per cell in transfer to the browser."""
CLEAR = 0.88
"""Largest share of the bar at which a tick below its upper end has room."""


def density_map(density: MapDensity, axes: Sequence[str], title: str, theme: Theme) -> go.Figure:
    """Draw the points per cell, coloured by log(1 + points)."""
    figure = go.Figure(layout=layout(theme, escape(title), height=HEIGHT))
    most = int(density.counts.max(initial=0))
    top = float(np.log1p(most)) or 1.0
    shades = np.ceil(np.log1p(density.counts) / top * STEPS).astype(np.uint8)
    usual = (0, 1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000, 100_000, 1_000_000)
    # The tick below the upper end leaves its label room.
    ticks = [*(tick for tick in usual if np.log1p(tick) < CLEAR * top and tick < most), most]
    bar = {"title": {"text": "points in a cell", "side": "right"}, "thickness": THICKNESS}
    bar |= {"tickvals": [float(np.log1p(tick)) / top * STEPS for tick in ticks], "ticktext": tick_words(ticks)}
    scale = {"zmin": 0, "zmax": STEPS, "colorscale": sequential(theme), "colorbar": bar}
    figure.add_heatmap(z=shades, **scale, hoverinfo="skip", **_places(density))
    return _framed(figure, density, axes, theme)


def majority_map(density: MapDensity, column: str, axes: Sequence[str], title: str, theme: Theme) -> go.Figure:
    """Draw the most frequent value in each cell, one colour per value."""
    if density.majority is None:
        raise ValueError("a density without values of a column")
    figure = go.Figure(layout=layout(theme, escape(title), height=HEIGHT))
    hues, empty = value_colours(len(density.values), theme), "rgba(0, 0, 0, 0)"
    for place, (name, hue) in enumerate(zip(density.values, hues, strict=True)):
        mine = density.majority == place
        if mine.any():
            scale = {"zmin": 0, "zmax": 1, "colorscale": [[0, empty], [0.5, empty], [0.5, hue], [1, hue]]}
            cells = {"z": mine.astype(np.uint8), **scale, **_places(density)}
            figure.add_heatmap(**cells, showscale=False, hoverinfo="skip")
        # A legend entry: a heatmap has none.
        mark = {"color": hue, "size": 12, "symbol": "square"}
        words = f"{sentence_text(name, 30)} ({density.value_counts[place]:,})"
        figure.add_scatter(x=[None], y=[None], mode="markers", marker=mark, name=words, hoverinfo="skip")
    figure.update_layout(legend_title_text=sentence_text(column))
    return _framed(figure, density, axes, theme)


def value_colours(count: int, theme: Theme) -> list[str]:
    """Return one colour per value; those beyond the available hues are muted."""
    return [theme.hues[place] if place < len(HUES) else theme.muted for place in range(count)]


def density_frame(map_density: MapDensity) -> "pd.DataFrame":
    """Centre and count of every cell of a map with rows."""
    counts, window = map_density.counts, map_density.window
    high, wide = counts.shape
    down, across = np.nonzero(counts)
    return pd.DataFrame(
        {
            "first axis": window.left + (across + 0.5) * (window.right - window.left) / wide,
            "second axis": window.bottom + (down + 0.5) * (window.top - window.bottom) / high,
            "rows": counts[down, across],
        }
    )


@figure("corpus-map", "corpus_map", table=density_frame)
def corpus_map_figure(corpus_map: CorpusMap, map_density: MapDensity, map_column: str, corpus_name: str) -> FigureSpec:
    """All rows of a corpus in a plane, as density or coloured by a column (FOLDER)."""
    what = f"{map_column} of most rows of each cell" if map_column else "density"
    title = f"Map of {counted(len(corpus_map.points), 'row')}, {what} — corpus {corpus_name}"
    axes, draw = axis_titles(corpus_map), partial(density_map, map_density)
    if map_column:
        draw = partial(majority_map, map_density, map_column)
    cells = int((map_density.counts > 0).sum())
    alt = f"{title}: {map_density.total:,} points in {counted(cells, 'cell')} of a grid"
    caption = f"{title}. {'PCA' if corpus_map.method == 'pca' else 'UMAP'}. {corpus_map.note}"
    return FigureSpec.of(title, alt, caption, draw, axes)


def axis_titles(corpus_map: CorpusMap) -> tuple[str, str]:
    """Return the titles of the two axes."""
    if corpus_map.explained is None:
        return "first axis", "second axis"
    first, second = (f"{share:.1%} of the variance" for share in corpus_map.explained.tolist())
    return f"first component, {first}", f"second component, {second}"


def _places(density: MapDensity) -> dict[str, Any]:
    """Return the position of the first cell and the step to the next."""
    down, across = density.counts.shape
    window = density.window
    dx, dy = (window.right - window.left) / across, (window.top - window.bottom) / down
    return {"x0": window.left + dx / 2, "dx": dx, "y0": window.bottom + dy / 2, "dy": dy}


def _framed(figure: go.Figure, density: MapDensity, axes: Sequence[str], theme: Theme) -> go.Figure:
    window = density.window
    figure.update_xaxes(title=axes[0], range=[window.left, window.right], showgrid=False)
    figure.update_yaxes(title=axes[1], range=[window.bottom, window.top], showgrid=False)
    return tie_axes(even_axes(figure, theme))


SIZES_HEIGHT, ROW, AROUND = 360, 40, 104
"""Pixels: height of the bars of sizes, of one cluster's bar, margins for title and axis around clusters."""
BAR = 0.1
"""Width of a bar among few, as a share of its slot."""
POWERS_FROM, ONE_BY_ONE = 50, 6
"""Number of groups of one size above which the axis is logarithmic; number up to which it has a tick for each."""
DRAWN, FEWEST = 30, 7
"""Maximum number of drawn clusters; the table contains all. Number up to which the picture has one height."""


def group_sizes(sizes: Int[np.ndarray, " groups"], title: str, theme: Theme) -> go.Figure:
    """Draw the number of groups by size; large numbers on a logarithmic axis."""
    figure = go.Figure(layout=layout(theme, escape(title), height=SIZES_HEIGHT))
    known_sizes, groups = np.unique(sizes, return_counts=True)
    named = {"customdata": [counted(count, "group") for count in groups.tolist()]}
    places = {"x": [str(size) for size in known_sizes.tolist()], "width": min(0.7, BAR * len(known_sizes))}
    add_bars(figure, groups.astype(np.int32), "%{customdata} of %{x} rows", theme.hues[0], False, **places, **named)
    figure.update_xaxes(title="rows of a group", type="category", showgrid=False)
    most = int(groups.max(initial=0))
    figure.update_yaxes(title="groups", type="log" if most > POWERS_FROM else "linear", rangemode="tozero")
    if most > POWERS_FROM or most <= ONE_BY_ONE:
        figure.update_yaxes(dtick=1)  # only powers of ten, or only whole groups
    return even_axes(figure, theme)


def cluster_bars(clusters: CorpusClusters, examples: Sequence[str], title: str, theme: Theme) -> go.Figure:
    """Draw the size of every cluster, largest at the top, with its most typical sentence."""
    count = min(len(clusters.sizes), DRAWN)
    sizes, texts = clusters.sizes[:count], list(examples[:count])
    plot = (row := sentence_row(ROW, theme)) * max(count, FEWEST)
    figure = go.Figure(layout=layout(theme, escape(title), height=AROUND + plot))
    words = {"text": [f"{size:,}" for size in sizes.tolist()], "textposition": "outside", "cliponaxis": False}
    words |= {"textfont": {"size": TEXT_SIZE - 1}, "customdata": [sentence_text(text, HOVERED) for text in texts]}
    add_bars(figure, sizes.astype(np.int32), "cluster %{y}, %{x:,} rows: %{customdata}", theme.hues[0], **words)
    figure.update_xaxes(title="rows", range=[0, 1.25 * float(sizes.max(initial=1))])
    name_rows(figure, sentence_names(list(range(count)), texts, theme, row), plot)
    return figure.update_layout(margin={"b": 56, "r": 16}, bargap=0.3)


def sizes_frame(duplicate_groups: DuplicateGroups) -> "pd.DataFrame":
    """Number of groups of each size."""
    sizes, counts = np.unique(duplicate_groups.sizes, return_counts=True)
    return pd.DataFrame({"rows in a group": sizes, "groups": counts})


@figure("corpus-duplicates", "corpus_duplicates", table=sizes_frame)
def duplicates_figure(duplicate_groups: DuplicateGroups, corpus_name: str) -> FigureSpec:
    """Sizes of groups of near duplicates of a corpus (FOLDER)."""
    count, members = len(duplicate_groups.starts), len(duplicate_groups.rows)
    threshold = f"cosine ≥ {duplicate_groups.threshold:g}"
    title = f"Near duplicates, {threshold}: {counted(count, 'group')} — corpus {corpus_name}"
    largest = int(duplicate_groups.sizes.max(initial=0))
    alt = f"{title}: {members:,} of {duplicate_groups.searched:,} rows, {largest:,} in the largest"
    return FigureSpec.of(title, alt, f"{alt}.", group_sizes, duplicate_groups.sizes)


LABELLED = 11
"""Number of bars up to which each has its number above it."""


def kept_bars(changes: NeighbourChanges, title: str, theme: Theme) -> go.Figure:
    """Draw the number of rows that keep 0, 1, ... of their nearest rows."""
    figure = go.Figure(layout=layout(theme, escape(title), height=SIZES_HEIGHT))
    counts = changes.counts
    words = [counted(count, "row") for count in counts.tolist()]
    labels: dict[str, Any] = {
        "text": [f"{count:,}" if count else "" for count in counts.tolist()],
        "textposition": "outside",
    }
    labels |= {"textfont": {"size": TEXT_SIZE - 1}, "cliponaxis": False}
    named = {"x": np.arange(len(counts)), "customdata": words, **(labels if len(counts) <= LABELLED else {})}
    keep = "%{customdata}: %{x} of " + f"{changes.neighbours:,} kept"
    add_bars(figure, counts.astype(np.int32), keep, theme.hues[0], False, **named)
    figure.update_xaxes(title=f"nearest rows kept, of {changes.neighbours:,}", showgrid=False)
    figure.update_xaxes(range=[-0.6, changes.neighbours + 0.6], dtick=1 if len(counts) <= LABELLED else None)
    whole = 1 if counts.max() <= ONE_BY_ONE else None
    figure.update_yaxes(title="rows", range=[0, 1.15 * float(counts.max())], dtick=whole)
    return even_axes(figure, theme).update_layout(bargap=0.2)


def kept_frame(neighbour_changes: NeighbourChanges) -> "pd.DataFrame":
    """Number and share of the rows that keep 0, 1, ... of their nearest rows."""
    counts = neighbour_changes.counts
    return pd.DataFrame({"kept": np.arange(len(counts)), "rows": counts, "share": counts / counts.sum()})


@figure("corpus-neighbours", "corpus_neighbours", table=kept_frame)
def neighbours_figure(neighbour_changes: NeighbourChanges) -> FigureSpec:
    """How many of their nearest rows the rows of a corpus keep under another model (FOLDER)."""
    changes = neighbour_changes
    title = f"Nearest rows kept of {changes.neighbours:,} — {changes.first} and {changes.second}"
    words = f"{changes.changed:,} of {counted(len(changes.rows), 'row')} of {changes.corpus} have other nearest rows"
    alt = f"{title}: {words} than by the vectors of {changes.first}, mean kept {changes.same.mean():.1f}"
    return FigureSpec.of(title, alt, f"{alt}.", kept_bars, changes)


PLACES = ("most typical", "second", "third")
"""Columns of the typical texts of a cluster."""


def clusters_frame(corpus_clusters: CorpusClusters, listed_texts: Sequence[Sequence[str]]) -> "pd.DataFrame":
    """Size, share of all rows, and the most typical texts of each cluster; no texts where there are none."""
    sizes = corpus_clusters.sizes
    share = sizes / len(corpus_clusters.labels)
    frame = pd.DataFrame({"cluster": np.arange(len(sizes)), "rows": sizes, "share": share})
    by_place = zip(*listed_texts, strict=True) if any(map(any, listed_texts)) else ()
    for name, texts in zip(PLACES, by_place, strict=False):
        frame[name] = pd.Series([plain_cell(text) for text in texts])
    return frame


@figure("corpus-clusters", "corpus_clusters", table=clusters_frame)
def clusters_figure(corpus_clusters: CorpusClusters, typical_texts: Sequence[str], corpus_name: str) -> FigureSpec:
    """Clusters of a corpus by size (FOLDER)."""
    rows = f"{len(corpus_clusters.labels):,} rows"
    title = f"{counted(len(corpus_clusters.sizes), 'cluster')} of {rows} — corpus {corpus_name}"
    sizes = ", ".join(f"{size:,}" for size in corpus_clusters.sizes[:DRAWN].tolist())
    alt = f"{title}: {sizes or 'none'} rows"
    return FigureSpec.of(title, alt, f"{title}. {corpus_clusters.note}", cluster_bars, corpus_clusters, typical_texts)


MEASURE_NAMES: dict[HeadMeasure, tuple[str, str]] = {
    "entropy": ("entropy", "nats"),
    "distance": ("distance", "tokens"),
    "first_share": ("share on [CLS]", "share"),
    "separator_share": ("share on [SEP]", "share"),
    "previous_share": ("share on the previous token", "share"),
    "next_share": ("share on the next token", "share"),
    "diagonal_share": ("share on the token itself", "share"),
}
"""Measure of a head -> name and unit."""
SIZES = PairSizes(least=120, edges=110, between=0.14)
FINE = 0.1
"""Maximum of a map below which its cells show three digits."""


def profile_maps(
    profile: HeadProfile, measures: tuple[HeadMeasure, ...], chosen: HeadMeasure, title: str, theme: Theme
) -> go.Figure:
    """Draw mean and standard deviation of a measure over the sentences: two maps of layers by heads, from 0."""
    place, unit = measures.index(chosen), MEASURE_NAMES[chosen][1]
    maps = (("mean", profile.mean[place]), ("standard deviation", profile.spread[place]))
    panels = []
    for name, cells in maps:
        top = float(cells.max(initial=0)) or 1.0
        digits = ".2f" if top >= FINE else ".3f"
        panels.append(
            Panel(f"<b>{name}</b>", name, cells.astype(np.float32), sequential(theme), (0.0, top), unit, digits, unit)
        )
    return head_panels(panels, pair_grid(profile.mean.shape[1], SIZES, theme), title, theme)


MEASURE_LABELS: Mapping[str, str] = {
    measure: f"{name} ({unit})" if unit in ("nats", "tokens") else name
    for measure, (name, unit) in MEASURE_NAMES.items()
}
"""Measure -> its label, with its unit."""


def profiles_frame(head_profiles: HeadProfiles) -> "pd.DataFrame":
    """A row for every head of every part: mean and spread of each measure."""
    frames = []
    for part in (head_profiles.overall, *head_profiles.parts):
        layers, heads = part.mean.shape[1:]
        columns: dict[str, object] = {
            "part": part.name or "all",
            "sentences": part.sentences,
            "layer": np.repeat(np.arange(layers), heads),
            "head": np.tile(np.arange(heads), layers),
        }
        for place, measure in enumerate(head_profiles.measures):
            columns[MEASURE_LABELS[measure]] = part.mean[place].ravel().astype(float)
            columns[f"{MEASURE_LABELS[measure]}, spread"] = part.spread[place].ravel().astype(float)
        frames.append(pd.DataFrame(columns))
    return pd.concat(frames, ignore_index=True)


@figure("corpus-heads", "corpus_heads", table=profiles_frame)
def profiles_figure(head_profiles: HeadProfiles, profile_part: HeadProfile, profile_measure: HeadMeasure) -> FigureSpec:
    """What every head does over sentences of a corpus (FOLDER; --set measure=entropy)."""
    name, unit = MEASURE_NAMES[profile_measure]
    part = f", {head_profiles.column}: {profile_part.name}" if profile_part.name else ""
    title = f"Attention {name} of every head{part} — {head_profiles.model}"
    mean = profile_part.mean[head_profiles.measures.index(profile_measure)]
    layer, head = (int(place) for place in np.unravel_index(mean.argmax(), mean.shape))
    alt = f"{title}: largest mean {float(mean.max()):.3f} {unit} in layer {layer}, head {head}"
    caption = (
        f"{title}. Mean and standard deviation over {counted(profile_part.sentences, 'sentence')} of "
        f"{head_profiles.corpus}, drawn by seed {head_profiles.seed}; raw attention, which is not importance."
    )
    return FigureSpec.of(title, alt, caption, profile_maps, profile_part, head_profiles.measures, profile_measure)


def corpus_accuracies(corpus_probe_scores: ProbeScores) -> "pd.DataFrame":
    """The scores of the probes by hidden state."""
    return accuracy_table(corpus_probe_scores)


@figure(
    "corpus-probe",
    "corpus_probe",
    "accuracy of a linear probe on every layer, labels from a column of a corpus (FOLDER; --set probe_labels=COLUMN)",
    table=corpus_accuracies,
)
def corpus_probe_figure(corpus_probe_scores: ProbeScores, best_layer: int) -> FigureSpec:
    """Plot probes for a column's values by layer, beside baseline and control task."""
    scores = corpus_probe_scores
    title = f"Which layer tells the {len(scores.classes)} values of {scores.texts} apart? — {scores.model}"
    texts = f"linear probes on {int(scores.counts.sum()):,} texts"
    probes = f"{POOLING_WORDS[scores.pooling].capitalize()} pooling, {texts}"
    return accuracy_spec(scores, best_layer, title, "value", probes)


HITS_DRAWN = 25
"""Maximum number of drawn hits; the table contains all."""
LONGEST_QUERY = 40
"""Maximum length of the query in the title in characters; the caption contains more."""


def hit_bars(corpus_hits: CorpusHits, title: str, theme: Theme) -> go.Figure:
    """Draw one bar per hit, nearest at the top, with its text and row number."""
    hits = corpus_hits.hits[:HITS_DRAWN]
    scores = np.array([hit.score for hit in hits], dtype=np.float32)
    names = [hit.row for hit in hits], [_words(hit) for hit in hits]
    return sentence_bars(scores, *names, "cosine with the query", title, theme)


def hits_frame(corpus_hits: CorpusHits) -> "pd.DataFrame":
    """Row, cosine, text and the user's columns of every hit."""
    hits = corpus_hits.hits
    frame = pd.DataFrame({"row": [hit.row for hit in hits], "cosine": [hit.score for hit in hits]})
    if any(hit.text is not None for hit in hits):
        frame["text"] = pd.Series([plain_cell(hit.text) for hit in hits])
    for name in hits[0].columns if hits else ():
        head = name if name not in frame else f"{name} (of the corpus)"
        frame[head] = pd.Series([plain_cell(hit.columns[name]) for hit in hits])
    return frame


@figure("corpus-search", "corpus_search", table=hits_frame)
def hits_figure(corpus_hits: CorpusHits) -> FigureSpec:
    """Rows of a corpus nearest to a query (FOLDER 'TEXT')."""
    near = quoted(corpus_hits.query, LONGEST_QUERY)
    title = f"Nearest to {near} among {counted(corpus_hits.searched, 'row')} — corpus {corpus_hits.corpus}"
    listed = ", ".join(f"row {hit.row} {hit.score:.4f}" for hit in corpus_hits.hits[:HITS_DRAWN]) or "none"
    way = "Every row compared" if corpus_hits.recall is None else f"By an index, recall {corpus_hits.recall:.1%}"
    whole = quoted(corpus_hits.query, 200)
    where = f" Only rows with {corpus_hits.where}." if corpus_hits.where else ""
    caption = f"{title}. {'' if whole == near else f'Query: {whole}. '}{way}.{where}"
    return FigureSpec.of(title, f"{title}: {listed}", caption, hit_bars, corpus_hits)


def _words(hit: CorpusHit) -> str:
    """Return the label of a hit: its text, or its columns if the corpus stores none."""
    if hit.text is not None:
        return hit.text
    return ", ".join(f"{name}: {value}" for name, value in hit.columns.items()) or "no text kept"
