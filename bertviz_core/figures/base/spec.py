"""Declare figures: name, title, alternative text and drawing function."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from inspect import signature
from typing import Any, Generic, ParamSpec

import pandas as pd
import plotly.graph_objects as go

from bertviz_core.errors import TextError
from bertviz_core.figures.base.fitted import USUAL_HEIGHT, fitted
from bertviz_core.figures.base.style import Theme

P = ParamSpec("P")
PATTERNS = ("", "/", ".", "x", "-", "\\", "+", "|")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")

FLATTEST, TALLEST = 0.85, 1.5
"""Minimum and maximum height of a figure that fills a place, as shares of its own height."""


@dataclass(frozen=True, slots=True, eq=False)
class FigureSpec:
    """A figure of a page, file or command, drawn separately for each theme."""

    title: str
    """Title of the figure."""
    alt: str
    """Alternative text."""
    draw: Callable[[Theme], go.Figure]
    """Draws the figure; colours come only from the theme."""
    caption: str = ""
    """Caption in a file; "" for the title."""
    chart: str = ""
    """Key of its chart on its page."""
    key: tuple[object, ...] = ()
    """Name of the declared figure and its inputs; empty for one that is not declared."""
    cache: dict[tuple[str, int, int], go.Figure] = field(default_factory=dict, repr=False)
    """Theme, width and height -> drawn figure."""
    table: Callable[[], pd.DataFrame] | None = None
    """Computes its numbers, the same on a page, in a file and in the library; None for a figure without a table."""

    def drawn(self, theme: Theme) -> go.Figure:
        """Draw the figure in a theme, fitted to its width."""
        key = (theme.name, theme.pixels, theme.tall)
        if key not in self.cache:
            figure = fitted(self.draw(theme), theme)
            if theme.tall:
                figure = self._as_tall(theme, figure.layout.height or USUAL_HEIGHT)
            write_minus(figure)
            self.cache[key] = printed(figure, theme) if theme.name == "print" else figure
        return self.cache[key]

    def frame(self) -> pd.DataFrame:
        """Compute the numbers of the figure.

        Raises:
            TextError: it has no table.
        """
        if self.table is None:
            raise TextError(f"The figure {self.title!r} has no table; write an image, or .html.")
        return self.table()

    def _as_tall(self, theme: Theme, own: float) -> go.Figure:
        """Return the figure with the height of its place, a legend below the plot included."""
        height = min(max(theme.tall, own * FLATTEST), own * TALLEST)
        figure = self.draw(theme)
        added = own - (figure.layout.height or USUAL_HEIGHT)
        figure.layout.height = round(height - added)
        return fitted(figure, theme)


class DeclaredFigure(Generic[P]):
    """A named figure; calling it with results returns a FigureSpec."""

    def __init__(
        self,
        name: str,
        chart: str,
        description: str,
        reported: bool,
        table: Callable[..., pd.DataFrame] | None,
        make: Callable[P, FigureSpec],
    ) -> None:
        """Create a figure declared by `figure`."""
        self.name, self.chart, self.description, self.reported = name, chart, description, reported
        self._make, self._table, self._signature = make, table, signature(make)
        self.inputs = _required(make)
        """Names of its required results; the answer to its question contains each under this name."""
        self.tabled = () if table is None else _required(table)
        """Names of the results of its table; those that the figure does not have are in the answer alone."""

    def of(self, drawn: Mapping[str, Any]) -> FigureSpec:
        """Build the figure of the answer to its question, from what that answer draws."""
        build: Callable[..., FigureSpec] = self
        return self._with_table(build(*(drawn[name] for name in self.inputs)), drawn)

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
    description: str,
    reported: bool = False,
    table: Callable[..., pd.DataFrame] | None = None,
) -> Callable[[Callable[P, FigureSpec]], DeclaredFigure[P]]:
    """Declare a figure for pages, downloads and the command `figure`.

    Args:
        name: name in the command.
        chart: key of its chart, prefixed with the name of the page.
        description: content and options, for `figure --list`.
        reported: whether reports offer it: it is of a single model and its text, without further names, files or lists.
        table: computes its numbers from results that the figure, or the answer to its question, has by these names.
    """

    def declared(make: Callable[P, FigureSpec]) -> DeclaredFigure[P]:
        if name in DECLARED:
            raise ValueError(f"two figures are called {name!r}")
        spec = DeclaredFigure(name, chart, description, reported, table, make)
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
