"""Create reports of a model, a text and a view from the shared models and runs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from bertviz_core.errors import BertvizError, Progress, TextError
from bertviz_core.figures.base.style import theme_named
from bertviz_core.questions.report import files
from bertviz_core.questions.report.files import NO_FACTS, USUAL
from bertviz_core.questions.report.sections import ReportSection
from ui.cache import models
from ui.cache.memoize import cached_by_bytes, results
from ui.cache.shared_model import SharedModel
from ui.cache.sources import SourceKey, source, source_key
from ui.cache.view_notes import ShownView

NOTHING = "This view shows no figure and no table yet."
MOST_TOKENS = 64
"""Most tokens for figures that need one run per head or word; for longer texts they are on their own pages only."""


@dataclass(frozen=True, slots=True)
class ReportContents:
    """The contents of a report."""

    name: str
    """Name of the model."""
    text: str
    """The text."""
    pair: str | None
    """A second text of the same input."""
    usual: bool
    """Whether it contains the default figures that the model and the text allow."""
    figures: tuple[str, ...]
    """Names of additional figures."""
    theme: str
    """"light", "dark" or "print"."""


def offered(name: str, text: str, pair: str | None) -> dict[str, str]:
    """Name -> description of every figure that a report of this text may have."""
    return files.report_figures(quick=_length(name, text, pair) > MOST_TOKENS)


def report_file(contents: ReportContents, pixels: int, progress: Progress) -> bytes:
    """Return a report as an HTML file, cached for all sessions.

    Args:
        contents: contents of the report.
        pixels: width of the figures.
        progress: called with the number of figures drawn and their total.

    Raises:
        BertvizError: none of the figures can be drawn.
    """
    return _file(source_key(contents.name), contents, pixels, progress)


def view_report(
    contents: ReportContents, view: ShownView, facts: Mapping[str, str], pixels: int, progress: Progress
) -> bytes:
    """Return a report that begins with a view; a figure of the view is not repeated.

    Args:
        contents: additional contents.
        view: figures and tables of the view.
        facts: title and address of the view.
        pixels: width of the figures.
        progress: called with the number of figures drawn and their total.

    Raises:
        BertvizError: the view is empty, and none of the other figures can be drawn.
    """
    first, names = _with_view(contents, view, pixels)
    theme = theme_named(contents.theme, pixels)
    return files.report_file(
        SharedModel(contents.name), contents.text, contents.pair, names, theme, progress, first, facts
    )


def slides_key(contents: ReportContents) -> tuple[object, ...]:
    """What the slides of a report without a view are made from; equal for equal slides."""
    return (__name__, source_key(contents.name), contents)


def report_slides(
    contents: ReportContents, pixels: int, view: ShownView | None = None, facts: Mapping[str, str] = NO_FACTS
) -> tuple[int, Callable[[Progress], bytes]]:
    """Return the number of figures to draw, and a function that writes the report as a PPTX file; it needs no session.

    Progress counts these figures, and then the pictures of all. The function raises BertvizError where none of the
    figures can be drawn, or python-pptx or a browser is missing.

    Args:
        contents: contents; in addition to the view if there is one.
        pixels: width of the figures.
        view: figures and tables of the view, with which the report begins.
        facts: title and address of the view.

    Raises:
        BertvizError: the view is empty, and no other figures are chosen.
    """
    first, names = ((), _names(contents)) if view is None else _with_view(contents, view, pixels)
    opened, theme = SharedModel(contents.name), theme_named(contents.theme, pixels)
    make = partial(files.report_slides, opened, contents.text, contents.pair, names, theme, first=first, facts=facts)
    return len(names), make


def _with_view(
    contents: ReportContents, view: ShownView, pixels: int
) -> tuple[Sequence[ReportSection], tuple[str, ...]]:
    """Sections of a view, and names of the other figures.

    Raises:
        TextError: there is neither.
    """
    origin = source(contents.name)
    first = view.sections(theme_named(contents.theme, pixels), [(origin.name, origin.revision)])
    names = tuple(each for each in _names(contents) if each not in view.names)
    if not first and not names:
        raise TextError(f"{NOTHING} Choose other figures, or make the report once it shows one.")
    return first, names


def _names(contents: ReportContents) -> tuple[str, ...]:
    usual = (each for each in offered(contents.name, contents.text, contents.pair) if contents.usual and each in USUAL)
    return tuple(dict.fromkeys((*usual, *contents.figures)))


@cached_by_bytes(size=len)
def _file(key: SourceKey, contents: ReportContents, pixels: int, progress: Progress) -> bytes:
    chosen = theme_named(contents.theme, pixels)
    return files.report_file(SharedModel(key.name), contents.text, contents.pair, _names(contents), chosen, progress)


def keep_file(token: str, file: bytes) -> None:
    """Cache a report of a view under a token of its session, since it may contain the reader's own data."""
    results().put((__name__, token), file, len(file))


def cached_file(token: str) -> bytes | None:
    """Return the report of a token; None if it is no longer cached."""
    file: bytes | None = results().get((__name__, token))
    return file


def _length(name: str, text: str, pair: str | None) -> int:
    """Number of tokens of the text; 0 where the tokenizer is not on this machine."""
    try:
        return len(models.tokens(name, text, pair))
    except BertvizError:
        return 0
