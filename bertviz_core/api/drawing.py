"""Draw the figures of the dashboard for a result or an opened model."""

from collections.abc import Mapping, Sequence
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
from bertviz_core.questions.question import all_questions
from bertviz_core.questions.report.image_files import check_file, file_content
from bertviz_core.tables.atomic_files import write_whole
from bertviz_core.text import escape_controls, quoted

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
    """The model, corpus or training run."""
    options: Options = field(default_factory=Options)
    """Options of the result; those of a figure override them."""

    @property
    def model(self) -> OpenedModel:
        """The model; for a corpus the one that computed its vectors.

        Raises:
            TypeError: a training run is no single model.
        """
        if isinstance(self.opened, OpenedTraining):
            raise TypeError("a training run is no single model")
        return self.opened.model if isinstance(self.opened, OpenedFolder) else self.opened

    @property
    def notices(self) -> tuple[str, ...]:
        """What of the files of its model, and of a second one, decides numbers and is not followed."""
        return self.opened.notices_of(filter(None, (self.options.get("other"),)))

    def figure(
        self, name: str, more: Mapping[str, Option], theme: str, width: int | None, height: int | None
    ) -> go.Figure:
        """Draw a figure like the dashboard; returns a copy that the caller may change.

        Args:
            name: name of the figure, one of `figure --list`.
            more: options of the figure.
            theme: "light", "dark" or "print".
            width: pixels; None for the available width.
            height: pixels; None for the default of the figure.

        Raises:
            TextError: there is no such figure, option, theme or size.
            BertvizError: the data of the figure cannot be computed.
        """
        if name not in all_figures():
            raise no_figure(name, all_figures())
        options = self._options(name, more)
        _require_size(theme, width, height)
        with quietly():
            spec, _ = drawn_by(name, self.opened, options)
        return drawn(spec, theme, width, height)

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
        """Write a figure to a file, with its caption, like the `figure` command.

        Args:
            path: path of the file, which ends in one of ENDINGS.
            name: name of the figure, one of `figure --list`.
            more: options of the figure.
            theme: "light", "dark" or "print".
            medium: "slide" or "column", whose size an image has; "" for the size of the figure.
            width: pixels of the figure; None for 1,000.
            height: pixels; None for the default of the figure.

        Raises:
            TextError: there is no such figure, option, theme, medium, size or folder.
            BertvizError: the data of the figure cannot be computed, an image needs a browser, and there is none, or the
                file cannot be written.
        """
        if name not in all_figures():
            raise no_figure(name, all_figures())
        options = self._options(name, more)
        require_file(path, theme, medium, width, height)
        with quietly():
            spec, answer = drawn_by(name, self.opened, options)
        save_figure(path, spec, answer.models, answer.texts, theme, medium, width, height)

    def table(self, name: str, more: Mapping[str, Option]) -> pd.DataFrame:
        """Compute the table of a figure, as its page shows it; arguments and errors as in `figure`."""
        if name not in all_figures():
            raise no_figure(name, all_figures())
        options = self._options(name, more)
        with quietly():
            spec, _ = drawn_by(name, self.opened, options)
        return spec.frame()

    def compute(self, name: str, more: Mapping[str, Option]) -> Any:
        """Compute the data of a figure.

        Args:
            name: name of a figure, or of a question without figures.
            more: options of the question.

        Raises:
            TextError: there is no such question or option.
            BertvizError: the question cannot be answered.
        """
        if name not in all_questions():
            raise no_figure(name, all_questions())
        options = self._options(name, more)
        with quietly():
            return all_questions()[name](self.opened, options).result

    def _options(self, name: str, more: Mapping[str, Option]) -> Options:
        """Add options of a question; raises TextError if one is unknown, or the kind of subject is wrong."""
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
    """Draw a figure in a theme and size; returns a copy that the caller may change.

    Raises:
        TextError: there is no such theme or size.
    """
    _require_size(theme, width, height)
    figure = go.Figure(spec.drawn(theme_named(theme, width_class(width or WIDE))))
    sizes = {side: pixels for side, pixels in (("width", width), ("height", height)) if pixels is not None}
    return figure.update_layout(**sizes)


def require_file(path: str | PathLike[str], theme: str, medium: str, width: int | None, height: int | None) -> None:
    """Refuse files, media and sizes that there are not, before anything is computed.

    Raises:
        TextError: there is no such theme, size or medium, or no such folder, or the medium has no such file.
    """
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
    """Write a figure to a file, with its caption.

    Args:
        path: path of the file.
        spec: the figure.
        models: name and revision of each model that it shows.
        texts: the texts on which it depends.
        theme: "light", "dark" or "print".
        medium: "slide", "column" or "".
        width: pixels of the figure; None for 1,000.
        height: pixels; None for the default of the figure.

    Raises:
        BertvizError: an image needs a browser, and there is none, or the file cannot be written.
    """
    pixels = MEDIA.get(medium, width or WIDTH)
    chosen = theme_named(theme, width_class(pixels))
    caption = caption_of(spec.drawn(chosen), spec.caption or spec.title, models, texts)
    file = Path(path)
    write_content(file, file_content(file.suffix.lower(), spec, caption, chosen, pixels, height, medium))


def write_content(file: Path, content: bytes) -> None:
    """Write a file as a whole or not at all.

    Raises:
        TextError: it cannot be written.
    """
    try:
        write_whole(file, lambda out: out.write(content))
    except (OSError, ValueError) as error:  # a path cannot hold a NUL
        reason = error.strerror if isinstance(error, OSError) else "its name is not valid"
        raise TextError(f"{quoted(escape_controls(str(file)))} cannot be written: {reason}.") from error


def _require_size(theme: str, width: int | None, height: int | None) -> None:
    """Refuse themes and sizes that there are not.

    Raises:
        TextError: there is no such theme or size.
    """
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
