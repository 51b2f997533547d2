"""One head's attention map: words merged, tokens hidden, a part of a pair cut out, and nothing renormalised."""

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from bertviz_core.attention.probabilities import MAX_TILE_CELLS, attention_block
from bertviz_core.attention.results import AttentionMap, Axis, Block, MapOptions
from bertviz_core.attention.rollout import attention_rollout
from bertviz_core.errors import TextError
from bertviz_core.trace.results import Tokens, Trace

BLOCKS: tuple[Block, ...] = ("all", "A to A", "A to B", "B to A", "B to B")
SIDES_RULE = (
    "Text A is what the tokenizer took from the first text, text B what it took from the second; a special token that "
    "the tokenizer added counts to the text that it closes, the first one to text A."
)
WORDS_RULE = (
    "Pieces of one word are merged: the weights on its pieces are added up, the rows of its pieces are averaged, so "
    "that a row still adds up to the same (Clark et al. 2019, section 4.1); special tokens stay as they are."
)
PUNCTUATION_RULE = "Punctuation is what consists of nothing but Unicode punctuation (P) and symbols (S)."
BYTE_LEVEL_SPACES, PIECE_SPACE = ("\u0120", "\u010a"), "\u2581"
RowSource = Callable[[slice], np.ndarray]
"""Of some neighbouring heads the rows (heads, rows, seq) of some neighbouring queries, over all tokens."""
NORMS_RULE = (
    "A cell is the weight times the length of what the head hands over from the key's token, ||alpha f(x)|| with "
    "f(x) = (x W_v + b_v) W_o of that head (Kobayashi et al. 2020, section 3); in the scale of the model's vectors."
)


@dataclass(frozen=True, slots=True, eq=False)
class MapSelection:
    """How rows over all tokens become rows of a map."""

    axis: Axis
    """All entries, shown or not."""
    starts: Int[np.ndarray, " entries"]
    """First token of every entry."""
    sizes: Int[np.ndarray, " entries"]
    """Count of its tokens."""
    queries: Bool[np.ndarray, " entries"]
    """Whether the entry is shown as a row."""
    keys: Bool[np.ndarray, " entries"]
    """Whether the entry is shown as a column."""

    def shown(self, mask: Bool[np.ndarray, " entries"]) -> Axis:
        """The entries that are shown."""
        indices = np.flatnonzero(mask).tolist()
        return Axis(tuple(self.axis.labels[i] for i in indices), tuple(self.axis.positions[i] for i in indices))

    def tiles(self, cells: int = MAX_TILE_CELLS) -> Iterator[tuple[slice, slice]]:
        """(tokens, entries) of neighbouring rows, no word cut in two, each of about so many cells at most."""
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
        """Of one tile the shown cells, and per shown row the sum over the keys that are not shown.

        Where norms are given, every column is multiplied with that of its key first.
        """
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
    rollout: Float[np.ndarray, "layers seq seq"] | None = None,
) -> AttentionMap:
    """The attention of a head under some options; every row with the share that lies on keys which are not shown.

    Shown and hidden share of a row add up to what the row has over all tokens: 1 for attention and rollout. Merging
    words keeps that sum (WORDS_RULE); nothing is renormalised.

    Args:
        trace: the run.
        layer: zero-based; for rollout the last layer that is included.
        head: zero-based; None for rollout, which takes all heads together.
        options: what is merged, hidden and cut out; the default shows all tokens.
        value_norms: ||f(x_j)|| of every head of this layer and every key, for weights "value-weighted" (NORMS_RULE).
        rollout: what attention_rollout(trace) gave, so that it is not computed again.

    Raises:
        UnsupportedModelError: this model's attention is not known.
        TextError: nothing is left to be shown, or the text is too long for rollout.
        ValueError: no such layer or head, or norms that are missing.
    """
    options = options or MapOptions()
    selection = select_entries(trace.tokens, options)
    if (head is None) != (options.weights == "rollout"):
        raise ValueError(f"head {head} of {options.weights}")
    heads = None if head is None else slice(head, head + 1)
    source = row_source(trace, layer, heads, rollout)
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
    """What is merged, shown and hidden of these tokens under some options.

    Raises:
        TextError: the text has no such part, or nothing is left to be shown.
    """
    if options.block not in blocks_of(tokens):
        raise TextError(f"The part {options.block!r} was asked for, but there is one text only; give a pair of texts.")
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
    trace: Trace, layer: int, heads: slice | None, rollout: Float[np.ndarray, "layers seq seq"] | None = None
) -> RowSource:
    """Where the rows of some neighbouring heads come from, before anything is merged or hidden; None is rollout."""
    if heads is None:
        rollout_map = attention_rollout(trace, layer)[layer] if rollout is None else rollout[layer]
        return lambda rows: rollout_map[None, rows]
    return lambda rows: attention_block(trace, layer, heads, rows)


