"""Questions and answers: a question is a plain function from something opened and options to an answer."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from typing import Any, Generic, Protocol, TypeVar, get_type_hints, runtime_checkable

from bertviz_core.errors import Progress
from bertviz_core.questions.parameters import Options, Param
from bertviz_core.trace.results import Tokens

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
ShownT = TypeVar("ShownT", contravariant=True)


@runtime_checkable
class AnswerJob(Protocol[ShownT]):
    """Long work on an answer, for whoever waits for it; whatever is raised by either of the two ends the work."""

    def __call__(self, done: int, total: int, /) -> None:
        """How far the work is, as a Progress."""

    def show(self, so_far: ShownT, /) -> None:
        """The answer as far as it is known."""


class Silent:
    """A job for which nobody waits."""

    def __call__(self, done: int, total: int, /) -> None:
        """Nobody learns how far the work is."""

    def show(self, so_far: object, /) -> None:
        """Nobody sees what is known."""


SILENT = Silent()


def after(progress: Progress, before: int, total: int) -> Progress:
    """How far a part of the work is, told as how far the whole is.

    Args:
        progress: learns how far the whole is.
        before: steps before this part.
        total: steps of the whole.
    """
    return lambda done, _: progress(before + done, total)


@dataclass(frozen=True, slots=True)
class AnswerCost:
    """What a long answer takes, known before the work begins."""

    steps: int
    """That the job counts, about."""
    tokens: Tokens | None = None
    """The longest text that the model is run on; None where no model is run, or on a list whose length says enough."""
    runs: int = 1
    """About as many runs on these tokens take as long as the work."""
    slow: str = ""
    """Why the work takes long, where it does whatever the machine; "" where the runs say it."""
    nbytes: int = 0
    """Bytes of what is worked on."""
    short: int = 512
    """Work of more steps waits for its turn."""


class Question(Generic[S, T]):
    """A question under its name; an answer is computed once for the same options while there is room to keep it."""

    def __init__(
        self,
        declaration: Callable[..., Answer[T]],
        compute: Callable[[S, Options, AnswerJob[Answer[T]]], Answer[T]],
        figures: Sequence[str],
        params: Sequence[Param],
        cost: Callable[[S, Options], AnswerCost] | None = None,
        noun: str = "steps",
    ) -> None:
        """A question as `question` or `long_question` declares it."""
        self.name, self.figures, self.params = declaration.__qualname__, tuple(figures), tuple(params)
        self.cost = cost
        """What the answer takes; None for a question that is answered at once."""
        self.noun = noun
        """What its job counts."""
        self.__doc__ = declaration.__doc__
        self._declaration, self._compute = declaration, compute

    @property
    def subject(self) -> Any:
        """The class that it is asked about: `Opened` of a model, or `CorpusSubject`."""
        return get_type_hints(self._declaration)["opened"]

    @property
    def public_name(self) -> str:
        """Its name in the library: that of its first figure, else its own with hyphens."""
        return self.figures[0] if self.figures else self.name.replace("_", "-")

    @property
    def module(self) -> str:
        """The module that declares it."""
        return self._declaration.__module__

    def key(self, options: Options) -> Hashable:
        """What an answer is kept by, besides what it is about."""
        return self.module, self.name, options.key()

    def __call__(self, opened: S, options: Options, job: AnswerJob[Answer[T]] = SILENT) -> Answer[T]:
        """The answer.

        Args:
            opened: what it is about.
            options: what is asked for.
            job: learns how far a long answer is.

        Raises:
            BertvizError: an option is none, or as the computation.
        """
        return opened.made(self.key(options), lambda: self._compute(opened, options, job))


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
        return _declared(Question(compute, lambda opened, options, _: compute(opened, options), figures, params))

    return declared


def long_question(
    cost: Callable[[S, Options], AnswerCost],
    figures: Sequence[str] = (),
    params: Sequence[Param] = (),
    noun: str = "steps",
) -> Callable[[Callable[[S, Options, AnswerJob[Answer[T]]], Answer[T]]], Question[S, T]]:
    """Declares the function below as a question whose answer takes long: it reports to a job how far it is.

    Args:
        cost: what the answer takes; known without a run, of a model that is loaded by then.
        figures: as `question`.
        params: as `question`.
        noun: what the job counts, in the plural.
    """

    def declared(compute: Callable[[S, Options, AnswerJob[Answer[T]]], Answer[T]]) -> Question[S, T]:
        return _declared(Question(compute, compute, figures, params, cost, noun))

    return declared


def _declared(asked: Question[S, T]) -> Question[S, T]:
    for name in asked.figures:
        if name in DECLARED:
            raise ValueError(f"two questions draw {name!r}")
        DECLARED[name] = asked
    return asked


@cache
def figure_questions() -> Mapping[str, Question[Any, Any]]:
    """Name of every figure -> the question whose answer it draws."""
    for module in _modules():
        import_module(module)
    return DECLARED


@cache
def all_questions() -> Mapping[str, Question[Any, Any]]:
    """Public name -> question: the names of all figures, and the own names of questions that have none."""
    drawn = figure_questions()
    members = [(name, each) for name in _modules() for each in vars(import_module(name)).values()]
    declared = [each for name, each in members if isinstance(each, Question) and each.module == name]
    return {**{each.public_name: each for each in declared if not each.figures}, **drawn}


def _modules() -> list[str]:
    from bertviz_core import questions

    return [module.name for module in walk_packages(questions.__path__, f"{questions.__name__}.")]
