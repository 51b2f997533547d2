"""Texts in the order of a head, or of late interaction, for a query; and the late interaction with one text."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from bertviz_core.api.results.base import Result
from bertviz_core.figures.sentences.late_interaction import interaction_frame
from bertviz_core.figures.sentences.ranking import ranking_frame
from bertviz_core.predictions.results import LateInteraction, Ranking
from bertviz_core.questions.tables.predictions import ranking_json, ranking_lines
from bertviz_core.questions.tables.sentences import interaction_json, interaction_lines


class RankingResult(Result[Ranking]):
    """Texts scored for a query by a head that reads both together, or by late interaction, beside cosines."""

    figures = ("ranking",)

    @property
    def scores(self) -> Float[np.ndarray, " texts"]:
        """Score of each text, in the order of the list."""
        return self.data.scores

    @property
    def order(self) -> Int[np.ndarray, " texts"]:
        """Indices of the texts by descending score."""
        return self.data.order

    def to_pandas(self) -> pd.DataFrame:
        """One row per text by descending score.

        Columns: rank, score, logit (of a head), by cosine (the rank), rise (ranks gained), cosine, number (place in
        the list, from 1), text.
        """
        return ranking_frame(self.data)

    def _json(self) -> dict[str, Any]:
        return ranking_json(self.data)

    def _lines(self) -> Sequence[str]:
        return ranking_lines(self.data)


class LateInteractionResult(Result[LateInteraction]):
    """The cosine of every token of a query with every token of a document, and the sum of the largest."""

    figures = ("late-interaction",)

    @property
    def score(self) -> float:
        """Sum of the largest cosines; their mean if the checkpoint says so."""
        return self.data.score

    @property
    def cosines(self) -> Float[np.ndarray, "query_tokens document_tokens"]:
        """Cosine of every two tokens."""
        return self.data.cosines

    @property
    def largest(self) -> Float[np.ndarray, " query_tokens"]:
        """Largest cosine of each token of the query, its part of the sum."""
        return self.data.largest

    def to_pandas(self) -> pd.DataFrame:
        """One row per token of the query.

        Columns: token, largest (its largest cosine), document token (the token that has it), place (of that token, from
        0), expanded (whether the token only fills the query up).
        """
        return interaction_frame(self.data)

    def _json(self) -> dict[str, Any]:
        return interaction_json(self.data)

    def _lines(self) -> Sequence[str]:
        return interaction_lines(self.data)