def key_norms(
    trace: Trace, heads: slice | None, options: MapOptions, value_norms: Float[np.ndarray, "heads seq"] | None
) -> Float[np.ndarray, "some seq"] | None:
    """What the columns of some neighbouring heads are multiplied with; None where cells stay weights.

    Raises:
        ValueError: norms are missing, or of another text.
    """
    if heads is None or options.weights != "value-weighted":
        return None
    if value_norms is None or value_norms.shape != (trace.num_attention_heads, len(trace.tokens)):
        raise ValueError("value-weighted attention without one norm for every head and token")
    return np.asarray(value_norms[heads], dtype=np.float32)


def blocks_of(tokens: Tokens) -> tuple[Block, ...]:
    """The parts that a map of these tokens has: ("all",), or for a pair all five (see SIDES_RULE)."""
    return BLOCKS if len(set(text_sides(tokens).tolist())) > 1 else BLOCKS[:1]


def text_sides(tokens: Tokens) -> Int[np.ndarray, " seq"]:
    """0 for a token of text A, 1 of text B, by SIDES_RULE.

    Neither token types nor separators are needed, so that RoBERTa, which has no types and two separators between the
    texts, is cut like BERT.
    """
    sides, current = [], 0
    for text in tokens.sequence:
        current = current if text is None else text
        sides.append(current)
    return np.array(sides, dtype=np.int64)


def token_groups(tokens: Tokens, words: bool) -> Axis:
    """All tokens in their order, or where words are wanted each run of pieces of one word as one entry.

    Special tokens stay alone, as do tokens of a tokenizer that does not tell words. White space always ends a word:
    some tokenizers count a whole text as one.
    """
    runs: list[list[int]] = []
    for position in range(len(tokens)):
        if words and runs and _continues(tokens, runs[-1][-1], position):
            runs[-1].append(position)
        else:
            runs.append([position])
    labels = (_word(tokens, run) for run in runs) if words else tokens.tokens
    return Axis(tuple(labels), tuple(tuple(run) for run in runs))


def is_punctuation(tokens: Tokens, positions: Sequence[int]) -> bool:
    """Whether a token or word is nothing but punctuation and symbols; a special token is none."""
    if tokens.special[list(positions)].any():
        return False
    spelling = surface(tokens, positions) or "".join(_bare(tokens.tokens[position]) for position in positions)
    return bool(spelling) and all(unicodedata.category(character)[0] in "PS" for character in spelling)


def surface(tokens: Tokens, positions: Sequence[int]) -> str:
    """What the text has in the place of neighbouring tokens of one text; "" where the tokenizer does not say."""
    sequence = tokens.sequence[positions[0]]
    if tokens.offsets is None or sequence is None:
        return ""
    spans = [span for position in positions if (span := tokens.offsets[position]) is not None]
    text = tokens.text if sequence == 0 else tokens.pair or ""
    return text[spans[0][0] : spans[-1][1]].strip() if spans else ""


def _continues(tokens: Tokens, before: int, position: int) -> bool:
    """Whether a token is a further piece of the word that the token before it is from."""
    ids, offsets, sequences = tokens.word_ids, tokens.offsets, tokens.sequence
    if ids is None or ids[position] is None or ids[position] != ids[before] or sequences[position] != sequences[before]:
        return False
    if tokens.special[before] or tokens.special[position]:
        return False
    start, end = (offsets[before], offsets[position]) if offsets is not None else (None, None)
    if start is None or end is None:
        return True
    text = tokens.text if sequences[position] == 0 else tokens.pair or ""
    between = text[start[1] : max(start[1], end[0])] + text[end[0] : end[1]][:1]
    return not any(character.isspace() for character in between)


def _word(tokens: Tokens, run: Sequence[int]) -> str:
    """The word as the text has it; a special token as the tokenizer spells it."""
    if len(run) == 1 and tokens.special[run[0]]:
        return tokens.tokens[run[0]]
    return surface(tokens, run) or "".join(tokens.tokens[position] for position in run)


def _bare(token: str) -> str:
    """A token without the marks by which vocabularies tell beginnings and ends of words."""
    for mark in (*BYTE_LEVEL_SPACES, PIECE_SPACE, "##"):
        token = token.removeprefix(mark) if len(token) > len(mark) else token
    for mark in ("</w>", "@@"):
        token = token.removesuffix(mark) if len(token) > len(mark) else token
    return "" if token == PIECE_SPACE else token


def _added(
    cells: Float[np.ndarray, "rows columns"],
    starts: Int[np.ndarray, " entries"],
    sizes: Int[np.ndarray, " entries"],
    axis: int,
) -> Float[np.ndarray, "fewer cells"]:
    """Rows (axis 0) or columns (axis 1) of each entry added up: the first of each, then the second of longer ones."""
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
