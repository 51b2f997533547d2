"""Results about hidden states: names, outlying dimensions, paths in a plane, one word in two texts, input sums."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int


def state_name(entry: int) -> str:
    """Name of an entry of hidden_states: "embeddings" for entry 0, "after layer 5" for entry 6."""
    return "embeddings" if entry == 0 else f"after layer {entry - 1}"


def entry_name(entry: int) -> str:
    """Number and name of an entry: "entry 6 of the hidden states, after layer 5"."""
    return f"entry {entry} of the hidden states, {state_name(entry)}"


@dataclass(frozen=True, slots=True, eq=False)
class OutlierDimensions:
    """Dimensions with outlying values in many tokens."""

    dimensions: Int[np.ndarray, " found"]
    """Zero-based indices, the most outlying first."""
    share: Float[np.ndarray, "states found"]
    """Share of tokens in which the dimension is outlying, 0 to 1, for each entry of hidden_states."""
    peak: Float[np.ndarray, " found"]
    """Largest |z| of the dimension over all tokens and entries, in standard deviations of a token's own values."""
    rule: str
    """Definition, one sentence."""


@dataclass(frozen=True, slots=True, eq=False)
class LargestValue:
    """The value of largest magnitude among hidden states."""

    token: int
    dimension: int
    value: float
    deviations: float
    """Its distance from the mean of the values of its token, in standard deviations."""


@dataclass(frozen=True, slots=True, eq=False)
class TokenPaths:
    """All hidden states projected by one PCA for all layers."""

    points: Float[np.ndarray, "states seq components"]
    """Coordinates of every token at every entry of hidden_states."""
    explained: Float[np.ndarray, " components"]
    """Share of the variance along each component, 0 to 1, descending."""
    components: Float[np.ndarray, "components hidden"]
    """Unit vectors with a positive entry of largest magnitude."""
    center: Float[np.ndarray, " hidden"]
    """Mean of all hidden states, subtracted before the projection."""


@dataclass(frozen=True, slots=True, eq=False)
class WordComparison:
    """Comparison of a word in two texts, layer by layer."""

    word: str
    first_positions: tuple[int, ...]
    """Tokens of the occurrence in the first text."""
    second_positions: tuple[int, ...]
    """Tokens of the occurrence in the second text."""
    cosine: Float[np.ndarray, " states"]
    """Cosine of the two occurrences at every entry of hidden_states, averaged over the tokens of the word."""
    static_cosine: float | None
    """Cosine of their rows in the embedding table: 1.0 for the same tokens; None if the tokens differ."""


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddingSum:
    """The embedding block: a sum of rows of tables, normalised and possibly projected."""

    word: Float[np.ndarray, "seq width"]
    """Rows of the vocabulary table."""
    position: Float[np.ndarray, "seq width"] | None
    """Rows of the position table; None if the family has none."""
    token_type: Float[np.ndarray, "seq width"] | None
    """Rows of the token type table; None if the family has none."""
    other: Float[np.ndarray, "seq width"] | None
    """Further vectors (see note); None if there are none."""
    total: Float[np.ndarray, "seq width"]
    """The sum of the above."""
    normalized: Float[np.ndarray, "seq width"] | None
    """The sum after the normalisation; None for a family without one (GPT-2, T5)."""
    norm_class: str
    """Class of that normalisation, such as "LayerNorm"; "" for a family without one."""
    output: Float[np.ndarray, "seq hidden"]
    """Output of the block, after normalisation and projection."""
    projected: bool
    """Whether the block projects to hidden_size."""
    position_ids: Int[np.ndarray, " seq"] | None
    """Row of the position table for every token."""
    max_difference: float
    """max |output - hidden_states[0]|; 0 up to rounding if the sum is complete."""
    exact: bool
    """Whether that difference is rounding."""
    note: str
    """Further steps of the family; "" if there are none."""

    @property
    def parts(self) -> dict[str, Float[np.ndarray, "seq width"]]:
        """Name -> summand."""
        named = {"word": self.word, "position": self.position, "token type": self.token_type, "other": self.other}
        return {name: vectors for name, vectors in named.items() if vectors is not None}

    @property
    def norm_name(self) -> str:
        """Display name of the normalisation; "" for a family without one."""
        return "layer norm" if self.norm_class == "LayerNorm" else self.norm_class

    @property
    def steps(self) -> str:
        """The steps, such as "word + position, then layer norm, then a projection"."""
        behind = (self.norm_name, "a projection" if self.projected else "")
        return ", then ".join((" + ".join(self.parts), *filter(None, behind)))

    @property
    def inexact(self) -> str:
        """A sentence if the sum is not complete; "" if it is."""
        if self.exact:
            return ""
        return (
            "This family does more than the sum shows: its largest difference from the model's own embeddings is "
            f"{self.max_difference:.2e}."
        )


@dataclass(frozen=True, slots=True, eq=False)
class PoolerCheck:
    """The pooler recomputed from its weights."""

    cls: Float[np.ndarray, " hidden"]
    """Last hidden state of the first token."""
    linear: Float[np.ndarray, " pooled"]
    """weight @ cls + bias."""
    output: Float[np.ndarray, " pooled"]
    """tanh(linear)."""
    max_difference: float
    """max |output - pooler_output|."""


@dataclass(frozen=True, slots=True, eq=False)
class NearestRows:
    """Nearest neighbours of a row of the vocabulary table."""

    token_id: int
    """The row."""
    norm: float
    """Its Euclidean length."""
    ids: Int[np.ndarray, " found"]
    """Its neighbours, nearest first."""
    cosine: Float[np.ndarray, " found"]
    """Their cosines with the row."""
    norms: Float[np.ndarray, " found"]
    """Their Euclidean lengths."""
