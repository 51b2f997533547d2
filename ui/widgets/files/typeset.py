"""Downloads for a paper or a page of text: the numbers of a figure as a table, and the figure as a PDF."""

import json
from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import partial
from hashlib import sha256

import pandas as pd
import streamlit as st

from bertviz_core.errors import Progress
from bertviz_core.figures.base.caption import Caption
from bertviz_core.figures.base.export import COLUMN, COLUMN_MM, MEDIA
from bertviz_core.figures.base.spec import FigureSpec
from bertviz_core.figures.base.style import Theme
from bertviz_core.questions.report.image_files import file_content
from bertviz_core.tables.typeset import latex_table, markdown_table
from ui.cache.figures import cached_figure
from ui.widgets.files.drawn import DrawnFile, show_drawing, start_drawing

PDF = ".pdf"
PDF_HELP = (
    f"{COLUMN_MM} mm wide, with its fonts inside. The server draws the whole figure, without the zoom of the page; "
    "it is saved with a second press."
)


def typeset_downloads(rows: Callable[[], pd.DataFrame], key: str, name: str, title: str) -> None:
    """Show a popover with the table as LaTeX and as Markdown.

    Args:
        rows: computes the table.
        key: key of the figure.
        name: name of the files without an ending.
        title: title of the figure, the caption of the table.
    """
    kinds = {
        "LaTeX": (latex_table, "tex", "application/x-tex", "A table with the rules of the package booktabs."),
        "Markdown": (markdown_table, "md", "text/markdown", "A table for a README, an issue or a notebook."),
    }
    with st.popover("Table", key=f"{key}_table_as", help="The numbers as LaTeX or Markdown"):
        for label, (write, ending, kind, help_text) in kinds.items():
            st.download_button(
                label,
                partial(_written, write, rows, title),
                f"{name}.{ending}",
                kind,
                key=f"{key}_{ending}",
                help=help_text,
                on_click="ignore",
            )


def _written(write: Callable[[pd.DataFrame, str], str], rows: Callable[[], pd.DataFrame], title: str) -> str:
    return write(rows(), title)


def pdf_of_figure(figure: FigureSpec, key: str, name: str, caption: Caption, theme: Theme) -> None:
    """Show the download of a figure as a PDF for a column of a paper.

    Args:
        figure: the figure.
        key: key of its chart.
        name: name of the file without an ending.
        caption: caption below it.
        theme: colours, and the width of a column.
    """
    drawn = cached_figure(figure, theme)
    content = json.dumps(json.loads(drawn.to_json()), sort_keys=True)  # plotly may change the order when it is read
    shown = sha256(content.encode("utf-8", "replace")).hexdigest()

    def prepare() -> Callable[[], bytes]:
        # As it is drawn, so that what waits for its turn refers to no trace.
        look = (theme.name, theme.pixels, theme.tall)
        still = replace(figure, draw=lambda _: drawn, key=(), cache={look: drawn})
        return partial(file_content, PDF, still, caption, theme, MEDIA[COLUMN], medium=COLUMN)

    pdf_download(key, name, (shown, figure.title, figure.alt, caption, theme.name), prepare)


def pdf_download(key: str, name: str, made_from: Hashable, prepare: Callable[[], Callable[[], bytes]]) -> None:
    """Show the button that draws a PDF, in the background and in turn, its progress, or the button that saves it.

    Args:
        key: key of the figure.
        name: name of the file without an ending.
        made_from: what is drawn; equal for equal files.
        prepare: called at the press; returns what draws the file, which needs no session.
    """
    file = DrawnFile(f"{key}_pdf", (__name__, made_from), f"{name}{PDF}", "application/pdf", "Save the PDF")
    if not show_drawing(file) and st.button("PDF", key=f"{key}_pdf_make", help=PDF_HELP):
        start_drawing(file, 1, partial(_content, prepare()))
        st.rerun()


def _content(draw: Callable[[], bytes], progress: Progress) -> bytes:
    progress(0, 1)
    return draw()
