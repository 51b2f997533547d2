"""Show a figure with its downloads, its table and how it is computed."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from jaxtyping import Float
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.figures.base.export import (
    MEDIA,
    SLIDE,
    Caption,
    caption_of,
    colour_range,
    slide_room,
    slide_width,
    standalone_html,
    texts_words,
)
from bertviz_core.figures.base.spec import USUAL_HEIGHT, FigureSpec
from bertviz_core.figures.base.style import Theme, theme_named, width_class
from bertviz_core.questions.view import SCROLLED, Figure
from bertviz_core.tables.typeset import COLUMN_WORDS, csv_text
from bertviz_core.text import decimals, escape_markdown
from bertviz_core.trace.results import Tokens
from ui import session
from ui.cache.figures import cached_drawing, cached_figure, view_in_sight
from ui.components.chart import Layers, all_figures, draw_chart
from ui.components.frame import figure_download, window_height
from ui.widgets import downloads

NO_FORMATS: Mapping[str, str] = {}
SIDE_BY_SIDE = 860
"""Least width of a page with two columns, in pixels."""
TALLEST, PREVIEW = 440, 320
"""Most pixels of a scrolled figure's height, and of a preview's width."""
MOST_WRITTEN, ROW = 20_000, 35
"""Most cells of a table whose numbers are formatted one by one; pixels of a row."""
WHOLE = "localized"
"""Format of whole numbers, with separators."""
HTML_HELP = "One file with the figure inside; opens without a network."
LONGEST_NAME = 150
"""Most characters of a file's name; file systems allow 255 bytes."""


def figure_block(part: Figure, on_click: Callable[[], None] | None = None) -> DeltaGenerator:
    """Show a figure, its downloads, its table and how it is computed; returns a container above the downloads."""
    spec = part.spec
    if part.scrolled:
        scrolled_chart(spec, on_click)
    else:
        figure_chart(part, on_click, part.share)
    _name_texts(part.texts)
    words = st.container()
    caption = part.caption or spec.caption or spec.title
    _downloads(spec, spec.chart, part.file, caption, part.texts, part.models, part.share)
    if part.numbers == "folded":
        scale = colour_range(cached_figure(spec, page_theme(part.share)))
        folded_table(spec.chart, spec.frame, part.alt or spec.title, part.formats, scale)
    elif part.numbers == "open":
        numbers_table(spec.frame(), part.alt or spec.title, part.height, formats=part.formats)
    if part.explanation:
        explained(spec.chart, part.explanation, part.code)
    return words


def page_theme(share: float = 1.0) -> Theme:
    """Theme and width of a figure with this share of the page's width; on narrow pages it takes all of it."""
    pixels = session.page_pixels()
    if session.figure_fills():
        theme = theme_named(session.theme_name(), width_class(pixels))
        return replace(theme, tall=window_height(), tools=not session.is_presenting())
    side_by_side = pixels >= SIDE_BY_SIDE
    return theme_named(session.theme_name(), width_class(pixels * share) if side_by_side else pixels)


def chart(
    spec: FigureSpec,
    key: str,
    on_click: Callable[[], None] | None = None,
    share: float = 1.0,
    selects: bool = False,
    layers: Layers | None = None,
) -> None:
    """Draw a figure in the theme of the page."""
    drawn = cached_drawing(spec, page_theme(share))
    height = round(drawn.figure.layout.height or USUAL_HEIGHT)
    draw_chart(key, drawn.json, spec.alt, height, on_click, selects, layers)


def figure_chart(part: Figure, on_click: Callable[[], None] | None, share: float) -> None:
    """Draw a figure, and send those of the other values of its control ahead, if they are small and of one height."""
    spec, layers = part.spec, None
    if part.ahead is not None:
        drawn = [cached_drawing(each, page_theme(share)) for each in part.ahead.specs]
        if len({each.figure.layout.height for each in drawn}) == 1:
            alts = [each.alt for each in part.ahead.specs]
            layers = all_figures(part.ahead.param.key, [each.json for each in drawn], alts)
    # What is sent is the same at each value, and sent once.
    chart(part.ahead.specs[0] if part.ahead and layers else spec, spec.chart, on_click, share, layers=layers)


def scrolled_chart(spec: FigureSpec, on_click: Callable[[], None] | None = None) -> None:
    """Draw a figure; one that is taller than TALLEST is scrolled."""
    tall = not session.figure_fills() and cached_figure(spec, page_theme()).layout.height > TALLEST
    key = f"{spec.chart}_scrolled" if tall else None
    with st.container(height=TALLEST if tall else "content", border=False, key=key):
        chart(spec, spec.chart, on_click)


