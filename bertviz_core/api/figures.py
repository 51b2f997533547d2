"""Any figure of the dashboard of an opened model, and the numbers that it is drawn from."""

from typing import Any

import plotly.graph_objects as go

from bertviz_core.api.arguments import checked
from bertviz_core.api.drawing import FigureSource, Option
from bertviz_core.questions.opened import OpenedModel
from bertviz_core.questions.parameters import Options


class ModelFigures:
    """The figures of a model, by the names that the command `figure` has for them."""

    task: str | None
    _opened: OpenedModel

    @checked
    def figure(
        self,
        name: str,
        *texts: str,
        pair: str | None = None,
        theme: str = "light",
        width: int | None = None,
        height: int | None = None,
        **options: Option,
    ) -> go.Figure:
        """Any figure of the dashboard, as the command `figure` draws it.

        Args:
            name: as `python -m bertviz_core figure --list` names it.
            *texts: what the model reads: one text, or sentences; for "models" the names of other models.
            pair: a second text of the same input.
            theme: "light", "dark" or "print".
            width: pixels; the width of the notebook's page by default.
            height: pixels; the figure's own by default.
            **options: those of the command `figure`, and the figure's own settings.

        Raises:
            BertvizError: there is no such figure, option or theme, or as the figure's inputs.
        """
        source = FigureSource(self._opened, Options(texts, pair, self.task))
        return source.figure(name, options, theme, width, height)

    @checked
    def compute(self, name: str, *texts: str, pair: str | None = None, **options: Option) -> Any:
        """The numbers that any figure of the dashboard is drawn from: a frozen object, its fields documented.

        Args:
            name: as for `figure`, or a question without a figure of its own, such as "joint-ablation".
            *texts: what the model reads, as for `figure`.
            pair: a second text of the same input.
            **options: those of the command `figure`, and the figure's own settings.

        Raises:
            BertvizError: there is no such name or option, or as the figure's inputs.
        """
        return FigureSource(self._opened, Options(texts, pair, self.task)).compute(name, options)
