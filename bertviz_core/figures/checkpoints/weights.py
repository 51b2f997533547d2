"""A number of every tensor as a map of places in a layer by layers, and the values of one tensor as a histogram."""

import math
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from bertviz_core.checkpoints.results import CheckpointStatistics, Histogram, TensorGrid, TensorStatistics
from bertviz_core.figures.base.axes import even_axes
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import TEXT_SIZE, Theme, diverging, escape, layout, sequential

MOST_LETTERS = 34
SAY_LITTLE = ("dense", "LayerNorm", "layer_norm", "norm", "linear", "decoder", "0", "1", "2")
"""Modules whose name says little without that of the module around them."""


def short_names(names: Sequence[str]) -> list[str]:
    """The ends of dotted names: a module that says something, and as many more as keep them apart."""
    split = [name.split(".") for name in names]
    lengths = [min(3 if parts[-2:][0] in SAY_LITTLE else 2, len(parts)) for parts in split]
    while True:
        ends = [".".join(parts[-length:]) for parts, length in zip(split, lengths, strict=True)]
        times = Counter(ends)
        longer = [i for i, end in enumerate(ends) if times[end] > 1 and lengths[i] < len(split[i])]
        if not longer:
            return ends
        for index in longer:
            lengths[index] += 1


def label(name: str) -> str:
    """A name as text for a figure, its beginning left out where it is very long."""
    return escape(name if len(name) <= MOST_LETTERS else f"…{name[1 - MOST_LETTERS :]}")


DECADES = 4
"""Powers of ten that a logarithmic scale covers below the largest value."""
FAINTEST = 0.12
"""Place on a logarithmic scale of the smallest value that is not 0, so that it is seen beside 0."""
ROW, BETWEEN, AROUND = 21, 22, 110
"""Pixels of a row, between the two blocks of rows, and of title and axis."""
MOST_LAYERS = 32
"""Numbers of layers that fit side by side."""
CAP = 2.2
"""A curve higher than so many times the highest bar is cut off at the top."""


def tensor_map(
    grid: TensorGrid, title: str, unit: str, theme: Theme, signed: bool = False, logarithmic: bool = False
) -> go.Figure:
    """A cell per tensor: at the top those outside the layers, each as wide as the map, below places by layers.

    A click at the top gives the column -1. What is grey is no tensor; what has the colour of the paper is 0.

    Args:
        grid: the numbers.
        title: stands alone on a slide.
        unit: what the numbers are, for the colour bar.
        theme: colours and typeface.
        signed: whether the scale is symmetric around 0.
        logarithmic: whether the scale counts powers of ten; for numbers from 0 on.
    """
    counts = len(grid.outside), len(grid.places)
    gap = BETWEEN if all(counts) else 0
    pixels = ROW * max(sum(counts), 1) + gap
    figure = go.Figure(layout=layout(theme, escape(title), height=AROUND + max(pixels, 120)))
    figure.update_layout(coloraxis=_colour_axis(grid, unit, theme, signed, logarithmic), plot_bgcolor=theme.grid)
    if counts[0]:
        names = [[name] for name in grid.outside]
        _add_cells(figure, grid.outside_values[:, None], [-1], names, grid, logarithmic)
        above = {"range": [-1.5, -0.5], "showticklabels": False, "ticks": "", "showgrid": False}
        rows = _rows(grid.outside, (1 - ROW * counts[0] / pixels, 1) if counts[1] else (0, 1))
        figure.update_layout(xaxis=above, yaxis=rows)
    if counts[1]:
        number = "2" if counts[0] else ""
        axes = {"xaxis": f"x{number}", "yaxis": f"y{number}"}
        _add_cells(figure, grid.values, range(len(grid.layers)), grid.names, grid, logarithmic, **axes)
        rows = _rows(grid.places, (0, ROW * counts[1] / pixels))
        below = {**_layers(grid.layers), "anchor": f"y{number}"}
        figure.update_layout({f"xaxis{number}": below, f"yaxis{number}": {**rows, "anchor": f"x{number}"}})
    return even_axes(figure.update_layout(margin={"r": 8, "t": 52}), theme)