def download_row(
    spec: FigureSpec,
    key: str,
    filename: str,
    caption: str,
    texts: Tokens | Sequence[str | None] = (),
    models: Sequence[str] = (),
    preview: bool = False,
) -> None:
    """Show the texts of a figure, and downloads as PNG, SVG, HTML, CSV, LaTeX and Markdown.

    The key of its chart begins with the page's name; model, revision, texts and colours are added to the caption.

    Args:
        models: names of the models that it shows; () for the chosen one.
        preview: whether the figure is drawn below its files, since the page shows the same in another form.
    """
    if not preview:
        _name_texts(texts)
    _downloads(spec, key, filename, caption, texts, models, preview=preview)


def _downloads(
    spec: FigureSpec,
    key: str,
    filename: str,
    caption: str,
    texts: Tokens | Sequence[str | None],
    models: Sequence[str],
    share: float = 1.0,
    preview: bool = False,
) -> None:
    downloads.note_figure(spec, key, caption, texts, models)
    named, read = downloads.shown_models(models), downloads.read_texts(texts)
    words = Caption(caption, named, read)
    downloads.download_menu(key, partial(_files, spec, key, file_name(key, filename), words, share, preview))


def _files(spec: FigureSpec, key: str, name: str, shown: Caption, share: float, preview: bool) -> None:
    """The files of a figure: a slide first, then images, then its numbers."""
    chosen, medium = downloads.chosen_theme(), downloads.chosen_medium()
    theme = theme_named(chosen or session.theme_name())
    # Figures for a phone are too narrow for files.
    on_page = not chosen and not medium and not preview and session.page_pixels() >= theme.pixels
    sized = replace(theme, pixels=width_class(MEDIA[medium])) if medium else theme
    drawn = cached_figure(spec, page_theme(share) if on_page else sized)
    words = caption_of(drawn, shown.words, shown.models, shown.texts, spec.remark)
    with downloads.file_row("Slide 16:9"):
        room = slide_room(spec.title, words)
        tall = theme.on_slide(room)
        slide = cached_figure(spec, tall)
        wide = slide_width(slide, room)
        figure_download(
            key,
            name,
            spec.title,
            words,
            tall,
            spec.alt,
            slide,
            medium=SLIDE,
            formats={"Slide (PNG)": "png"},
            width=wide,
        )
        downloads.drawn_figure(".pptx", spec, key, name, words, theme)
    with downloads.file_row("Picture"):
        figure_download(key, name, spec.title, words, theme, spec.alt, None if on_page else drawn, medium=medium)
        downloads.drawn_figure(downloads.PDF, spec, key, f"{name}{medium and f'-{medium}'}", words, sized, medium)
        page = partial(_page, spec, theme, words)
        downloads.save_button("HTML", page, f"{name}.html", "text/html", f"{key}_html", HTML_HELP)
    with downloads.file_row("Numbers"):
        downloads.save_button("CSV", lambda: csv_text(spec.frame()), f"{name}.csv", "text/csv", f"{key}_csv")
        downloads.typeset_downloads(spec.frame, key, name, spec.title)
    if preview:
        smaller = cached_drawing(spec, replace(theme, pixels=PREVIEW))
        draw_chart(key, smaller.json, spec.alt, round(smaller.figure.layout.height or USUAL_HEIGHT))


def file_name(key: str, filename: str) -> str:
    """The name of a figure's files without an extension: the page, what is shown, the model."""
    page = key.partition("_")[0]
    whole = filename[len(page) :] if filename.lower().startswith(page) else f" {filename}"
    return re.sub(r"[^\w.]+", "-", f"{page}{whole}")[:LONGEST_NAME].strip("-.")


def _name_texts(texts: Tokens | Sequence[str | None]) -> None:
    """Show the texts of a figure, as in the caption of its files."""
    if words := texts_words(downloads.read_texts(texts)):
        st.caption(escape_markdown(words))


def _page(spec: FigureSpec, theme: Theme, caption: Caption) -> str:
    return standalone_html(cached_figure(spec, theme), spec.title, caption, theme, spec.alt)


