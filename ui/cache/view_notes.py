"""What a view shows, noted while its page runs and the report of it was asked for; at all other times nothing is noted.

A view draws what it draws in any case; the places that all figures and tables go through (`ui/widgets/figure_block.py`)
note it here. Nothing is kept between runs: figures are made of runs and of weights, which no session may hold on to.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from bertviz_core.figures.base.caption import Caption, caption_of
from bertviz_core.figures.base.spec import FigureSpec
from bertviz_core.figures.base.style import Theme
from bertviz_core.questions.report.sections import ReportSection
from ui.cache.figures import cached_figure

HOW = "The lines of Python that make it"


@dataclass(frozen=True, slots=True, eq=False)
class ShownFigure:
    """One figure of a view."""

    figure: Any
    """A FigureSpec, or a finished figure."""
    title: str
    alt: str
    words: str
    """What stands below it."""
    models: tuple[tuple[str, str], ...]
    """Name and revision of each model that it shows."""
    texts: tuple[str, ...]
    """What they read, where it depends on it."""


@dataclass(slots=True)
class ShownView:
    """What a view shows, in its order."""

    name: str = ""
    """As the page's control calls it; "" on a page that has one view alone."""
    figures: dict[str, ShownFigure] = field(default_factory=dict)
    """Key of the chart -> the figure."""
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    """What a table is -> its rows."""
    code: dict[str, str] = field(default_factory=dict)
    """Key of the chart -> lines of Python that reproduce its numbers."""

    @property
    def names(self) -> frozenset[str]:
        """The figures as `figure --list` has them."""
        specs = (each.figure for each in self.figures.values())
        return frozenset(str(spec.key[0]) for spec in specs if isinstance(spec, FigureSpec) and spec.key)

    def sections(self, theme: Theme, models: Sequence[tuple[str, str]]) -> tuple[ReportSection, ...]:
        """The view as a report has it: its figures; where it has none, its tables.

        Args:
            theme: colours, and the width for which figures are drawn.
            models: name and revision of the model that tables are of.
        """
        if self.figures:
            return tuple(self._figure(key, each, theme) for key, each in self.figures.items())
        code, below = "\n".join(self.code.values()), Caption("", tuple(models))
        return tuple(
            ReportSection(f"view-table-{place}", title, title, None, below, "" if place else code, HOW, rows)
            for place, (title, rows) in enumerate(self.tables.items())
        )

    def _figure(self, key: str, shown: ShownFigure, theme: Theme) -> ReportSection:
        figure = cached_figure(shown.figure, theme)
        caption = caption_of(figure, shown.words, shown.models, shown.texts)
        code = self.code.get(key, "")
        return ReportSection(f"view-{key}", shown.title, shown.alt or shown.title, figure, caption, code, HOW)


_view: ContextVar[ShownView | None] = ContextVar("shown_view", default=None)


@contextmanager
def noted(wanted: bool) -> Iterator[ShownView]:
    """The view that is run inside, as far as it has run; empty where it is not wanted."""
    view = ShownView()
    before = _view.set(view if wanted else None)
    try:
        yield view
    finally:
        _view.reset(before)


def view_in_sight() -> ShownView | None:
    """Where the view that is running is noted; None at all times but when a report of it was asked for."""
    return _view.get()
