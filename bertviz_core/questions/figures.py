"""Look up figures by name, and draw them."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

from bertviz_core import figures
from bertviz_core.errors import TextError
from bertviz_core.figures.base.spec import DECLARED, DeclaredFigure, FigureSpec
from bertviz_core.figures.pages import PAGES
from bertviz_core.questions.models.training import OpenedTraining, TrainingSubject
from bertviz_core.questions.opened import CorpusSubject, OpenedFolder, OpenedModel
from bertviz_core.questions.parameters import COMMON, Options
from bertviz_core.questions.question import Answer, figure_questions
from bertviz_core.settings import Settings
from bertviz_core.text import escape_controls, quoted

MOST_LISTED, SOME = 30, 8
"""Most names that an error message lists whole, and how many it gives as examples of more."""


@cache
def all_figures() -> Mapping[str, DeclaredFigure[...]]:
    """Name -> figure for all figures declared in bertviz_core.figures, by page and then by name."""
    for module in walk_packages(figures.__path__, f"{figures.__name__}."):
        import_module(module.name)
    places = {page: place for place, page in enumerate(PAGES)}
    by_page = sorted(
        DECLARED.values(), key=lambda each: (places.get(each.chart.partition("_")[0], len(PAGES)), each.name)
    )
    return {each.name: each for each in by_page}


def no_figure(name: str, known: Iterable[str], place: str = "") -> TextError:
    """The error for an unknown figure name.

    Args:
        name: the unknown name.
        known: the known names.
        place: what they belong to, such as " of this result".
    """
    names = list(known)
    near = get_close_matches(name, names, 1)
    suggestion = f" Did you mean {near[0]!r}?" if near else ""
    choose = f"Choose {', '.join(names)}."
    if len(names) > MOST_LISTED:
        some = ", ".join(names[:SOME])
        choose = f"There are {len(names)}, such as {some}; the command figure lists all of them."
    return TextError(f"There is no figure {quoted(escape_controls(name), 40)}{place}.{suggestion} {choose}")


def settings_of(name: str) -> tuple[str, ...]:
    """Keys of the parameters of a figure besides the common ones."""
    return tuple(param.key for param in figure_questions()[name].params if param.key not in COMMON)


def subject_of(
    name: str, model: str, settings: Settings, task: str | None = None
) -> OpenedModel | OpenedFolder | OpenedTraining:
    """Open the subject of a figure: the model of a name, or the corpus or training run in a folder.

    Args:
        model: name of the model, or path of the folder.
        settings: restrict what may be opened.
    """
    if figure_questions()[name].subject is CorpusSubject:
        return OpenedFolder(Path(model), settings)
    if figure_questions()[name].subject is TrainingSubject:
        return OpenedTraining(Path(model), settings)
    return OpenedModel(model, settings, task)


def drawn_by(name: str, opened: Any, options: Options) -> tuple[FigureSpec, Answer[Any]]:
    """Draw a figure; returns it with the answer that it shows.

    Args:
        name: one of `figure --list`.
        opened: the model, or the corpus or training run for a figure of those.
    """
    declared = all_figures()[name]
    answer = figure_questions()[name](opened, options)
    return declared.of(answer.drawn, answer.notices), answer
