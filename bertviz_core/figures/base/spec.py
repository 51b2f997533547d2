"""Declare figures: name, title, description, table and drawing; and fit them to a width."""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from inspect import signature
from typing import Any, Generic, ParamSpec, Self

import plotly.graph_objects as go

from bertviz_core.errors import TextError
from bertviz_core.figures.base.axes import (
    label_width,
    lined_label,
    name_thinned,
    names_lie,
    shortened_label,
    stride,
    wrapped_label,
)
from bertviz_core.figures.base.style import TEXT_SIZE, TITLE_SIZE, TITLE_TOP, WIDE, Theme, spacing, thin_ticks
from bertviz_core.lazy_imports import pandas as pd

TITLE_LINE, LEGEND_GAP = 1.3 * TITLE_SIZE, 4
GAP, EDGE = 8, 12
"""Pixels between title, legend and plot, and beside a title."""
CAPITALS = 0.7
"""Height of capitals as a share of the font size; plotly draws multi-line titles too high by this amount."""
MARK = 46
"""Pixels of a legend entry before and after its text."""
LONGEST_COLUMN = 6
"""Most names of a legend that stand in one column."""
TOOLS, FEW_TOOLS = 190, 70
"""Width in pixels of the tool bar at the right of a title, with and without the tools for axes."""
FLAT, ENLARGED = 0.7, (680, 860)
"""Share of the height of a slide below which a figure is drawn in one of these widths in pixels, and enlarged."""
USUAL_HEIGHT = 450
"""Default height of a figure in pixels."""
LENGTH = 0.86
"""Length of a horizontal colour bar with its title, as a share of the width of the plots."""
USUAL_TICK = "0.00"
"""Placeholder for ticks chosen by plotly."""
SPACE, SPACE_WIDTH = "\u00a0", 0.2
"""Character appended to a horizontal bar's title to make room for the first tick label; its width in Source Sans as a
share of the font size."""
UNIT = 0.48
"""Maximum share of the width of the plots for that title."""
LYING = 46
"""Height in pixels of a horizontal colour bar below a plot, with its labels."""
STANDING = 84
"""Width in pixels of a vertical colour bar beside a plot."""
LARGEST, LEAST_LYING, SMALLEST = TEXT_SIZE - 1, 12, 11
"""Font sizes of axis labels; horizontal labels are rotated rather than made smaller than the second."""
BETWEEN = 2
"""Pixels between two labels."""
CUT_OFF = re.compile(r"\d (token|sentence|text)s? cut off at the (end|beginning)\b")
"""In a notice that numbers are of shortened texts, which goes with them into files."""
SHARE_OF_NAMES = 0.34
"""Maximum share of a narrow figure's width for row names."""


def fitted(figure: go.Figure, theme: Theme) -> go.Figure:
    """Fit the figure to the width of its theme; changes and returns it.

    Always: the title has as many lines as it needs, and the legend is below it. On less than a full page: axis labels
    are rotated, made smaller and finally thinned. On a phone: a colour bar is below the plot, row names are cut, and
    touches scroll the page. The layout's `meta` contains the width class.
    """
    _name_logarithms(figure, theme)
    _even_titles(figure, theme)
    _make_room_beside(figure)
    if theme.narrow:
        _lay_bars_down(figure, theme)
        figure.layout.dragmode = False
        figure.layout.title.font.size = min(figure.layout.title.font.size or TITLE_SIZE, TITLE_SIZE - 2)
    if theme.pixels < WIDE:
        _fit_rows(figure, theme)
    _fit_columns(figure, theme)
    name_thinned(figure)
    if theme.pixels < WIDE:
        _wrap_axis_titles(figure, theme)
    for bar in _standing_bars(figure):
        title = 2 * TEXT_SIZE if bar.title.text and bar.title.side == "top" else 0
        thin_ticks(bar, lambda _: 1.3 * TEXT_SIZE, _plot_height(figure) - _taken_below(figure) - title)
    _make_room_above(figure, theme)
    figure.layout.meta = {"pixels": theme.pixels}
    return figure


