"""Encoder-only, encoder-decoder and decoder-only models side by side: their layers, and who sees whom in each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import plotly.graph_objects as go

from bertviz_core.architecture.results import Architecture, Design, DesignKind
from bertviz_core.architecture.structure.results import Order
from bertviz_core.figures.architecture.drawing import Drawing, Edges, broken, fitted_words
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import Theme, escape
from bertviz_core.parameters.results import Ledger

NAMES: Mapping[DesignKind, str] = {
    "encoder": "an encoder-only model",
    "encoder-decoder": "an encoder-decoder model",
    "decoder": "a decoder-only model",
}
HEADINGS: Mapping[DesignKind, str] = {
    "encoder": "encoder-only",
    "encoder-decoder": "encoder-decoder",
    "decoder": "decoder-only",
}
SUCH_AS: Mapping[DesignKind, str] = {
    "encoder": "such as BERT",
    "encoder-decoder": "such as T5 or BART",
    "decoder": "such as GPT-2",
}
SHARES: Mapping[DesignKind, float] = {"encoder": 1.0, "encoder-decoder": 1.9, "decoder": 1.0}
"""Widths of the three beside each other."""
ALL_THREE = 680
"""Pixels from which on all three are drawn; on less the model's own alone."""
BOX, THIN, SMALL = 33.0, 19.0, 12
"""Pixels: height of a box, of a norm or an addition, of small letters."""
STEP, HEAD, TIMES, FRAME, SIDE = 7.0, 44.0, 26.0, 7.0, 22.0
"""Pixels: between boxes, of the headings, of the count of layers, from the frame to a box, of the residual lines."""
TOKENS, CELL = 6, 12.0
"""Tokens of the little masks, and pixels of a cell."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A box of a layer."""

    words: str
    part: str
    begins: bool = False
    joins: bool = False

    @property
    def height(self) -> float:
        return THIN if self.part in ("layer_norm", "other") and self.words != "token mixing" else BOX


def design_title(model: str, design: Design) -> str:
    """What a model is, in a few words."""
    return f"{model} is {NAMES[design.kind]}"


def encoder_and_decoder(model: Architecture, design: Design, theme: Theme) -> go.Figure:
    """The three designs side by side; the one that the model has is marked and carries its own counts.

    Args:
        model: what the model is.
        design: which of the three it has.
        theme: colours and typeface.
    """
    drawing = Drawing(theme)
    kinds = list(SHARES) if theme.pixels >= ALL_THREE else [design.kind]
    unit = (drawing.width - 12 * (len(kinds) - 1)) / sum(SHARES[kind] for kind in kinds)
    left, bottoms = 0.0, []
    for kind in kinds:
        right = left + unit * SHARES[kind]
        own = design if kind == design.kind else None
        if own:
            drawing.ground((left, 0, right, _bottom(design, len(kinds) > 1)))
            drawing.frame((left + 1, 1, right - 1, _bottom(design, len(kinds) > 1) - 1))
        words = "<b>this model</b>" if own else SUCH_AS[kind]
        drawing.note((left + right) / 2, HEAD / 2, f"<b>{HEADINGS[kind]}</b><br>{words}", theme.text)
        bottoms.append(_design(drawing, kind, (left + 8, right - 8), own, model))
        left = right + 12
    return drawing.figure(escape(design_title(model.model, design)), max(*bottoms, _bottom(design, len(kinds) > 1)))


def _bottom(design: Design, wide: bool) -> float:
    """Where the ground behind the model's own design ends: below the longest stack that is drawn."""
    orders: tuple[Order, ...] = (design.order, "post-norm")
    pieces = max((_pieces(_decoder_blocks(True), order) for order in orders), key=_height)
    if not wide and design.kind != "encoder-decoder":
        cross = design.cross_attention and design.kind == "decoder"
        pieces = _pieces(_decoder_blocks(cross) if design.kind == "decoder" else _encoder_blocks(False), design.order)
    return HEAD + 24 + BOX + 2 * STEP + TIMES + _height(pieces) + FRAME + BOX + 4 * STEP + 22 + TOKENS * CELL + 46


def _height(pieces: Sequence[_Piece]) -> float:
    return sum(piece.height + STEP for piece in pieces)


