"""How every figure is drawn and taken away: the chart, its table and the same row of downloads below."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.figures.base.caption import Caption, caption_of, colour_range, texts_words
from bertviz_core.figures.base.export import standalone_html
from bertviz_core.figures.base.fitted import USUAL_HEIGHT
from bertviz_core.figures.base.spec import FigureSpec
from bertviz_core.figures.base.style import Theme, theme_named, width_class
from bertviz_core.text import decimals, formula_safe
from bertviz_core.trace.results import Tokens
from ui import session
from ui.cache.figures import cached_figure
from ui.components.browser.page_width import window_height
from ui.components.figure_download import figure_download
from ui.widgets.files.captions import alt_of, note_code, note_figure, note_table, read_texts, shown_models
from ui.widgets.files.theme import chosen_theme, theme_select
from ui.widgets.formatting import escape_markdown

CHART_CONFIG = {
    "displaylogo": False,
    "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d"],
    "scrollZoom": False,
}
NO_FORMATS: Mapping[str, str] = {}
SIDE_BY_SIDE = 860
"""Pixels of a page on which halves stand side by side."""
TALLEST = 440
"""Pixels of a text on the page; a taller one is scrolled in its place."""
MOST_WRITTEN = 20_000
"""Cells of a table that are written one by one."""
LONGEST_NAME = 150
"""Characters of a file's name; file systems allow 255 bytes."""


def figure_block(
    spec: FigureSpec,
    filename: str,
    table: pd.DataFrame,
    *,
    alt: str = "",
    numbers: Literal["folded", "open", "in files"] = "folded",
    height: int | Literal["auto"] = "auto",
    caption: str = "",
    texts: Tokens | Sequence[str | None] = (),
    models: Sequence[str] = (),
    explanation: tuple[str, str] | None = None,
    on_select: Callable[[], None] | None = None,
    formats: Mapping[str, str] = NO_FORMATS,
    share: float = 1.0,
    scrolled: bool = False,
) -> DeltaGenerator:
    """The place between a figure and its files, for words on it; below are its files, numbers and how they are made.

    Args:
        spec: the figure.
        filename: what is seen and of which model, layer and head, without an ending.
        table: its numbers.
        alt: what the table is, for a reader who does not see it; the figure's title by default.
        numbers: whether the table stands folded or open below the figure, or in its files alone.
        height: of a table that stands open, in pixels.
        caption: what stands below the figure in its files; its own by default.
        texts: what the models read, where the figure depends on it.
        models: names of the models that the figure shows; the chosen one by default.
        explanation: how the numbers are made, and the lines of Python that reproduce them.
        on_select: called when a part of the figure was clicked.
        formats: column of the table -> how its numbers are written, such as "percent"; they stay numbers and sort so.
        share: of the page's width that the figure takes where parts of the page stand side by side.
        scrolled: whether a tall figure is scrolled in its place, as a long text is.
    """
    if scrolled:
        scrolled_chart(spec, on_select)
    else:
        chart(spec, spec.chart, on_select=on_select, share=share)
    _name_texts(texts)
    words = st.container()
    _downloads(spec, spec.chart, filename, caption or spec.caption or spec.title, table, texts, models)
    if numbers == "folded":
        folded_table(
            spec.chart, table, alt or spec.title, formats, colour_range(cached_figure(spec, page_theme(share)))
        )
    elif numbers == "open":
        numbers_table(table, alt or spec.title, height, formats=formats)
    if explanation is not None:
        explained(spec.chart, *explanation)
    return words


def page_theme(share: float = 1.0) -> Theme:
    """Colours and width for a figure that takes this share of the page, all of it where a row would be too narrow."""
    pixels = session.page_pixels()
    if session.figure_only():
        return replace(theme_named(session.theme_name(), width_class(pixels)), tall=window_height())
    side_by_side = pixels >= SIDE_BY_SIDE
    return theme_named(session.theme_name(), width_class(pixels * share) if side_by_side else pixels)