def numbers_table(
    table: pd.DataFrame,
    alt: str,
    height: int = SCROLLED,
    first: int | None = None,
    formats: Mapping[str, str] = NO_FORMATS,
    key: str | None = None,
    on_row: Callable[[], None] | None = None,
    rows: int = 0,
) -> None:
    """Show a table. Whole numbers have separators, others four decimals where these suffice.

    Numbers are never sent as text, which would sort alphabetically: `formats` formats a column as
    st.column_config.NumberColumn does ("percent", "%.2f ×", "%.1f MiB"). `first` is the width of the first column and
    `height` the most of the table in pixels; with a `key`, `on_row` is called when a row is selected.
    Place is kept for a number of `rows`.
    """
    downloads.note_table(alt, table)
    written = {
        **dict.fromkeys(map(str, table.select_dtypes(include="integer")), WHOLE),
        **{str(name): "%.4f" for name, column in table.items() if _is_plain(column)},
        **formats,
    }
    signed = _signed(table, formats)
    written = {name: each for name, each in written.items() if name not in signed}
    columns: dict[str, Any] = {
        name: st.column_config.Column(words) for name, words in COLUMN_WORDS.items() if name in table
    }
    for name, each in written.items():
        columns[name] = st.column_config.NumberColumn(COLUMN_WORDS.get(name), format=each)
    if first is not None:
        columns[table.columns[0]] = st.column_config.Column(COLUMN_WORDS.get(table.columns[0]), width=first)
    st.dataframe(
        table.style.format(signed, na_rep="") if signed else table,
        hide_index=True,
        height=table_height(max(len(table), rows), height),
        alt=alt,
        column_config=columns,
        key=key,
        on_select=on_row or "ignore",
        selection_mode="single-row",
        placeholder="",
    )


def table_height(rows: int, most: int = SCROLLED) -> int:
    """Pixels of a table of so many rows, of which some are scrolled."""
    return min(most, (max(rows, 1) + 1) * ROW + 2)


def _signed(table: pd.DataFrame, formats: Mapping[str, str]) -> dict[Any, Any]:
    """Column with negative numbers -> its format with a real minus, where Streamlit's formats write a hyphen.

    Empty where the table is too large to format cell by cell, or where columns or rows share a name.
    """
    if table.size > MOST_WRITTEN or not (table.columns.is_unique and table.index.is_unique):
        return {}
    below = {
        str(name): formats.get(str(name), "%.4f" if pd.api.types.is_float_dtype(cells) else WHOLE)
        for name, cells in table.items()
        if cells.dtype.kind in "fiu" and (_numbers(cells) < 0).any()
    }
    return {name: partial(_with_minus, how) for name, how in below.items() if how.startswith("%") or how == WHOLE}


def _with_minus(how: str, value: float) -> str:
    if how == WHOLE:
        return f"{value:,}".replace("-", "−")
    return decimals(value) if how == "%.4f" else (how % value).replace("-", "−")


def _is_plain(column: pd.Series) -> bool:
    """Whether four decimals suit every number of a column."""
    if not pd.api.types.is_float_dtype(column):
        return False
    sizes = np.abs(_numbers(column))
    return bool((((sizes >= 1e-4) & (sizes <= 1e3)) | (sizes == 0) | np.isnan(sizes)).all())


def _numbers(column: pd.Series) -> Float[np.ndarray, " rows"]:
    """The numbers of a column without its index, whose arithmetic is many times faster on small tables."""
    return column.to_numpy(np.float64, na_value=np.nan)


def folded(label: str, key: str) -> Any:
    """A folded part of the page, which is open where the address says so."""
    return st.expander(label, key=key, on_change="rerun", bind="query-params")


def folded_table(
    key: str, frame: Callable[[], pd.DataFrame], alt: str, formats: Mapping[str, str] = NO_FORMATS, scale: str = ""
) -> None:
    """A folded table, made and sent when it is opened; `scale` describes the colours of its figure."""
    with folded("The numbers as a table", f"{key}_table") as place:
        if place.open or view_in_sight() is not None:
            table = frame()
            downloads.note_table(alt, table)
        if place.open:
            if scale:
                st.caption(f"Colours of the figure: {escape_markdown(scale)}.")
            numbers_table(table, alt, formats=formats)


def explained(key: str, words: str, code: str) -> None:
    """How a figure is computed, with lines of Python that reproduce its numbers.

    The content is sent when it is opened, since the browser's syntax highlighting is large.
    """
    downloads.note_code(key, code)
    with folded("How this is computed", f"{key}_explained") as place:
        if place.open:
            st.markdown(words)
            st.code(code, language="python")
