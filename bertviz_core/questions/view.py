"""Declare a view: its title, its controls, and what it shows of the answers to questions.

What a view shows is data, a sequence of parts, so that a page draws it, and a test reads it, without one another.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

from bertviz_core.figures.base.spec import FigureSpec
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.questions.parameters import Options, Param
from bertviz_core.questions.question import Answer, Question
from bertviz_core.trace.results import Tokens

T = TypeVar("T")
Level = Literal["body", "caption", "notice", "warning", "success", "heading"]
NO_FORMATS: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Text:
    """Markdown; names and texts in it are escaped."""

    markdown: str
    level: Level = "body"


@dataclass(frozen=True, slots=True)
class Metric:
    """A number with its label and what it means."""

    label: str
    value: str
    help: str = ""


@dataclass(frozen=True, slots=True)
class Metrics:
    """Numbers side by side."""

    metrics: Sequence[Metric]


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A table beside a figure."""

    frame: "pd.DataFrame"
    alt: str
    height: int | Literal["auto"] = "auto"
    first: int | None = None
    """Pixels of the first column; None for a width by its cells."""
    formats: Mapping[str, str] = field(default_factory=dict)
    """Column -> format of its numbers, such as "percent"."""


@dataclass(frozen=True, slots=True)
class Click:
    """What a click in a figure selects."""

    param: Param
    value: Callable[[str], str]
    """Id of the clicked part -> value of the parameter."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Figure:
    """A figure with its numbers, its files, and how it is computed."""

    spec: FigureSpec
    frame: "pd.DataFrame"
    """Its numbers."""
    file: str
    """Name of its files without the page and an extension: what is shown, and the model, layer and head."""
    alt: str = ""
    """Description of the table; "" for the title of the figure."""
    numbers: Literal["folded", "open", "in files"] = "folded"
    texts: Tokens | Sequence[str | None] = ()
    """Texts that it depends on."""
    models: Sequence[str] = ()
    """Names of the models that it shows; () for the opened one."""
    explanation: str = ""
    """How it is computed, in Markdown; "" for none."""
    code: str = ""
    """Lines of Python that reproduce its numbers."""
    formats: Mapping[str, str] = field(default_factory=dict)
    below: Sequence[Text] = ()
    """Texts between the picture and its files."""
    click: Click | None = None


@runtime_checkable
class Ask(Protocol):
    """Asks a question; a page shows progress, and may end there."""

    def __call__(self, question: Question[Any, T], options: Options, /) -> Answer[T]:
        """Return the answer."""


Show = Callable[[Any, Ask, Options], "Iterator[Part]"]
"""From the opened model, a function that asks it, and the options to what is shown."""


@dataclass(frozen=True, slots=True)
class Section:
    """Parts with controls of their own, which alone are drawn anew when one of these changes."""

    params: tuple[Param, ...]
    show: Show


@dataclass(frozen=True, slots=True)
class Beside:
    """A figure with a section beside it on a wide page, and its files below both."""

    figure: Figure
    section: Section
    below: "Sequence[Part]" = ()
    """What stands between the files and the explanation."""


Part = Text | Metrics | Table | Figure | Section | Beside


@dataclass(frozen=True, slots=True)
class View:
    """A view of a page."""

    title: str
    params: tuple[Param, ...] = ()
    """Its controls, beside the names of the views."""
    show: Show | None = None
    """What it shows; None for a view that its page draws by itself."""
