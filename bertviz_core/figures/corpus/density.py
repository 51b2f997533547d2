"""Draw a map of very many points: counts per cell, or the most frequent value of a column."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import plotly.graph_objects as go

from bertviz_core.corpus.analysis.results import CorpusMap, MapDensity
from bertviz_core.figures.base.axes import even_axes, sentence_text, tie_axes
from bertviz_core.figures.base.colour_bars import THICKNESS, tick_words
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import HUES, Theme, escape, layout, sequential
from bertviz_core.text import counted

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
    bar = {
        "title": {"text": "points in a cell", "side": "right"},
        "thickness": THICKNESS,
        "tickvals": [float(np.log1p(tick)) / top * STEPS for tick in ticks],
        "ticktext": tick_words(ticks),
    }
    figure.add_heatmap(
        z=shades, zmin=0, zmax=STEPS, colorscale=sequential(theme), colorbar=bar, hoverinfo="skip", **_places(density)
    )
    return _framed(figure, density, axes, theme)


def majority_map(density: MapDensity, column: str, axes: Sequence[str], title: str, theme: Theme) -> go.Figure:
    """Draw the most frequent value in each cell, one colour per value.

    Args:
        density: counts of a window with the values of a column.
        column: name of the column.
        axes: titles of the two axes.
        title: title of the figure.
        theme: theme of the figure.

    Raises:
        ValueError: the density was counted without a column.
    """
    if density.majority is None:
        raise ValueError("a density without values of a column")
    figure = go.Figure(layout=layout(theme, escape(title), height=HEIGHT))
    hues = value_colours(len(density.values), theme)
    for place, (name, hue) in enumerate(zip(density.values, hues, strict=True)):
        mine = density.majority == place
        if mine.any():
            figure.add_heatmap(
                z=mine.astype(np.uint8),
                zmin=0,
                zmax=1,
                colorscale=[[0, "rgba(0, 0, 0, 0)"], [0.5, "rgba(0, 0, 0, 0)"], [0.5, hue], [1, hue]],
                showscale=False,
                hoverinfo="skip",
                **_places(density),
            )
        figure.add_scatter(  # legend entries: a heatmap has none
            x=[None],
            y=[None],
            mode="markers",
            marker={"color": hue, "size": 12, "symbol": "square"},
            name=f"{sentence_text(name, 30)} ({density.value_counts[place]:,})",
            hoverinfo="skip",
        )
    figure.update_layout(legend_title_text=sentence_text(column))
    return _framed(figure, density, axes, theme)


def value_colours(count: int, theme: Theme) -> list[str]:
    """Return one colour per value; those beyond the available hues are muted."""
    return [HUES[place] if place < len(HUES) else theme.muted for place in range(count)]


@figure("corpus-map", "corpus_map", "all rows of a corpus in a plane, as density or coloured by a column (FOLDER)")
def corpus_map_figure(corpus_map: CorpusMap, map_density: MapDensity, map_column: str, corpus_name: str) -> FigureSpec:
    """Plot the density of a corpus map, or of the most frequent value of a column."""
    what = f"{map_column} of most rows of each cell" if map_column else "density"
    title = f"Map of {counted(len(corpus_map.points), 'row')}, {what} — {corpus_name}"
    axes, draw = axis_titles(corpus_map), partial(density_map, map_density)
    if map_column:
        draw = partial(majority_map, map_density, map_column)
    cells = int((map_density.counts > 0).sum())
    alt = f"{title}: {map_density.total:,} points in {counted(cells, 'cell')} of a grid"
    caption = f"{title}. {'PCA' if corpus_map.method == 'pca' else 'UMAP'}. {corpus_map.note}"
    return FigureSpec(title, alt, partial(draw, axes, title), caption)


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
