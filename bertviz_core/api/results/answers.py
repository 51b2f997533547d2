"""What a model's task head answers: classes of a text, tags, answers to a question, words at a mask."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bertviz_core.api.results.base import Asked, Result
from bertviz_core.cli.predictions.answers import Answered, Prediction, answer_lines
from bertviz_core.predictions.loading import HeadModel
from bertviz_core.predictions.results import (
    AnswerPrediction,
    ClassPrediction,
    PseudoLikelihood,
    TagPrediction,
    TermLedger,
    TermWeights,
    WordLens,
    WordPrediction,
)

FIGURES: Mapping[type, tuple[str, ...]] = {
    WordPrediction: ("masked-words", "masked-text"),
    PseudoLikelihood: ("surprise",),
    WordLens: ("lens",),
    TermWeights: ("terms",),
    TermLedger: ("term-score",),
    ClassPrediction: ("classes",),
    TagPrediction: ("tags",),
    AnswerPrediction: ("answers", "answer-map"),
}
"""Figures of each kind of answer."""


class PredictionResult(Result[Prediction]):
    """What a task head says of a text; of which kind `data` is depends on the task."""

    def __init__(self, answered: Answered, head: HeadModel, asked: Asked) -> None:
        super().__init__(answered.data, asked)
        self.figures = ("next-sentence",) if head.task == "next-sentence" else FIGURES[type(answered.data)]
        shown = {name: value for name, value in answered.shown.items() if name != "notices"}
        self._shown = {"model": asked.opened.name, "task": head.task, "model_class": head.model_class, **shown}
        self._notices: tuple[str, ...] = tuple(answered.shown["notices"])

    @property
    def notices(self) -> tuple[str, ...]:
        """What a reader must know about the answer, one sentence each."""
        return self._notices

    @property
    def task(self) -> str:
        """The task whose head answered, such as "sequence-classification"."""
        return str(self._shown["task"])

    @property
    def probabilities(self) -> dict[str, float]:
        """Of a classifier: label -> probability; empty for any other task, and for a number that is none."""
        if not isinstance(self.data, ClassPrediction) or self.data.probabilities is None:
            return {}
        return dict(zip(self.data.labels, self.data.probabilities.tolist(), strict=True))

    def to_pandas(self) -> pd.DataFrame:
        """A row for each class, entity, answer, term, or position with its best word; columns as in the JSON."""
        shown = self._shown
        if "positions" in shown:
            best = [
                {**row, **{f"top_{name}": value for name, value in row["top"][0].items()}} for row in shown["positions"]
            ]
            return pd.DataFrame(best).drop(columns="top").set_index("position")
        if "surprise" in shown:
            return pd.DataFrame({"token": shown["tokens"], "surprise": shown["surprise"]})
        if "divergence" in shown:
            words = [[cell[0] for cell in layer] for layer in shown["top"]]
            return pd.DataFrame(words, columns=shown["tokens"]).rename_axis("layer")
        for rows in ("shares", "terms", "entities", "answers"):
            if rows in shown:
                return pd.DataFrame(shown[rows])
        columns = {name: shown[name] for name in ("logits", "probabilities") if shown[name] is not None}
        return pd.DataFrame(columns, index=pd.Index(shown["labels"], name="label"), dtype=np.float32)

    def _json(self) -> dict[str, Any]:
        return self._shown

    def _lines(self) -> Sequence[str]:
        return answer_lines(self._shown, [self._shown])
