"""What figures and tables say of themselves, for their captions and for a report of the view that they stand in."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from bertviz_core.errors import BertvizError
from bertviz_core.figures.base.spec import FigureSpec
from bertviz_core.trace.results import Tokens
from ui.cache import sources
from ui.cache.view_notes import ShownFigure, view_in_sight
from ui.widgets import controls


def note_figure(
    figure: Any,
    key: str,
    title: str,
    caption: str,
    texts: Tokens | Sequence[str | None] = (),
    models: Sequence[str] = (),
) -> None:
    """Note a figure for a report of its view, where one was asked for; every row of downloads does it.

    Args:
        figure: a FigureSpec, or a finished figure.
        key: of its chart.
        title: of a finished figure; a FigureSpec has its own.
        caption: what is seen.
        texts: what the models read, where the figure depends on it.
        models: names of the models that the figure shows; the chosen one by default.
    """
    if (view := view_in_sight()) is not None:
        title = figure.title if isinstance(figure, FigureSpec) else title
        view.figures[key] = ShownFigure(figure, title, alt_of(figure), caption, shown_models(models), read_texts(texts))


def note_table(title: str, table: pd.DataFrame) -> None:
    """Note a table for a report of its view, which holds it where the view has no figure."""
    if (view := view_in_sight()) is not None:
        view.tables[title] = table


def note_code(key: str, code: str) -> None:
    """Note the lines of Python that reproduce the numbers of a chart."""
    if (view := view_in_sight()) is not None:
        view.code[key] = code


def alt_of(figure: Any) -> str:
    """What is seen, for a reader who does not see it; "" for a finished figure."""
    return figure.alt if isinstance(figure, FigureSpec) else ""


def read_texts(texts: Tokens | Sequence[str | None]) -> tuple[str, ...]:
    """The texts that a figure depends on, without empty ones."""
    return tuple(text for text in ((texts.text, texts.pair) if isinstance(texts, Tokens) else texts) if text)


def shown_models(names: Sequence[str] = ()) -> tuple[tuple[str, str], ...]:
    """Name and revision of each model, of the chosen one where none is named."""
    return tuple(_named(name) for name in names or (controls.model_name(),))


def _named(name: str) -> tuple[str, str]:
    """A model's name and revision; the name alone where its files have gone since what is shown was computed."""
    try:
        source = sources.source(name)
    except BertvizError:
        return name, ""
    return source.name, source.revision
