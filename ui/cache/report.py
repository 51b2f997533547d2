"""Create reports of a model, a text and a view from the shared models and runs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from bertviz_core.errors import BertvizError, Progress, TextError
from bertviz_core.figures.base.export import deck_tall
from bertviz_core.figures.base.style import theme_named
from bertviz_core.questions.report import files
from bertviz_core.questions.report.files import NO_FACTS, USUAL
from bertviz_core.questions.report.sections import ReportSection
from ui.cache import models
from ui.cache.figures import ShownView
from ui.cache.models import source, source_key
from ui.cache.shared_model import SharedModel

NOTHING = "This view shows no figure and no table yet."
MOST_TOKENS = 64
"""Most tokens for figures that need one run per head or word; for longer texts they are on their own pages only."""


@dataclass(frozen=True, slots=True)
class ReportContents:
    """The contents of a report."""

    name: str
    text: str
    pair: str | None
    usual: bool
    """Whether it contains the default figures that the model and the text allow."""
    figures: tuple[str, ...]
    """Names of additional figures."""
    theme: str
    """"light", "dark" or "print"."""


def offered(name: str, text: str, pair: str | None) -> dict[str, str]:
    """Name -> description of every figure that a report of this text may have."""
    return files.report_figures(quick=_length(name, text, pair) > MOST_TOKENS)


def report_key(contents: ReportContents, slides: bool) -> tuple[object, ...]:
    """What a report without a view is made from; equal for equal files."""
    return (__name__, source_key(contents.name), contents, slides)


def report_work(
    contents: ReportContents,
    pixels: int,
    slides: bool,
    view: ShownView | None = None,
    facts: Mapping[str, str] = NO_FACTS,
) -> tuple[int, Callable[[Progress], bytes]]:
    """Return the number of steps of a report, and a function that makes it; it needs no session.

    The function raises BertvizError where none of the figures can be drawn, or, for slides, python-pptx or a browser
    is missing. The report begins with the view, whose figures are not repeated.
    """
    first, names = ((), _names(contents)) if view is None else _with_view(contents, view, pixels, slides)
    opened, theme = SharedModel(contents.name), theme_named(contents.theme, pixels)
    inputs = opened, contents.text, contents.pair, names, theme
    work = partial(files.report_file, *inputs, first=first, facts=facts, slides=slides)
    return files.slides_steps(names, first) if slides else len(names), work


def _with_view(
    contents: ReportContents, view: ShownView, pixels: int, slides: bool
) -> tuple[Sequence[ReportSection], tuple[str, ...]]:
    """Sections of a view, and names of the other figures."""
    origin = source(contents.name)
    theme = theme_named(contents.theme, pixels)
    theme = theme.on_slide(deck_tall()) if slides else theme
    first = view.sections(theme, [origin.cited])
    names = tuple(each for each in _names(contents) if each not in view.names)
    if not first and not names:
        raise TextError(f"{NOTHING} Choose other figures, or make the report once it shows one.")
    return first, names


def _names(contents: ReportContents) -> tuple[str, ...]:
    usual = (each for each in offered(contents.name, contents.text, contents.pair) if contents.usual and each in USUAL)
    return tuple(dict.fromkeys((*usual, *contents.figures)))


def _length(name: str, text: str, pair: str | None) -> int:
    """Number of tokens of the text; 0 where the tokenizer is not on this machine."""
    try:
        return len(models.tokens(name, text, pair))
    except BertvizError:
        return 0
