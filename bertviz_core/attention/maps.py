"""Attention of a head: probabilities, axes of tokens and words, rollout."""

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod

import numpy as np
from jaxtyping import Bool, Float, Int

from bertviz_core.attention.results import OF_LAYERS, AttentionMap, Axis, Block, MapOptions
from bertviz_core.errors import TextError, UnsupportedModelError
from bertviz_core.lazy_imports import torch
from bertviz_core.resources import one_blas_thread
from bertviz_core.trace.pieces import byte_characters
from bertviz_core.trace.results import Tokens, Trace
from bertviz_core.trace.word_alignment import Word
from bertviz_core.trace.word_alignment import words as words_of

BLOCKS: tuple[Block, ...] = ("all", "A to A", "A to B", "B to A", "B to B")
SIDES_RULE = (
    "Text A is what the tokenizer took from the first text, text B what it took from the second; a special token that "
    "the tokenizer added counts to the text that it closes, the first one to text A."
)
PUNCTUATION_RULE = "Punctuation is what consists of nothing but Unicode punctuation (P) and symbols (S)."
BYTE_LEVEL_SPACES, PIECE_SPACE = ("\u0120", "\u010a"), "\u2581"
SINK = "sink"
"""Label of the column of the attention sink."""
SPACE, NEW_LINE = "\u2423", "\u21b5"
"""Labels of white space tokens."""


def blocks_of(tokens: Tokens) -> tuple[Block, ...]:
    """The blocks of a map: ("all",), or all five for a pair (see SIDES_RULE)."""
    return BLOCKS if len(set(text_sides(tokens).tolist())) > 1 else BLOCKS[:1]


def text_sides(tokens: Tokens) -> Int[np.ndarray, " seq"]:
    """0 for tokens of text A, 1 for those of text B (see SIDES_RULE).

    Works without token types and with any number of separators, as in RoBERTa.
    """
    sides, current = [], 0
    for text in tokens.sequence:
        current = current if text is None else text
        sides.append(current)
    return np.array(sides, dtype=np.int64)


def token_groups(tokens: Tokens, words: bool) -> Axis:
    """An axis of all tokens, or of all words (trace.word_alignment)."""
    if not words:
        count = len(tokens)
        return Axis(tuple(readable(tokens, position) for position in range(count)), tuple((at,) for at in range(count)))
    aligned = words_of(tokens)
    return Axis(tuple(_label(tokens, word) for word in aligned), tuple(word.positions for word in aligned))


def readable(tokens: Tokens, position: int) -> str:
    """A token in readable form: bytes decoded, without the mark for a preceding space.

    Byte-level vocabularies spell every byte as a character, including spaces and the bytes of non-ASCII letters;
    SentencePiece marks spaces only. A token that is part of a character is shown as that character. The "##" of
    WordPiece stays, since it means that the token continues a word.
    """
    token = tokens.tokens[position]
    if token.isspace():
        return NEW_LINE if "\n" in token else SPACE
    if tokens.special[position] or token.isascii():
        return token
    if token.startswith(PIECE_SPACE):
        return token.lstrip(PIECE_SPACE) or SPACE
    raw = _of_bytes(token)
    if raw is None:
        return token
    inside = surface(tokens, [position])
    try:
        decoded = raw.decode()
    except UnicodeDecodeError:
        known, written = inside.casefold(), token.casefold()
        return token if known.isascii() or known in written or written in known else inside
    if decoded == token or ((inside or token[0] not in BYTE_LEVEL_SPACES) and decoded.strip() != inside):
        return token
    return decoded.strip() or (NEW_LINE if "\n" in decoded else SPACE)


def is_punctuation(tokens: Tokens, positions: Sequence[int]) -> bool:
    """Whether a token or word consists of punctuation and symbols only; False for special tokens."""
    if tokens.special[list(positions)].any():
        return False
    spelling = surface(tokens, positions) or "".join(_bare(tokens.tokens[position]) for position in positions)
    return bool(spelling) and all(unicodedata.category(character)[0] in "PS" for character in spelling)


def surface(tokens: Tokens, positions: Sequence[int]) -> str:
    """The characters of consecutive tokens of a text; "" if the tokenizer provides no offsets."""
    sequence = tokens.sequence[positions[0]]
    if tokens.offsets is None or sequence is None:
        return ""
    spans = [span for position in positions if (span := tokens.offsets[position]) is not None]
    text = tokens.text if sequence == 0 else tokens.pair or ""
    return text[spans[0][0] : spans[-1][1]].strip() if spans else ""


def _label(tokens: Tokens, word: Word) -> str:
    """The characters of a word; the spelling of a special token, and of a word without offsets."""
    if len(word.positions) == 1 and (not word.text or tokens.special[word.positions[0]]):
        return readable(tokens, word.positions[0])
    return word.text or "".join(tokens.tokens[position] for position in word.positions)


