"""Figures of the same sentences in two models: cosines side by side with their difference, and where they lie."""

from dataclasses import replace
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from bertviz_core.figures.base.axes import (
    HOVERED,
    even_axes,
    number_axis,
    sentence_text,
    shortened_label,
    similarity_colours,
)
from bertviz_core.figures.base.cells import cell_numbers
from bertviz_core.figures.base.marks import add_heading, add_line, add_map, add_points, row_axis
from bertviz_core.figures.base.spec import LYING, STANDING, FigureSpec, figure
from bertviz_core.figures.base.style import TEXT_SIZE, Theme, colour_bar, escape, faint, layout, of_two
from bertviz_core.figures.sentences.similarity import SIZE, name_rows, sentence_names, sentence_row
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.sentences.results import CosineRange, GoldCosines, GoldPairs, SentenceComparison, off_diagonal
from bertviz_core.text import all_of, counted, decimals

ROW, SMALLEST, LARGEST = 34, 120, 420
"""Pixels: height of a sentence's row, minimum and maximum height of a map."""
BETWEEN = 14
"""Pixels between two maps side by side."""
HEADING, BELOW = 30, 40
"""Pixels above a map for its name, and below it for the numbers of the columns."""
NAMES = 0.62
"""Share of the usual room for the sentences beside three maps."""
BIN = 0.05
"""Width of a bar of the distribution."""
SPREAD_HEIGHT = 400
BOTTOM_OF_SHARES, TOP_OF_RANGES = 0.42, 0.2
"""Shares of the height of the plot."""


def compared_maps(comparison: SentenceComparison, title: str, theme: Theme) -> go.Figure:
    """Draw the cosines of both models and their difference on one scale: side by side, or one below the other."""
    count = len(comparison.sentences)
    plot = max(SMALLEST, min(LARGEST, sentence_row(ROW, theme) * count))
    panels = (
        (f"first: {comparison.first}", comparison.first_cosines),
        (f"second: {comparison.second}", comparison.second_cosines),
        ("second − first", comparison.difference),
    )
    figure = go.Figure(layout=layout(theme, escape(title)))
    names_theme = theme if theme.slim else replace(theme, pixels=round(theme.pixels * NAMES))
    names = sentence_names(list(range(1, count + 1)), comparison.sentences, names_theme, plot / count)
    left = name_rows(figure, names, plot)
    high = len(panels) * (plot + HEADING + BELOW) if theme.slim else plot + HEADING + BELOW
    room = theme.pixels - left - (8 if theme.narrow else STANDING + 12)
    width = room if theme.slim else (room - 2 * BETWEEN) / 3
    colours = similarity_colours("cosine", 1.0, theme)
    colours["colorbar"] = colour_bar("cosine", -1.0, 1.0)
    rows, columns = figure.layout.yaxis.to_plotly_json(), number_axis(range(count), round(width))
    columns |= {"range": [-0.5, count - 0.5], "showgrid": False, "tickfont": {"size": SIZE}}
    for place, (name, values) in enumerate(panels):
        across, down = _domains(place, width, room, plot, high, theme)
        number = str(place + 1) if place else ""
        named = {"showgrid": False, "showticklabels": theme.slim or place == 0}
        axes = {f"xaxis{number}": {**columns, "domain": across, "anchor": f"y{number}"}}
        axes[f"yaxis{number}"] = {**rows, "domain": down, "anchor": f"x{number}", **named}
        figure.update_layout(axes)
        _add_map(figure, values, name, (f"x{number}", f"y{number}"), colours, (width, plot))
        add_heading(figure, shortened_label(escape(name), width, TEXT_SIZE), across[0], down[1])
    height = round(high + 56 + (LYING if theme.narrow else 0))
    return figure.update_layout(coloraxis=colours, margin={"b": 8, "r": 8}, height=height)


def _domains(
    place: int, width: float, room: float, plot: float, high: float, theme: Theme
) -> tuple[list[float], list[float]]:
    """Where a map lies in the plot, across and down, as shares of its width and height."""
    if theme.slim:
        top = 1 - (place * (plot + HEADING + BELOW) + HEADING) / high
        return [0.0, 1.0], [max(top - plot / high, 0.0), top]
    start = place * (width + BETWEEN) / room
    return [start, min(start + width / room, 1.0)], [BELOW / high, 1 - HEADING / high]


def _add_map(
    figure: go.Figure,
    values: Float[np.ndarray, "sentences sentences"],
    name: str,
    axes: tuple[str, str],
    colours: dict[str, Any],
    room: tuple[float, float],
) -> None:
    numbers, cells = range(1, len(values) + 1), values.astype(np.float32)
    pairs = [[f"sentences {row} and {column}" for column in numbers] for row in numbers]
    where = {"coloraxis": "coloraxis", "xaxis": axes[0], "yaxis": axes[1]}
    add_map(figure, cells, f"{escape(name)}, %{{customdata}}: %{{z:.4f}}", pairs, **where)
    cell_numbers(figure, cells, ".2f", colours["colorscale"], (-1.0, 1.0), room, axes)


