"""Questions and answers: a question is a function from an opened model or corpus and options to an answer."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from typing import Any, Generic, Protocol, TypeVar, get_type_hints, runtime_checkable

from bertviz_core.errors import Progress
from bertviz_core.questions.parameters import Options, Param
from bertviz_core.text import with_notices
from bertviz_core.trace.results import Tokens

T = TypeVar("T")
U = TypeVar("U")
MadeT = TypeVar("MadeT")


@dataclass(frozen=True, slots=True, eq=False)
class Answer(Generic[T]):
    """A result with the metadata for captions, tables and downloads."""

    result: T
    """The result."""
    models: tuple[tuple[str, str], ...] = ()
    """Name and revision of each model used."""
    texts: tuple[str | None, ...] = ()
    """Input texts."""
    notices: tuple[str, ...] = ()
    """Remarks on the result, one sentence each."""
    drawn: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the figures of the question, by name."""

    def of(self, result: U, notices: Sequence[str] = (), /, **drawn: object) -> "Answer[U]":
        """An answer with another result for the same models and texts, further notices, and new figure arguments."""
        return Answer(result, self.models, self.texts, tuple(dict.fromkeys((*self.notices, *notices))), drawn)


@runtime_checkable
class Subject(Protocol):
    """The subject of a question: an opened model or corpus."""

    def notices_of(self, models: Iterable[str]) -> tuple[str, ...]:
        """What of the files of these models decides numbers and is not followed, one sentence each."""
        ...

    def get_or_compute(self, key: Hashable, make: Callable[[], MadeT]) -> MadeT:
        """Return the cached value of a key, or compute it."""
        ...


S = TypeVar("S", bound=Subject)
ShownT = TypeVar("ShownT", contravariant=True)


@runtime_checkable
class AnswerJob(Protocol[ShownT]):
    """Receives progress and intermediate answers of a long computation; both methods may raise to stop it."""

    def __call__(self, done: int, total: int, /) -> None:
        """Report progress: steps done and their number."""

    def show(self, so_far: ShownT, /) -> None:
        """Report an intermediate answer."""


Job = AnswerJob[Answer[T]]
"""What receives the progress of a question, and its intermediate answers with a result of this type."""


class Silent:
    """A job that ignores all reports."""

    def __call__(self, done: int, total: int, /) -> None:
        """Do nothing."""

    def show(self, so_far: object, /) -> None:
        """Do nothing."""


SILENT = Silent()


def shows_answers(job: AnswerJob[Any]) -> bool:
    """Whether a job does something with intermediate answers; they need not be computed for one that ignores them."""
    return getattr(type(job), "show", None) is not Silent.show


class PartOfJob(Silent):
    """A job for a part of the work: its progress is reported as progress of the whole."""

    def __init__(self, progress: Progress, before: int, total: int) -> None:
        """Create a job; used by `after`."""
        self._progress, self._before, self._total = progress, before, total

    def __call__(self, done: int, total: int, /) -> None:
        """Report the steps of the whole that are done."""
        self._progress(self._before + done, self._total)


def after(progress: Progress, before: int, total: int) -> PartOfJob:
    """Convert the progress of a part to progress of the whole.

    Args:
        progress: called with steps of the whole done and their number.
        before: steps before this part.
        total: steps of the whole.
    """
    return PartOfJob(progress, before, total)


@dataclass(frozen=True, slots=True)
class AnswerCost:
    """Estimated cost of a long computation, known before it begins."""

    steps: int
    """Approximate number of progress steps."""
    tokens: Tokens | None = None
    """The longest text to run; None if no model is run, or if the number of texts determines the cost."""
    runs: int = 1
    """Approximate cost in runs on these tokens."""
    slow: str = ""
    """What is confirmed first, such as why it is slow on any machine; "" if the runs determine its cost."""
    action: str = "Begin"
    """What the reader confirms, as the label of a button."""
    nbytes: int = 0
    """Bytes of the data to process."""
    short: int = 512
    """Number of steps above which the computation is queued."""


