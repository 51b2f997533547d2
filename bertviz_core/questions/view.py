"""Declare a view: its title, its controls, and what it shows of the answers to questions.

What a view shows is data, a sequence of parts, so that a page draws it, and a test reads it, without one another.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

from bertviz_core.figures.base.spec import DeclaredFigure, FigureSpec
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.questions.parameters import Options, Param
from bertviz_core.questions.question import Answer, Question
from bertviz_core.trace.results import Tokens

T = TypeVar("T")
SCROLLED = 390
"""Pixels of a table of more than ten rows, which is scrolled."""
Level = Literal["body", "caption", "notice", "warning", "success", "error", "heading"]
LONG_LIST = 500
"""Most texts in a list to choose one from; in a longer one it is chosen by its number."""
LONGEST_LINKED = 1_500
"""Most characters of texts in a link; some programs cut longer addresses."""
NO_FORMATS: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Text:
    """Markdown; names and texts in it are escaped."""

    markdown: str
    level: Level = "body"


@dataclass(frozen=True, slots=True)
class Notices:
    """Remarks on an answer, one sentence each; those that the page has shown already are left out."""

    notices: Sequence[str]
    level: Level = "warning"
    before: str = ""
    """What each begins with."""


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

    @classmethod
    def of(cls, *metrics: Metric) -> "Metrics":
        """These numbers side by side."""
        return cls(metrics)


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A table beside a figure."""

    frame: "pd.DataFrame"
    alt: str
    height: int = SCROLLED
    """Its most pixels."""
    first: int | None = None
    """Pixels of the first column; None for a width by its cells."""
    formats: Mapping[str, str] = field(default_factory=dict)
    """Column -> format of its numbers, such as "percent"."""
    folded: str = ""
    """Chart below which it is folded; "" for an open table."""
    key: str = ""
    """Its key, where a click on a row selects something."""
    opens: str = ""
    """Key of the number, from 1, that a click on a row sets."""
    rows: int = 0
    """Rows for which it keeps the place, where a control beside it chooses some of them; 0 for none but its own."""


@dataclass(frozen=True, slots=True)
class Click:
    """What a click in a figure selects."""

    param: Param
    value: Callable[[Mapping[str, Any]], object]
    """Point of plotly's event -> value of the parameter; None for no change."""
    also: tuple[Param, ...] = ()
    """Further parameters that it sets to this value."""


@dataclass(frozen=True, slots=True, eq=False)
class Ahead:
    """The figures of all values of a control, between which a browser can switch by itself."""

    param: Param
    specs: Sequence[FigureSpec]
    """In the order of its values."""

    @classmethod
    def of(
        cls, param: Param, figure: DeclaredFigure[...], ask: "Ask", question: Question[Any, Any], options: Options
    ) -> "Ahead":
        """The figures of the question's answers, one for each value."""
        each = [replace(options, values={**options.values, param.key: value}) for value in param.options]
        return cls(param, [figure.of(ask(question, one).drawn) for one in each])


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Figure:
    """A figure with its numbers, its files, and how it is computed."""

    spec: FigureSpec
    file: str
    """Name of its files without the page and an extension: what is shown, and the model, layer and head."""
    ahead: Ahead | None = None
    """Its control and its other values, where they are known without a computation."""
    alt: str = ""
    """Description of the table; "" for the title of the figure."""
    numbers: Literal["folded", "open", "in files"] = "folded"
    height: int = SCROLLED
    """Most pixels of an open table."""
    texts: Tokens | Sequence[str | None] = ()
    """Texts that it depends on."""
    models: Sequence[str] = ()
    """Names of the models that it shows; () for the opened one."""
    explanation: str = ""
    """How it is computed, in Markdown; "" for none."""
    code: str = ""
    """Lines of Python that reproduce its numbers."""
    formats: Mapping[str, str] = field(default_factory=dict)
    below: "Sequence[Part]" = ()
    """What stands between the picture and its files."""
    rows: "Sequence[Part]" = ()
    """Its numbers where the view has a table of its own for them: they stand above how it is computed."""
    click: Click | None = None
    cells: tuple[Param, Param] | None = None
    """What the row and the column of a clicked cell select; their controls stand below the figure."""
    share: float = 1.0
    """Share of the page's width, where the page has columns."""
    scrolled: bool = False
    """Whether a tall figure is scrolled."""
    caption: str = ""
    """Caption in its files; "" for that of the figure."""
    named_by: Param | None = None
    """It is in a report of its view only where the address has this parameter."""

    @classmethod
    def of(cls, figure: DeclaredFigure[...], answer: Answer[Any], file: str, **more: Any) -> "Figure":
        """The figure of an answer, with its texts and models.

        Args:
            answer: the answer to its question.
            file: as the field.
            **more: further fields.
        """
        about = {"texts": answer.texts, "models": tuple(dict.fromkeys(name for name, _ in answer.models))}
        return cls(spec=figure.of(answer.drawn, answer.notices), file=file, **{**about, **more})