def _design(
    drawing: Drawing, kind: DesignKind, at: tuple[float, float], own: Design | None, model: Architecture
) -> float:
    """One of the three; gives back where it ends."""
    left, right = at
    order: Order = own.order if own else "post-norm"
    mixes = own is not None and own.mixes
    if kind == "encoder":
        bottom, end = _stack(drawing, at, "the whole text", _times(own, "encoder"), _encoder_blocks(mixes), order)
        pooled = own is not None and model.has_pooler
        given = "a vector for the text" if pooled else "labels, spans, scores"
        _output(drawing, at, end, "pooler" if pooled else "task head", given)
        near = own.local_layers if own else 0
        words = f"in {near} layers each token sees those near it" if near else "each token sees every token"
        return _mask(drawing, sum(at) / 2, bottom, False, words, right - left)
    if kind == "decoder":
        cross = own is not None and own.cross_attention
        bottom, end = _stack(
            drawing, at, "the text so far", _times(own, "decoder"), _decoder_blocks(cross, mixes), order
        )
        _output(drawing, at, end, "language model head", "the next token")
        near = own.local_layers if own else 0
        words = "each token sees itself and those before"
        words = f"{words}, in {near} layers only the last ones" if near else words
        return _mask(drawing, sum(at) / 2, bottom, True, words, right - left)
    middle = (left + right) / 2
    first, second = (left, middle - 12), (middle + 12, right)
    bottom, end = _stack(drawing, first, "the whole text", _times(own, "encoder"), _encoder_blocks(mixes), order)
    lower, crossing = _stack(
        drawing, second, "what is written so far", _times(own, "decoder"), _decoder_blocks(True), order
    )
    bottom = max(bottom, lower)
    _output(drawing, second, crossing, "language model head", "the next token")
    _hand_over(drawing, first, second, end, order)
    _mask(drawing, sum(first) / 2, bottom, False, "each token sees every token", first[1] - first[0])
    half = (second[1] - second[0]) / 2
    _mask(drawing, second[0] + half / 2, bottom, True, "itself and before", half)
    return _mask(drawing, second[1] - half / 2, bottom, False, "cross: the whole text", half)


def _encoder_blocks(mixes: bool) -> list[tuple[str, str]]:
    first = ("token mixing", "other") if mixes else ("self-attention", "attention")
    return [first, ("feed-forward", "feed_forward")]


def _decoder_blocks(cross: bool, mixes: bool = False) -> list[tuple[str, str]]:
    first = ("token mixing", "other") if mixes else ("masked self-attention", "attention")
    return [first, *([("cross-attention", "query")] if cross else []), ("feed-forward", "feed_forward")]


def _pieces(blocks: Sequence[tuple[str, str]], order: Order) -> list[_Piece]:
    """The boxes of a layer in their order, with the normalisations where they stand."""
    pieces: list[_Piece] = []
    for words, part in blocks:
        if order == "post-norm":
            pieces += [_Piece(words, part, begins=True), _Piece("add & norm", "layer_norm", joins=True)]
        elif order in ("pre-norm", "norms on both sides"):
            after = [_Piece("norm", "layer_norm")] if order == "norms on both sides" else []
            norm = _Piece("norm", "layer_norm", begins=True)
            pieces += [norm, _Piece(words, part), *after, _Piece("add", "other", joins=True)]
        else:
            pieces.append(_Piece(words, part))
    return pieces


def _stack(
    drawing: Drawing,
    at: tuple[float, float],
    enters: str,
    times: str,
    blocks: Sequence[tuple[str, str]],
    order: Order,
) -> tuple[float, float]:
    """Embeddings, and a framed layer below them; gives back where masks begin, and where the frame ends."""
    theme, (left, right) = drawing.theme, at
    pieces = _pieces(blocks, order)
    inner, middle = (left + SIDE + FRAME, right - FRAME - 2), (left + right + SIDE) / 2
    drawing.note(middle, HEAD + 11, enters, theme.muted, size=SMALL + 1)
    y = HEAD + 24
    drawing.arrow((middle, y - 4), (middle, y + STEP))
    y += STEP
    _box(drawing, (inner[0], y, inner[1], y + BOX), "embeddings", "embeddings")
    before = y = y + BOX
    top = y + STEP
    drawing.note(left + 6, top + TIMES / 2 - 2, f"<b>{times}</b>", theme.text, "left")
    y, start = top + TIMES, 0.0
    for piece in pieces:
        drawing.arrow((middle, before), (middle, y))
        if piece.begins:
            start = y - STEP / 2
        _box(drawing, (inner[0], y, inner[1], y + piece.height), piece.words, piece.part)
        if piece.joins:
            end, side = y + piece.height / 2, inner[0] - 11
            drawing.line([(middle, start), (side, start), (side, end)])
            drawing.arrow((side, end), (inner[0], end))
        before, y = y + piece.height, y + piece.height + STEP
    drawing.frame((left, top, right, before + FRAME))
    wide = theme.pixels >= ALL_THREE
    orders: tuple[Order, ...] = (order, "post-norm")
    longest = max((_pieces(_decoder_blocks(True), each) for each in orders), key=_height) if wide else pieces
    bottom = top + TIMES + _height(longest) + FRAME + BOX + 4 * STEP + 22
    return bottom, before + FRAME