@cache
def _byte_of() -> dict[str, int]:
    """Character -> byte in byte-level vocabularies."""
    return {character: byte for byte, character in enumerate(byte_characters())}


def _of_bytes(token: str) -> bytes | None:
    """The bytes of a token of a byte-level vocabulary; None if a character does not stand for a byte."""
    decoded = [_byte_of().get(character) for character in token]
    return bytes(byte for byte in decoded if byte is not None) if None not in decoded else None


def _bare(token: str) -> str:
    """A token without the marks for the beginning and end of words."""
    for mark in (*BYTE_LEVEL_SPACES, PIECE_SPACE, "##"):
        token = token.removeprefix(mark) if len(token) > len(mark) else token
    for mark in ("</w>", "@@"):
        token = token.removesuffix(mark) if len(token) > len(mark) else token
    return "" if token == PIECE_SPACE else token


MAX_TILE_CELLS = 2**21
"""Cells computed at once: 8 MiB, which fit into a CPU cache; sufficient for a text of 1,448 tokens."""
MAX_CACHED_CELLS = 2**16
"""Cells of a block for repeated passes, 256 KiB."""


def attention_probs(trace: Trace, layer: int, head: int | None = None) -> Float[np.ndarray, "*heads seq seq"]:
    """softmax(query key^T * scaling + mask) of one head (seq, seq), or of all heads of a layer (heads, seq, seq).

    Every row sums to 1: row i is how the new vector of token i is mixed from the values of all tokens (Vaswani et al.
    2017, section 3.2.1). A masked key gets exactly 0. Of a model with attention sinks the rows lack the share of the
    sink, which with_sink adds.
    """
    _check(trace, layer, head)
    if trace.attentions is not None:
        known = trace.attentions[layer]
        return known if head is None else known[head]
    seq = len(trace.tokens)
    probs = np.empty((trace.num_attention_heads if head is None else 1, seq, seq), dtype=np.float32)
    for heads in head_batches(len(probs), seq):
        for rows in row_tiles(seq):
            probs[heads, rows] = _block(trace, layer, heads if head is None else slice(head, head + 1), rows)
    return probs if head is None else probs[0]


def attention_rows(trace: Trace, layer: int, head: int, rows: slice) -> Float[np.ndarray, "rows seq"]:
    """Rows of attention_probs for consecutive queries, at the cost of these rows only."""
    block: np.ndarray = attention_block(trace, layer, slice(head, head + 1), rows)[0]
    return block


def attention_block(trace: Trace, layer: int, heads: slice, rows: slice) -> Float[np.ndarray, "heads rows seq"]:
    """Rows of consecutive heads of a layer; faster than one by one."""
    _check(trace, layer, heads.start)
    if rows.step not in (None, 1) or heads.step not in (None, 1) or heads.stop > trace.num_attention_heads:
        raise ValueError(f"heads {heads}, rows {rows}: they must be neighbours, of {trace.num_attention_heads} heads")
    return _block(trace, layer, heads, rows)


