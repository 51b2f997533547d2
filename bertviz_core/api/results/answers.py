"""Predictions of a task head (classes, tags, answers, words at a mask), and answers of two heads compared."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from bertviz_core.api.arguments import checked
from bertviz_core.api.drawing import FigureSource
from bertviz_core.api.results.base import Result
from bertviz_core.figures.checkpoints.slices import slices_frame
from bertviz_core.predictions.probing.results import AnswerComparison, SlicedAnswers
from bertviz_core.predictions.results import (
    AnswerPrediction,
    ClassPrediction,
    LogitLens,
    PseudoLikelihood,
    TagPrediction,
    TermLedger,
    TermWeights,
    WordPrediction,
)
from bertviz_core.predictions.run import HeadModel
from bertviz_core.questions.models.checkpoints import OTHER
from bertviz_core.questions.predictions.compared_answers import answers_by_slice, compared_options
from bertviz_core.questions.predictions.predict import Prediction
from bertviz_core.questions.question import Answer
from bertviz_core.questions.tables.compared_answers import (
    answer_comparison_frame,
    answer_comparison_json,
    answer_comparison_lines,
    slices_json,
    slices_lines,
)
from bertviz_core.questions.tables.predictions import prediction_frame, prediction_json, prediction_lines

FIGURES: Mapping[type, tuple[str, ...]] = {
    WordPrediction: ("masked-words", "masked-text"),
    PseudoLikelihood: ("surprise",),
    LogitLens: ("lens",),
    TermWeights: ("terms",),
    TermLedger: ("term-score",),
    ClassPrediction: ("classes",),
    TagPrediction: ("tags",),
    AnswerPrediction: ("answers", "answer-map"),
}
"""Figures of each kind of prediction."""


class PredictionResult(Result[Prediction]):
    """Prediction of a task head for a text; the type of `data` depends on the task."""

    def __init__(self, answer: Answer[Prediction], head: HeadModel, source: FigureSource) -> None:
        super().__init__(answer.result, source)
        self.figures = ("next-sentence",) if head.task == "next-sentence" else FIGURES[type(answer.result)]
        self._answer = answer
        self._about = {"model": source.model.name, "task": head.task, "model_class": head.model_class}

    def _own_notices(self) -> Sequence[str]:
        return self._answer.notices

    @property
    def task(self) -> str:
        """Task of the head, such as "sequence-classification"."""
        return self._about["task"]

    @property
    def probabilities(self) -> dict[str, float]:
        """Label -> probability of a classifier; empty for other tasks, and for scores that are not probabilities."""
        if not isinstance(self.data, ClassPrediction) or self.data.probabilities is None:
            return {}
        return dict(zip(self.data.labels, self.data.probabilities.tolist(), strict=True))

    def to_pandas(self) -> pd.DataFrame:
        """One row per class, entity, answer, term, or position with its best word; columns as in the JSON."""
        return prediction_frame(self._answer)

    def _json(self) -> dict[str, Any]:
        return {**self._about, **prediction_json(self._answer)}

    def _lines(self) -> Sequence[str]:
        return prediction_lines(self._about, [self._answer])


class AnswerComparisonResult(Result[AnswerComparison]):
    """Answers of two classifiers to the same texts, with the scores of both if there are gold labels."""

    figures: tuple[str, ...] = ("answers-compared", "scores-compared")

    def __init__(self, data: AnswerComparison, source: FigureSource) -> None:
        super().__init__(data, source)
        self.figures = self.figures if data.gold is not None else self.figures[:1]

    @property
    def agreement(self) -> float:
        """Share of the texts with the same answer of both models, 0 to 1."""
        return self.data.agreement

    @checked
    def by(self, slices: str, values: Sequence[str] | None = None) -> "SlicedAnswersResult":
        """Compare the models on parts of the texts.

        Args:
            slices: "length" for the number of words, "word:" with a word that texts contain or not, such as
                "word:not", or "column".
            values: the value of each text, for "column".

        Raises:
            TextError: there is no such division, or the number of values is not that of the texts.
        """
        stored, data = self._source.options, self.data
        gold = None if data.gold is None else data.gold.first.gold
        options = compared_options(stored.get(OTHER.key), data.texts, gold, data.pairs, stored.task, slices, values)
        return SlicedAnswersResult(
            answers_by_slice(self._source.model, options).result, FigureSource(self._source.opened, options)
        )

    def to_pandas(self) -> pd.DataFrame:
        """One row per text.

        Columns: text, second text, gold label, first, second, kind, first probability, second probability.
        """
        return answer_comparison_frame(self.data)

    def to_json(self) -> dict[str, Any]:
        """The data as a JSON object: the keys that `compare --json` adds for the texts of a file."""
        return super().to_json()

    def _json(self) -> dict[str, Any]:
        return answer_comparison_json(self.data)

    def _lines(self) -> Sequence[str]:
        return answer_comparison_lines(self.data)


class SlicedAnswersResult(Result[SlicedAnswers]):
    """Answers of two classifiers by parts of the texts."""

    figures: tuple[str, ...] = ("slices-compared",)

    def to_pandas(self) -> pd.DataFrame:
        """One row per slice.

        Columns: slice, texts, same answer; with gold labels also compared, mended, broken, first accuracy, second
        accuracy, difference and the ends low and high of its 95 % interval.
        """
        return slices_frame(self.data)

    def _json(self) -> dict[str, Any]:
        return slices_json(self.data)

    def _lines(self) -> Sequence[str]:
        return slices_lines(self.data)