def chart(
    figure: Any, key: str, alt: str = "", on_select: Callable[[], None] | None = None, share: float = 1.0
) -> None:
    """A figure as wide as its place; on_select is called when a part of it is clicked.

    Args:
        figure: a Picture, drawn in the theme of the page, or a finished figure.
        key: of the chart.
        alt: what is seen; a picture says it itself.
        on_select: called when a part of it was clicked.
        share: of the page's width that the figure takes where parts of the page stand side by side.
    """
    drawn = cached_figure(figure, page_theme(share))
    st.plotly_chart(
        drawn,
        height=round(drawn.layout.height or USUAL_HEIGHT),  # said, so that its place is there before it is drawn
        key=key,
        theme=None,
        alt=alt_of(figure) or alt,
        config=CHART_CONFIG,
        on_select=on_select or "ignore",
        selection_mode="points",
    )


def scrolled_chart(spec: FigureSpec, on_select: Callable[[], None] | None = None) -> None:
    """A figure as wide as its place; one that is taller than TALLEST is scrolled, so that what is below stays near.

    Args:
        spec: the figure.
        on_select: called when a part of it was clicked.
    """
    tall = not session.figure_only() and cached_figure(spec, page_theme()).layout.height > TALLEST
    with st.container(height=TALLEST if tall else "content", border=False):
        chart(spec, spec.chart, on_select=on_select)


def download_row(
    figure: Any,
    key: str,
    filename: str,
    caption: str,
    table: pd.DataFrame,
    texts: Tokens | Sequence[str | None] = (),
    models: Sequence[str] = (),
) -> None:
    """Which texts the figure is of; PNG, SVG and HTML in a theme of the reader's choice, and CSV of its numbers.

    Args:
        figure: the picture that stands on the page; a finished figure can be had as it is shown only.
        key: key of its chart, which begins with the page's name.
        filename: what is seen and of which model, layer and head, without an ending.
        caption: what is seen, for below the figure; model, revision, texts and colours are added to it.
        table: the numbers.
        texts: what the models read, where the figure depends on it.
        models: names of the models that the figure shows; the chosen one by default.
    """
    _name_texts(texts)
    _downloads(figure, key, filename, caption, table, texts, models)


def _downloads(
    figure: Any,
    key: str,
    filename: str,
    caption: str,
    table: pd.DataFrame,
    texts: Tokens | Sequence[str | None],
    models: Sequence[str],
) -> None:
    note_figure(figure, key, filename, caption, texts, models)
    name = file_name(key, filename)
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
        redrawn = isinstance(figure, FigureSpec)
        title = figure.title if redrawn else filename
        chosen = chosen_theme() if redrawn else ""
        theme = theme_named(chosen or session.theme_name())
        words = _caption(figure, theme, caption, models, texts)
        on_page = not chosen and session.page_pixels() >= theme.pixels  # a phone's figure is no file
        again = None if on_page or not redrawn else cached_figure(figure, theme)
        figure_download(key, name, title, words, theme, alt_of(figure), again)
        st.download_button(
            "HTML",
            partial(_page, figure, theme, title, words),
            f"{name}.html",
            "text/html",
            key=f"{key}_html",
            help="One file with the figure inside; opens without a network.",
            on_click="ignore",
        )
        st.download_button(
            "CSV", lambda: csv_text(table), f"{name}.csv", "text/csv", key=f"{key}_csv", on_click="ignore"
        )
        if redrawn:
            theme_select(key)


def file_name(key: str, filename: str) -> str:
    """The name of a figure's files, without an ending: the page, what is seen, the model."""
    page = key.partition("_")[0]
    whole = filename[len(page) :] if filename.lower().startswith(page) else f" {filename}"
    return re.sub(r"[^\w.]+", "-", f"{page}{whole}")[:LONGEST_NAME].strip("-.")


def _caption(
    figure: Any, theme: Theme, words: str, models: Sequence[str], texts: Tokens | Sequence[str | None]
) -> Caption:
    """The caption of what is shown; every page's goes through here."""
    return caption_of(cached_figure(figure, theme), words, shown_models(models), read_texts(texts))


def _name_texts(texts: Tokens | Sequence[str | None]) -> None:
    """Below a figure on the page: the texts that it is of, in the words of the caption of its files."""
    if words := texts_words(read_texts(texts)):
        st.caption(escape_markdown(words))


def _page(figure: Any, theme: Theme, title: str, caption: Caption) -> str:
    return standalone_html(cached_figure(figure, theme), title, caption, theme, alt_of(figure))


