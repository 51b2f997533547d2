"""Write a table as CSV, LaTeX or Markdown, with every text escaped."""

import re
from typing import Any

import numpy as np

from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.text import escape_controls, formula_safe, shortened

MARKDOWN = re.compile(r"([\\`*_\[\]<>|~#$!&])")
"""Characters that Markdown reads as marks."""
MOST_ROWS = 500
"""Maximum number of rows that are written; a longer table is for a file of numbers."""
DIGITS = 6
"""Significant digits of a number."""
LONGEST_CELL = 200
"""Most characters of a text in a table of a page."""


def csv_text(table: "pd.DataFrame") -> str:
    """The table as CSV; texts that a spreadsheet would run as formulas are escaped by an apostrophe."""
    safe = table.copy()
    for place, kind in enumerate(table.dtypes):
        if not pd.api.types.is_numeric_dtype(kind):
            cells = [formula_safe(cell) if isinstance(cell, str) else cell for cell in table.iloc[:, place]]
            safe.isetitem(place, cells)
    safe.columns = [formula_safe(str(head)) for head in table.columns]
    text: str = safe.to_csv(
        index=False, lineterminator="\r\n"
    )  # as in RFC 4180; a lone return in a cell is then quoted
    return text


def latex_table(table: "pd.DataFrame", caption: str = "") -> str:
    r"""Return a table for LaTeX with the rules of the package booktabs.

    Args:
        table: the table; its first MOST_ROWS rows are written, and a last line of the caption says so.
        caption: text of its caption; "" for none.
    """
    shown, more = _shown(table)
    words = "".join(LATEX.get(sign, sign) for sign in " ".join(filter(None, (escape_controls(caption), more))))
    named = shown.rename(columns={column: _plain(column) for column in shown.columns})
    cells = named.map(_latex_cell)
    text: str = cells.to_latex(
        index=False, escape=True, na_rep="--", caption=words or None, position="tb", float_format=_latex_number
    )
    return f"% \\usepackage{{booktabs}}\n{text}"


def markdown_table(table: "pd.DataFrame", caption: str = "") -> str:
    """Return a table of Markdown as GitHub and pandoc read it, numbers to the right.

    Args:
        table: the table; its first MOST_ROWS rows are written, and a last line says so.
        caption: a paragraph above it; "" for none.
    """
    shown, more = _shown(table)
    numeric = [pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind) for kind in shown.dtypes]
    rows = [
        [_marked(_plain(str(column))) for column in shown.columns],
        ["---:" if each else "---" for each in numeric],
        *([_markdown_cell(cell) for cell in row] for row in shown.itertuples(index=False)),
    ]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    above = [_marked(_plain(caption)), ""] if caption else []
    return "\n".join([*above, *lines, *(["", more] if more else [])]) + "\n"


def _shown(table: "pd.DataFrame") -> "tuple[pd.DataFrame, str]":
    more = len(table) - MOST_ROWS
    return table.head(MOST_ROWS), f"The first {MOST_ROWS:,} of {len(table):,} rows." if more > 0 else ""


def _plain(text: object) -> str:
    """A cell in one line."""
    return escape_controls(" ".join(str(text).split()))


def _latex_cell(cell: Any) -> Any:
    """A number or a missing value as it is; all else, lists and dictionaries too, as a text, which pandas escapes."""
    is_number = isinstance(cell, int | float | np.number) or (pd.api.types.is_scalar(cell) and pd.isna(cell))
    return cell if is_number else _plain(cell)


def _latex_number(number: float) -> str:
    return f"${_number(number)}$".replace("e", r"\mathrm{e}")


def _number(number: float) -> str:
    return f"{number:.{DIGITS}g}"


def _markdown_cell(cell: object) -> str:
    if isinstance(cell, float):
        return _number(cell) if pd.notna(cell) else ""
    return _marked(_plain(cell))


def _marked(text: str) -> str:
    return MARKDOWN.sub(r"\\\1", text)


LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}  # fmt: skip
"""Characters of a caption, which pandas does not escape."""


COLUMN_WORDS = {
    "numel": "numbers",
    "dtype": "number format (dtype)",
    "tied_to": "tied to",
    "stored_name": "name in the file",
    "stored_names": "names in the file",
    "model_shape": "shape in the model",
    "checkpoint_shape": "shape in the file",
}
"""Column of a table, as in its file -> its heading on a page."""


def readable(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Convert a frame for display: shapes and lists of names become texts, missing values empty."""
    words = {str(name) for name in frame if not pd.api.types.is_numeric_dtype(frame[name])}
    return frame.assign(**{name: [_cell(value, name) for value in frame[name]] for name in words})


def without_gaps(frame: "pd.DataFrame") -> "pd.DataFrame":
    """The frame with None for missing values, as JSON has them."""
    return frame.astype(object).where(frame.notna(), None)


def _cell(value: Any, column: str) -> str:
    if isinstance(value, tuple):
        return ", ".join(value) if column == "stored_names" else str(value)
    return "" if value is None or value != value else str(value)  # NaN is not itself


def plain_cell(cell: object) -> object:
    """Convert a cell for a page: numbers unchanged, anything else as a short text."""
    if cell is None or isinstance(cell, (bool, int, float)):
        return cell
    return escape_controls(shortened(str(cell), LONGEST_CELL))


WRITERS = {".csv": lambda table, _: csv_text(table), ".tex": latex_table, ".md": markdown_table}
"""Ending of a file -> what writes a table and its caption."""
