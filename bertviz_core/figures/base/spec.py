"""Declare figures: their name, title, alternative text and drawing function."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from inspect import signature
from typing import Any, Generic, ParamSpec

import plotly.graph_objects as go

from bertviz_core.figures.base.fitted import USUAL_HEIGHT, fitted
from bertviz_core.figures.base.style import Theme

P = ParamSpec("P")
PATTERNS = ("", "/", ".", "x", "-", "\\", "+", "|")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")

FLATTEST, TALLEST = 0.85, 1.5
"""How low and how high a figure is drawn that is to fill a place, as shares of its own height: rows keep their room."""


@dataclass(frozen=True, slots=True, eq=False)
class FigureSpec:
    """A figure of a page, file or command, drawn anew for each theme."""

    title: str
    """Stands alone on a slide."""
    alt: str
    """What is seen, for a reader who does not see it."""
    draw: Callable[[Theme], go.Figure]
    """Draws it; the colours are the theme's alone."""
    caption: str = ""
    """What stands below it in a file; the title where it is empty."""
    chart: str = ""
    """Key of its chart on its page."""
    key: tuple[object, ...] = ()
    """Name of the declared figure and what it was made of; empty for one that is not declared."""
    kept: dict[tuple[str, int, int], go.Figure] = field(default_factory=dict, repr=False)
    """Theme, width and height of the place -> the figure, where it has been drawn."""

    def drawn(self, theme: Theme) -> go.Figure:
        """The figure in a theme and fitted to its width."""
        key = (theme.name, theme.pixels, theme.tall)
        if key not in self.kept:
            figure = fitted(self.draw(theme), theme)
            if theme.tall:
                figure = self._as_tall(theme, figure.layout.height or USUAL_HEIGHT)
            write_minus(figure)
            self.kept[key] = printed(figure, theme) if theme.name == "print" else figure
        return self.kept[key]

    def _as_tall(self, theme: Theme, own: float) -> go.Figure:
        """The figure with the height of its place, a legend below the plot included."""
        wanted = min(max(theme.tall, own * FLATTEST), own * TALLEST)
        figure = self.draw(theme)
        added = own - (figure.layout.height or USUAL_HEIGHT)
        figure.layout.height = round(wanted - added)
        return fitted(figure, theme)


class DeclaredFigure(Generic[P]):
    """A named figure; calling it with results returns a FigureSpec."""

    def __init__(self, name: str, chart: str, description: str, make: Callable[P, FigureSpec]) -> None:
        """A figure as `figure` declares it."""
        self.name, self.chart, self.description = name, chart, description
        self._make = make
        parameters = signature(make).parameters.values()
        self.inputs = tuple(each.name for each in parameters if each.default is each.empty)
        """Names of the results that it cannot do without; the answer to its question holds each under this name."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> FigureSpec:
        """The figure of these results."""
        key = (self.name, *args, *sorted(kwargs.items()))
        return replace(self._make(*args, **kwargs), chart=self.chart, key=key)


DECLARED: dict[str, DeclaredFigure[...]] = {}
"""Name -> figure, of every module that has been imported; bertviz_core.questions.figures imports all."""


def figure(name: str, chart: str, description: str) -> Callable[[Callable[P, FigureSpec]], DeclaredFigure[P]]:
    """Declare a figure for pages, downloads and the command `figure`.

    Args:
        name: what the command calls it.
        chart: key of its chart on its page, which begins with the page's name.
        description: what it shows, and with which options, for `figure --list`.
    """

    def declared(make: Callable[P, FigureSpec]) -> DeclaredFigure[P]:
        if name in DECLARED:
            raise ValueError(f"two figures are called {name!r}")
        spec = DeclaredFigure(name, chart, description, make)
        DECLARED[name] = spec
        return spec

    return declared


def write_minus(figure: go.Figure) -> None:
    """Format numbers in hovers with a real minus, as those of axes are.

    Plotly writes a number that the words under the pointer format themselves with a hyphen, and one that its axis or
    trace formats with a minus; so the format moves there.
    """
    for trace in figure.data:
        words = trace.hovertemplate if "hovertemplate" in trace else None
        if not isinstance(words, str) or ("base" in trace and trace.base is not None):  # what is labelled is base + bar
            continue
        formats = {axis: set(re.findall(rf"%\{{{axis}:([^}}]*\.\d[^}}]*)\}}", words)) for axis in "xyz"}
        for axis, found in formats.items():
            if len(found) == 1 and f"{axis}hoverformat" in trace:
                (how,) = found
                trace[f"{axis}hoverformat"] = how
                words = words.replace(f"%{{{axis}:{how}}}", f"%{{{axis}}}")
        trace.hovertemplate = words


def printed(figure: go.Figure, theme: Theme) -> go.Figure:
    """The figure for paper: without hover and clicks; bars hatched, lines dashed."""
    figure.update_layout(hovermode=False, dragmode=False)
    figure.update_traces(selector={"type": "treemap"}, pathbar={"visible": False})
    bars = [trace for trace in figure.data if trace.type == "bar" and trace.name]
    lines = [trace for trace in figure.data if trace.type == "scatter" and trace.name and "lines" in (trace.mode or "")]
    # One hatching or dash per name: a name that stands in two plots looks the same in both.
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
