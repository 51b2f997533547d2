"""All figures by their names, and the answer that each is drawn from."""

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
from bertviz_core.questions.opened import CorpusSubject, OpenedFolder, OpenedModel
from bertviz_core.questions.parameters import COMMON, Options
from bertviz_core.questions.question import Answer, figure_questions
from bertviz_core.settings import Settings
from bertviz_core.text import escape_controls, quoted


@cache
def all_figures() -> Mapping[str, DeclaredFigure[...]]:
    """Name -> figure, page by page and then by name, of all that are declared anywhere in bertviz_core.figures."""
    for module in walk_packages(figures.__path__, f"{figures.__name__}."):
        import_module(module.name)
    places = {page: place for place, page in enumerate(PAGES)}
    by_page = sorted(
        DECLARED.values(), key=lambda each: (places.get(each.chart.partition("_")[0], len(PAGES)), each.name)
    )
    return {each.name: each for each in by_page}


def no_figure(name: str, known: Iterable[str], place: str = "") -> TextError:
    """The refusal of a name that no figure has.

    Args:
        name: what was asked for.
        known: names that there are.
        place: what they are figures of, such as " of this result".
    """
    names = list(known)
    near = get_close_matches(name, names, 1)
    meant = f" Did you mean {near[0]!r}?" if near else ""
    return TextError(
        f"There is no figure {quoted(escape_controls(name), 40)}{place}.{meant} Choose {', '.join(names)}."
    )


def settings_of(name: str) -> tuple[str, ...]:
    """Keys of the parameters that a figure has beside the common ones."""
    return tuple(param.key for param in figure_questions()[name].params if param.key not in COMMON)


def subject_of(name: str, model: str, settings: Settings, task: str | None = None) -> OpenedModel | OpenedFolder:
    """What a figure is about: the model of a name, or the corpus in a folder.

    Args:
        name: of the figure.
        model: name of the model, or path of the folder.
        settings: what may be opened.
        task: task of the head that is meant.

    Raises:
        BertvizError: there is none, or it may not be opened.
    """
    if figure_questions()[name].subject is CorpusSubject:
        return OpenedFolder(Path(model), settings)
    return OpenedModel(model, settings, task)


def drawn_by(name: str, opened: Any, options: Options) -> tuple[FigureSpec, Answer[Any]]:
    """A figure, and the answer that it is drawn from.

    Args:
        name: as `figure --list` has it.
        opened: the model, or the corpus of a figure of corpora.
        options: what is asked for.

    Raises:
        BertvizError: as the question.
    """
    declared = all_figures()[name]
    answer = figure_questions()[name](opened, options)
    return declared(*(answer.drawn[each] for each in declared.inputs)), answer
