"""Questions and answers: a question is a function from an opened model or corpus and options to an answer."""

import csv
import io
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from typing import Any, Generic, Literal, Protocol, TypeVar, get_type_hints, overload, runtime_checkable

from bertviz_core.errors import Named, Progress, TextError
from bertviz_core.text import escape_controls, with_notices
from bertviz_core.trace.results import Tokens

ChoiceT = TypeVar("ChoiceT", bound=str)


Kind = Literal["choice", "whole", "span", "text", "layer", "head", "position", "target"]


COMMON = ("layer", "head", "form", "depth", "first", "window", "map", "words", "pooling")
"""Parameters that every figure accepts; those that its question does not declare have no effect."""


MOST_DIGITS = 9
"""Maximum number of digits of an integer."""


MOST_NAMED = 100_000
"""Maximum length of a comma-separated list of names; csv would accept a third more."""


EMBEDDING_OUTPUT = " (the embedding output)"
"""Explanation of index 0 in error messages about the hidden states."""


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter of a question; its key is its name in query strings, on the command line and in Python."""

    key: str
    kind: Kind
    help: str
    """Description, without a full stop."""
    options: tuple[str, ...] = ()
    """Permitted values of a choice; the first is the default."""
    label: str = ""
    """Label of its control on a page; "" where a page has none for it."""
    values: "Callable[[Any, Options], Sequence[str] | Mapping[str, str]] | None" = None
    """Values that depend on the opened model and the options, the default first: all of a choice, some of a "model".

    A mapping has their words, too. Without a value there is nothing to choose."""
    bounds: "Callable[[Any, Options], tuple[int, int, int]] | None" = None
    """Least, greatest and default value of a whole number with the opened model and the options."""
    shown: Callable[[str], str] = str
    """How a control shows a value."""
    applies: "Callable[[Any, Options], bool]" = lambda opened, options: True
    """Whether it has an effect with the opened model and the options; otherwise it has no control."""
    first: int = 0
    """How many of several values are chosen to begin with."""
    most: int = 0
    """Most of them that can be chosen at once; 0 for all."""
    listed: bool = False
    """Whether a position is chosen from the list of the tokens of the text."""
    control: Literal["", "few", "several", "names", "model", "models", "lines", "edited"] = ""
    """Of a choice: its values side by side; of a "text": several of them, those of a popover, the name of a model or of
    several, a text on each line, or an edited version."""


def choice(key: str, options: Sequence[str], help_text: str, label: str = "") -> Param:
    """Declare a parameter with a few permitted values."""
    return Param(key, "choice", help_text, tuple(options), label)


def flag(key: str, help_text: str, label: str = "") -> Param:
    """Declare a boolean parameter."""
    return choice(key, ("false", "true"), help_text, label)


@dataclass(frozen=True, slots=True)
class Options:
    """Texts and parameter values of a question; values are unparsed."""

    texts: tuple[str, ...] = ()
    """Texts, sentences, or names of further models."""
    pair: str | None = None
    """A second text of the same input."""
    task: str | None = None
    """Task of the model class."""
    values: Mapping[str, str] = field(default_factory=dict)
    """Key of a parameter -> unparsed value; missing parameters have their default."""

    def key(self) -> tuple[object, ...]:
        """Cache key of the options."""
        return self.texts, self.pair, self.task, tuple(sorted(self.values.items()))

    def get(self, key: str, default: str = "") -> str:
        """The unparsed value of a parameter, or the default."""
        return self.values.get(key, default)

    def only(self, *params: Param, task: str | None = None) -> "Options":
        """The same texts with the values of these parameters only, for a task."""
        keys = {param.key for param in params}
        values = {key: value for key, value in self.values.items() if key in keys}
        return Options(self.texts, self.pair, task, values)

    def text(self) -> str:
        """The text of a question about a single text."""
        if len(self.texts) != 1:
            raise TextError(f"This figure shows one text, and {len(self.texts) or 'none'} came; give one, in quotes.")
        return self.texts[0]

    @overload
    def choice(self, param: Param) -> str: ...

    @overload
    def choice(self, param: Param, allowed: Sequence[ChoiceT]) -> ChoiceT: ...

    def choice(self, param: Param, allowed: Sequence[str] = ()) -> str:
        """Parse a choice; defaults to the first permitted value.

        Args:
            allowed: values that this model or text permits; defaults to all of the parameter.
        """
        options = allowed or param.options
        value = self.values.get(param.key, options[0])
        if value not in options:
            raise TextError(
                "There is no ",
                Named(param.key),
                f"={escape_controls(value[:30])}; choose {', '.join(options)}.",
            )
        return value

    def names(self, key: str) -> list[str]:
        """Parse comma-separated names; names that contain commas are quoted."""
        line = io.StringIO(self.get(key)[:MOST_NAMED], newline="")
        return [name for name in next(csv.reader(line), []) if name]

    def flag(self, param: Param) -> bool:
        """Parse a boolean."""
        return self.choice(param) == "true"

    def numbered(self, key: str, count: int, default: int, model: str, first: str = "") -> int:
        """Parse the zero-based index of a layer or head.

        Args:
            key: "layer" or "head"; "other_layer" or "other_head" for those of a second model.
            default: value if none is given.
        """
        value = self.get(key).strip()
        if not value:
            return default
        if value not in map(str, range(count)):
            noun = key.removeprefix("other_")
            what = f"There is no {noun} {escape_controls(value[:20])!r} in {model!r}; give "
            raise TextError(what, Named(key), f" 0{first} to {count - 1}.")
        return int(value)

    def whole(self, key: str, count: int, default: int) -> int:
        """Parse an integer between 0 and count - 1."""
        value = self.get(key, str(default))
        plain = value.isascii() and value.isdigit() and len(value) <= MOST_DIGITS and value == str(int(value))
        if not plain or int(value) >= count:
            what = f"={escape_controls(value[:20])} here; give 0 to {count - 1}."
            raise TextError("There is no ", Named(key), what)
        return int(value)

    def span(self, key: str, count: int, shown: int) -> tuple[int, int]:
        """Parse FIRST:LAST as a half-open range; defaults to the first `shown` positions."""
        value = self.get(key, f"0:{min(shown, count) - 1}")
        first, _, last = value.partition(":")
        short = max(len(first), len(last)) <= MOST_DIGITS
        if not (short and first.isdecimal() and last.isdecimal() and int(first) <= int(last) < count):
            what = f"={escape_controls(value[:20])} here; give FIRST:LAST, from 0 to {count - 1}."
            raise TextError("There is no ", Named(key), what)
        return int(first), int(last) + 1


def joined_names(names: Iterable[str]) -> str:
    """Join names for `Options.names`."""
    line = io.StringIO()
    csv.writer(line, quoting=csv.QUOTE_ALL, lineterminator="").writerow(names)
    return line.getvalue()


def numbered(key: str, typed: str, count: int, model: str, first: str = "") -> int:
    """Parse the zero-based index of a layer or head, which is required.

    Args:
        key: "layer" or "head".
        typed: the unparsed value.
    """
    if typed.strip() in map(str, range(count)):
        return int(typed)
    reason = f"There is no {key} {escape_controls(typed[:20])!r} in {model!r}" if typed else f"No {key} was named"
    most = f" to {count - 1}" if count > 1 else ", the only one"
    raise TextError(f"{reason}; give ", Named(key), f" 0{first}{most}.")


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
