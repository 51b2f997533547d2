"""Results about two models: their predictions, attention, heads and hidden states; a model of fewer bits."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from bertviz_core.api.results.base import Result
from bertviz_core.attention.results import AttentionComparison
from bertviz_core.checkpoints.results import Behaviour, NumberFormats
from bertviz_core.checkpoints.tables import formats_frame, parts_frame
from bertviz_core.figures.predictions.two_models import comparison_frame
from bertviz_core.predictions.results import PredictionComparison
from bertviz_core.questions.tables.two_models.number_formats import number_formats_json, number_formats_lines
from bertviz_core.questions.tables.two_models.predictions import (
    prediction_comparison_json,
    prediction_comparison_lines,
)
from bertviz_core.questions.tables.two_models.runs import (
    attention_comparison_frame,
    attention_comparison_json,
    attention_comparison_lines,
    changed_heads_frame,
    changed_heads_json,
    changed_heads_lines,
    compared_states_frame,
    compared_states_json,
    compared_states_lines,
)


class PredictionComparisonResult(Result[PredictionComparison]):
    """Predictions of two models for one text: classes, tags, answers, words, surprise, or the lens."""

    figures: tuple[str, ...] = ("predictions-compared",)

    @property
    def answers(self) -> tuple[str, str]:
        """Answer of each model to the whole text: its likeliest class, span or word, or a sum in words."""
        return self.data.answers

    def to_pandas(self) -> pd.DataFrame:
        """One row per class, word, answer, part of the text or hidden state: both numbers and their difference."""
        return comparison_frame(self.data)

    def to_json(self) -> dict[str, Any]:
        """The data as a JSON object: what `compare --text --task --json` prints under "predictions"."""
        return super().to_json()

    def _json(self) -> dict[str, Any]:
        return prediction_comparison_json(self.data)

    def _lines(self) -> Sequence[str]:
        return prediction_comparison_lines(self.data)


class AttentionComparisonResult(Result[AttentionComparison]):
    """Attention of one head in each of two models, with the difference."""

    figures: tuple[str, ...] = ("attention-compared",)

    @property
    def difference(self) -> Float[np.ndarray, "queries keys"] | None:
        """Second minus first; None where the models show the text as different tokens or words."""
        return self.data.difference

    def to_pandas(self) -> pd.DataFrame:
        """One row per query and key: its weight in both models and the difference."""
        return attention_comparison_frame(self.data)

    def _json(self) -> dict[str, Any]:
        return attention_comparison_json(self.data)

    def _lines(self) -> Sequence[str]:
        return attention_comparison_lines(self.data)


class NumberFormatsResult(Result[NumberFormats]):
    """What a model loses and saves when its weights are rounded to fewer bits."""

    figures: tuple[str, ...] = ("number-formats",)

    @property
    def formats(self) -> tuple[str, ...]:
        """Names of the formats."""
        return tuple(each.name for each in self.data.formats)

    def to_pandas(self) -> pd.DataFrame:
        """One row per format: relative and largest error, bytes before, after and saved, and what the texts keep."""
        return formats_frame(self.data)

    def parts(self) -> pd.DataFrame:
        """One row per format, component, layer and block: errors and bytes."""
        return parts_frame(self.data)

    def _json(self) -> dict[str, Any]:
        return number_formats_json(self.data)

    def _lines(self) -> Sequence[str]:
        return number_formats_lines(self.data)


class ChangedHeadsResult(Result[Behaviour]):
    """How far the attention of every head is apart in two models."""

    figures: tuple[str, ...] = ("attention-changed",)

    @property
    def divergences(self) -> Float[np.ndarray, "layers heads"] | None:
        """Jensen-Shannon divergence of each head's attention, mean over the queries, in nats, 0 to ln 2."""
        return self.data.divergences

    def to_pandas(self) -> pd.DataFrame:
        """One row per head, the one that changed most first: layer, head, divergence."""
        return changed_heads_frame(self.data)

    def _json(self) -> dict[str, Any]:
        return changed_heads_json(self.data)

    def _lines(self) -> Sequence[str]:
        return changed_heads_lines(self.data)


class StateComparisonResult(Result[Behaviour]):
    """Cosine of every token's hidden states in two models."""

    figures: tuple[str, ...] = ("states-compared",)

    @property
    def cosines(self) -> Float[np.ndarray, "states seq"] | None:
        """Cosine of every token's two vectors at every entry of hidden_states, -1 to 1."""
        return self.data.cosines

    def to_pandas(self) -> pd.DataFrame:
        """One row per hidden state, one column per token."""
        return compared_states_frame(self.data)

    def _json(self) -> dict[str, Any]:
        return compared_states_json(self.data)

    def _lines(self) -> Sequence[str]:
        return compared_states_lines(self.data)
