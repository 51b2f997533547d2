"""Results about hidden states: names, outlying dimensions, paths in a plane, one word in two texts, input sums."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int


def state_name(entry: int) -> str:
    """What an entry of hidden_states is called: "embeddings" for entry 0, "after layer 5" for entry 6."""
    return "embeddings" if entry == 0 else f"after layer {entry - 1}"


@dataclass(frozen=True, slots=True, eq=False)
class OutlierDimensions:
    """Dimensions whose values stand far out in many tokens."""

    dimensions: Int[np.ndarray, " found"]
    """Zero-based indices, the most outlying first."""
    share: Float[np.ndarray, "states found"]
    """Per entry of hidden_states the share of tokens in which the dimension stands out, 0 to 1."""
    peak: Float[np.ndarray, " found"]
    """Largest |z| of the dimension over all tokens and entries, in standard deviations of a token's own values."""
    rule: str
    """The rule, one sentence."""


@dataclass(frozen=True, slots=True, eq=False)
class LargestValue:
    """The number of largest magnitude among some hidden states."""

    token: int
    """Position of its token."""
    dimension: int
    """Its dimension."""
    value: float
    """The number itself."""
    deviations: float
    """How far it lies from the mean of its token's own values, in standard deviations of these."""


@dataclass(frozen=True, slots=True, eq=False)
class TokenPaths:
    """All hidden states in a few dimensions, by one PCA for all layers."""

    points: Float[np.ndarray, "states seq components"]
    """Coordinates of every token at every entry of hidden_states."""
    explained: Float[np.ndarray, " components"]
    """Share of the variance along each component, 0 to 1, descending."""
    components: Float[np.ndarray, "components hidden"]
    """Directions of unit length, the entry of largest size positive."""
    center: Float[np.ndarray, " hidden"]
    """Mean of all hidden states, taken off before the projection."""


@dataclass(frozen=True, slots=True, eq=False)
class WordComparison:
    """One word's occurrences in two texts, compared layer by layer."""

    word: str
    """The word as it was asked for."""
    first_positions: tuple[int, ...]
    """Tokens of the occurrence in the first text."""
    second_positions: tuple[int, ...]
    """Tokens of the occurrence in the second text."""
    cosine: Float[np.ndarray, " states"]
    """Cosine of the two occurrences at every entry of hidden_states, pieces of a word averaged."""
    static_cosine: float | None
    """Cosine of their rows in the embedding table: 1.0, being the same rows; None where the pieces differ."""


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddingSum:
    """How the embedding block makes entry 0 of hidden_states: a sum of rows of tables, normalised, maybe projected."""

    word: Float[np.ndarray, "seq width"]
    """Rows of the vocabulary table, as they enter the sum."""
    position: Float[np.ndarray, "seq width"] | None
    """Rows of the position table; None for a family that tells positions in another way."""
    token_type: Float[np.ndarray, "seq width"] | None
    """Rows of the token type table; None for a family without."""
    other: Float[np.ndarray, "seq width"] | None
    """Further vectors that the family adds (see note); None where there are none."""
    total: Float[np.ndarray, "seq width"]
    """The sum of the above."""
    normalized: Float[np.ndarray, "seq width"] | None
    """The sum after the block's normalisation; None for a family without one (GPT-2, T5)."""
    norm_class: str
    """Class of that normalisation, such as "LayerNorm"; "" for a family without one."""
    output: Float[np.ndarray, "seq hidden"]
    """The sum after the normalisation and the projection to hidden_size, where the block has them."""
    projected: bool
    """Whether the block projects the vectors to hidden_size."""
    position_ids: Int[np.ndarray, " seq"] | None
    """Row of the position table of every token."""
    max_difference: float
    """max |output - hidden_states[0]|: 0 up to rounding where the sum tells all."""
    exact: bool
    """Whether that difference is mere rounding."""
    note: str
    """What else the family does; "" where the sum, the norm and the projection are all."""

    @property
    def parts(self) -> dict[str, Float[np.ndarray, "seq width"]]:
        """Name -> the vectors that are added."""
        named = {"word": self.word, "position": self.position, "token type": self.token_type, "other": self.other}
        return {name: vectors for name, vectors in named.items() if vectors is not None}

    @property
    def norm_name(self) -> str:
        """The normalisation in prose: "layer norm", else its class; "" for a family without one."""
        return "layer norm" if self.norm_class == "LayerNorm" else self.norm_class

    @property
    def steps(self) -> str:
        """How the vectors are made, such as "word + position, then layer norm, then a projection"."""
        behind = (self.norm_name, "a projection" if self.projected else "")
        return ", then ".join((" + ".join(self.parts), *filter(None, behind)))

    @property
    def inexact(self) -> str:
        """That the sum is not all of what the family does, one sentence; "" where it is."""
        if self.exact:
            return ""
        return (
            "This family does more than the sum shows: its largest difference from the model's own embeddings is "
            f"{self.max_difference:.2e}."
        )


@dataclass(frozen=True, slots=True, eq=False)
class PoolerCheck:
    """The pooler computed again from its weights."""

    cls: Float[np.ndarray, " hidden"]
    """Last hidden state of the first token, the pooler's input."""
    linear: Float[np.ndarray, " pooled"]
    """Weight times input plus bias."""
    output: Float[np.ndarray, " pooled"]
    """tanh of that."""
    max_difference: float
    """max |output - pooler_output|."""


@dataclass(frozen=True, slots=True, eq=False)
class NearestRows:
    """Rows of the vocabulary table nearest to one row, that row left out."""

    token_id: int
    """The row asked about."""
    norm: float
    """Its Euclidean length."""
    ids: Int[np.ndarray, " found"]
    """The nearest rows, the nearest first."""
    cosine: Float[np.ndarray, " found"]
    """Their cosines to the row."""
    norms: Float[np.ndarray, " found"]
    """Their Euclidean lengths."""