@runtime_checkable
class Ask(Protocol):
    """Asks a question; a page shows progress, and may end there."""

    def __call__(
        self, question: Question[Any, T], options: Options, so_far: tuple[DeclaredFigure[...], str] | None = None, /
    ) -> Answer[T]:
        """Return the answer; the figure of an intermediate one, and a sentence on it, are shown meanwhile."""


Show = Callable[[Any, Ask, Options], "Iterable[Part]"]
"""From the opened model, a function that asks it, and the options to what is shown."""


@dataclass(frozen=True, slots=True)
class Section:
    """Parts with controls of their own, which alone are drawn anew when one of these changes."""

    params: tuple[Param, ...]
    show: Show
    above: Show | None = None
    """What stands above the controls, and is made after the rest."""
    example: str = ""
    """Task that reads two texts, for which an example stands in where there is no second one; "" for none."""
    folded: tuple[Param, ...] = ()
    """Further controls, behind a button."""
    button: str = "Options"
    """Label of that button."""


@dataclass(frozen=True, slots=True)
class Controls:
    """Parts with controls of their own, which are drawn anew with all that is around them."""

    params: tuple[Param, ...]
    show: Show


@dataclass(frozen=True, slots=True)
class Beside:
    """A figure with a section beside it on a wide page, and its files below both."""

    figure: Figure
    section: Section
    below: "Sequence[Part]" = ()
    """What stands between the files and the explanation."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Parts in two columns on a wide page."""

    key: str
    """Key of their container."""
    left: "Sequence[Part]"
    right: "Sequence[Part]"


@dataclass(frozen=True, slots=True)
class Code:
    """Text of fixed width."""

    text: str
    language: Literal["python"] | None = None
    height: int | Literal["content"] = "content"


@dataclass(frozen=True, slots=True)
class Folded:
    """Parts that are folded, and made when they are opened."""

    label: str
    key: str
    """Key of the fold, its name in the address."""
    show: "Callable[[], Iterable[Part]]"


@dataclass(frozen=True, slots=True)
class Later:
    """Parts that are made after all others of the page, since they may take long; they stand in their place."""

    show: "Callable[[], Iterable[Part]]"


@dataclass(frozen=True, slots=True)
class Explained:
    """How several figures are computed."""

    key: str
    """Beginning of the key of its fold."""
    words: str
    code: str


@dataclass(frozen=True, slots=True)
class OtherModel:
    """Parts about another model in place of the opened one."""

    name: str
    show: Show


@dataclass(frozen=True, slots=True)
class PutTexts:
    """A button that fills in the texts of the sidebar."""

    label: str
    key: str
    text: str
    pair: str


@dataclass(frozen=True, slots=True)
class Run:
    """A run of the model on the text, which the reader confirms where it takes long."""

    task: str | None
    """Task of the head."""


@dataclass(frozen=True, slots=True)
class SecondModel:
    """What is shown of the second model of the sidebar, if there is one; an error is one sentence.

    Its name is among the options of these parts.
    """

    key: str
    """Key of the container."""
    show: "Callable[[str], Iterable[Part]]"
    """From its name."""