def _name_logarithms(figure: go.Figure, theme: Theme) -> None:
    """Mention nonlinear scales in titles of axes and colour bars, except on bars of a phone."""
    for axis in (*figure.select_xaxes(), *figure.select_yaxes()):
        if axis.type == "log" and axis.title.text:
            axis.title.text += ", logarithmic"
    for bar in [] if theme.narrow else _bars(figure):
        found = spacing(_several(bar.ticktext), _several(bar.tickvals)) if bar.title.text else None
        if found and found[0]:
            bar.title.text += f", {found[0]}"


def _even_titles(figure: go.Figure, theme: Theme) -> None:
    """Set one font size for all titles; short titles of colour bars are placed above them."""
    for each in (*figure.select_xaxes(), *figure.select_yaxes(), *([] if theme.narrow else _bars(figure))):
        if each.title.text and each.title.font.size is None:
            each.title.font.size = TEXT_SIZE
    for bar in _standing_bars(figure):  # beside a bar, a word looks like the unit of the middle tick only
        if bar.title.text and label_width(bar.title.text, bar.title.font.size or TEXT_SIZE) <= STANDING - GAP:
            bar.title.side = "top"


def _make_room_beside(figure: go.Figure) -> None:
    """Reserve a right margin for the numbers after horizontal bars."""
    words = [
        label_width(str(each), trace.textfont.size or TEXT_SIZE)
        for trace in figure.data
        if trace.type == "bar"
        and trace.orientation == "h"
        and trace.textposition == "outside"
        and not trace.texttemplate
        for each in ([trace.text] if isinstance(trace.text, str) else _several(trace.text))
    ]
    figure.layout.margin.r = max(_margin(figure, "r"), math.ceil(max(words, default=0.0)))


def _several(texts: Any) -> list[Any]:
    return [] if texts is None else list(texts)


def _fitted_title(title: str, theme: Theme, size: float, tools: float) -> list[str]:
    """Break the title into lines; the tool bar is beside the first."""
    room = theme.pixels - 2 * EDGE
    first, *others = title.split("<br>")
    lines = wrapped_label(first, room, size, 0 if theme.narrow or not theme.tools else tools)
    return [*lines, *(part for line in others for part in wrapped_label(line, room, size))]


def _make_room_above(figure: go.Figure, theme: Theme) -> None:
    """Break the title, place the legend below it, and grow the figure accordingly."""
    _wrap_legend(figure, theme)
    _fit_legend(figure, theme)
    title = figure.layout.title.text or ""
    size = figure.layout.title.font.size or TITLE_SIZE
    tools = FEW_TOOLS if all(axis.fixedrange for axis in figure.select_xaxes()) else TOOLS
    lines = _fitted_title(title, theme, size, tools) if title else []
    before = len(title.split("<br>")) if title else 0
    if len(lines) > before:
        figure.layout.title.text = "<br>".join(lines)
        _grow(figure, "t", (len(lines) - before) * TITLE_LINE)
    if len(lines) > 1:
        figure.layout.title.pad.t = TITLE_TOP + CAPITALS * size
    legend = legend_height(figure, theme)
    if legend:
        needed = (TITLE_TOP + len(lines) * TITLE_LINE if lines else 0) + legend + 2 * GAP
        _grow(figure, "t", max(0.0, needed - _margin(figure, "t")))


def legend_height(figure: go.Figure, theme: Theme) -> float:
    """Return the height of the legend above the plot, 0 without one."""
    size = figure.layout.legend.font.size or TEXT_SIZE
    if not (names := _legend_names(figure)):
        return 0.0
    columns = _legend_columns(figure, theme, size)
    lines = [1 + name.count("<br>") for name in names]
    rows = (max(lines[start : start + columns]) for start in range(0, len(names), columns))
    return sum(1.3 * size * row + LEGEND_GAP for row in rows) + GAP


