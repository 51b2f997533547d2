"""A report of the model and text that a reader looks at, made from the models and runs that all sessions share."""

from bertviz_core.errors import BertvizError, Progress
from bertviz_core.figures.base.style import theme_named
from bertviz_core.questions.report import html_file
from bertviz_core.questions.report.html_file import USUAL
from ui.cache import models
from ui.cache.decorator import cached_by_bytes
from ui.cache.shared_model import SharedModel
from ui.cache.sources import SourceKey, source_key

MOST_TOKENS = 64
"""Of a text for figures that take a run for each head or word; a longer one has them on their own pages."""


def offered(name: str, text: str, pair: str | None) -> dict[str, str]:
    """Name of each figure that a report of this text may hold -> what it shows."""
    return html_file.report_figures(quick=_length(name, text, pair) > MOST_TOKENS)


def report_file(
    name: str, text: str, pair: str | None, figures: tuple[str, ...], theme: str, pixels: int, tell: Progress
) -> bytes:
    """The report as an HTML file.

    Args:
        name: of the model.
        text: what it reads.
        pair: a second text of the same input.
        figures: by their names; empty for the usual ones.
        theme: "light", "dark" or "print".
        pixels: width for which figures are drawn.
        tell: called with figures drawn and their number.

    Raises:
        BertvizError: none of the figures can be drawn.
    """
    wanted = figures or tuple(each for each in offered(name, text, pair) if each in USUAL)
    return _file(source_key(name), text, pair, wanted, theme, pixels, tell)


@cached_by_bytes(size=len)
def _file(
    key: SourceKey,
    text: str,
    pair: str | None,
    figures: tuple[str, ...],
    theme: str,
    pixels: int,
    _tell: Progress,
) -> bytes:
    chosen = theme_named(theme, pixels)
    return html_file.report_file(SharedModel(key.name), text, pair, figures, chosen, _tell)


def _length(name: str, text: str, pair: str | None) -> int:
    """Tokens of the text; 0 where the model has no tokenizer here."""
    try:
        return len(models.tokens(name, text, pair))
    except BertvizError:
        return 0