def weight_histogram(
    histogram: Histogram, deviation: float | None, numel: int, title: str, theme: Theme, colour: str = "embeddings"
) -> go.Figure:
    """The values of one tensor as bars, and the curve that as many new values would make.

    Args:
        histogram: the values.
        deviation: standard deviation of the normal distribution that is drawn; None for no curve.
        numel: count of the tensor's numbers, which the curve is drawn for.
        title: stands alone on a slide.
        theme: colours and typeface.
        colour: whose colour the bars have.
    """
    edges = histogram.edges
    middles, width = (edges[1:] + edges[:-1]) / 2, float(edges[1] - edges[0])
    figure = go.Figure(layout=layout(theme, escape(title), height=360, bargap=0))
    figure.add_bar(
        x=middles,
        y=histogram.counts,
        width=width,
        name="values",
        marker={"color": theme.colours[colour], "line": {"width": 0}},
        hovertemplate="%{y:,} values around %{x:.4g}<extra></extra>",
    )
    highest = float(histogram.counts.max(initial=0)) or 1.0
    if deviation is not None:
        x = np.linspace(edges[0], edges[-1], 401)
        curve = numel * width * np.exp(-((x / deviation) ** 2) / 2) / (deviation * np.sqrt(2 * np.pi))
        figure.add_scatter(
            x=x,
            y=curve,
            mode="lines",
            name=f"new from the initialiser: normal, mean 0, std {deviation:g}",
            line={"color": theme.colours["task head"], "width": 2.5, "dash": "dash"},
            hoverinfo="skip",
        )
        highest = min(max(highest, float(curve.max())), CAP * highest)
    figure.update_xaxes(title="value")
    figure.update_yaxes(title="count", range=[0, highest * 1.05])
    return figure.update_layout(margin={"t": 84})


def _rows(names: Sequence[str], domain: tuple[float, float]) -> dict[str, Any]:
    """An axis with a name at every row, the first at the top."""
    ticks = {"tickvals": list(range(len(names))), "ticktext": [label(name) for name in short_names(names)]}
    return {**ticks, "domain": domain, "range": [len(names) - 0.5, -0.5], "showgrid": False}


