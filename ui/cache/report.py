"""A report of the model and text that a reader looks at, made from the models and runs that all sessions share."""

from collections.abc import Mapping
from dataclasses import dataclass

from bertviz_core.errors import BertvizError, Progress, TextError
from bertviz_core.figures.base.style import theme_named
from bertviz_core.questions.report import html_file
from bertviz_core.questions.report.html_file import USUAL
from ui.cache import models
from ui.cache.memoize import cached_by_bytes, results
from ui.cache.shared_model import SharedModel
from ui.cache.sources import SourceKey, source, source_key
from ui.cache.view_notes import ShownView

NOTHING = "This view shows no figure and no table yet."
MOST_TOKENS = 64
"""Of a text for figures that take a run for each head or word; a longer one has them on their own pages."""


@dataclass(frozen=True, slots=True)
class ReportRequest:
    """What a report is asked to hold."""

    name: str
    """Of the model."""
    text: str
    """What it reads."""
    pair: str | None
    """A second text of the same input."""
    usual: bool
    """Whether it holds the usual figures, as far as the model and the text have them."""
    figures: tuple[str, ...]
    """Further ones by their names."""
    theme: str
    """"light", "dark" or "print"."""


def offered(name: str, text: str, pair: str | None) -> dict[str, str]:
    """Name of each figure that a report of this text may hold -> what it shows."""
    return html_file.report_figures(quick=_length(name, text, pair) > MOST_TOKENS)


def report_file(asked: ReportRequest, pixels: int, progress: Progress) -> bytes:
    """The report as an HTML file, kept for all who ask for the same.

    Args:
        asked: what it holds.
        pixels: width for which figures are drawn.
        progress: called with figures drawn and their number.

    Raises:
        BertvizError: none of the figures can be drawn.
    """
    return _file(source_key(asked.name), asked, pixels, progress)


def view_report(
    asked: ReportRequest, view: ShownView, facts: Mapping[str, str], pixels: int, progress: Progress
) -> bytes:
    """The report with what a view shows in front; a figure that the view has stands in it once, as it is there.

    Args:
        asked: what it holds besides.
        view: what is shown.
        facts: which view it is, as words.
        pixels: width for which figures are drawn.
        progress: called with figures drawn and their number.

    Raises:
        BertvizError: there is nothing in the view, and none of the other figures can be drawn.
    """
    theme = theme_named(asked.theme, pixels)
    found = source(asked.name)
    first = view.sections(theme, [(found.name, found.revision)])
    names = [each for each in _names(asked) if each not in view.names]
    if not first and not names:
        raise TextError(f"{NOTHING} Choose other figures, or make the report once it shows one.")
    return html_file.report_file(SharedModel(asked.name), asked.text, asked.pair, names, theme, progress, first, facts)


def _names(asked: ReportRequest) -> tuple[str, ...]:
    usual = (each for each in offered(asked.name, asked.text, asked.pair) if asked.usual and each in USUAL)
    return tuple(dict.fromkeys((*usual, *asked.figures)))


@cached_by_bytes(size=len)
def _file(key: SourceKey, asked: ReportRequest, pixels: int, _tell: Progress) -> bytes:
    chosen = theme_named(asked.theme, pixels)
    return html_file.report_file(SharedModel(key.name), asked.text, asked.pair, _names(asked), chosen, _tell)


def keep_file(token: str, file: bytes) -> None:
    """Keep a report of a view, which may show what one reader alone has, under a word of their session alone."""
    results().put((__name__, token), file, len(file))


def kept_file(token: str) -> bytes | None:
    """The report of this word; None where there was no room to keep it."""
    file: bytes | None = results().get((__name__, token))
    return file


def _length(name: str, text: str, pair: str | None) -> int:
    """Tokens of the text; 0 where the model has no tokenizer here."""
    try:
        return len(models.tokens(name, text, pair))
    except BertvizError:
        return 0
