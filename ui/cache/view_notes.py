"""Record what a view shows while its page runs, for a report of the view; otherwise nothing is recorded.

`ui/widgets/figure_block.py` records every figure and table here. Nothing is kept between runs: figures refer to traces
and weights, which no session may keep in memory.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from bertviz_core.figures.base.caption import Caption, caption_of
from bertviz_core.figures.base.spec import FigureSpec
from bertviz_core.figures.base.style import Theme
from bertviz_core.questions.report.sections import ReportSection
from bertviz_core.resources import retained_nbytes
from ui.cache.figures import PER_BYTE, cached_figure
from ui.cache.memoize import results

HOW = "The lines of Python that make it"


@dataclass(frozen=True, slots=True, eq=False)
class ShownFigure:
    """A figure of a view."""

    figure: Any
    """A FigureSpec, or a finished figure."""
    title: str
    alt: str
    words: str
    """The caption below it."""
    models: tuple[tuple[str, str], ...]
    """Name and revision of each model that it shows."""
    texts: tuple[str, ...]
    """The texts on which the figure depends."""


@dataclass(frozen=True, slots=True, eq=False)
class ShownDrawing:
    """A drawing of a view that is made by code in the browser."""

    title: str
    page: Callable[[Theme], str]
    """Writes it in a theme as a self-contained HTML page, in the state that the address of the view describes."""
    names: frozenset[str] = frozenset()
    """Names of the figures that show the same, as in `figure --list`."""


@dataclass(slots=True)
class ShownView:
    """Figures and tables of a view, in order."""

    name: str = ""
    """Name of the view; "" on a page with a single view."""
    figures: dict[str, ShownFigure | ShownDrawing] = field(default_factory=dict)
    """Key of the chart -> the figure or drawing."""
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    """Description of a table -> its rows."""
    models: tuple[tuple[str, str], ...] = ()
    """Name and revision of the models of the tables; () for the chosen one."""
    code: dict[str, str] = field(default_factory=dict)
    """Key of the chart -> lines of Python that reproduce its numbers."""

    @property
    def names(self) -> frozenset[str]:
        """Names of the figures, as in `figure --list`."""
        drawn = [each.names for each in self.figures.values() if isinstance(each, ShownDrawing)]
        specs = [each.figure for each in self.figures.values() if isinstance(each, ShownFigure)]
        named = {str(spec.key[0]) for spec in specs if isinstance(spec, FigureSpec) and spec.key}
        return frozenset(named).union(*drawn)

    def sections(self, theme: Theme, models: Sequence[tuple[str, str]]) -> tuple[ReportSection, ...]:
        """Sections of a report: the figures of the view, or its tables where it has no figures.

        Args:
            theme: colours, and the width of the figures.
            models: name and revision of the chosen model.
        """
        if self.figures:
            return tuple(self._figure(key, each, theme) for key, each in self.figures.items())
        code, below = "\n".join(self.code.values()), Caption("", self.models or tuple(models))
        return tuple(
            ReportSection(f"view-table-{place}", title, title, None, below, "" if place else code, HOW, rows)
            for place, (title, rows) in enumerate(self.tables.items())
        )

    def _figure(self, key: str, shown: ShownFigure | ShownDrawing, theme: Theme) -> ReportSection:
        if isinstance(shown, ShownDrawing):  # its page has the caption
            code, page = self.code.get(key, ""), shown.page(theme)
            return ReportSection(f"view-{key}", shown.title, shown.title, None, Caption("", ()), code, HOW, page=page)
        figure = cached_figure(shown.figure, theme)
        caption = caption_of(figure, shown.words, shown.models, shown.texts)
        code = self.code.get(key, "")
        return ReportSection(f"view-{key}", shown.title, shown.alt or shown.title, figure, caption, code, HOW)


_view: ContextVar[ShownView | None] = ContextVar("shown_view", default=None)


@contextmanager
def noted(recorded: bool) -> Iterator[ShownView]:
    """Record the view that runs inside the block, if `recorded`."""
    view = ShownView()
    before = _view.set(view if recorded else None)
    try:
        yield view
    finally:
        _view.reset(before)


@contextmanager
def noted_if(recorded: bool) -> Iterator[None]:
    """Record what is shown inside the block, below the view itself, only if the address of the view asks for it."""
    before = _view.get()
    _view.set(before if recorded else None)
    try:
        yield
    finally:
        _view.set(before)


def view_in_sight() -> ShownView | None:
    """The record of the running view; None where no report was requested."""
    return _view.get()


def keep_sections(token: str, sections: tuple[ReportSection, ...]) -> None:
    """Cache the drawn figures of a view under a token of its session, since they may contain the reader's own data."""
    figures = [each.figure for each in sections if each.figure is not None]
    size = sum(PER_BYTE * len(figure.to_json()) for figure in figures) + sum(len(each.page) for each in sections)
    results().put((__name__, token), sections, size + retained_nbytes([each.table for each in sections]))


def cached_sections(token: str) -> tuple[ReportSection, ...] | None:
    """The figures of a token; None if they were never drawn, or are no longer cached."""
    sections: tuple[ReportSection, ...] | None = results().get((__name__, token))
    return sections
