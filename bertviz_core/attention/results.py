"""Results about attention: one head's map, all heads at a glance, and four measures of what a head does."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

Weights = Literal["attention", "value-weighted", "rollout", "value-zeroing"]
"""What a cell holds: the probability; the norm of the weighted value vector; the share traced through all layers; the
share of what moves the token's vector when another token's value is set to zero."""
OF_LAYERS: frozenset[Weights] = frozenset({"rollout", "value-zeroing"})
"""Readings that take the heads of a layer together: one map a layer."""
HeadMeasure = Literal[
    "entropy", "distance", "first_share", "separator_share", "previous_share", "next_share", "diagonal_share"
]
"""What a head does, as one number: see bertviz_core.attention.measures."""
Block = Literal["all", "A to A", "A to B", "B to A", "B to B"]
"""Which part of a pair: queries of one text, keys of one text."""


@dataclass(frozen=True, slots=True)
class MapOptions:
    """What is merged, hidden and cut out of a map before it is shown."""

    weights: Weights = "attention"
    """What a cell holds."""
    words: bool = False
    """Whether pieces are merged to words: sum over keys, mean over queries."""
    hide_special: bool = False
    """Whether [CLS], [SEP] and other special tokens are hidden, as queries and as keys."""
    hide_punctuation: bool = False
    """Whether punctuation is hidden, as queries and as keys."""
    block: Block = "all"
    """Part of a pair that is shown."""


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """One axis of a map: what its rows or columns stand for."""

    labels: tuple[str, ...]
    """Per entry the token as it is read (see bertviz_core.attention.axes.readable), or where words are merged the word
    as the text has it."""
    positions: tuple[tuple[int, ...], ...]
    """Positions of the tokens that each entry stands for."""

    def __len__(self) -> int:
        """Count of entries."""
        return len(self.labels)

    def second_entry(self, second: int | None) -> int | None:
        """The first entry of a pair's second text, whose first token is at this position.

        None where the axis has no entry of it, or none of the first text before it.
        """
        places = [place for place, at in enumerate(self.positions) if second is not None and at[0] >= second]
        return places[0] if places and places[0] > 0 else None


@dataclass(frozen=True, slots=True, eq=False)
class AttentionMap:
    """The attention of one head of one layer; with weights "attention", shown and hidden share of a row add up to 1."""

    layer: int
    """Zero-based; for rollout the last layer that is included."""
    head: int | None
    """Zero-based; None where all heads are taken together (rollout, value zeroing)."""
    options: MapOptions
    """What was merged, hidden and cut out."""
    queries: Axis
    """What the rows stand for."""
    keys: Axis
    """What the columns stand for."""
    weights: Float[np.ndarray, "queries keys"]
    """Probabilities (attention), shares (rollout, value zeroing) or norms (value-weighted: the model's own scale)."""
    hidden_share: Float[np.ndarray, " queries"]
    """Per row the sum over the keys that are not shown, mean over the pieces of a word; same unit as the weights."""


@dataclass(frozen=True, slots=True, eq=False)
class HeadMeasures:
    """One number per head for what it does; of the attention over all tokens, whatever is hidden or merged.

    In an atlas of rollout or value zeroing there is one column, and the numbers are those of its maps.
    """

    entropy: Float[np.ndarray, "layers heads"]
    """Mean over the queries of -sum p ln p, in nats; 0 is one key, ln(seq) is all keys alike."""
    distance: Float[np.ndarray, "layers heads"]
    """Mean over the queries of sum p |i - j|, in tokens."""
    special_share: Float[np.ndarray, "layers heads"]
    """Mean share of a row on special tokens, 0 to 1."""
    diagonal_share: Float[np.ndarray, "layers heads"]
    """Mean share of a row on the token itself, 0 to 1."""


@dataclass(frozen=True, slots=True, eq=False)
class AttentionAtlas:
    """All heads at a glance: every thumbnail is the real map, max-pooled where the text is long."""

    options: MapOptions
    """What was merged, hidden and cut out of the maps."""
    queries: Axis
    """What the rows of the full maps stand for."""
    keys: Axis
    """What the columns of the full maps stand for."""
    thumbnails: Float[np.ndarray, "layers heads rows columns"]
    """Max-pool of each head's full map; the map itself where it is small enough. One head for rollout
    and value zeroing."""
    row_starts: Int[np.ndarray, " rows"]
    """First entry of queries in every thumbnail row."""
    column_starts: Int[np.ndarray, " columns"]
    """First entry of keys in every thumbnail column."""
    measures: HeadMeasures
    """What each head does."""


@dataclass(frozen=True, slots=True, eq=False)
class PooledMap:
    """One head's map over a range of tokens, max-pooled to a picture of limited size."""

    layer: int
    """Zero-based."""
    head: int
    """Zero-based."""
    weights: Float[np.ndarray, "rows columns"]
    """Largest probability in each block of cells."""
    row_starts: Int[np.ndarray, " rows"]
    """Position of the first query of every row."""
    column_starts: Int[np.ndarray, " columns"]
    """Position of the first key of every column."""
