"""Draw the figures of the dashboard for a result or an opened model."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from bertviz_core.errors import TextError
from bertviz_core.figures.base.export import MEDIA, WIDTH, caption_of
from bertviz_core.figures.base.spec import FigureSpec
from bertviz_core.figures.base.style import THEMES, WIDE, theme_named, width_class
from bertviz_core.models.skeleton import quietly
from bertviz_core.questions.figures import all_figures, drawn_by, no_figure
from bertviz_core.questions.models.training import OpenedTraining, TrainingSubject
from bertviz_core.questions.opened import CorpusSubject, Opened, OpenedFolder, OpenedModel
from bertviz_core.questions.parameters import COMMON, Options
from bertviz_core.questions.question import Answer, all_questions
from bertviz_core.questions.report.figure_files import check_file
from bertviz_core.tables.atomic_files import write_whole
from bertviz_core.text import escape_controls, quoted, with_notices

Option = str | int | float | bool | PathLike[str]
NEEDED = {
    Opened: "a model; use open_model",
    CorpusSubject: "a corpus; use open_corpus",
    TrainingSubject: "a training run; use open_training",
}
"""Class of a question's subject -> what it is about, and how to open it."""
LEAST_PIXELS, MOST_PIXELS = 10, 100_000
"""Minimum and maximum width and height of a figure."""


@dataclass(frozen=True, slots=True)
class FigureSource:
    """The model, corpus or training run, and the options from which the figures of a result are drawn."""

    opened: OpenedModel | OpenedFolder | OpenedTraining
    options: Options = field(default_factory=Options)
    """Options of the result; those of a figure override them."""
    answered: tuple[str, ...] = ()
    """Notices of the answer that the result is of."""

    @property
    def model(self) -> OpenedModel:
        """The model; for a corpus the one that computed its vectors."""
        if isinstance(self.opened, OpenedTraining):
            raise TypeError("a training run is no single model")
        return self.opened.model if isinstance(self.opened, OpenedFolder) else self.opened

    @property
    def notices(self) -> tuple[str, ...]:
        """What of the files of its model, and of a second one, is not followed, and what the answer says."""
        return with_notices(self.opened.notices_of(filter(None, (self.options.get("other"),))), self.answered)

    def figure(
        self, name: str, more: Mapping[str, Option], theme: str, width: int | None, height: int | None
    ) -> go.Figure:
        """Draw a figure like the dashboard; returns a copy that the caller may change."""
        options = self.options_of(name, more, all_figures())
        _require_size(theme, width, height)
        return drawn(self._drawn(name, options)[0], theme, width, height)

    def save(
        self,
        path: str | PathLike[str],
        name: str,
        more: Mapping[str, Option],
        theme: str,
        medium: str,
        width: int | None,
        height: int | None,
    ) -> None:
        """Write a figure to a file, with its caption, like the `figure` command."""
        options = self.options_of(name, more, all_figures())
        require_file(path, theme, medium, width, height)
        spec, answer = self._drawn(name, options)
        save_figure(path, spec, answer.models, answer.texts, theme, medium, width, height)

    def table(self, name: str, more: Mapping[str, Option]) -> pd.DataFrame:
        """Compute the table of a figure, as its page shows it."""
        return self._drawn(name, self.options_of(name, more, all_figures()))[0].frame()

    def compute(self, name: str, more: Mapping[str, Option]) -> Any:
        """Compute the data of a figure, or of a question without figures."""
        options = self.options_of(name, more, all_questions())
        with quietly():
            return all_questions()[name](self.opened, options).result

    def _drawn(self, name: str, options: Options) -> tuple[FigureSpec, Answer[Any]]:
        with quietly():
            return drawn_by(name, self.opened, options)

    def options_of(self, name: str, more: Mapping[str, Option], names: Collection[str]) -> Options:
        """Add options of a question; raises TextError for an unknown name or option, or another kind of subject."""
        if name not in names:
            raise no_figure(name, names)
        question = all_questions()[name]
        if not isinstance(self.opened, question.subject):
            raise TextError(f"{name!r} is about {NEEDED[question.subject]}.")
        known = tuple(dict.fromkeys((*COMMON, *(param.key for param in question.params))))
        for option in more:
            if option not in known:
                what = f"{name!r} has no option {quoted(escape_controls(option), 40)}"
                raise TextError(f"{what}; those it has: {', '.join(known)}.")
        return replace(self.options, values={**self.options.values, **typed(more)})


def drawn(spec: FigureSpec, theme: str, width: int | None, height: int | None) -> go.Figure:
    """Draw a figure in a theme and size; returns a copy that the caller may change."""
    _require_size(theme, width, height)
    figure = go.Figure(spec.drawn(theme_named(theme, width_class(width or WIDE))))
    sizes = {side: pixels for side, pixels in (("width", width), ("height", height)) if pixels is not None}
    return figure.update_layout(**sizes)


def require_file(path: str | PathLike[str], theme: str, medium: str, width: int | None, height: int | None) -> None:
    """Refuse files, media and sizes that there are not, before anything is computed."""
    _require_size(theme, width, height)
    check_file(Path(path))
    if not medium:
        return
    if medium not in MEDIA:
        raise TextError(f"There is no medium {quoted(escape_controls(medium), 20)}; choose {' or '.join(MEDIA)}.")
    if (width, height) != (None, None):
        raise TextError(f"A {medium} has a size of its own; leave out width and height.")
    if Path(path).suffix.lower() == ".html":
        raise TextError(f"An .html file has no size for a {medium}; leave out medium, or write an image.")


def save_figure(
    path: str | PathLike[str],
    spec: FigureSpec,
    models: Sequence[tuple[str, str]],
    texts: Sequence[str | None],
    theme: str,
    medium: str,
    width: int | None,
    height: int | None,
) -> None:
    """Write a figure to a file, with a caption of its models (names and revisions) and texts."""
    pixels = MEDIA.get(medium, width or WIDTH)
    chosen = theme_named(theme, width_class(pixels))
    caption = caption_of(spec.drawn(chosen), spec.caption or spec.title, models, texts, spec.remark)
    file = Path(path)
    from bertviz_core.questions.report.files import figure_file  # which imports every figure

    write_content(file, figure_file(file.suffix.lower(), spec, caption, chosen, pixels, height, medium))


def write_content(file: Path, content: bytes) -> None:
    """Write a file as a whole or not at all."""
    try:
        write_whole(file, lambda out: out.write(content))
    except (OSError, ValueError) as error:  # a path cannot hold a NUL
        reason = error.strerror if isinstance(error, OSError) else "its name is not valid"
        raise TextError(f"{quoted(escape_controls(str(file)))} cannot be written: {reason}.") from error


def _require_size(theme: str, width: int | None, height: int | None) -> None:
    for side, pixels in (("width", width), ("height", height)):
        if pixels is not None and not LEAST_PIXELS <= pixels <= MOST_PIXELS:
            raise TextError(f"{side} is {pixels:,} pixels; give {LEAST_PIXELS} to {MOST_PIXELS:,}.")
    if theme not in THEMES:
        raise TextError(f"There is no theme {quoted(escape_controls(theme), 20)}; choose {', '.join(THEMES)}.")


def typed(options: Mapping[str, Option]) -> dict[str, str]:
    """Options as texts, like in a query string."""
    return {key: _typed(value) for key, value in options.items()}


def _typed(value: Option) -> str:
    if isinstance(value, PathLike):
        return fspath(value)
    return str(value).lower() if isinstance(value, bool) else str(value)