class Question(Generic[S, T]):
    """A named question; answers are cached by their options."""

    def __init__(
        self,
        declaration: Callable[..., Answer[T]],
        compute: Callable[[S, Options, AnswerJob[Answer[T]]], Answer[T]],
        figures: Sequence[str],
        params: Sequence[Param],
        cost: Callable[[S, Options], AnswerCost] | None = None,
        noun: str = "steps",
    ) -> None:
        """Create a question; used by `question` and `long_question`."""
        self.name, self.figures, self.params = declaration.__qualname__, tuple(figures), tuple(params)
        self.cost = cost
        """Estimates the cost of an answer; None for a short question."""
        self.noun = noun
        """Unit of the progress steps."""
        self.__doc__ = declaration.__doc__
        self._declaration, self._compute = declaration, compute

    @property
    def subject(self) -> Any:
        """Class of its subject: `Opened` for a model, or `CorpusSubject`."""
        return get_type_hints(self._declaration)["opened"]

    @property
    def public_name(self) -> str:
        """Name in the library: that of its first figure, otherwise its own with hyphens."""
        return self.figures[0] if self.figures else self.name.replace("_", "-")

    @property
    def module(self) -> str:
        """Module that declares it."""
        return self._declaration.__module__

    def key(self, options: Options) -> Hashable:
        """Cache key of an answer for a subject."""
        return self.module, self.name, options.key()

    def __call__(self, opened: S, options: Options, job: AnswerJob[Answer[T]] = SILENT) -> Answer[T]:
        """Return the answer.

        Args:
            opened: the subject.
            job: receives progress and intermediate answers.
        """

        def answer() -> Answer[T]:
            made = self._compute(opened, options, job)
            about = opened.notices_of(name for name, _ in made.models)
            return replace(made, notices=with_notices(about, made.notices)) if about else made

        return opened.get_or_compute(self.key(options), answer)


DECLARED: dict[str, Question[Any, Any]] = {}
"""Name of a figure -> the question that it visualizes, for all imported modules."""
_NAMES: dict[tuple[str, str], str] = {}
"""Module and name of each question of the imported modules -> its name."""


def question_name(key: Hashable) -> str:
    """Name of the question that a cache key of an answer belongs to; "" for keys of anything else."""
    return _NAMES.get(key[:2], "") if isinstance(key, tuple) and len(key) == 3 else ""


def question(
    figures: Sequence[str] = (), params: Sequence[Param] = ()
) -> Callable[[Callable[[S, Options], Answer[T]]], Question[S, T]]:
    """Declare the decorated function as a question.

    Args:
        figures: names of the figures of its answer; a figure belongs to one question.
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
    """Declare the decorated function as a long question, which reports its progress to a job.

    Args:
        cost: estimates the cost of the answer without a run; the model may be loaded.
        figures: as in `question`.
        params: as in `question`.
        noun: unit of the progress steps, in the plural.
    """

    def declared(compute: Callable[[S, Options, AnswerJob[Answer[T]]], Answer[T]]) -> Question[S, T]:
        return _declared(Question(compute, compute, figures, params, cost, noun))

    return declared


def _declared(declared: Question[S, T]) -> Question[S, T]:
    _NAMES[declared.module, declared.name] = declared.name
    for name in declared.figures:
        if name in DECLARED:
            raise ValueError(f"two questions draw {name!r}")
        DECLARED[name] = declared
    return declared


@cache
def figure_questions() -> Mapping[str, Question[Any, Any]]:
    """Name of every figure -> the question that it visualizes."""
    for module in _modules():
        import_module(module)
    return DECLARED


@cache
def all_questions() -> Mapping[str, Question[Any, Any]]:
    """Public name -> question: names of all figures, and of questions without figures."""
    drawn = figure_questions()
    members = [(name, each) for name in _modules() for each in vars(import_module(name)).values()]
    declared = [each for name, each in members if isinstance(each, Question) and each.module == name]
    return {**{each.public_name: each for each in declared if not each.figures}, **drawn}


def _modules() -> list[str]:
    from bertviz_core import questions

    return [module.name for module in walk_packages(questions.__path__, f"{questions.__name__}.")]
