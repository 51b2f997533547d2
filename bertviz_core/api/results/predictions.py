"""Predictions of two models for one text."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from bertviz_core.api.results.base import Result
from bertviz_core.predictions.two_models.results import PredictionComparison
from bertviz_core.questions.tables.two_models.predictions import (
    prediction_comparison_frame,
    prediction_comparison_json,
    prediction_comparison_lines,
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
        return prediction_comparison_frame(self.data)

    def to_json(self) -> dict[str, Any]:
        """The data as a JSON object: what `compare --text --task --json` prints under "predictions"."""
        return super().to_json()

    def _json(self) -> dict[str, Any]:
        return prediction_comparison_json(self.data)

    def _lines(self) -> Sequence[str]:
        return prediction_comparison_lines(self.data)
