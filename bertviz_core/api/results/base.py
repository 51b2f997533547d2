"""Base class of results, with figures, a table, JSON and text."""

from collections.abc import Sequence
from html import escape
from os import PathLike
from typing import Any, Generic, TypeVar

import pandas as pd
import plotly.graph_objects as go

from bertviz_core.api.drawing import FigureSource, Option
from bertviz_core.api.own_model import checked
from bertviz_core.errors import TextError
from bertviz_core.questions.figures import no_figure
from bertviz_core.questions.tables.lines import Faces, json_object
from bertviz_core.tables.typeset import latex_table, markdown_table
from bertviz_core.text import escape_controls, with_notices

Data = TypeVar("Data", covariant=True)
SHOWN_LINES, SHOWN_ROWS, SHOWN_COLUMNS = 60, 30, 12
"""Maximum lines of a text in a terminal, and rows and columns of a table in a notebook."""
NO_FORMULAS = ("tex2jax_ignore", "mathjax_ignore")
"""Classes of a table in which MathJax 2 and 3 read no formulas; pandas 2 sets only the first."""


class Result(Generic[Data]):
    """Result of an analysis: data, and its figures in the dashboard.

    `print(result)` prints a text for a terminal; a notebook shows a table.
    """

    figures: tuple[str, ...]
    """Names of its figures; the first is the default, () for a result without any."""
    _faces: Faces[Any]
    """How the data is shown, here as by the command."""

    def __init__(self, data: Data, source: FigureSource) -> None:
        self.data: Data = data
        """The computed data: a frozen object with documented fields, such as NumPy arrays."""
        self._source = source

    @checked
    def figure(
        self,
        name: str | None = None,
        *,
        theme: str = "light",
        width: int | None = None,
        height: int | None = None,
        **options: Option,
    ) -> go.Figure:
        """Draw a figure of the dashboard with plotly.

        Args:
            name: one of `figures`; defaults to the first.
            theme: "light", "dark" or "print".
            width: pixels; defaults to the available width.
            height: pixels; defaults to that of the figure.
            **options: options of the `figure` command, such as `layer=3, head=5`, and settings of the figure, listed
                by `python -m bertviz_core figure --list`.

        Raises:
            BertvizError: there is no such figure, option, theme, layer or head.
        """
        return self._source.figure(self._chosen(name), options, theme, width, height)

    @checked
    def save_figure(
        self,
        path: str | PathLike[str],
        name: str | None = None,
        *,
        medium: str = "",
        theme: str = "light",
        width: int | None = None,
        height: int | None = None,
        **options: Option,
    ) -> None:
        """Write a figure with its caption to a file, like the `figure` command.

        Args:
            path: path of the file: .png, .svg, .pdf or .html. All but .html are drawn by Chrome or Chromium.
            name: one of `figures`; defaults to the first.
            medium: "slide", 16:9 (1600 x 900 pixels), or "column", 85 mm wide, of a paper; "" for the size of the
                figure.
            theme: "light", "dark" or "print".
            width: pixels of the figure; defaults to 1,000. A PNG has twice as many, at least 1,600.
            height: pixels; defaults to that of the figure.
            **options: options of the `figure` command, as in `figure`.

        Raises:
            BertvizError: there is no such figure, option, theme, medium or folder, or no browser.
        """
        self._source.save(path, self._chosen(name), options, theme, medium, width, height)

    @checked
    def table(self, name: str | None = None, **options: Option) -> pd.DataFrame:
        """Compute the numbers of a figure, as the table of its page; arguments as in `figure`."""
        return self._source.table(self._chosen(name), options)

    def _chosen(self, name: str | None) -> str:
        if not self.figures:
            raise TextError("This result has no figure; to_pandas() is its table, and data has its numbers.")
        if name and name not in self.figures:
            raise no_figure(name, self.figures, " of this result")
        return name or self.figures[0]

    def to_pandas(self) -> pd.DataFrame:
        """The data as a table, with the rows and columns that the class names."""
        return self._faces.to_pandas(self.data)

    def to_latex(self) -> str:
        """The table for LaTeX, with the rules of booktabs; at most 500 rows, numbers with 6 significant digits."""
        return latex_table(self.to_pandas(), self._lines()[0])

    def to_markdown(self) -> str:
        """The table for Markdown; at most 500 rows, numbers with 6 significant digits."""
        return markdown_table(self.to_pandas(), self._lines()[0])

    def to_json(self) -> dict[str, Any]:
        """The data as a JSON object, as printed by the corresponding command with `--json`."""
        return json_object({**self._json(), "notices": self.notices})

    def _json(self) -> dict[str, Any]:
        """The JSON object, with arrays in place of lists."""
        return self._faces.to_json(self.data)

    def _lines(self) -> Sequence[str]:
        """The lines printed by the corresponding command."""
        return self._faces.to_lines(self.data)

    @property
    def notices(self) -> tuple[str, ...]:
        """Remarks on the model's files and the data, one sentence each."""
        return with_notices(self._source.notices, self._own_notices())

    def _own_notices(self) -> Sequence[str]:
        """Remarks on the data."""
        return tuple(getattr(self.data, "notices", ()))

    def __repr__(self) -> str:
        lines = [line.rstrip() for line in self._lines()]
        more = len(lines) - SHOWN_LINES
        shown = [*lines[:SHOWN_LINES], *([f"... and {more:,} more lines"] if more > 0 else [])]
        notices = ["", *map(escape_controls, self.notices)] if self.notices else []
        return "\n".join((*shown, *notices))

    def _repr_html_(self) -> str:
        """The first line of the text, and the table, with all texts escaped."""
        with pd.option_context("display.max_colwidth", 100):
            table = self.to_pandas().to_html(
                classes=NO_FORMULAS, max_rows=SHOWN_ROWS, max_cols=SHOWN_COLUMNS, escape=True
            )
        notices = "".join(f"<p>{escape(notice)}</p>\n" for notice in self.notices)
        return f"<p>{escape(self._lines()[0])}</p>\n{table}\n{notices}"
