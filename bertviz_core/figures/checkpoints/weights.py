"""Weights of a checkpoint, and their rounding."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Float32

from bertviz_core.checkpoints.results import (
    CheckpointStatistics,
    Histogram,
    NumberFormats,
    RoundedFormat,
    RoundedPart,
    TensorGrid,
    TensorStatistics,
)
from bertviz_core.checkpoints.tables import histogram_frame, parts_frame, statistics_frame
from bertviz_core.figures.base.axes import even_axes, label_width
from bertviz_core.figures.base.cells import bordered, cell_gaps, colour_at, number_size
from bertviz_core.figures.base.marks import add_bars, add_line, add_words, row_axis
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import (
    TEXT_SIZE,
    Theme,
    colour_bar,
    diverging,
    escape,
    layout,
    round_limit,
    round_ticks,
    sequential,
    text_on,
    tick_words,
)
from bertviz_core.text import digits

DECADES = 4
"""Powers of ten that a logarithmic scale covers below the largest value."""
FAINTEST = 0.12
"""Position on a logarithmic scale of the smallest nonzero value, so that it is distinct from 0."""


@dataclass(frozen=True, slots=True)
class NumberScale:
    """Maps numbers to colours."""

    axis: dict[str, Any]
    """Settings of the colour axis."""
    largest: float
    """Largest finite magnitude, rounded on a logarithmic scale; infinity is drawn as this."""
    logarithmic: bool
    """Whether the scale is logarithmic."""

    def drawn(self, values: Float[np.ndarray, "rows columns"]) -> Float32[np.ndarray, "rows columns"]:
        """Return heatmap values: the numbers, or their positions on a logarithmic scale from 0 to 1."""
        if self.logarithmic:
            with np.errstate(divide="ignore"):
                places = 1 + np.log10(np.abs(values) / self.largest) / DECADES
            return np.where(values == 0, 0.0, np.clip(places, FAINTEST, 1)).astype(np.float32)
        return np.where(np.isinf(values), np.sign(values) * self.largest, values).astype(np.float32)

    def colours(self, values: Float[np.ndarray, "rows columns"]) -> list[list[str]]:
        """Return the colour of each cell."""
        low, high = self.axis["cmin"], self.axis["cmax"]
        shares = np.nan_to_num((self.drawn(values) - low) / (high - low))
        return [[colour_at(self.axis["colorscale"], share) for share in row] for row in shares.tolist()]


def number_scale(
    numbers: Sequence[float], unit: str, theme: Theme, signed: bool = False, logarithmic: bool = False
) -> NumberScale:
    """Choose the scale of some numbers.

    A linear scale ends at Tukey's fence, the third quartile plus one and a half times the interquartile range (1977,
    Exploratory Data Analysis), if a number lies far beyond; the bar then says "and more".
    """
    sizes = np.abs(np.array([number for number in numbers if np.isfinite(number)], dtype=np.float64))
    largest = float(sizes.max(initial=0)) or 1.0
    if logarithmic:
        largest = round_limit(largest)
        powers = list(reversed(range(DECADES)))
        bar = {**colour_bar(unit, 0.0, 1.0)}
        bar["tickvals"] = [0, *(1 - power / DECADES for power in powers)]
        bar["ticktext"] = ["0", *(digits(largest * 10.0**-power, 3) for power in powers)]
        return NumberScale(
            {"colorscale": sequential(theme), "cmin": 0, "cmax": 1, "colorbar": bar}, largest, logarithmic
        )
    top = round_limit(_fence(sizes))
    clipped = top < largest
    low = -top if signed else 0.0
    bar = {**colour_bar(unit, low, top)}
    if clipped:
        ticks = [tick for tick in round_ticks(low, top) if abs(tick) < 0.9 * top]
        ends = [-top, *ticks, top] if signed else [*ticks, top]
        end_words = tick_words(ends)
        end_words[-1] = f"≥ {end_words[-1]}"
        if signed:
            end_words[0] = f"≤ {end_words[0]}"
        bar |= {"tickvals": ends, "ticktext": end_words}
    colours = diverging(theme) if signed else sequential(theme)
    return NumberScale({"colorscale": colours, "cmin": low, "cmax": top, "colorbar": bar}, largest, logarithmic)


def _fence(sizes: Float[np.ndarray, " numbers"]) -> float:
    """Return the upper end of a linear scale: the maximum, or the outlier fence if that is far below."""
    largest = float(sizes.max(initial=0))
    some = sizes[sizes > 0]
    if len(some) < 4:
        return largest
    first, third = np.quantile(some, (0.25, 0.75))
    fence = float(third + 1.5 * (third - first))
    return fence if largest > 1.5 * fence else largest


MOST_LETTERS = 34
SAY_LITTLE = ("dense", "LayerNorm", "layer_norm", "norm", "linear", "decoder", "0", "1", "2")
"""Uninformative module names, which need the name of the parent module."""


def short_names(names: Sequence[str]) -> list[str]:
    """Return endings of dotted names, long enough to be distinct and informative."""
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
    """Escape a name for a figure; the beginning of a long name is cut."""
    return escape(name if len(name) <= MOST_LETTERS else f"…{name[1 - MOST_LETTERS :]}")


ROW, BETWEEN, AROUND = 21, 22, 96
"""Pixels: height of a row, distance between the two blocks of rows, margins for title and axis."""
MOST_LAYERS = 32
"""Maximum number of layer numbers side by side."""
CAP = 2.2
"""Maximum height of the curve, as a multiple of the highest bar."""
SIDE_BY_SIDE = 860
"""Width in pixels from which on the tensors outside the layers are drawn beside the others."""
BAR_ROOM = 90
"""Width in pixels of a colour bar with its labels."""
NAME_SIZE = TEXT_SIZE - 1
"""Font size of row names in pixels."""


def tensor_map(
    grid: TensorGrid, title: str, unit: str, theme: Theme, signed: bool = False, logarithmic: bool = False
) -> go.Figure:
    """Draw one cell per tensor: modules of a layer by layers, and a column of tensors outside the layers.

    That column is beside the map if there is room, else above it; a click in it returns column -1. Grey marks missing
    tensors, the colour of the paper 0. Numbers are drawn in the cells if they fit.
    """
    scale = number_scale(
        [*grid.values.reshape(-1).tolist(), *grid.outside_values.tolist()], unit, theme, signed, logarithmic
    )
    inside, outside = len(grid.places), len(grid.outside)
    beside = bool(inside and outside) and theme.pixels >= SIDE_BY_SIDE
    gap = BETWEEN if inside and outside else 0
    rows = max(inside, outside, 1) if beside else max(inside + outside, 1)
    pixels = ROW * rows + (0 if beside else gap)
    width = max(theme.pixels - BAR_ROOM - _names_width(grid.places or grid.outside, theme), 1)
    cell = width / max(len(grid.layers), 1)
    if beside:
        names = _names_width(grid.outside, theme)
        cell = (width - names) / (len(grid.layers) + 1)
    figure = go.Figure(layout=layout(theme, escape(title), height=AROUND + max(pixels, 120)))
    figure.update_layout(coloraxis=scale.axis, plot_bgcolor=theme.grid)
    if outside:
        across = (1 - cell / width, 1.0) if beside else (0.0, min(cell / width, 1.0))
        number_cells(
            figure,
            grid.outside_values[:, None],
            [-1],
            [[name] for name in grid.outside],
            scale,
            (cell, float(ROW * outside)),
        )
        bare = {"range": [-1.5, -0.5], "showticklabels": False, "ticks": "", "showgrid": False}
        axis_title = {"title": "outside<br>layers"} if beside else {}
        figure.update_layout(
            xaxis={**bare, **axis_title, "domain": across, "anchor": "y"},
            yaxis={**_rows(grid.outside, (1 - ROW * outside / pixels, 1), theme), "anchor": "x"},
        )
    if inside:
        number = "2" if outside else ""
        axes = {"xaxis": f"x{number}", "yaxis": f"y{number}"}
        down = (1 - ROW * inside / pixels, 1) if beside else (0, ROW * inside / pixels)
        below = {
            **_layers(grid.layers),
            "domain": (0.0, min(cell * len(grid.layers) / width, 1.0)),
            "anchor": f"y{number}",
        }
        room = cell * len(grid.layers), float(ROW * inside)
        number_cells(figure, grid.values, range(len(grid.layers)), grid.names, scale, room, **axes)
        rows_of_layers = {**_rows(grid.places, down, theme), "anchor": f"x{number}"}
        figure.update_layout({f"xaxis{number}": below, f"yaxis{number}": rows_of_layers})
    return even_axes(figure, theme)


def _names_width(names: Sequence[str], theme: Theme) -> float:
    return 16 + max((label_width(name, NAME_SIZE) for name in _row_names(names, theme)), default=0.0)


def weight_histogram(
    histogram: Histogram, deviation: float | None, numel: int, title: str, theme: Theme, colour: str = "embeddings"
) -> go.Figure:
    """Draw the histogram of a tensor's values, with the density of its initialisation unless `deviation` is None."""
    edges = histogram.edges
    middles, width = (edges[1:] + edges[:-1]) / 2, float(edges[1] - edges[0])
    figure = go.Figure(layout=layout(theme, escape(title), height=360, bargap=0))
    look, hover = {"color": theme.colours[colour], "line": {"width": 0}}, "%{y:,} values around %{x:.4g}"
    add_bars(figure, histogram.counts, hover, look, False, x=middles, width=width, name="values")
    highest = float(histogram.counts.max(initial=0)) or 1.0
    if deviation is not None:
        x = np.linspace(edges[0], edges[-1], 401)
        curve = numel * width * np.exp(-((x / deviation) ** 2) / 2) / (deviation * np.sqrt(2 * np.pi))
        name = f"newly initialised: normal, mean 0, standard deviation {deviation:g}"
        add_line(figure, x, curve, "", theme.colours["task head"], 2.5, "dash", mode="lines", name=name)
        highest = min(max(highest, float(curve.max())), CAP * highest)
    figure.update_xaxes(title="value")
    return figure.update_yaxes(title="count", range=[0, highest * 1.05])


