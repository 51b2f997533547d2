"""Downloads of the numbers of a figure as a table for a paper or a page of text."""

from functools import partial

import pandas as pd
import streamlit as st

from bertviz_core.tables.typeset import latex_table, markdown_table


def typeset_downloads(table: pd.DataFrame, key: str, name: str, title: str) -> None:
    """Show a popover with the table as LaTeX and as Markdown.

    Args:
        table: the numbers.
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
                partial(write, table, title),
                f"{name}.{ending}",
                kind,
                key=f"{key}_{ending}",
                help=help_text,
                on_click="ignore",
            )
