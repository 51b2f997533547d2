"""A copy of an opened model with rounded weights, as the subject of the same questions."""

from collections.abc import Callable, Hashable
from typing import TypeVar

from bertviz_core.checkpoints.rounding import COPIES, Rounding, copy_name
from bertviz_core.models.loading import LoadedModel
from bertviz_core.models.sources import ModelSource
from bertviz_core.predictions.probing.results import Probe
from bertviz_core.predictions.run import HeadModel, stored_task
from bertviz_core.questions.models.checkpoints import other_name
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options
from bertviz_core.settings import Settings
from bertviz_core.trace.results import Tokens, Trace
from bertviz_core.trace.run import trace
from bertviz_core.trace.tokenization import TextTokenizer

T = TypeVar("T")


class RoundedModel(Opened):
    """A model whose weights are rounded to a number format; tokenizer, settings and cache are those of the original."""

    def __init__(self, original: Opened, rounding: Rounding) -> None:
        """Refer to the copy without loading it."""
        self._original, self._rounding = original, rounding
        self._heads: dict[str, HeadModel] = {}

    @property
    def name(self) -> str:
        """Name of the original with the number format."""
        return copy_name(self._original.name, self._rounding)

    @property
    def settings(self) -> Settings:
        """Settings of the original."""
        return self._original.settings

    @property
    def source(self) -> ModelSource:
        """The files of the original."""
        return self._original.source

    @property
    def loaded(self) -> LoadedModel:
        """The copy in memory."""
        return self._original.rounded(self._rounding)

    def rounded(self, rounding: Rounding) -> LoadedModel:
        """The original rounded to another format."""
        return self._original.rounded(rounding)

    @property
    def tokenizer(self) -> TextTokenizer:
        """Tokenizer of the original."""
        return self._original.tokenizer

    def head(self, task: str | None) -> HeadModel:
        """The copy with the head of a task, loaded once."""
        known = task or stored_task(self.source)
        if known not in self._heads:
            self._heads[known] = self._original.rounded_head(known, self._rounding)
        return self._heads[known]

    def probe(self, argument: str) -> tuple[Probe, str]:
        """The probe of the original."""
        return self._original.probe(argument)

    def tokens(self, text: str, pair: str | None) -> Tokens:
        """Tokenize a text or pair."""
        return self._original.tokens(text, pair)

    def trace(self, tokens: Tokens) -> Trace:
        """Run the copy on tokens."""
        return trace(self.loaded, tokens)

    def other(self, name: str) -> Opened:
        """Open another model."""
        return self._original.other(name)

    def get_or_compute(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return a cached value of the copy, or compute it."""
        return self._original.get_or_compute((__name__, self._rounding, key), make)


def second_model(opened: Opened, options: Options) -> Opened:
    """The other model of a comparison, which may be a rounded copy of the first.

    Raises:
        BertvizError: none is named, or there is no such model.
    """
    other = other_name(options)
    if other in COPIES:
        return RoundedModel(opened, COPIES[other])
    second = opened.other(other)
    _ = second.source  # fail early if there is no such model
    return second
