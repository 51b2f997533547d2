"""A model in whose runs one thing is changed, as the subject of the same questions."""

from collections.abc import Callable, Hashable
from functools import cached_property
from typing import TypeVar

from bertviz_core.checkpoints.rounding import Rounding
from bertviz_core.interventions.results import MeanActivations
from bertviz_core.journey.changes import Change, ablated_model, ablated_trace, masked_tokens
from bertviz_core.models.loading import LoadedModel
from bertviz_core.predictions.probing.results import Probe
from bertviz_core.predictions.run import HeadModel
from bertviz_core.questions.opened import Opened
from bertviz_core.trace.results import Tokens, Trace

T = TypeVar("T")


class ChangedModel(Opened):
    """An opened model whose every run has one change; its answers are cached apart from those without it."""

    def __init__(self, opened: Opened, change: Change, heads: int, means: MeanActivations | None) -> None:
        """Change an opened model, which stays as it is.

        Args:
            opened: the model.
            change: a masked token, or an ablated head or layer.
            heads: number of heads of a layer.
            means: mean activations for mean ablation; None for zero ablation.
        """
        self._opened, self._change, self._heads, self._means = opened, change, heads, means

    name = property(lambda self: self._opened.name)
    settings = property(lambda self: self._opened.settings)
    source = property(lambda self: self._opened.source)
    tokenizer = property(lambda self: self._opened.tokenizer)

    @cached_property
    def loaded(self) -> LoadedModel:
        """The model in memory, with the change in its runs."""
        plain = self._opened.loaded
        return plain if self._change.kind == "mask" else ablated_model(plain, self._change, self._heads, self._means)

    def rounded(self, rounding: Rounding) -> LoadedModel:
        """A copy of the unchanged model with rounded weights."""
        return self._opened.rounded(rounding)

    def head(self, task: str | None) -> HeadModel:
        """The unchanged model with the head of a task."""
        return self._opened.head(task)

    def probe(self, argument: str) -> tuple[Probe, str]:
        """The probe of a target "probe:FILE", and the class in it."""
        return self._opened.probe(argument)

    def tokens(self, text: str, pair: str | None) -> Tokens:
        """Tokenize a text or pair; no token is masked yet."""
        return self._opened.tokens(text, pair)

    def trace(self, tokens: Tokens) -> Trace:
        """Run the model on tokens, with the change."""
        if self._change.kind == "mask":
            return self._opened.trace(masked_tokens(self.tokenizer, tokens, self._change.at))
        plain, change = self._opened.loaded, self._change
        return self.get_or_compute(
            (__name__, "trace", *tokens.identity),
            lambda: ablated_trace(plain, tokens, change, self._heads, self._means),
        )

    def other(self, name: str) -> Opened:
        """Open another model with the same settings, without the change."""
        return self if name == self.name else self._opened.other(name)

    def get_or_compute(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return a cached value of the changed model, or compute it."""
        change = self._change
        named = (__name__, "changed", change.kind, change.at, change.head, self._means is not None, key)
        # In a tuple, since the cache of a server would put the unchanged run into an answer that contains the run.
        return self._opened.get_or_compute(named, lambda: (make(),))[0]
