"""Merge the pieces of words in attention maps, and select the tokens that are shown.

Merged are the rows over all tokens: weights are added up over keys and averaged over queries, and nothing is
renormalised. Which tokens are one word is decided in trace/word_alignment.py.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from bertviz_core.attention.axes import blocks_of, is_punctuation, text_sides, token_groups
from bertviz_core.attention.probabilities import MAX_TILE_CELLS
from bertviz_core.attention.results import Axis, MapOptions
from bertviz_core.errors import TextError
from bertviz_core.trace.results import Tokens

WORDS_RULE = (
    "Pieces of one word are merged: the weights on its pieces are added up, the rows of its pieces are averaged, so "
    "that a row still adds up to the same (Clark et al. 2019, section 4.1); special tokens stay as they are."
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
