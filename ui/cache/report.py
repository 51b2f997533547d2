"""A report of the model and text that a reader looks at, made from the models and runs that all sessions share."""

from functools import cached_property

from bertviz_core.api import report
from bertviz_core.api.drawing import OpenedModel
from bertviz_core.api.report import USUAL
from bertviz_core.errors import BertvizError, MissingFilesError, Progress
from bertviz_core.figures.base.style import theme_named
from bertviz_core.models.loading import LoadedModel
from bertviz_core.predictions.loading import HeadModel, stored_task
from bertviz_core.trace.results import Tokens, Trace
from bertviz_core.trace.tokenization import TextTokenizer
from ui.cache import models
from ui.cache.decorator import cached_by_bytes
from ui.cache.sources import SourceKey, source, source_key
from ui.session import settings

MOST_TOKENS = 64
"""Of a text for figures that take a run for each head or word; a longer one has them on their own pages."""


class SharedModel(OpenedModel):
    """A model of this instance: what may be opened here, held in memory once for all readers."""

    def __init__(self, name: str) -> None:
        """The model of a name.

        Raises:
            BertvizError: there is none of this name, or it may not be opened.
        """
        self.settings, self.source = settings(), source(name)
        self.name, self.task = name, None

    @cached_property
    def loaded(self) -> LoadedModel:
        """The model with its weights."""
        return models.loaded(self.name)

    @cached_property
    def tokenizer(self) -> TextTokenizer:
        """Its tokenizer."""
        return models.tokenizer(self.name)

    def head(self, task: str | None) -> HeadModel:
        """The model with the head of a task, or with the one that it was saved with."""
        return models.with_head(self.name, task or stored_task(self.source))

    def tokens(self, text: str, pair: str | None) -> Tokens:
        """The tokens of a text, or of a pair."""
        return models.tokens(self.name, text, pair)


def offered(name: str, text: str, pair: str | None) -> dict[str, str]:
    """Name of each figure that a report of this text may hold -> what it shows."""
    return report.report_figures(quick=_length(name, text, pair) > MOST_TOKENS)


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
    return report.report_file(SharedModel(key.name), text, pair, figures, chosen, _tell, _run(key.name, text, pair))


def _run(name: str, text: str, pair: str | None) -> Trace | None:
    """The model's run on the text, in its turn; None where the weights are not here or the text is blank."""
    if not text.strip():
        return None
    try:
        loaded = models.loaded(name)
        return models.traces().trace(loaded, models.tokens(name, text, pair), most_waiting=settings().max_queued_runs)
    except MissingFilesError:
        return None


def _length(name: str, text: str, pair: str | None) -> int:
    """Tokens of the text; 0 where the model has no tokenizer here."""
    try:
        return len(models.tokens(name, text, pair))
    except BertvizError:
        return 0
