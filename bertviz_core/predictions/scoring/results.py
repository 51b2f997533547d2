"""Results of ranking a list of texts for a query; arrays are read-only."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

ScoreName = Literal["sigmoid", "tanh", "ReLU", "logit", "softmax", "late interaction"]
"""How a logit becomes a score; "logit" for a score that is the logit itself, "late interaction" for one without."""
LATE_INTERACTION: ScoreName = "late interaction"


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """Texts scored for a query by a head that reads both together, or by late interaction, beside cosines."""

    model: str
    """Name of the model that scores."""
    sentence_model: str
    """Name of the model of the cosines."""
    query: str
    """The query."""
    texts: tuple[str, ...]
    """The texts, in the order of the list."""
    label: str
    """The class whose score orders the texts; "" for a head with one output."""
    score_name: ScoreName
    """How the logit becomes the score."""
    logits: Float[np.ndarray, " texts"]
    """Logit of the head, or of the class, for the query with each text; the score for late interaction."""
    scores: Float[np.ndarray, " texts"]
    """Score of each text; 0 to 1 for sigmoid and softmax."""
    cosines: Float[np.ndarray, " texts"]
    """Cosine similarity of the query and each text, -1 to 1."""
    truncated: int
    """Number of texts that were cut, with the query, to the length that the model reads."""
    notices: tuple[str, ...]
    """Notices, one sentence each."""

    @property
    def by_tokens(self) -> bool:
        """Whether late interaction scores the texts; a head otherwise."""
        return self.score_name == LATE_INTERACTION

    @property
    def order(self) -> Int[np.ndarray, " texts"]:
        """Indices of the texts by descending score; equal scores by their logits, then as in the list."""
        return np.asarray(np.lexsort((-self.logits, -self.scores)))

    @property
    def rank(self) -> Int[np.ndarray, " texts"]:
        """Rank of each text by the score, 1 for the highest."""
        return _ranks(self.order)

    @property
    def cosine_rank(self) -> Int[np.ndarray, " texts"]:
        """Rank of each text by the cosine, 1 for the highest; equal cosines as in the list."""
        return _ranks(np.argsort(-self.cosines, kind="stable"))

    @property
    def rise(self) -> Int[np.ndarray, " texts"]:
        """Rank by the cosine minus rank by the score: above 0 where the score puts a text higher; the sum is 0."""
        return np.asarray(self.cosine_rank - self.rank)


def _ranks(order: Int[np.ndarray, " texts"]) -> Int[np.ndarray, " texts"]:
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(1, len(order) + 1)
    return ranks
