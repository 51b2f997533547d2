"""Texts in the order of a head for a query."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from bertviz_core.api.results.base import Result
from bertviz_core.predictions.scoring.results import Ranking
from bertviz_core.questions.tables.predictions import ranking_frame, ranking_json, ranking_lines


class RankingResult(Result[Ranking]):
    """Texts scored for a query by a head that reads both together, beside the cosines of a sentence model."""

    figures = ("ranking",)

    @property
    def scores(self) -> Float[np.ndarray, " texts"]:
        """Score of each text, in the order of the list."""
        return self.data.scores

    @property
    def order(self) -> Int[np.ndarray, " texts"]:
        """Indices of the texts by descending score."""
        return self.data.order

    @property
    def notices(self) -> tuple[str, ...]:
        """Remarks on the ranking, one sentence each."""
        return self.data.notices

    def to_pandas(self) -> pd.DataFrame:
        """One row per text by descending score.

        Columns: rank, score, logit, by cosine (the rank), rise (ranks gained), cosine, number (place in the list, from
        1), text.
        """
        return ranking_frame(self.data)

    def _json(self) -> dict[str, Any]:
        return ranking_json(self.data)

    def _lines(self) -> Sequence[str]:
        return ranking_lines(self.data)
