"""Results of sentences with gold tags."""

import numpy as np
import pandas as pd
from jaxtyping import Int

from bertviz_core.api.drawing import FigureSource
from bertviz_core.api.own_model import checked
from bertviz_core.api.results.base import Result
from bertviz_core.figures.predictions.gold_tags import errors_table
from bertviz_core.predictions.probing.results import TagScores, TokenLabels
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.predictions.gold_tags import ALIGNED, SENTENCE, gold_labels
from bertviz_core.questions.tables.labelled.label_errors import GOLD_LABELS, GOLD_TAGS


class TokenLabelsResult(Result[TokenLabels]):
    """The labels of the tokens of a sentence as a trainer sets them, with the predicted ones; a row per token."""

    figures = ("gold-labels",)
    _faces = GOLD_LABELS

    @property
    def labels(self) -> Int[np.ndarray, " seq"]:
        """Number of the label of each token; -100 where the loss leaves it out."""
        return self.data.labels


class TagScoresResult(Result[TagScores]):
    """Precision, recall and F1 of the entities of sentences with gold tags.

    Table: a row per type, and their micro and macro average: precision, recall, F1, gold, predicted and right entities.
    """

    figures = ("gold-tags",)
    _faces = GOLD_TAGS

    @property
    def precision(self) -> float:
        """Share of the predicted entities that are right."""
        return float(self.data.scores[-2, 0])

    @property
    def recall(self) -> float:
        """Share of the gold entities that are predicted."""
        return float(self.data.scores[-2, 1])

    @property
    def f1(self) -> float:
        """Harmonic mean of both."""
        return float(self.data.scores[-2, 2])

    @checked
    def errors(self) -> pd.DataFrame:
        """Every error: its kind, the sentence from 1, the gold and the predicted entity with their types, the text."""
        return errors_table(self.data)

    @checked
    def labels(self, sentence: int = 1, aligned: str = ALIGNED.options[0]) -> TokenLabelsResult:
        """The labels of the tokens of a sentence as a trainer sets them.

        Args:
            sentence: its place among the sentences, from 1.
            aligned: "first piece" or "all pieces" of a word have its label; the others have -100.

        Raises:
            BertvizError: there is no such sentence.
        """
        of, model = self._source.options, self._source.model
        options = Options(
            of.texts, task=of.task, values={**of.values, SENTENCE.key: str(sentence), ALIGNED.key: aligned}
        )
        answer = gold_labels(model, options)
        return TokenLabelsResult(answer.result, FigureSource(model, options, answer.notices))