def _legend_names(figure: go.Figure) -> list[str]:
    """Return the names in the legend above the plot, none without one."""
    layout, legend = figure.layout, figure.layout.legend
    names = list(dict.fromkeys(trace.name for trace in figure.data if _in_legend(trace)))
    above = legend.orientation == "h" and legend.yanchor == "bottom" and (legend.y or 0) >= 1
    shown = layout.showlegend is not False and above and len(names) >= (1 if layout.showlegend else 2)
    return names if shown else []


def _legend_columns(figure: go.Figure, theme: Theme, size: float) -> int:
    """Return how many names of the legend fit side by side in a font size; equally wide ones unless all do."""
    title, names = figure.layout.legend.title.text, _legend_names(figure)
    items = [MARK + label_width(name, size) for name in names]
    room = plot_width(figure, theme) - (label_width(title, size) + GAP if title else 0.0)
    return len(names) if sum(items) <= room else max(1, int(room // max(items)))


def _fit_legend(figure: go.Figure, theme: Theme) -> None:
    """Make the names of the legend smaller if that saves rows; of several rows plotly is told the columns."""
    legend, names = figure.layout.legend, _legend_names(figure)
    if not names or legend.title.text:
        return
    own = legend.font.size or TEXT_SIZE
    columns = {size: _legend_columns(figure, theme, size) for size in (own, own - 1, own - 2)}
    legend.font.size = min(columns, key=lambda size: math.ceil(len(names) / columns[size]))
    if (beside := columns[legend.font.size]) < len(names):
        legend.update(entrywidthmode="fraction", entrywidth=1 / beside, traceorder="normal")


def _wrap_legend(figure: go.Figure, theme: Theme) -> None:
    """Break legend names to the width of the plots; those of a long column to half of it."""
    size = figure.layout.legend.font.size or TEXT_SIZE
    is_long = len(_legend_names(figure)) > LONGEST_COLUMN and _legend_columns(figure, theme, size) == 1
    room = plot_width(figure, theme) / (2 if is_long else 1) - MARK
    for trace in figure.data:
        if _in_legend(trace) and label_width(trace.name, size) > room:
            trace.name = "<br>".join(wrapped_label(trace.name, room, size))


def _in_legend(trace: Any) -> bool:
    return (
        trace.type in ("bar", "scatter", "scattergl", "histogram")
        and bool(trace.name)
        and trace.showlegend is not False
    )


def plot_width(figure: go.Figure, theme: Theme) -> float:
    """Return the pixels for the plots beside row names and vertical colour bars."""
    return theme.pixels - _names_width(figure) - (STANDING if _standing_bars(figure) else _margin(figure, "r"))


def _names_width(figure: go.Figure) -> float:
    """Return the pixels left of the plots: the widest label, the axis title and the margin."""
    widths = [_margin(figure, "l")]
    for axis in figure.select_yaxes():
        words = [label_width(str(each), axis.tickfont.size or TEXT_SIZE) for each in _several(axis.ticktext)]
        title = TEXT_SIZE + 2 * GAP if axis.title.text else 0
        widths.append((max(words) if words else 3 * TEXT_SIZE) + title + GAP if axis.visible is not False else 0)
    return max(widths)


def _standing_bars(figure: go.Figure) -> list[Any]:
    return [bar for bar in _bars(figure) if bar.orientation != "h"]


def _bars(figure: go.Figure) -> list[Any]:
    axes = [figure.layout[name] for name in figure.layout if name.startswith("coloraxis")]
    used = [axis for axis in axes if axis.showscale is not False and axis.colorscale is not None]
    own = [trace for trace in figure.data if trace.type in ("heatmap", "contour")]
    own += [trace.marker for trace in figure.data if trace.type in ("scatter", "scattergl") and trace.marker.showscale]
    used += [each for each in own if each.coloraxis is None and each.showscale is not False]
    return [each.colorbar for each in used]


def _lay_bars_down(figure: go.Figure, theme: Theme) -> None:
    """Move a single colour bar below the plot; several stay with their maps."""
    bars = _standing_bars(figure)
    if len(bars) != 1:
        return
    bars[0].orientation = "h"  # before the width is taken: beside the plot it leaves its room
    pixels = plot_width(figure, theme)
    half = max((label_width(str(each), TEXT_SIZE) / 2 for each in _several(bars[0].ticktext)), default=0.0)
    beside = LENGTH * pixels - 4 * (half + GAP)  # the bar is as long as the labels of its ends
    lines = wrapped_label(bars[0].title.text or "", min(UNIT * pixels, beside), TEXT_SIZE)
    # The second line of a title is at the height of the ticks, which may then be rotated.
    one = len(lines) == 1
    spaces = max(_spaces_behind_title(bars[0]), "" if one else 6 * SPACE, key=len)
    beyond = max(0.0, half - (1 - LENGTH) / 2 * pixels)  # the last label may not stand beyond the figure
    # Plotly removes spaces at the end of a title, but none in a tag.
    title = "<br>".join(f"{line}<i>{spaces}</i>" for line in lines)
    bars[0].update(
        # This side places the title before the bar. In a container plotly draws the frame beside the colours.
        title={"text": title, "side": "right", "font": {"size": TEXT_SIZE}},
        thickness=10,
        tickangle=0 if one else None,
        **{"x": 0.5 - beyond / pixels, "xanchor": "center", "xref": "paper", "len": LENGTH},
        **{"y": 0, "yanchor": "bottom", "yref": "container"},
    )
    # Beside a title of several lines only the labels of both ends have room.
    room = LENGTH * pixels - label_width(title, TEXT_SIZE) - GAP if one else 0.0
    thin_ticks(bars[0], lambda word: label_width(word, TEXT_SIZE) + GAP, room)
    _grow(figure, "b", LYING)


def _spaces_behind_title(bar: Any) -> str:
    """Return spaces as wide as half the first tick label of a horizontal bar and a gap."""
    words = [str(each) for each in _several(bar.ticktext)] or [USUAL_TICK]
    pixels = label_width(words[0], bar.tickfont.size or TEXT_SIZE) / 2 + GAP
    return SPACE * math.ceil(pixels / (SPACE_WIDTH * TEXT_SIZE))


def _wrap_axis_titles(figure: go.Figure, theme: Theme) -> None:
    """Break axis titles to the length of their axis."""
    width, height = plot_width(figure, theme), _plot_height(figure)
    ys = list(figure.select_yaxes())
    for axes, pixels in ((figure.select_xaxes(), width), (ys, height)):
        for axis in axes:
            words, size = axis.title.text, axis.title.font.size or TEXT_SIZE
            if words and label_width(words, size) > pixels * _share(axis):
                lines = wrapped_label(words, pixels * _share(axis), size)
                # Towards the plot, where the labels are: plotly assumes a single line.
                axis.title.standoff = (axis.title.standoff or GAP) + (len(lines) - 1) * 1.3 * size * (axes is ys)
                axis.title.text = "<br>".join(lines)
                axis.automargin = True


def _taken_below(figure: go.Figure) -> float:
    """Return the pixels that plotly takes from the plots for turned labels and for further lines of titles."""
    turned = [axis for axis in figure.select_xaxes() if axis.tickangle == -90 and axis.automargin]
    words = (label_width(str(each), axis.tickfont.size or TEXT_SIZE) for axis in turned for each in axis.ticktext or ())
    lines = max(((axis.title.text or "").count("<br>") for axis in figure.select_xaxes()), default=0)
    return max(words, default=0.0) + lines * 1.3 * TEXT_SIZE


def _plot_height(figure: go.Figure) -> float:
    """Return the pixels from the top of the highest plot to the bottom of the lowest, with labels of one line below."""
    height = figure.layout.height or USUAL_HEIGHT
    return float(max(height - _margin(figure, "t") - max(_margin(figure, "b"), 3 * TEXT_SIZE), TEXT_SIZE))


def _fit_rows(figure: go.Figure, theme: Theme) -> None:
    """Shrink and thin row names if rows are low; on a narrow figure cut them, to two lines where rows have room."""
    height = _plot_height(figure)
    for axis in figure.select_yaxes():
        if not _several(axis.ticktext):
            continue
        unit = height * _share(axis) / _units(axis)
        _thin(axis, unit)
        if theme.narrow:
            size = axis.tickfont.size or LARGEST
            most = SHARE_OF_NAMES * theme.pixels
            cut = lined_label if unit * stride(axis) >= 2 * 1.3 * size + BETWEEN else shortened_label
            axis.ticktext = [each if "<br>" in each else cut(each, most, size) for each in map(str, axis.ticktext)]
            axis.automargin = True
            figure.layout.margin.l = min(_margin(figure, "l"), GAP)


def _fit_columns(figure: go.Figure, theme: Theme) -> None:
    """Keep column names horizontal if they fit, else rotate, shrink and thin them."""
    for axis in figure.select_xaxes():
        if not _several(axis.ticktext):
            continue
        unit = plot_width(figure, theme) * _share(axis) / _units(axis)
        size = axis.tickfont.size or LARGEST
        lying = next((each for each in range(size, LEAST_LYING - 1, -1) if names_lie(axis, unit, each)), None)
        if lying is not None:
            axis.tickangle, axis.tickfont.size, axis.automargin = 0, lying, True
            continue
        axis.tickangle = -90
        axis.automargin = True
        if theme.narrow:
            axis.ticktext = [shortened_label(str(each), SHARE_OF_NAMES * theme.pixels, size) for each in axis.ticktext]
        _thin(axis, unit)


def _thin(axis: Any, unit: float) -> None:
    """Shrink the labels of an axis to fit below each other; show every k-th label if none fits."""
    room, own = unit * stride(axis) - BETWEEN, axis.tickfont.size or LARGEST
    size = max(SMALLEST, min(own, int(room)))
    axis.tickfont.size = size
    every = max(1, math.ceil((size + BETWEEN) / max(unit * stride(axis), 0.1)))
    axis.tickvals, axis.ticktext = list(axis.tickvals)[::every], list(axis.ticktext)[::every]
    axis.ticklabelstep = (axis.ticklabelstep or 1) * every


def _units(axis: Any) -> float:
    """Return the number of units along an axis: of its range if set, else from its first label to its last."""
    if axis.range and all(isinstance(end, int | float) for end in axis.range):
        return float(abs(axis.range[1] - axis.range[0])) or 1.0
    return float(max(axis.tickvals) - min(axis.tickvals)) + stride(axis)


def _share(axis: Any) -> float:
    low, high = axis.domain or (0, 1)
    return float(high - low)


def _margin(figure: go.Figure, side: str) -> float:
    stated = figure.layout.margin[side]
    return float(GAP if stated is None else stated)


def _grow(figure: go.Figure, side: str, pixels: float) -> None:
    """Grow a margin and the height of the figure."""
    more = math.ceil(pixels)
    if more:
        figure.layout.margin[side] = _margin(figure, side) + more
        figure.layout.height = (figure.layout.height or USUAL_HEIGHT) + more


P = ParamSpec("P")
PATTERNS = ("", "/", ".", "x", "-", "\\", "+", "|")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")

FLATTEST, TALLEST = 0.85, 1.5
"""Minimum and maximum height of a figure that fills a place, as shares of its own height."""


@dataclass(frozen=True, slots=True, eq=False)
class FigureSpec:
    """A figure of a page, file or command, drawn separately for each theme."""

    title: str
    alt: str
    draw: Callable[[Theme], go.Figure]
    """Draws the figure; colours come only from the theme."""
    caption: str = ""
    """Caption in a file; "" for the title."""
    remark: str = ""
    """What of its texts was not read, for its captions."""
    chart: str = ""
    """Key of its chart on its page."""
    key: tuple[object, ...] = ()
    """Name of the declared figure and its inputs; empty for one that is not declared."""
    cache: dict[tuple[str, int, int, bool], go.Figure] = field(default_factory=dict, repr=False)
    """Theme, width, height, and whether it is for a slide -> drawn figure."""
    table: "Callable[[], pd.DataFrame] | None" = None
    """Computes its numbers, the same on a page, in a file and in the library; None for a figure without a table."""

    @classmethod
    def of(cls, title: str, alt: str, caption: str, draw: Callable[..., go.Figure], *args: Any, **more: Any) -> Self:
        """Build a figure that `draw` draws of these arguments, the title and the theme."""
        return cls(title, alt, partial(draw, *args, title, **more), caption)

    def drawn(self, theme: Theme) -> go.Figure:
        """Draw the figure in a theme, fitted to its width."""
        key = (theme.name, theme.pixels, theme.tall, theme.slide)
        if key not in self.cache:
            figure = fitted(self.draw(theme), theme)
            if theme.tall:
                figure = self._as_tall(theme, figure.layout.height or USUAL_HEIGHT)
            if theme.slide:
                figure = self._enlarged(theme, figure)
            write_minus(figure)
            self.cache[key] = printed(figure, theme) if theme.name == "print" else figure
        return self.cache[key]

    def frame(self) -> "pd.DataFrame":
        """Compute the numbers of the figure."""
        if self.table is None:
            raise TextError(f"The figure {self.title!r} has no table; write an image, or .html.")
        return self.table()

    def _enlarged(self, theme: Theme, figure: go.Figure) -> go.Figure:
        """Return a flat figure as it is in a narrower place of the form of a slide; its layout has the width.

        One that would be higher there, as by another line of words, stays as it is.
        """
        if _height(figure) >= FLAT * theme.tall:
            return figure
        own = _height(self.drawn(replace(theme, tall=0, slide=False)))
        for pixels in (each for each in ENLARGED if each < theme.pixels):
            narrow = replace(theme, pixels=pixels, tall=round(theme.tall * pixels / theme.pixels), slide=False)
            drawn = self.drawn(narrow)
            if _height(self.drawn(replace(narrow, tall=0))) <= own and _height(drawn) <= narrow.tall:
                return go.Figure(drawn).update_layout(width=drawn.layout.width or pixels)
        return figure

    def _as_tall(self, theme: Theme, own: float) -> go.Figure:
        """Return the figure with the height of its place, a legend below the plot included."""
        figure = self.draw(theme)
        width, rings = figure.layout.width, any(trace.type == "sunburst" for trace in figure.data)
        place = theme.tall * (width or theme.pixels) / theme.pixels
        height = min(max(place, own if rings or width else own * FLATTEST), own * TALLEST)
        added = own - (figure.layout.height or USUAL_HEIGHT)
        figure.layout.height = round(height - added)
        return fitted(figure, theme)


def _height(figure: go.Figure) -> float:
    return float(figure.layout.height or USUAL_HEIGHT)


class DeclaredFigure(Generic[P]):
    """A named figure; calling it with results returns a FigureSpec."""

    def __init__(
        self,
        name: str,
        chart: str,
        description: str,
        reported: bool,
        table: "Callable[..., pd.DataFrame] | None",
        make: Callable[P, FigureSpec],
    ) -> None:
        """Create a figure declared by `figure`."""
        self.name, self.chart, self.description, self.reported = name, chart, description, reported
        self._make, self._table, self._signature = make, table, signature(make)
        self.inputs = _required(make)
        """Names of its required results; the answer to its question contains each under this name."""
        self.tabled = () if table is None else _required(table)
        """Names of the results of its table; those that the figure does not have are in the answer alone."""

    def of(self, drawn: Mapping[str, Any], notices: Iterable[str] = ()) -> FigureSpec:
        """Build the figure of the answer to its question, from what that answer draws and its notices."""
        build: Callable[..., FigureSpec] = self
        spec = replace(build(*(drawn[name] for name in self.inputs)), remark=" ".join(filter(CUT_OFF.search, notices)))
        return self._with_table(spec, drawn)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> FigureSpec:
        """Build the figure of these results."""
        key = (self.name, *args, *sorted(kwargs.items()))
        spec = replace(self._make(*args, **kwargs), chart=self.chart, key=key)
        return self._with_table(spec, self._signature.bind(*args, **kwargs).arguments)

    def _with_table(self, spec: FigureSpec, results: Mapping[str, Any]) -> FigureSpec:
        if self._table is None or not all(name in results for name in self.tabled):
            return spec
        return replace(spec, table=partial(self._table, *(results[name] for name in self.tabled)))


def _required(function: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(each.name for each in signature(function).parameters.values() if each.default is each.empty)


DECLARED: dict[str, DeclaredFigure[...]] = {}
"""Name -> figure, of every imported module; bertviz_core.questions.figures imports all."""


def figure(
    name: str,
    chart: str,
    description: str = "",
    reported: bool = False,
    table: "Callable[..., pd.DataFrame] | None" = None,
) -> Callable[[Callable[P, FigureSpec]], DeclaredFigure[P]]:
    """Declare a figure for pages, downloads and the command `figure`.

    Args:
        name: name in the command.
        chart: key of its chart, prefixed with the name of the page.
        description: content and options, for `figure --list`; by default the first line of the docstring.
        reported: whether reports offer it: it is of a single model and its text, without further names, files or lists.
        table: computes its numbers from results that the figure, or the answer to its question, has by these names.
    """

    def declared(make: Callable[P, FigureSpec]) -> DeclaredFigure[P]:
        if name in DECLARED:
            raise ValueError(f"two figures are called {name!r}")
        line = (make.__doc__ or "").partition("\n")[0].removesuffix(".")
        first = line if line[1:2].isupper() else line[:1].lower() + line[1:]
        spec = DeclaredFigure(name, chart, description or first, reported, table, make)
        DECLARED[name] = spec
        return spec

    return declared


def write_minus(figure: go.Figure) -> None:
    """Format numbers in hovers with a true minus sign, like those of axes.

    Plotly uses a hyphen for numbers formatted in a hovertemplate, and a minus sign for numbers formatted by an axis or
    trace, so the format is moved there.
    """
    for trace in figure.data:
        words = trace.hovertemplate if "hovertemplate" in trace else None
        if not isinstance(words, str) or ("base" in trace and trace.base is not None):  # the label is base + bar
            continue
        formats = {axis: set(re.findall(rf"%\{{{axis}:([^}}]*\.\d[^}}]*)\}}", words)) for axis in "xyz"}
        for axis, found in formats.items():
            if len(found) == 1 and f"{axis}hoverformat" in trace:
                (how,) = found
                trace[f"{axis}hoverformat"] = how
                words = words.replace(f"%{{{axis}:{how}}}", f"%{{{axis}}}")
        trace.hovertemplate = words


def printed(figure: go.Figure, theme: Theme) -> go.Figure:
    """Return the figure for paper: without hover and clicks; bars hatched, lines dashed."""
    figure.update_layout(hovermode=False, dragmode=False)
    figure.update_traces(selector={"type": "treemap"}, pathbar={"visible": False})
    bars = [trace for trace in figure.data if trace.type == "bar" and trace.name]
    lines = [trace for trace in figure.data if trace.type == "scatter" and trace.name and "lines" in (trace.mode or "")]
    # One hatching or dash per name: a name in two plots looks the same in both.
    for traces, mark in ((bars, _hatched), (lines, _dashed)):
        names = list(dict.fromkeys(trace.name for trace in traces))
        for trace in traces if len(names) > 1 else ():
            mark(trace, names.index(trace.name), theme)
    return figure


def _hatched(trace: Any, place: int, theme: Theme) -> None:
    shape = PATTERNS[place % len(PATTERNS)]
    line = {"color": theme.edge, "width": 1}
    pattern = {"shape": shape, "fillmode": "overlay", "fgcolor": theme.text, "size": 7, "solidity": 0.15}
    trace.update(marker={"line": line, "pattern": pattern})


def _dashed(trace: Any, place: int, theme: Theme) -> None:
    if (trace.line.dash or "solid") == "solid":
        trace.update(line={"dash": DASHES[place % len(DASHES)]})
