"""The dashboard's figures drawn for a caller: of a result, or of an opened model."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import plotly.graph_objects as go

from bertviz_core.errors import TextError
from bertviz_core.figures.base.style import THEMES, WIDE, theme_named, width_class
from bertviz_core.models.skeleton import quietly
from bertviz_core.questions.figures import all_figures, drawn_by, no_figure
from bertviz_core.questions.opened import OpenedFolder, OpenedModel
from bertviz_core.questions.parameters import COMMON, Options
from bertviz_core.questions.question import figure_questions
from bertviz_core.text import escape_controls, quoted

Option = str | int | float | bool
LEAST_PIXELS, MOST_PIXELS = 10, 100_000
"""Of a figure's side."""


@dataclass(frozen=True, slots=True)
class FigureSource:
    """What the figures of a result are drawn from."""

    opened: OpenedModel | OpenedFolder
    """The model, or the corpus."""
    options: Options = field(default_factory=Options)
    """What was asked; a figure's own options come on top."""

    @property
    def model(self) -> OpenedModel:
        """The model; that which made the vectors of a corpus."""
        return self.opened.model if isinstance(self.opened, OpenedFolder) else self.opened

    def figure(
        self, name: str, more: Mapping[str, Option], theme: str, width: int | None, height: int | None
    ) -> go.Figure:
        """A figure as the dashboard draws it, a copy of the caller's own.

        Args:
            name: as `figure --list` has it.
            more: options of the figure.
            theme: "light", "dark" or "print".
            width: pixels; None for the width of the place where it is shown.
            height: pixels; None for the figure's own.

        Raises:
            TextError: there is no such figure, option, theme or size.
            BertvizError: as the question that the figure draws.
        """
        check_options(name, more)
        for side, pixels in (("width", width), ("height", height)):
            if pixels is not None and not LEAST_PIXELS <= pixels <= MOST_PIXELS:
                raise TextError(f"{side} is {pixels:,} pixels; give {LEAST_PIXELS} to {MOST_PIXELS:,}.")
        if theme not in THEMES:
            raise TextError(f"There is no theme {quoted(escape_controls(theme), 20)}; choose {', '.join(THEMES)}.")
        options = replace(self.options, values={**self.options.values, **typed(more)})
        with quietly():
            spec, _ = drawn_by(name, self.opened, options)
        figure = go.Figure(spec.drawn(theme_named(theme, width_class(width or WIDE))))
        sizes = {side: pixels for side, pixels in (("width", width), ("height", height)) if pixels is not None}
        return figure.update_layout(**sizes)


def check_options(name: str, options: Mapping[str, Option]) -> None:
    """Refuse a figure that there is not, and an option that it has not.

    Raises:
        TextError: there is no such figure or option.
    """
    if name not in all_figures():
        raise no_figure(name, all_figures())
    own = [param.key for param in figure_questions()[name].params if param.key not in COMMON]
    for option in options:
        if option not in (*COMMON, *own):
            what = f"The figure {name!r} has no option {quoted(escape_controls(option), 40)}"
            raise TextError(f"{what}; those it has: {', '.join((*COMMON, *own))}.")


def typed(options: Mapping[str, Option]) -> dict[str, str]:
    """Options as an address has them."""
    return {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in options.items()}
