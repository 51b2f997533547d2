"""Questions and answers: a question is a plain function from something opened and options to an answer."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from typing import Any, Generic, Protocol, TypeVar, get_type_hints, runtime_checkable

from bertviz_core.questions.parameters import Options, Param

T = TypeVar("T")
U = TypeVar("U")
MadeT = TypeVar("MadeT")


@dataclass(frozen=True, slots=True, eq=False)
class Answer(Generic[T]):
    """A result with everything that a caption, a table or a download says about it."""

    result: T
    """What was computed."""
    models: tuple[tuple[str, str], ...] = ()
    """Name and revision of each model that was used."""
    texts: tuple[str | None, ...] = ()
    """What the models read."""
    notices: tuple[str, ...] = ()
    """What a reader must know, one sentence each."""
    drawn: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the question's figures, by their names."""

    def of(self, result: U, notices: Sequence[str] = (), /, **drawn: object) -> "Answer[U]":
        """Another result of the same models and texts, with further notices and its own figures' arguments."""
        return Answer(result, self.models, self.texts, tuple(dict.fromkeys((*self.notices, *notices))), drawn)


@runtime_checkable
class Subject(Protocol):
    """What a question is about: an opened model, or an opened corpus."""

    def made(self, key: Hashable, make: Callable[[], MadeT]) -> MadeT:
        """A value by what it is made from; one that is kept, or a new one."""
        ...


S = TypeVar("S", bound=Subject)


class Question(Generic[S, T]):
    """A question under its name; an answer is computed once for the same options while there is room to keep it."""

    def __init__(
        self, compute: Callable[[S, Options], Answer[T]], figures: tuple[str, ...], params: tuple[Param, ...]
    ) -> None:
        """A question as `question` declares it."""
        self.name, self.figures, self.params = compute.__qualname__, figures, params
        self.__doc__ = compute.__doc__
        self._module, self._compute = compute.__module__, compute

    @property
    def subject(self) -> Any:
        """The class that it is asked about: `Opened` of a model, or `OpenedFolder`."""
        return get_type_hints(self._compute)["opened"]

    def __call__(self, opened: S, options: Options) -> Answer[T]:
        """The answer.

        Raises:
            BertvizError: an option is none, or as the computation.
        """
        key = (self._module, self.name, options.key())
        return opened.made(key, lambda: self._compute(opened, options))


DECLARED: dict[str, Question[Any, Any]] = {}
"""Name of a figure -> the question whose answer it draws, of every module that has been imported."""


def question(
    figures: Sequence[str] = (), params: Sequence[Param] = ()
) -> Callable[[Callable[[S, Options], Answer[T]]], Question[S, T]]:
    """Declares the function below as a question.

    Args:
        figures: names of the figures that can be drawn of its answer, each of one question.
        params: its parameters besides texts, pair and task.
    """

    def declared(compute: Callable[[S, Options], Answer[T]]) -> Question[S, T]:
        asked = Question(compute, tuple(figures), tuple(params))
        for name in figures:
            if name in DECLARED:
                raise ValueError(f"two questions draw {name!r}")
            DECLARED[name] = asked
        return asked

    return declared


@cache
def figure_questions() -> Mapping[str, Question[Any, Any]]:
    """Name of every figure -> the question whose answer it draws."""
    from bertviz_core import questions

    for module in walk_packages(questions.__path__, f"{questions.__name__}."):
        import_module(module.name)
    return DECLARED