def pair_bars(comparison: SentenceComparison, title: str, theme: Theme) -> go.Figure:
    """Draw the distribution of the cosines of different sentences in both models, above mean and percentiles."""
    figure = go.Figure(layout=layout(theme, escape(title), height=SPREAD_HEIGHT))
    names = tuple(
        escape(f"{side}: {name}") for side, name in (("first", comparison.first), ("second", comparison.second))
    )
    both = off_diagonal(comparison.first_cosines), off_diagonal(comparison.second_cosines)
    low = min(0.0, float(np.floor(min(each.min() for each in both) / BIN) * BIN))
    edges = np.round(np.arange(low, 1 + BIN / 2, BIN), 10)
    for name, values, (colour, dash) in zip(names, both, of_two(theme), strict=True):
        shares = 100 * np.histogram(np.clip(values, low, 1), edges)[0] / len(values)
        outline = np.repeat(edges, 2), np.concatenate(([0], np.repeat(shares, 2), [0]))
        filled = {"name": name, "mode": "lines", "fill": "tozeroy", "fillcolor": faint(colour, 0.25)}
        add_line(figure, *outline, f"{name}: %{{y:.1f}}% of the pairs", colour, 2, dash, **filled)
    ranges = comparison.first_range, comparison.second_range
    for place, (name, one, (colour, _)) in enumerate(zip(names, ranges, of_two(theme), strict=True)):
        ends = {"array": [max(one.high - one.mean, 0)], "arrayminus": [max(one.mean - one.low, 0)]}
        look = {"symbol": ("circle", "diamond-open")[place], "line": {"width": 2.5}}
        named = {"customdata": [f"{name}: {range_words(one)}"], "showlegend": False, "xaxis": "x", "yaxis": "y2"}
        bars = {**ends, "thickness": 2.5, "width": 7, "color": colour}
        add_points(figure, [one.mean], [place], "%{customdata}", 12, colour, look, error_x=bars, **named)
    across = "cosine of two different sentences; dot: mean, bar: 5th to 95th percentile"
    rows = {**row_axis(["first", "second"]), "range": [1.6, -0.6]}
    figure.update_layout(
        xaxis={"title": across, "anchor": "y2", "range": [low - 0.02, 1.02]},
        yaxis={"title": "pairs, %", "rangemode": "tozero", "domain": [BOTTOM_OF_SHARES, 1]},
        yaxis2={**rows, "domain": [0, TOP_OF_RANGES], "anchor": "x"},
    )
    return even_axes(figure, theme)


def range_words(one: CosineRange) -> str:
    """Mean and percentiles in words."""
    return f"mean {decimals(one.mean, 2)}, 5th to 95th percentile {decimals(one.low, 2)} to {decimals(one.high, 2)}"


def _both(comparison: SentenceComparison) -> str:
    return f"{comparison.first} and {comparison.second}"


def pair_frame(sentence_comparison: SentenceComparison) -> "pd.DataFrame":
    """One row per pair of different sentences: their numbers from 1, both cosines, the difference, the sentences."""
    compared = sentence_comparison
    rows, columns = np.triu_indices(len(compared.sentences), 1)
    return pd.DataFrame(
        {
            "one": rows + 1,
            "other": columns + 1,
            "first": compared.first_cosines[rows, columns],
            "second": compared.second_cosines[rows, columns],
            "difference": compared.difference[rows, columns],
            "one sentence": [compared.sentences[place] for place in rows.tolist()],
            "other sentence": [compared.sentences[place] for place in columns.tolist()],
        }
    )


def range_frame(sentence_comparison: SentenceComparison) -> "pd.DataFrame":
    """One row per model: mean, 5th and 95th percentile of the cosines of different sentences."""
    compared = sentence_comparison
    sides = (("first", compared.first, compared.first_range), ("second", compared.second, compared.second_range))
    rows = [(f"{side}: {name}", one.mean, one.low, one.high) for side, name, one in sides]
    return pd.DataFrame(rows, columns=["model", "mean cosine", "5th percentile", "95th percentile"])


@figure("sentences-compared", "sentences_compared", table=pair_frame)
def sentences_compared_figure(sentence_comparison: SentenceComparison) -> FigureSpec:
    """Cosines of sentences in two models (--set other=MODEL)."""
    count = counted(len(sentence_comparison.sentences), "sentence")
    title = f"Cosines of {count} — {_both(sentence_comparison)}"
    alt = f"{title}: two maps and their difference, a row and a column per sentence"
    return FigureSpec.of(title, alt, "", compared_maps, sentence_comparison)


