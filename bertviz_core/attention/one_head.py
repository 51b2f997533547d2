"""Compute the attention map of one head, with words merged and tokens hidden, without renormalisation."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from bertviz_core.attention.axes import blocks_of, is_punctuation, text_sides, token_groups
from bertviz_core.attention.probabilities import MAX_TILE_CELLS, attention_block
from bertviz_core.attention.results import OF_LAYERS, AttentionMap, Axis, MapOptions
from bertviz_core.attention.rollout import attention_rollout
from bertviz_core.errors import TextError
from bertviz_core.trace.results import Tokens, Trace

RowSource = Callable[[slice], np.ndarray]
"""Returns the rows (heads, rows, seq) of a slice of queries, over all tokens."""
WORDS_RULE = (
    "Pieces of one word are merged: the weights on its pieces are added up, the rows of its pieces are averaged, so "
    "that a row still adds up to the same (Clark et al. 2019, section 4.1); special tokens stay as they are."
)
NORMS_RULE = (
    "A cell is the weight times the length of what the head hands over from the key's token, ||alpha f(x)|| with "
    "f(x) = (x W_v + b_v) W_o of that head (Kobayashi et al. 2020, section 3); in the scale of the model's vectors."
)


@dataclass(frozen=True, slots=True, eq=False)
class MapSelection:
    """How rows over all tokens are merged and selected for a map."""

    axis: Axis
    """All entries, shown or not."""
    starts: Int[np.ndarray, " entries"]
    """First token of every entry."""
    sizes: Int[np.ndarray, " entries"]
    """Number of its tokens."""
    queries: Bool[np.ndarray, " entries"]
    """Whether the entry is shown as a row."""
    keys: Bool[np.ndarray, " entries"]
    """Whether the entry is shown as a column."""

    def shown(self, mask: Bool[np.ndarray, " entries"]) -> Axis:
        """The entries that are shown."""
        indices = np.flatnonzero(mask).tolist()
        return Axis(tuple(self.axis.labels[i] for i in indices), tuple(self.axis.positions[i] for i in indices))

    def tiles(self, cells: int = MAX_TILE_CELLS) -> Iterator[tuple[slice, slice]]:
        """Slices (tokens, entries) of consecutive rows of whole words, each with about this many cells at most."""
        seq = int(self.sizes.sum())
        ends = self.starts + self.sizes
        first = 0
        while first < len(self.starts):
            room = int(self.starts[first]) + max(1, cells // seq)
            last = max(int(np.searchsorted(ends, room, side="right")), first + 1)
            yield slice(int(self.starts[first]), int(ends[last - 1])), slice(first, last)
            first = last

    def apply(
        self, rows: Float[np.ndarray, "rows seq"], entries: slice, norms: Float[np.ndarray, " seq"] | None = None
    ) -> tuple[Float[np.ndarray, "queries keys"], Float[np.ndarray, " queries"]]:
        """The shown cells of a tile, and the sum over the hidden keys of each row; norms are factors of the columns."""
        cells = rows if norms is None else rows * norms
        if len(self.starts) < cells.shape[1]:
            starts, sizes = self.starts[entries], self.sizes[entries]
            cells = _added(cells, starts - starts[0], sizes, axis=0) / sizes[:, None].astype(np.float32)
            cells = _added(cells, self.starts, self.sizes, axis=1)
        cells = _picked(cells, self.queries[entries], axis=0)
        if self.keys.all():
            return cells, np.zeros(len(cells), dtype=np.float32)
        hidden: np.ndarray = np.einsum("ij,j->i", cells, (~self.keys).astype(np.float32))
        return _picked(cells, self.keys, axis=1), hidden


def attention_map(
    trace: Trace,
    layer: int,
    head: int | None,
    options: MapOptions | None = None,
    value_norms: Float[np.ndarray, "heads seq"] | None = None,
    layer_map: Float[np.ndarray, "seq seq"] | None = None,
) -> AttentionMap:
    """The attention of a head, with the share of every row that lies on hidden keys.

    The shown and hidden shares of a row add up to the sum of the row over all tokens: 1 for all weights but
    "value-weighted". Merging words keeps that sum (WORDS_RULE); nothing is renormalised.

    Args:
        trace: the run.
        layer: zero-based; for rollout the last layer included.
        head: zero-based; None for rollout and value zeroing, which combine all heads.
        options: how tokens are merged, hidden and selected; the default shows all tokens.
        value_norms: ||f(x_j)|| of every head of this layer and every key, for weights "value-weighted" (NORMS_RULE).
        layer_map: the map of this layer for weights "rollout" (computed by default) or "value-zeroing".

    Raises:
        UnsupportedModelError: the attention of this model is not known.
        TextError: no tokens are left to show, or the text is too long for rollout.
        ValueError: there is no such layer or head, or norms or a map of value zeroing are missing.
    """
    options = options or MapOptions()
    selection = select_entries(trace.tokens, options)
    if (head is None) != (options.weights in OF_LAYERS):
        raise ValueError(f"head {head} of {options.weights}")
    heads = None if head is None else slice(head, head + 1)
    if options.weights == "rollout" and layer_map is None:
        layer_map = attention_rollout(trace, layer)[layer]
    source = row_source(trace, layer, heads, layer_map)
    norms = key_norms(trace, heads, options, value_norms)
    tiles = [
        selection.apply(source(tokens)[0], entries, None if norms is None else norms[0])
        for tokens, entries in selection.tiles()
    ]
    weights, hidden = tiles[0] if len(tiles) == 1 else map(np.concatenate, zip(*tiles, strict=True))
    return AttentionMap(
        layer, head, options, selection.shown(selection.queries), selection.shown(selection.keys), weights, hidden
    )


def select_entries(tokens: Tokens, options: MapOptions) -> MapSelection:
    """Apply options to tokens.

    Raises:
        TextError: the text has no such block, or no tokens are left to show.
    """
    if options.block not in blocks_of(tokens):
        raise TextError(f"The part {options.block!r} was requested, but there is one text only; give a pair of texts.")
    axis = token_groups(tokens, options.words)
    starts = np.array([positions[0] for positions in axis.positions], dtype=np.int64)
    sizes = np.array([len(positions) for positions in axis.positions], dtype=np.int64)
    shown = np.ones(len(axis), dtype=bool)
    if options.hide_special:
        shown &= ~tokens.special[starts]
    if options.hide_punctuation:
        shown &= [not is_punctuation(tokens, positions) for positions in axis.positions]
    queries, keys = shown, shown
    if options.block != "all":
        sides = text_sides(tokens)[starts]
        queries, keys = (shown & (sides == "AB".index(name)) for name in options.block.split(" to "))
    if not queries.any() or not keys.any():
        raise TextError("Every token of this part of the text is hidden, so no cell is left; show more tokens.")
    return MapSelection(axis, starts, sizes, queries, keys)


def row_source(
    trace: Trace, layer: int, heads: slice | None, layer_map: Float[np.ndarray, "seq seq"] | None = None
) -> RowSource:
    """A source of the rows of consecutive heads, or of layer_map if heads is None.

    Raises:
        ValueError: layer_map is missing, or belongs to another text.
    """
    if heads is None:
        if layer_map is None or layer_map.shape != (len(trace.tokens),) * 2:
            raise ValueError("all heads together without the map of the layer")
        return lambda rows: layer_map[None, rows]
    return lambda rows: attention_block(trace, layer, heads, rows)


def key_norms(
    trace: Trace, heads: slice | None, options: MapOptions, value_norms: Float[np.ndarray, "heads seq"] | None
) -> Float[np.ndarray, "some seq"] | None:
    """Factors of the columns of consecutive heads; None unless weights are "value-weighted".

    Raises:
        ValueError: norms are missing, or belong to another text.
    """
    if heads is None or options.weights != "value-weighted":
        return None
    if value_norms is None or value_norms.shape != (trace.num_attention_heads, len(trace.tokens)):
        raise ValueError("value-weighted attention without one norm for every head and token")
    return np.asarray(value_norms[heads], dtype=np.float32)


def _added(
    cells: Float[np.ndarray, "rows columns"],
    starts: Int[np.ndarray, " entries"],
    sizes: Int[np.ndarray, " entries"],
    axis: int,
) -> Float[np.ndarray, "fewer cells"]:
    """Sum the rows (axis 0) or columns (axis 1) of each entry."""
    sums: np.ndarray = cells.take(starts, axis=axis)
    for step in range(1, int(sizes.max())):
        longer = np.flatnonzero(sizes > step)
        pieces = cells.take(starts[longer] + step, axis=axis)
        if axis == 0:
            sums[longer] += pieces
        else:
            sums[:, longer] += pieces
    return sums


def _picked(
    cells: Float[np.ndarray, "rows columns"], mask: Bool[np.ndarray, " entries"], axis: int
) -> Float[np.ndarray, "fewer cells"]:
    """The rows (axis 0) or columns (axis 1) that are shown; without a copy where they are neighbours."""
    indices = np.flatnonzero(mask)
    if len(indices) and indices[-1] - indices[0] + 1 == len(indices):
        neighbours = slice(indices[0], indices[-1] + 1)
        return cells[neighbours] if axis == 0 else cells[:, neighbours]
    return cells.take(indices, axis=axis)
