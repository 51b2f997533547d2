"""A report of the model and text that a reader looks at, made from the models and runs that all sessions share."""

from collections.abc import Callable, Hashable
from typing import TypeVar

from bertviz_core.errors import BertvizError, Progress
from bertviz_core.figures.base.style import theme_named
from bertviz_core.models.loading import LoadedModel
from bertviz_core.models.sources import ModelSource
from bertviz_core.predictions.loading import HeadModel, stored_task
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.report import html_file
from bertviz_core.questions.report.html_file import USUAL
from bertviz_core.settings import Settings
from bertviz_core.trace.results import Tokens, Trace
from bertviz_core.trace.tokenization import TextTokenizer
from ui.cache import models
from ui.cache.decorator import cached_by_bytes, results
from ui.cache.sources import SourceKey, source, source_key
from ui.session import settings

T = TypeVar("T")
MOST_TOKENS = 64
"""Of a text for figures that take a run for each head or word; a longer one has them on their own pages."""


class SharedModel(Opened):
    """A model of this instance, `Opened` for all readers: held in memory once, its answers kept with all others."""

    def __init__(self, name: str) -> None:
        """The model of a name; whether there is one is known when `source` is asked for."""
        self._name = name

    @property
    def name(self) -> str:
        """The name under which it was opened."""
        return self._name

    @property
    def settings(self) -> Settings:
        """What may be opened here."""
        return settings()

    @property
    def source(self) -> ModelSource:
        """Where it is.

        Raises:
            BertvizError: there is none of this name, or it may not be opened.
        """
        return source(self.name)

    @property
    def loaded(self) -> LoadedModel:
        """The model with its weights."""
        return models.loaded(self.name)

    @property
    def tokenizer(self) -> TextTokenizer:
        """Its tokenizer."""
        return models.tokenizer(self.name)

    def head(self, task: str | None) -> HeadModel:
        """The model with the head of a task, or with the one that it was saved with."""
        return models.with_head(self.name, task or stored_task(self.source))

    def tokens(self, text: str, pair: str | None) -> Tokens:
        """The tokens of a text, or of a pair."""
        return models.tokens(self.name, text, pair)

    def trace(self, tokens: Tokens) -> Trace:
        """One run of the model, in its turn."""
        return models.traces().trace(self.loaded, tokens, most_waiting=settings().max_queued_runs)

    def other(self, name: str) -> "SharedModel":
        """Another model of this instance."""
        return self if name == self.name else SharedModel(name)

    def made(self, key: Hashable, make: Callable[[], T]) -> T:
        """A value of this model by what it is made from."""
        return results().made((source_key(self.name), key), make)


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
