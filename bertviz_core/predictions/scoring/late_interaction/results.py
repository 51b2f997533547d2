"""Results of late interaction; arrays are read-only."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int


@dataclass(frozen=True, slots=True, eq=False)
class LateInteraction:
    """The tokens of a query compared with those of a document."""

    model: str
    """Name of the model."""
    query: str
    """The query."""
    document: str
    """The document."""
    query_tokens: tuple[str, ...]
    """Tokens of the query that are scored, with markers and masks."""
    expanded: Bool[np.ndarray, " query_tokens"]
    """Whether a token of the query is one that fills it up to a fixed length."""
    document_tokens: tuple[str, ...]
    """Tokens of the document that are scored."""
    skipped: tuple[str, ...]
    """Tokens of the document that are not scored, such as punctuation."""
    cosines: Float[np.ndarray, "query_tokens document_tokens"]
    """Cosine of every two tokens, -1 to 1; the dot product if the vectors have other lengths than 1."""
    normalized: bool
    """Whether the vectors have length 1."""
    mean: bool
    """Whether the score is the mean over the tokens of the query; the sum otherwise."""
    dimensions: int
    """Numbers in the vector of a token."""
    trained: bool
    """Whether the checkpoint was trained for late interaction."""
    notices: tuple[str, ...]
    """Notices, one sentence each."""

    @property
    def best(self) -> Int[np.ndarray, " query_tokens"]:
        """Index of the token of the document with the largest cosine, for each token of the query."""
        return np.asarray(self.cosines.argmax(axis=1))

    @property
    def largest(self) -> Float[np.ndarray, " query_tokens"]:
        """Largest cosine of each token of the query with a token of the document."""
        return np.asarray(self.cosines.max(axis=1))

    @property
    def score(self) -> float:
        """Sum of the largest cosines, or their mean."""
        total = float(self.largest.sum(dtype=np.float64))
        return total / len(self.query_tokens) if self.mean else total
