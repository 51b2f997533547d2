"""A result that draws the dashboard's figures of it, and shows itself as a table, as JSON and as text."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from html import escape
from typing import Any, Generic, TypeVar

import pandas as pd
import plotly.graph_objects as go

from bertviz_core.api.arguments import checked
from bertviz_core.api.drawing import FigureSource, Option
from bertviz_core.questions.figures import no_figure
from bertviz_core.questions.tables.lines import json_object
from bertviz_core.text import escape_controls

Data = TypeVar("Data", covariant=True)
SHOWN_LINES, SHOWN_ROWS, SHOWN_COLUMNS = 60, 30, 12
"""Lines of a text in a terminal; rows and columns of a table in a notebook."""


class Result(ABC, Generic[Data]):
    """An answer about a model: numbers, and the dashboard's figures of them.

    `print(result)` is a text for a terminal; at the end of a notebook's cell a result is a table.
    """

    figures: tuple[str, ...]
    """Names of the figures that can be drawn of it; the first is drawn unless another is named."""

    def __init__(self, data: Data, source: FigureSource) -> None:
        self.data: Data = data
        """What the computation handed out: a frozen object of NumPy arrays and names, its fields documented."""
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
        """A figure of the dashboard, as a plotly figure.

        Args:
            name: one of `figures`; the first of them by default.
            theme: "light", "dark" or "print".
            width: pixels; the width of the notebook's page by default.
            height: pixels; the figure's own by default.
            **options: those of the command `figure`, such as `layer=3, head=5`, and the figure's own settings, which
                `python -m bertviz_core figure --list` names.

        Raises:
            BertvizError: there is no such figure, option, theme, layer or head.
        """
        chosen = name or self.figures[0]
        if chosen not in self.figures:
            raise no_figure(chosen, self.figures, " of this result")
        return self._source.figure(chosen, options, theme, width, height)

    @abstractmethod
    def to_pandas(self) -> pd.DataFrame:
        """The numbers as a table, columns named as Hugging Face and PyTorch name them."""

    def to_json(self) -> dict[str, Any]:
        """The object that the command of the same question prints with `--json`: plain lists, numbers and texts."""
        return json_object(self._json())

    @abstractmethod
    def _json(self) -> dict[str, Any]:
        """The same with arrays."""

    @abstractmethod
    def _lines(self) -> Sequence[str]:
        """The text that the command prints."""

    @property
    def notices(self) -> tuple[str, ...]:
        """What a reader must know about the numbers, one sentence each."""
        return tuple(getattr(self.data, "notices", ()))

    def __repr__(self) -> str:
        lines = [line.rstrip() for line in self._lines()]
        more = len(lines) - SHOWN_LINES
        shown = [*lines[:SHOWN_LINES], *([f"... and {more:,} more lines"] if more > 0 else [])]
        told = ["", *map(escape_controls, self.notices)] if self.notices else []
        return "\n".join((*shown, *told))

    def _repr_html_(self) -> str:
        """The first line of the text, and the table; whatever a user or a vocabulary wrote in it is escaped."""
        with pd.option_context("display.html.use_mathjax", False, "display.max_colwidth", 100):
            table = self.to_pandas().to_html(max_rows=SHOWN_ROWS, max_cols=SHOWN_COLUMNS, escape=True)
        told = "".join(f"<p>{escape(notice)}</p>\n" for notice in self.notices)
        return f"<p>{escape(self._lines()[0])}</p>\n{table}\n{told}"
