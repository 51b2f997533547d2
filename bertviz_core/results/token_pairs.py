"""The cosine of two sentences as a sum over pairs of tokens."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bertviz_core.results.sentence_plan import Pooling


@dataclass(frozen=True, slots=True)
class TokenPair:
    """One token of each sentence and what the two add to the similarity."""

    first: int
    """Position of the token in the first sentence."""
    second: int
    """Position of the token in the second sentence."""
    share: float
    """Its cell: what it adds to the cosine."""


@dataclass(frozen=True, slots=True, eq=False)
class TokenPairShares:
    """The cosine of two sentences as a sum over pairs of tokens."""

    first_tokens: tuple[str, ...]
    """Tokens of the first sentence, one for each row."""
    second_tokens: tuple[str, ...]
    """Tokens of the second sentence, one for each column."""
    cells: Float[np.ndarray, "first second"]
    """What each pair of tokens adds; the sum of all is `total`."""
    score: float
    """Cosine of the two sentence vectors by the plan."""
    total: float
    """Sum of the cells: the score where `exact`, up to rounding."""
    exact: bool
    """Whether the cells make up the score; where not, they are an approximation and `note` says why."""
    note: str
    """What the cells are, one sentence for the reader."""
    pooling: Pooling
    """The pooling of the score."""
    layer: int
    """Entry of hidden_states that the cells are made from."""
    first_totals: Float[np.ndarray, " first"]
    """Sums of the rows: what each token of the first sentence adds."""
    second_totals: Float[np.ndarray, " second"]
    """Sums of the columns."""
    first_words: tuple[str, ...]
    """Words of the first sentence in their order, special tokens as their own."""
    first_word_totals: Float[np.ndarray, " first_words"]
    """What each word of the first sentence adds."""
    second_words: tuple[str, ...]
    """Words of the second sentence."""
    second_word_totals: Float[np.ndarray, " second_words"]
    """What each word of the second sentence adds."""
    word_cells: Float[np.ndarray, "first_words second_words"]
    """What each pair of words adds: cells of their tokens summed."""
    top: tuple[TokenPair, ...]
    """Pairs of tokens by size of their cell, largest first, special tokens left out."""
