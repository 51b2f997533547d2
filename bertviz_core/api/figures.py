"""Draw any figure of the dashboard for an opened model, or compute its data."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from os import PathLike
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from bertviz_core.api.drawing import FigureSource, Option
from bertviz_core.api.own_model import checked, written
from bertviz_core.questions.opened import OpenedModel
from bertviz_core.questions.parameters import Options

WITH_NUMBERS = ("gold-cosines", "prompt-ranks")
"""Figures with numbers among their texts."""
WITH_MODELS = ("models",)
"""Figures whose texts are names of models, which may be paths."""


class ModelFigures(ABC):
    """Figures of a model by the names of the `figure` command."""

    task: str | None

    @property
    @abstractmethod
    def _opened(self) -> OpenedModel:
        """The opened model."""

    @checked
    def figure(
        self,
        name: str,
        *texts: str | float | PathLike[str],
        pair: str | None = None,
        theme: str = "light",
        width: int | None = None,
        height: int | None = None,
        **options: Option,
    ) -> go.Figure:
        """Draw a figure of the dashboard, like the `figure` command.

        Args:
            name: one of `python -m bertviz_core figure --list`.
            *texts: the input: a text, or sentences; for "models" the names or folders of other models, and for
                "gold-cosines" and "prompt-ranks" two texts and a number, their similarity or relevance, and so on.
            pair: a second text of the same input.
            theme: "light", "dark" or "print".
            width: pixels; defaults to the available width.
            height: pixels; defaults to that of the figure.
            **options: options of the `figure` command, and settings of the figure.

        Raises:
            BertvizError: there is no such figure, option or theme, or the inputs are invalid.
        """
        source = self._source(name, texts, pair)
        return source.figure(name, options, theme, width, height)

    @checked
    def save_figure(
        self,
        path: str | PathLike[str],
        name: str,
        *texts: str | float | PathLike[str],
        pair: str | None = None,
        medium: str = "",
        theme: str = "light",
        width: int | None = None,
        height: int | None = None,
        **options: Option,
    ) -> None:
        """Write a figure of the dashboard with its caption to a file, like the `figure` command.

        Args:
            path: path of the file: .png, .svg, .pdf or .html. All but .html are drawn by Chrome or Chromium.
            name: as for `figure`.
            *texts: the input, as for `figure`.
            pair: a second text of the same input.
            medium: "slide", 16:9 (1600 x 900 pixels), or "column", 85 mm wide, of a paper; "" for the size of the
                figure.
            theme: "light", "dark" or "print".
            width: pixels of the figure; defaults to 1,000. A PNG has twice as many, at least 1,600.
            height: pixels; defaults to that of the figure.
            **options: options of the `figure` command, and settings of the figure.

        Raises:
            BertvizError: there is no such figure, option, theme, medium or folder, the inputs are invalid, or there is
                no browser.
        """
        source = self._source(name, texts, pair)
        source.save(path, name, options, theme, medium, width, height)

    @checked
    def table(
        self, name: str, *texts: str | float | PathLike[str], pair: str | None = None, **options: Option
    ) -> pd.DataFrame:
        """Compute the numbers of a figure of the dashboard, as the table of its page.

        Args:
            name: as for `figure`.
            *texts: the input, as for `figure`.
            pair: a second text of the same input.
            **options: options of the `figure` command, and settings of the figure.

        Raises:
            BertvizError: there is no such figure or option, or the inputs are invalid.
        """
        return self._source(name, texts, pair).table(name, options)

    @checked
    def compute(
        self, name: str, *texts: str | float | PathLike[str], pair: str | None = None, **options: Option
    ) -> Any:
        """Compute the data of a figure of the dashboard: a frozen object with documented fields.

        Args:
            name: as for `figure`, or a question without figures, such as "joint-ablation".
            *texts: the input, as for `figure`.
            pair: a second text of the same input.
            **options: options of the `figure` command, and settings of the figure.

        Raises:
            BertvizError: there is no such name or option, or the inputs are invalid.
        """
        source = self._source(name, texts, pair)
        return source.compute(name, options)

    def _source(self, name: str, texts: Sequence[str | float | PathLike[str]], pair: str | None) -> FigureSource:
        inputs = written(texts, name in WITH_NUMBERS, name in WITH_MODELS)
        return FigureSource(self._opened, Options(inputs, pair, self.task))