def _layers(names: Sequence[str]) -> dict[str, Any]:
    """An axis with the layers' numbers, thinned where there are many."""
    every = max(1, -(-len(names) // MOST_LAYERS))
    ticks = {"tickvals": list(range(0, len(names), every)), "ticktext": list(names[::every])}
    return {**ticks, "title": "layer", "range": [-0.5, len(names) - 0.5], "showgrid": False}


def _add_cells(
    figure: go.Figure,
    values: Float[np.ndarray, "rows columns"],
    places: Sequence[int],
    names: Sequence[Sequence[str]],
    grid: TensorGrid,
    logarithmic: bool,
    **axes: str,
) -> None:
    words = [
        [[escape(name), f"{value:.6g}"] for name, value in zip(row, numbers, strict=True)]
        for row, numbers in zip(names, values.tolist(), strict=True)
    ]
    top = _largest(grid)
    drawn = _powers(values, top) if logarithmic else np.where(np.isinf(values), np.sign(values) * top, values)
    figure.add_heatmap(
        z=drawn.astype(np.float32),
        x=list(places),
        y=list(range(len(values))),
        customdata=words,
        coloraxis="coloraxis",
        xgap=1,
        ygap=1,
        hoverongaps=False,
        hovertemplate="%{customdata[0]}<br>%{customdata[1]}<extra></extra>",
        **axes,
    )


def _largest(grid: TensorGrid) -> float:
    sizes = np.abs(np.concatenate([grid.values.reshape(-1), grid.outside_values]))
    sizes = sizes[np.isfinite(sizes)]
    return float(sizes.max(initial=0)) or 1.0


def _powers(values: Float[np.ndarray, "rows columns"], top: float) -> Float[np.ndarray, "rows columns"]:
    """Places on a scale from 0 to 1 of DECADES powers of ten; 0 stays 0."""
    with np.errstate(divide="ignore"):
        places = 1 + np.log10(np.abs(values) / top) / DECADES
    return np.where(values == 0, 0.0, np.clip(places, FAINTEST, 1)).astype(np.float32)


def _colour_axis(grid: TensorGrid, unit: str, theme: Theme, signed: bool, logarithmic: bool) -> dict[str, Any]:
    top = _largest(grid)
    bar: dict[str, Any] = {"title": {"text": unit, "side": "right"}, "thickness": 14, "tickfont": {"size": TEXT_SIZE}}
    if logarithmic:
        powers = range(1, DECADES)
        bar["tickvals"] = [0, *(1 - power / DECADES for power in reversed(powers)), 1]
        bar["ticktext"] = ["0", *(f"{top * 10.0**-power:.2g}" for power in reversed(powers)), f"{top:.3g}"]
        return {"colorscale": sequential(theme), "cmin": 0, "cmax": 1, "colorbar": bar}
    return {
        "colorscale": diverging(theme) if signed else sequential(theme),
        "cmin": -top if signed else 0,
        "cmax": top,
        "colorbar": bar,
    }


STATISTICS = {
    "std": ("std", "standard deviation", False),
    "mean": ("mean", "mean", True),
    "largest": ("largest", "largest magnitude", False),
    "zeros": ("zeros", "share of zeros", False),
    "not finite": ("not_finite", "share of NaN and infinity", False),
}
"""Name of a choice -> field, words, whether it has a sign."""
SHOWN_SPREADS = 6
"""Standard deviations around the mean that a histogram covers."""
PLACES = "places in a layer by layers, and what stands outside the layers"


@figure("weights", "checkpoint_weights", "one number of every tensor", ("statistic",))
def statistic_figure(statistic_grid: TensorGrid, statistic: str, model_name: str) -> FigureSpec:
    """One number of every tensor; statistic is a key of STATISTICS."""
    _, words, signed = STATISTICS[statistic]
    title = f"{words.capitalize()} of every tensor - {model_name}"
    return FigureSpec(title, f"{title}: {PLACES}", partial(tensor_map, statistic_grid, title, words, signed=signed))


def statistic_numbers(statistics: CheckpointStatistics, statistic: str) -> list[float]:
    """That number of every tensor."""
    field = STATISTICS[statistic][0]
    if field == "zeros":
        return [each.zeros / max(each.numel, 1) for each in statistics.tensors]
    if field == "not_finite":
        return [(each.nan + each.infinite) / max(each.numel, 1) for each in statistics.tensors]
    return [float(getattr(each, field)) for each in statistics.tensors]


@figure("values", "checkpoint_values", "the values of one tensor", ("tensor",))
def tensor_values_figure(
    histogram: Histogram, initial_deviation: float | None, tensor: TensorStatistics, model_name: str
) -> FigureSpec:
    """The values of one tensor; the deviation is that of its initialisation, None for no curve."""
    title = f"{tensor.name} - {model_name}"
    alt = f"{title}: {tensor.numel:,} numbers in {len(histogram.counts)} bins"
    return FigureSpec(title, alt, partial(weight_histogram, histogram, initial_deviation, tensor.numel, title))


def first_matrix(statistics: CheckpointStatistics) -> str:
    """The tensor shown to begin with: a matrix of the first layer where there is one."""
    matrices = [each for each in statistics.tensors if each.location.layer is not None and len(each.shape) > 1]
    return (matrices or statistics.tensors)[0].name


def drawn_deviation(statistics: CheckpointStatistics, tensor: TensorStatistics) -> float | None:
    """Standard deviation of the initialisation that a tensor's values are compared with; None for what has none."""
    matrix = len(tensor.shape) > 1 and tensor.location.component != "buffer"
    return statistics.standard_deviations[0] if matrix else None


def drawn_range(tensor: TensorStatistics, deviation: float | None) -> tuple[float, float]:
    """Ends of a histogram: six standard deviations around the mean, no further than values or the curve go."""
    spread = SHOWN_SPREADS * tensor.std
    curve = 3 * deviation if deviation is not None else 0.0
    low = max(tensor.minimum, tensor.mean - spread)
    high = min(tensor.maximum, tensor.mean + spread)
    limits = (min(low, -curve), max(high, curve)) if curve else (low, high)
    return limits if all(map(math.isfinite, limits)) else (tensor.minimum, tensor.maximum)