def _box(drawing: Drawing, at: Edges, words: str, part: str) -> None:
    fitted = fitted_words(words, "", at[2] - at[0])
    thin = at[3] - at[1] < BOX
    size = min(fitted.size, SMALL) if thin or fitted.lines > 1 else fitted.size
    drawing.box(at, fitted.text, drawing.theme.colours[part], size)


def _output(drawing: Drawing, at: tuple[float, float], end: float, words: str, given: str) -> None:
    """What stands behind the last layer."""
    left, right = at
    middle = (left + right + SIDE) / 2
    drawing.arrow((middle, end - FRAME), (middle, end + 2 * STEP))
    top, part = end + 2 * STEP, "pooler" if words == "pooler" else "task head"
    _box(drawing, (left + SIDE + FRAME, top, right - FRAME - 2, top + BOX), words, part)
    drawing.note(middle, top + BOX + 12, given, drawing.theme.text, size=SMALL + 1)


def _hand_over(
    drawing: Drawing, first: tuple[float, float], second: tuple[float, float], end: float, order: Order
) -> None:
    """From the encoder's output to the cross-attention of the decoder."""
    y = HEAD + 24 + STEP + BOX + STEP + TIMES
    for piece in _pieces(_decoder_blocks(True), order):
        if piece.words == "cross-attention":
            y += piece.height / 2
            break
        y += piece.height + STEP
    middle, between = (sum(first) + SIDE) / 2, (first[1] + second[0]) / 2
    drawing.line([(middle, end - FRAME), (middle, end + 2 * STEP), (between, end + 2 * STEP), (between, y)])
    drawing.arrow((between, y), (second[0] + SIDE + FRAME, y))
    drawing.note(middle, end + 2 * STEP + 12, "keys and values", drawing.theme.muted, size=SMALL + 1)


def _times(own: Design | None, stack: str) -> str:
    count = 0 if own is None else own.encoder_layers if stack == "encoder" else own.decoder_layers
    return f"{count} ×" if count else "N ×"


def _mask(drawing: Drawing, middle: float, top: float, causal: bool, words: str, room: float) -> float:
    """A little map of who may see whom: rows look at columns; gives back where its words end."""
    left = middle - TOKENS * CELL / 2
    seen: list[Edges] = []
    hidden: list[Edges] = []
    for row in range(TOKENS):
        for column in range(TOKENS):
            x, y = left + column * CELL, top + row * CELL
            (hidden if causal and column > row else seen).append((x, y, x + CELL * 0.86, y + CELL * 0.86))
    drawing.cells(seen, drawing.theme.colours["attention"])
    if hidden:
        drawing.cells(hidden, drawing.theme.grid)
    lines = broken(words, room, SMALL + 1)
    y = top + TOKENS * CELL + 4 + 8.5 * len(lines)
    drawing.note(middle, y, "<br>".join(map(escape, lines)), drawing.theme.text, size=SMALL + 1)
    return y + 8.5 * len(lines) + 6


@figure("design", "architecture_encoder", "encoder, decoder or both (--task)")
def design_figure(own_architecture: Architecture, design: Design, class_ledger: Ledger) -> FigureSpec:
    """The three designs, the model's own marked; the ledger is that of its class."""
    title = design_title(own_architecture.model, design)
    others = "; ".join(words for kind, words in SUCH_AS.items() if kind != design.kind)
    cross = ", with cross-attention" if design.cross_attention and design.kind == "decoder" else ""
    alt = f"{title}{cross}, marked beside the two other designs ({others})"
    stacks = [
        f"{count} layers of the {name}"
        for name, count in (("encoder", design.encoder_layers), ("decoder", design.decoder_layers))
        if count
    ]
    caption = f"{title}: {' and '.join(stacks) or 'no layers'}, {class_ledger.total:,} parameters."
    return FigureSpec(title, alt, partial(encoder_and_decoder, own_architecture, design), caption)
