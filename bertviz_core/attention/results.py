"""Results about attention: the map of a head, the atlas of all heads, and measures of heads."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from bertviz_core.trace.results import Noticed, Tokens

Weights = Literal["attention", "value-weighted", "rollout", "value-zeroing"]
"""Meaning of a cell: the probability; the norm of the weighted value vector; the rollout share through all layers; the
share of the change of the token when another token's value is set to zero."""
OF_LAYERS: frozenset[Weights] = frozenset({"rollout", "value-zeroing"})
"""Weights that combine the heads of a layer into one map."""
HeadMeasure = Literal[
    "entropy", "distance", "first_share", "separator_share", "previous_share", "next_share", "diagonal_share"
]
"""A measure of a head, see bertviz_core.attention.atlas."""
Block = Literal["all", "A to A", "A to B", "B to A", "B to B"]
"""Block of a pair: queries of one text, keys of one text."""


@dataclass(frozen=True, slots=True)
class MapOptions:
    """How tokens are merged, hidden and selected for a map."""

    weights: Weights = "attention"
    words: bool = False
    """Whether tokens are merged into words: sum over keys, mean over queries."""
    hide_special: bool = False
    """Whether [CLS], [SEP] and other special tokens are hidden, as queries and as keys."""
    hide_punctuation: bool = False
    """Whether punctuation is hidden, as queries and as keys."""
    block: Block = "all"


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """An axis of a map."""

    labels: tuple[str, ...]
    """The readable token (see bertviz_core.attention.maps.readable) or the word of each entry."""
    positions: tuple[tuple[int, ...], ...]
    """Positions of the tokens of each entry; none for the attention sink, which may be the last key."""

    def __len__(self) -> int:
        return len(self.labels)

    def second_entry(self, second: int | None) -> int | None:
        """The first entry of the second text, whose first token is at position `second`.

        None if the axis has no entry of either text.
        """
        places = [place for place, at in enumerate(self.positions) if second is not None and at and at[0] >= second]
        return places[0] if places and places[0] > 0 else None


@dataclass(frozen=True, slots=True, eq=False)
class AttentionMap:
    """The attention of a head; with weights "attention", the shown and hidden shares of a row add up to 1."""

    layer: int
    """Zero-based; for rollout the last layer included."""
    head: int | None
    """Zero-based; None if all heads are combined (rollout, value zeroing)."""
    options: MapOptions
    queries: Axis
    """Rows."""
    keys: Axis
    """Columns."""
    weights: Float[np.ndarray, "queries keys"]
    """Probabilities (attention), shares (rollout, value zeroing) or norms (value-weighted)."""
    hidden_share: Float[np.ndarray, " queries"]
    """Sum over the hidden keys for each row, averaged over the tokens of a word; same unit as the weights."""


@dataclass(frozen=True, slots=True, eq=False)
class AttentionComparison(Noticed):
    """The attention of one head in each of two models for one text."""

    models: tuple[str, str]
    """Names of the models."""
    tokens: tuple[Tokens, Tokens]
    """The text as each model reads it."""
    first: AttentionMap
    """Map of the first model."""
    second: AttentionMap
    """Map of the second model."""
    same_entries: bool
    """Whether rows and columns of both maps are the same parts of the text."""

    @property
    def difference(self) -> Float[np.ndarray, "queries keys"] | None:
        """Second minus first, in the unit of the weights; None where the maps have different rows or columns."""
        return np.asarray(self.second.weights - self.first.weights) if self.same_entries else None

    @property
    def same_model(self) -> bool:
        """Whether both models have one name."""
        return self.models[0] == self.models[1]


@dataclass(frozen=True, slots=True, eq=False)
class HeadMeasures:
    """Measures of every head, of its map as it is drawn; rollout and value zeroing have one column.

    The cells of a row are taken as shares p of their sum, i and j are the positions of the first tokens of their words.
    An attention sink is a key of the entropy, has the distance 0, and is neither special nor the token itself.
    """

    entropy: Float[np.ndarray, "layers heads"]
    """Mean over the queries of -sum p ln p, in nats; 0 for a single key, ln(keys) for uniform attention."""
    distance: Float[np.ndarray, "layers heads"]
    """Mean over the queries of sum p |i - j|, in tokens."""
    special_share: Float[np.ndarray, "layers heads"]
    """Mean share of a row on special tokens, 0 to 1; 0 if they are hidden."""
    diagonal_share: Float[np.ndarray, "layers heads"]
    """Mean share of a row on the token itself, 0 to 1."""


@dataclass(frozen=True, slots=True, eq=False)
class AttentionAtlas:
    """Maps of all heads, max-pooled if the text is long."""

    options: MapOptions
    queries: Axis
    """Rows of the full maps."""
    keys: Axis
    """Columns of the full maps."""
    thumbnails: Float[np.ndarray, "layers heads rows columns"]
    """Max-pooled map of each head; one head for rollout and value zeroing."""
    row_starts: Int[np.ndarray, " rows"]
    """First entry of queries in every thumbnail row."""
    column_starts: Int[np.ndarray, " columns"]
    """First entry of keys in every thumbnail column."""
    measures: HeadMeasures


@dataclass(frozen=True, slots=True, eq=False)
class PooledMap:
    """The map of a head over a range of tokens, max-pooled to a limited size."""

    layer: int
    head: int
    weights: Float[np.ndarray, "rows columns"]
    """Largest probability in each block of cells."""
    row_starts: Int[np.ndarray, " rows"]
    """Position of the first query of every row."""
    column_starts: Int[np.ndarray, " columns"]
    """Position of the first key of every column."""