@dataclass(frozen=True, slots=True)
class Cell:
    """The cell of a map that was clicked last, as its row and column."""

    chart: str
    show: "Callable[[tuple[int, int] | None], Iterable[Part]]" = lambda cell: ()
    """What is shown of it; of None, where none was clicked."""
    param: Param | None = None
    """What a click selects; its control stands below the map."""
    value: Callable[[int, int], object] = lambda row, column: None
    """Row and column -> value of the parameter; None for no change."""


@dataclass(frozen=True, slots=True)
class Row:
    """Parts side by side."""

    parts: "Sequence[Part]"


@dataclass(frozen=True, slots=True)
class Button:
    """A button that sets controls."""

    label: str
    key: str
    values: Mapping[str, object]
    """Key of a control -> its new value; with a view, "" for the default of a control of the view that is left."""
    view: str = ""
    """View of the page that it opens; "" for none."""


@dataclass(frozen=True, slots=True)
class Link:
    """A link to a view of a page."""

    label: str
    page: str
    query: Sequence[tuple[str, str]]

    @classmethod
    def to(cls, label: str, page: str, values: Mapping[str, object]) -> "Link":
        """A link to a page with these values of parameters."""
        return cls(label, page, [(key, str(value)) for key, value in values.items()])


@dataclass(frozen=True, slots=True)
class Links:
    """Links in a row."""

    key: str
    label: str
    """What they are, for screen readers."""
    links: Sequence[Link]


@dataclass(frozen=True, slots=True)
class Download:
    """A file that is made when it is saved."""

    label: str
    key: str
    name: str
    media: str
    content: Callable[[], bytes | str]
    help: str = ""


@dataclass(frozen=True, slots=True)
class TableFiles:
    """Downloads of a table as CSV and Parquet, which is made when one is saved."""

    frame: "Callable[[], pd.DataFrame]"
    key: str
    file: str
    """Name of its files without the page and an extension."""


@dataclass(frozen=True, slots=True)
class PageLinks:
    """Links to pages in a row, by their names."""

    pages: Sequence[str]
    key: str
    label: str
    """What they are, for screen readers."""


class Special:
    """A part that a page draws by a function of its own, registered for its class with `ui.engine.draw`."""


Part = (
    Text | Notices | Metrics | Table | Figure | Section | Controls | Beside | Columns | Row | Code | Explained | Folded
    | Later | Cell | Button | Links | Download | TableFiles | PageLinks | OtherModel | PutTexts | Run
    | SecondModel | Special
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Lack:
    """What a model lacks for a view."""

    words: str
    """Why, after the name of the model, as the rest of a sentence."""
    bundled: str
    """A bundled model that has it."""
    runs: bool = False
    """Whether it is of a run on the text."""


@dataclass(frozen=True, slots=True)
class View:
    """A view of a page."""

    title: str
    params: tuple[Param, ...] = ()
    """Its controls, beside the names of the views."""
    show: Show | None = None
    """What it shows; None for a view that its page draws by itself."""
    folded: tuple[Param, ...] = ()
    """Its controls behind a button."""
    second: bool = False
    """Whether it compares the model with a second one, whose name is then among the options."""
    runs: bool = False
    """Whether it is of a run on the text."""
    lacks: Callable[[Any], Lack | None] | None = None
    """From an opened model, what it lacks for it, None for nothing; None for a view of all models."""


@dataclass(frozen=True, slots=True)
class TargetView(View):
    """A view of a target, which is chosen above it."""

    below: tuple[Param, ...] = ()
    """Its controls, below those of the target."""
    remarks: Callable[[Any, Options], Iterable[str]] = lambda opened, options: ()
    """What the line above it says besides the target."""
    named: Callable[[Any, Options], str] | None = None
    """What that line calls the target, in Markdown; None for its usual description."""
    alone: bool = False
    """Whether heads read the first text only."""
    of_list: bool = False
    """Whether it is of many texts, so that positions in one text are no targets."""