def numbers_table(
    table: pd.DataFrame,
    alt: str,
    height: int | Literal["auto"] = "auto",
    first: int | None = None,
    formats: Mapping[str, str] = NO_FORMATS,
    key: str | None = None,
    on_row: Callable[[], None] | None = None,
) -> None:
    """A table with separators in its whole numbers and four digits behind the point of others, where these show them.

    `first` is the width of its first column in pixels; with a `key`, `on_row` is called when a row is chosen.

    A number is never written as text, which would sort by its letters: `formats` says how a column is written
    (st.column_config.NumberColumn: "percent", "%.2f ×", "%.1f MiB").
    """
    note_table(alt, table)
    written = {
        **dict.fromkeys(map(str, table.select_dtypes(include="integer")), "localized"),
        **{str(name): "%.4f" for name, column in table.items() if _is_plain(column)},
        **formats,
    }
    signed = _signed(table, formats)
    written = {name: each for name, each in written.items() if name not in signed}
    columns: dict[str, Any] = {name: st.column_config.NumberColumn(format=each) for name, each in written.items()}
    if first is not None:
        columns[table.columns[0]] = st.column_config.Column(width=first)
    st.dataframe(
        table.style.format(signed, na_rep="") if signed else table,
        hide_index=True,
        height=height,
        alt=alt,
        column_config=columns,
        key=key,
        on_select=on_row or "ignore",
        selection_mode="single-row",
    )


def _signed(table: pd.DataFrame, formats: Mapping[str, str]) -> dict[Any, Any]:
    """Column with numbers below 0 -> how its numbers are written, which Streamlit's own formats do with a hyphen.

    None where the table is too large to be written cell by cell, or where two columns or rows have one name.
    """
    if table.size > MOST_WRITTEN or not (table.columns.is_unique and table.index.is_unique):
        return {}
    below = [name for name, cells in table.items() if pd.api.types.is_float_dtype(cells) and (cells < 0).any()]
    found = {str(name): formats.get(str(name), "%.4f") for name in below}
    return {name: partial(_with_minus, how) for name, how in found.items() if how.startswith("%")}


def _with_minus(how: str, value: float) -> str:
    return decimals(value) if how == "%.4f" else (how % value).replace("-", "−")


def _is_plain(column: pd.Series) -> bool:
    """Whether four digits behind the point show every number of a column, and no fewer would do in front of it."""
    if not pd.api.types.is_float_dtype(column):
        return False
    sizes = column[column.abs() > 0].abs()
    return bool(sizes.between(1e-4, 1e3).all())


def folded(label: str, key: str) -> Any:
    """A part of the page that stands folded, and open where the address says so."""
    return st.expander(label, key=key, on_change="rerun", bind="query-params")


def folded_table(
    key: str, table: pd.DataFrame, alt: str, formats: Mapping[str, str] = NO_FORMATS, scale: str = ""
) -> None:
    """A table that stands folded below its figure, sent when it is opened; `scale` says what its colours mean."""
    note_table(alt, table)
    with folded("The numbers as a table", f"{key}_table") as place:
        if place.open:
            if scale:
                st.caption(f"Colours of the figure: {escape_markdown(scale)}.")
            numbers_table(table, alt, formats=formats)


def explained(key: str, words: str, code: str) -> None:
    """How a figure's numbers are made, with the lines of Python that reproduce them.

    Filled when it is opened: the browser's module that colours code is large.
    """
    note_code(key, code)
    with folded("How this is computed", f"{key}_explained") as place:
        if place.open:
            st.markdown(words)
            st.code(code, language="python")


def csv_text(table: pd.DataFrame) -> str:
    """The table as CSV; a text or head that a spreadsheet would run as a formula gets an apostrophe in front."""
    safe = table.copy()
    for place, kind in enumerate(table.dtypes):
        if not pd.api.types.is_numeric_dtype(kind):
            cells = [formula_safe(cell) if isinstance(cell, str) else cell for cell in table.iloc[:, place]]
            safe.isetitem(place, cells)
    safe.columns = [formula_safe(str(head)) for head in table.columns]
    return safe.to_csv(index=False, lineterminator="\r\n")  # as RFC 4180; a lone return in a cell is then quoted