def head_batches(heads: int, seq: int, cells: int = MAX_TILE_CELLS) -> Iterator[slice]:
    """Slices of as many heads as fit into one tile, at least one."""
    step = max(1, cells // max(seq * seq, 1))
    for first in range(0, heads, step):
        yield slice(first, min(first + step, heads))


def row_tiles(seq: int, start: int = 0, stop: int | None = None, cells: int = MAX_TILE_CELLS) -> Iterator[slice]:
    """Slices of the queries from start to stop with a limited number of cells each."""
    step = max(1, cells // max(seq, 1))
    end = seq if stop is None else stop
    for first in range(start, end, step):
        yield slice(first, min(first + step, end))


def require_attention(trace: Trace) -> None:
    """Check that a trace has attention."""
    if trace.attention_source == "none":
        raise UnsupportedModelError(f"There is no attention of {trace.model!r} to be shown. {trace.attention_note}")


def _check(trace: Trace, layer: int, head: int | None) -> None:
    require_attention(trace)
    if not 0 <= layer < trace.num_hidden_layers:
        raise ValueError(f"layer {layer} of {trace.num_hidden_layers}")
    if head is not None and not 0 <= head < trace.num_attention_heads:
        raise ValueError(f"head {head} of {trace.num_attention_heads}")


def _block(trace: Trace, layer: int, heads: slice, rows: slice) -> Float[np.ndarray, "heads rows seq"]:
    if trace.attentions is not None:
        return trace.attentions[layer][heads, rows]
    if trace.query is None or trace.key is None or trace.masks is None or trace.scaling is None:
        raise ValueError("a recorded trace without query, key, masks and scaling")
    query, key, mask = trace.query[layer], trace.key[layer], trace.masks[layer]
    # Several query heads may share a key head. The scaling goes to the query, of which there is less than of scores.
    shared = np.arange(heads.start, heads.stop) * len(key) // len(query)
    scaled, keys = query[heads, rows] * np.float32(trace.scaling[layer]), key[shared]
    sink = layer_sink(trace, layer)
    sink = None if sink is None else sink[heads, None, None]
    if mask is None:
        return softmax(_products(scaled, keys), sink)
    allowed = mask[heads if len(mask) > 1 else slice(1), rows]
    if allowed.dtype != np.bool_:
        scores = _products(scaled, keys)
        scores += allowed
        return softmax(scores, sink)
    # In a local layer most keys are seen by none of these queries: only those between the first and last are computed.
    visible_keys = np.flatnonzero(allowed.any(axis=(0, 1)))
    window = slice(int(visible_keys[0]), int(visible_keys[-1]) + 1) if len(visible_keys) else slice(0, 0)
    probs = np.zeros((*scaled.shape[:2], len(trace.tokens)), dtype=np.float32)
    scores = _products(scaled, keys[:, window])
    np.copyto(scores, np.float32(-np.inf), where=~allowed[..., window])
    probs[..., window] = softmax(scores, sink)
    return probs


def layer_sink(trace: Trace, layer: int) -> Float[np.ndarray, " heads"] | None:
    """The score of the attention sink of every head of a layer; None for a layer without one."""
    return None if trace.sinks is None else trace.sinks[layer]


def with_sink(
    weights: Float[np.ndarray, "*rows columns"], hidden: Float[np.ndarray, "*rows"] | None = None
) -> Float[np.ndarray, "*rows more"]:
    """Rows of a model with attention sinks, with one more column: what they lack to 1 is the share of the sink.

    Args:
        hidden: what each row has on keys that are not among the columns.
    """
    left = 1 - weights.sum(axis=-1, dtype=np.float64) - (0 if hidden is None else hidden)
    return np.concatenate((weights, np.clip(left, 0, 1)[..., None].astype(np.float32)), axis=-1)


def _products(
    query: Float[np.ndarray, "heads rows head_dim"], key: Float[np.ndarray, "heads seq head_dim"]
) -> Float[np.ndarray, "heads rows seq"]:
    """The product query key^T of every head, in one thread.

    BLAS with two threads waits for both. On two busy cores, of which the reader's browser may take one, the map of a
    head took 80 ms with two threads and 0.4 ms with one at 130 tokens, 97 ms and 1.4 ms at 512 tokens (medians).
    """
    with one_blas_thread(), np.errstate(invalid="ignore"):  # infinite weights make NaN here; a notice reports them
        products: np.ndarray = query @ key.transpose(0, 2, 1)
    return products


def softmax(
    scores: Float[np.ndarray, "*rows seq"], sink: Float[np.ndarray, "..."] | None = None
) -> Float[np.ndarray, "*rows seq"]:
    """Softmax over the keys, in place; a fully masked row becomes 0.

    A piece of the size of a processor's cache at a time: a whole tile at once took a quarter longer at 8,192 tokens.

    Args:
        sink: a further score of every row that takes its share and is left out, of a shape like (heads, 1, 1).
    """
    seq = scores.shape[-1]
    cells = scores.reshape(prod(scores.shape[:-1]), seq)
    step = max(1, MAX_CACHED_CELLS // max(seq, 1))
    sinks = np.broadcast_to(-np.inf if sink is None else sink, (*scores.shape[:-1], 1)).reshape(-1, 1)
    for first in range(0, len(cells), step):
        piece, further = cells[first : first + step], sinks[first : first + step]
        peak = np.maximum(piece.max(axis=-1, keepdims=True, initial=-np.inf), further)
        peak[np.isneginf(peak)] = 0
        with np.errstate(invalid="ignore"):  # a row with an infinite score becomes NaN
            piece -= peak
        np.exp(piece, out=piece)
        total = piece.sum(axis=-1, keepdims=True) + np.exp(further - peak)
        total[total == 0] = 1
        piece /= total
    return scores


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
    """Apply options to tokens."""
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


MAX_NBYTES = 512 * 1024**2
"""Memory limit for the maps of all layers; a map of 2,048 tokens has 16 MiB."""
ROLLOUT_RULE = (
    "Per layer the mean over the heads, half of it and half of the token itself for the residual connection, rows "
    "normalised to sum to 1; the layers multiplied up to this one (Abnar & Zuidema 2020, section 3). It leaves out "
    "values, feed-forward and normalisation."
)


def attention_rollout(trace: Trace, last: int | None = None) -> Float[np.ndarray, "layers seq seq"]:
    """Attention rollout: shares of the input tokens (columns) in every token (rows) after each layer; rows sum to 1.

    R_0 = A_0, R_l = A_l R_(l-1) with A_l = (mean over heads + identity) / 2, its rows normalised to sum to 1 (Abnar &
    Zuidema 2020, section 3). No unit.

    Args:
        last: the last layer to compute; None for all.
    """
    seq = len(trace.tokens)
    layers = trace.num_hidden_layers if last is None else last + 1
    if layers * seq * seq * 4 > MAX_NBYTES:
        max_tokens = int((MAX_NBYTES / 4 / trace.num_hidden_layers) ** 0.5)
        raise TextError(
            f"Rollout multiplies whole maps and the text has {seq:,} tokens; give a text of at most "
            f"{max_tokens:,} tokens, or look at one head."
        )
    rollout = np.empty((layers, seq, seq), dtype=np.float32)
    for layer in range(layers):
        mixed = _mixed(trace, layer)
        if layer:
            torch.matmul(
                torch.from_numpy(mixed), torch.from_numpy(rollout[layer - 1]), out=torch.from_numpy(rollout[layer])
            )
        else:
            rollout[0] = mixed
    return rollout


def _mixed(trace: Trace, layer: int) -> Float[np.ndarray, "seq seq"]:
    """Half the mean over the heads, half the identity, rows normalised to sum to 1."""
    seq, heads = len(trace.tokens), max(trace.num_attention_heads, 1)
    mixed = np.zeros((seq, seq), dtype=np.float32)
    for batch in head_batches(heads, seq):
        for rows in row_tiles(seq):
            mixed[rows] += attention_block(trace, layer, batch, rows).sum(axis=0)
    mixed /= heads
    mixed[np.diag_indices(seq)] += 1
    mixed /= mixed.sum(axis=1, keepdims=True)
    return mixed


RowSource = Callable[[slice], np.ndarray]
"""Returns the rows (heads, rows, seq) of a slice of queries, over all tokens."""
NORMS_RULE = (
    "A cell is the weight times the length of what the head hands over from the key's token, ||alpha f(x)|| with "
    "f(x) = (x W_v + b_v) W_o of that head (Kobayashi et al. 2020, section 3); in the scale of the model's vectors."
)


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
    "value-weighted". Merging words keeps that sum (merging.WORDS_RULE); nothing is renormalised.

    Args:
        layer: zero-based; for rollout the last layer included.
        head: zero-based; None for rollout and value zeroing, which combine all heads.
        value_norms: ||f(x_j)|| of every head of this layer and every key, for weights "value-weighted" (NORMS_RULE).
        layer_map: the map of this layer for weights "rollout" (computed by default) or "value-zeroing".
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
    if draws_sink(trace, options):
        weights = with_sink(weights, hidden)
    return AttentionMap(layer, head, options, *shown_axes(trace, selection, options), weights, hidden)


def draws_sink(trace: Trace, options: MapOptions) -> bool:
    """Whether maps have a last column for the attention sink, which only weights have: it has no value to weigh."""
    return trace.sinks is not None and options.weights == "attention"


def shown_axes(trace: Trace, selection: MapSelection, options: MapOptions) -> tuple[Axis, Axis]:
    """Rows and columns that are shown, the sink as a column without a token."""
    queries, keys = selection.shown(selection.queries), selection.shown(selection.keys)
    return queries, Axis((*keys.labels, SINK), (*keys.positions, ())) if draws_sink(trace, options) else keys


def row_source(
    trace: Trace, layer: int, heads: slice | None, layer_map: Float[np.ndarray, "seq seq"] | None = None
) -> RowSource:
    """A source of the rows of consecutive heads, or of layer_map if heads is None."""
    if heads is None:
        if layer_map is None or layer_map.shape != (len(trace.tokens),) * 2:
            raise ValueError("all heads together without the map of the layer")
        return lambda rows: layer_map[None, rows]
    return lambda rows: attention_block(trace, layer, heads, rows)


def key_norms(
    trace: Trace, heads: slice | None, options: MapOptions, value_norms: Float[np.ndarray, "heads seq"] | None
) -> Float[np.ndarray, "some seq"] | None:
    """Factors of the columns of consecutive heads; None unless weights are "value-weighted"."""
    if heads is None or options.weights != "value-weighted":
        return None
    if value_norms is None or value_norms.shape != (trace.num_attention_heads, len(trace.tokens)):
        raise ValueError("value-weighted attention without one norm for every head and token")
    return np.asarray(value_norms[heads], dtype=np.float32)