@figure("pair-cosines", "sentences_pair_cosines", table=range_frame)
def pair_cosines_figure(sentence_comparison: SentenceComparison) -> FigureSpec:
    """Where the cosines of all pairs lie in two models (--set other=MODEL)."""
    compared = sentence_comparison
    count = len(off_diagonal(compared.first_cosines))
    title = f"Cosines of {all_of(count, 'pair')} — {_both(compared)}"
    ranges = f"first: {range_words(compared.first_range)}; second: {range_words(compared.second_range)}"
    return FigureSpec.of(title, f"{title}: {ranges}", f"{title}: {ranges}", pair_bars, compared)


HEIGHT, BESIDE = 400, 64
"""Pixels: height of a plot with its axes, and width of the labels beside it."""
GAP = 0.1
"""Share of the figure's length between two plots."""
MOST_OPAQUE, FEW = 0.75, 100
"""Opacity of the points of so few pairs; of more pairs they are fainter."""
LEAST_OPAQUE = 0.25


def gold_scatter(pairs: GoldPairs, title: str, theme: Theme) -> go.Figure:
    """Draw a point per pair: gold similarity across, cosine up; both models on one scale."""
    count = len(pairs.models)
    stacked = theme.slim and count > 1
    figure = go.Figure(layout=layout(theme, escape(title), height=HEIGHT * (count if stacked else 1)))
    lowest = min(0.0, *(float(each.cosines.min()) for each in pairs.models))
    hovers = [
        f"{number}: {sentence_text(one, HOVERED)}<br>{sentence_text(other, HOVERED)}"
        for number, (one, other) in enumerate(zip(pairs.first_sentences, pairs.second_sentences, strict=True), start=1)
    ]
    opacity = max(LEAST_OPAQUE, min(MOST_OPAQUE, MOST_OPAQUE * (FEW / len(pairs.gold)) ** 0.5))
    size = (1 - GAP * (count - 1)) / count
    for place, (each, (colour, _)) in enumerate(zip(pairs.models, of_two(theme), strict=False)):
        number = str(place + 1) if place else ""
        start = place * (size + GAP)
        across, (bottom, top) = [start, start + size], (0.0, 1.0)
        if stacked:
            across, (bottom, top) = [0.0, 1.0], (max(1 - start - size, 0.0), min(1 - start, 1.0))
        named = {"customdata": hovers, "showlegend": False, "xaxis": f"x{number}", "yaxis": f"y{number}"}
        hover = "%{customdata}<br>gold %{x}, cosine %{y:.4f}"
        add_points(figure, pairs.gold, each.cosines, hover, 7, colour, {"opacity": opacity}, **named)
        axes: dict[str, Any] = {
            f"xaxis{number}": {"domain": across, "anchor": f"y{number}", "title": "gold similarity"}
        }
        up = {"domain": [bottom, top], "anchor": f"x{number}", "title": "cosine", "range": [lowest - 0.03, 1.03]}
        figure.update_layout({**axes, f"yaxis{number}": up})
        width = (theme.pixels - BESIDE) * (1 if stacked else size)
        name = shortened_label(escape(_name(pairs, place)), width, TEXT_SIZE - 1)
        add_heading(figure, name, across[0], top, TEXT_SIZE - 1)
    return even_axes(figure, theme).update_layout(margin={"t": 84, "r": 16})


def correlation_words(one: GoldCosines) -> str:
    """Both correlations of a model."""
    numbers = [decimals(each, 3) if np.isfinite(each) else "none" for each in (one.spearman, one.pearson)]
    return f"Spearman {numbers[0]}, Pearson {numbers[1]}"


def _name(pairs: GoldPairs, place: int) -> str:
    one = pairs.models[place]
    side = "" if len(pairs.models) == 1 else f"{('first', 'second')[place]}, "
    return f"{side}{correlation_words(one)}"


def gold_frame(gold_pairs: GoldPairs) -> "pd.DataFrame":
    """One row per pair, the largest rank error of the last model first; numbers of pairs from 1."""
    pairs = gold_pairs
    columns: dict[str, object] = {"pair": np.arange(len(pairs.gold)) + 1, "gold": pairs.gold}
    sides = ("",) if len(pairs.models) == 1 else (" first", " second")
    for side, each in zip(sides, pairs.models, strict=True):
        columns |= {f"cosine{side}": each.cosines, f"rank error{side}": each.rank_errors}
    columns |= {"first sentence": pairs.first_sentences, "second sentence": pairs.second_sentences}
    return pd.DataFrame(columns).iloc[pairs.worst].reset_index(drop=True)


@figure("gold-cosines", "sentences_gold", table=gold_frame)
def gold_cosines_figure(gold_pairs: GoldPairs) -> FigureSpec:
    """Cosine against the gold similarity of pairs (--set other=MODEL for two; texts: S1 S2 SIMILARITY ...)."""
    names = " and ".join(dict.fromkeys(each.model for each in gold_pairs.models))
    title = f"Cosine and gold similarity of {counted(len(gold_pairs.gold), 'pair')} — {names}"
    about = "; ".join(f"{each.model}: {correlation_words(each)}" for each in gold_pairs.models)
    return FigureSpec.of(title, f"{title}: {about}", f"{title}: {about}", gold_scatter, gold_pairs)