SHORTER = {
    "attention": "attn", "output": "out", "intermediate": "inter", "LayerNorm": "LN", "layer_norm": "LN",
    "embeddings": "emb", "position": "pos", "dense.": "", "weight": "w", "bias": "b",
}  # fmt: skip
"""Abbreviations in names on a phone, where longer names would be cut to the same beginning."""


def _row_names(names: Sequence[str], theme: Theme) -> list[str]:
    """Return distinct row names; usual words are abbreviated on a phone."""
    shown = short_names(names)
    if theme.narrow:
        for word, shorter in SHORTER.items():
            shown = [name.replace(word, shorter) for name in shown]
        shown = shown if len(set(shown)) == len(shown) else short_names(names)
    return [label(name) for name in shown]


def _rows(names: Sequence[str], domain: tuple[float, float], theme: Theme) -> dict[str, Any]:
    return {**row_axis(_row_names(names, theme)), "domain": domain}


def _layers(names: Sequence[str]) -> dict[str, Any]:
    """Return an axis of layer numbers, thinned if there are many."""
    every = max(1, -(-len(names) // MOST_LAYERS))
    ticks = {"tickvals": list(range(0, len(names), every)), "ticktext": list(names[::every])}
    return {**ticks, "title": "layer", "range": [-0.5, len(names) - 0.5], "showgrid": False}


def number_cells(
    figure: go.Figure,
    values: Float[np.ndarray, "rows columns"],
    places: Sequence[int],
    names: Sequence[Sequence[str]],
    scale: NumberScale,
    room: tuple[float, float],
    between: str = "<br>",
    precision: int = 6,
    /,
    **axes: str,
) -> None:
    """Add a map of numbers, with the numbers in the cells if they fit; the hover has a cell's name and its number.

    The colour axis of the figure is that of the scale.
    """
    words = [
        [[escape(name), digits(value, precision)] for name, value in zip(row, numbers, strict=True)]
        for row, numbers in zip(names, values.tolist(), strict=True)
    ]
    hover = f"%{{customdata[0]}}{between}%{{customdata[1]}}<extra></extra>"
    hovers = {"customdata": words, "hoverongaps": False, "hovertemplate": hover}
    where = {"x": list(places), "y": list(range(len(values))), **cell_gaps(room, values.shape)}
    figure.add_heatmap(z=scale.drawn(values), coloraxis="coloraxis", **where, **hovers, **axes)
    written = [[number_word(value) for value in row] for row in values.tolist()]
    size = number_size(written, *room)
    cells = [(x, y) for y, row in enumerate(written) for x, word in enumerate(row) if word]
    if size is None or not cells:
        return
    colours = scale.colours(values)
    inks = [text_on(colours[y][x]) for x, y in cells]
    at, numbers = ([places[x] for x, _ in cells], [y for _, y in cells]), [written[y][x] for x, y in cells]
    add_words(figure, *at, numbers, size, inks, None, cliponaxis=None, showlegend=False, **axes)


def number_word(value: float) -> str:
    """Format a number with two significant digits; "" for NaN."""
    if math.isnan(value):
        return ""
    if value == 0 or math.isinf(value):
        return {0.0: "0", math.inf: "∞"}.get(value, "−∞")
    word = f"{value:#.2g}" if abs(value) < 100 else f"{value:.0f}" if abs(value) < 10_000 else f"{value:.1e}"
    return word.rstrip(".").replace("-", "−")


STATISTICS = {
    "standard deviation": ("std", "standard deviation", False),
    "mean": ("mean", "mean", True),
    "largest": ("largest", "largest magnitude", False),
    "zeros": ("zeros", "share of zeros", False),
    "not finite": ("not_finite", "share of NaN and infinity", False),
}
"""Name of a statistic -> field, label, whether it is signed."""
SHOWN_SPREADS = 6
"""Range of a histogram in standard deviations around the mean."""
PLACES = "places in a layer by layers, and what is outside the layers"


@figure("weights", "checkpoint_weights", reported=True, table=statistics_frame)
def statistic_figure(
    statistic_grid: TensorGrid, statistic: str, model_name: str, statistic_logarithmic: bool
) -> FigureSpec:
    """One number of every tensor."""
    _, words, signed = STATISTICS[statistic]
    title = f"{words.capitalize()} of every tensor — {model_name}"
    powers = statistic_logarithmic and not signed
    draw = partial(tensor_map, statistic_grid, title, words, signed=signed, logarithmic=powers)
    return FigureSpec(title, f"{title}: {PLACES}", draw)


def statistic_numbers(statistics: CheckpointStatistics, statistic: str) -> list[float]:
    """Return one statistic of every tensor."""
    field = STATISTICS[statistic][0]
    if field == "zeros":
        return [each.zeros / max(each.numel, 1) for each in statistics.tensors]
    if field == "not_finite":
        return [(each.nan + each.infinite) / max(each.numel, 1) for each in statistics.tensors]
    return [float(getattr(each, field)) for each in statistics.tensors]


@figure("values", "checkpoint_values", table=histogram_frame)
def tensor_values_figure(
    histogram: Histogram, initial_deviation: float | None, tensor: TensorStatistics, model_name: str
) -> FigureSpec:
    """The values of one tensor."""
    title = f"{tensor.name} — {model_name}"
    alt = f"{title}: {tensor.numel:,} numbers in {len(histogram.counts)} bins"
    return FigureSpec.of(title, alt, "", weight_histogram, histogram, initial_deviation, tensor.numel)


def first_matrix(statistics: CheckpointStatistics) -> str:
    """Return the default tensor: a matrix of the first layer if there is one."""
    matrices = [each for each in statistics.tensors if each.location.layer is not None and len(each.shape) > 1]
    return (matrices or statistics.tensors)[0].name


def drawn_range(tensor: TensorStatistics, deviation: float | None) -> tuple[float, float]:
    """Return the range of a histogram: six standard deviations around the mean, cut after the last value or curve."""
    spread = SHOWN_SPREADS * tensor.std
    curve = 3 * deviation if deviation is not None else 0.0
    low = max(tensor.minimum, tensor.mean - spread)
    high = min(tensor.maximum, tensor.mean + spread)
    limits = (min(low, -curve), max(high, curve)) if curve else (low, high)
    return limits if all(map(math.isfinite, limits)) else (tensor.minimum, tensor.maximum)


LAYER, COMPONENT = "layer", "component"
PARTS = (LAYER, COMPONENT)
FORMATS_AROUND, LEAST_ROWS = 130, 120
"""Pixels: margins for the title and the axis, minimum height of all rows."""
SHORT = {"embeddings": "emb.", "task head": "head", "encoder": "enc.", "decoder": "dec."}
"""Names of components between the numbers of layers."""
MOST_NUMBERED = 32
"""Number of columns above which not every one is labelled."""


def drawn_parts(rounded: RoundedFormat, by: str) -> tuple[RoundedPart, ...]:
    """Return the parts that are drawn of a format."""
    return rounded.by_layer() if by == LAYER else rounded.by_component()


def format_map(formats: Sequence[RoundedFormat], by: str, title: str, theme: Theme) -> go.Figure:
    """Draw the relative error of every part in every format on a logarithmic scale; 0 is the colour of the paper."""
    rows = [drawn_parts(each, by) for each in formats]
    values = np.array([[part.relative_error for part in row] for row in rows], dtype=np.float64)
    columns = values.shape[1]
    unit = "error" if theme.narrow else "relative error"  # beside a bar below the map, whose ticks need the room
    scale = number_scale(values.reshape(-1).tolist(), unit, theme, logarithmic=True)
    labels = [_label(each, theme) for each in formats]
    beside = 16 + max((label_width(label, NAME_SIZE) for label in labels), default=0.0)
    cell = max(theme.pixels - BAR_ROOM - beside, 1) / max(columns, 1)
    figure = go.Figure(layout=layout(theme, escape(title), height=FORMATS_AROUND + max(ROW * len(rows), LEAST_ROWS)))
    figure.update_layout(coloraxis=scale.axis)
    names = [[f"{each.name}, {part.name}" for part in row] for each, row in zip(formats, rows, strict=True)]
    number_cells(figure, values, range(columns), names, scale, (cell * columns, float(ROW * len(rows))))
    every = max(1, -(-columns // MOST_NUMBERED))
    ticks = [_column(part, by) for part in rows[0]]
    figure.update_xaxes(
        tickvals=list(range(0, columns, every)), ticktext=ticks[::every], showgrid=False, title=by,
        tickangle=-40 if max(map(len, ticks)) * 8 > cell else 0,
    )  # fmt: skip
    return even_axes(bordered(figure.update_yaxes(row_axis(labels)), theme), theme)


def _label(rounded: RoundedFormat, theme: Theme) -> str:
    """Name of a format, with the size of all weights in it where there is room."""
    if theme.narrow:
        return escape(rounded.name.replace(" groups of ", "/"))
    return escape(f"{rounded.name}, {mebibytes(rounded.whole.rounded_nbytes)}")


def mebibytes(nbytes: int) -> str:
    """Format bytes in MiB, or in KiB below one."""
    return f"{nbytes / 2**20:,.1f} MiB" if abs(nbytes) >= 2**20 else f"{nbytes / 2**10:,.1f} KiB"


def _column(part: RoundedPart, by: str) -> str:
    if by == COMPONENT:
        return escape(part.block or part.component)
    if part.layer is None:
        return escape(SHORT.get(part.component, part.component))
    return f"{'d' if part.component == 'decoder' else ''}{part.layer}"


@figure("number-formats", "checkpoint_formats", table=parts_frame)
def number_formats_figure(number_formats: NumberFormats, rounded_by: str) -> FigureSpec:
    """The error of a model's weights in formats of fewer bits."""
    title = f"Relative error of rounded weights — {number_formats.model}"
    summary = "; ".join(
        f"{each.name} {digits(each.whole.relative_error, 2)} in {mebibytes(each.whole.rounded_nbytes)}"
        for each in number_formats.formats
    )
    alt = f"{title}, by format and {rounded_by}; of all weights: {summary}"
    return FigureSpec.of(title, alt, "", format_map, number_formats.formats, rounded_by)
