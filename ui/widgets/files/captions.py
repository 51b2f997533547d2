"""Captions of figures, and the record of figures and tables for a report of the view."""

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from bertviz_core.errors import BertvizError
from bertviz_core.figures.base.spec import FigureSpec
from bertviz_core.figures.base.style import Theme
from bertviz_core.trace.results import Tokens
from ui.cache import sources
from ui.cache.view_notes import ShownDrawing, ShownFigure, view_in_sight
from ui.widgets.models import fields


def note_figure(
    figure: Any,
    key: str,
    title: str,
    caption: str,
    texts: Tokens | Sequence[str | None] = (),
    models: Sequence[str] = (),
) -> None:
    """Record a figure for a report of its view, if one was requested.

    Args:
        figure: a FigureSpec, or a finished figure.
        key: key of its chart.
        title: title of a finished figure; a FigureSpec has its own.
        caption: the caption.
        texts: texts that the figure depends on.
        models: names of the models shown; by default the chosen one.
    """
    if (view := view_in_sight()) is not None:
        title = figure.title if isinstance(figure, FigureSpec) else title
        view.figures[key] = ShownFigure(figure, title, alt_of(figure), caption, shown_models(models), read_texts(texts))


def note_drawing(key: str, title: str, page: Callable[[Theme], str], names: Sequence[str]) -> None:
    """Record a drawing that code in the browser makes, for a report of its view, if one was requested.

    Args:
        key: key of its component.
        title: its title.
        page: writes it in a theme as a self-contained HTML page, in the state that the page shows.
        names: names of the figures that show the same, as in `figure --list`.
    """
    if (view := view_in_sight()) is not None:
        view.figures[key] = ShownDrawing(title, page, frozenset(names))


def note_table(title: str, table: pd.DataFrame) -> None:
    """Record a table for a report of its view, which contains tables where the view has no figure."""
    if (view := view_in_sight()) is not None:
        view.tables[title] = table


def note_models(names: Sequence[str]) -> None:
    """Record the models of the view's tables, where they are not the chosen one."""
    if (view := view_in_sight()) is not None:
        view.models = shown_models(names)


def note_code(key: str, code: str) -> None:
    """Record the lines of Python that reproduce the numbers of a chart."""
    if (view := view_in_sight()) is not None:
        view.code[key] = code


def alt_of(figure: Any) -> str:
    """The description for screen readers; "" for a finished figure."""
    return figure.alt if isinstance(figure, FigureSpec) else ""


def read_texts(texts: Tokens | Sequence[str | None]) -> tuple[str, ...]:
    """The texts that a figure depends on, without empty ones."""
    return tuple(text for text in ((texts.text, texts.pair) if isinstance(texts, Tokens) else texts) if text)


def shown_models(names: Sequence[str] = ()) -> tuple[tuple[str, str], ...]:
    """Name and revision of each model; by default of the chosen one."""
    return tuple(_named(name) for name in names or (fields.model_name(),))


def _named(name: str) -> tuple[str, str]:
    """A model's name and revision; no revision where its files were removed after the computation."""
    try:
        source = sources.source(name)
    except BertvizError:
        return name, ""
    return source.name, source.revision
