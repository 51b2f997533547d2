"""Draw encoder-only, encoder-decoder and decoder-only models side by side, with their attention masks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import plotly.graph_objects as go

from bertviz_core.architecture.results import LM_HEAD, NEXT_TOKEN, Design, DesignKind, Order, Window
from bertviz_core.figures.architecture.drawing import Drawing, Edges, broken, fitted_words
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import Theme, escape
from bertviz_core.lazy_imports import pandas as pd
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
    "encoder-decoder": "such as T5",
    "decoder": "such as GPT-2",
}
EXAMPLES: Mapping[DesignKind, Design] = {
    "encoder": Design("encoder", 0, 0, False, False, 0, "post-norm", head="task head", output="words, labels, spans"),
    "encoder-decoder": Design(
        "encoder-decoder", 0, 0, True, False, 0, "pre-norm", None, True, True, head=LM_HEAD, output=NEXT_TOKEN
    ),
    "decoder": Design("decoder", 0, 0, False, False, 0, "pre-norm", None, False, True, head=LM_HEAD, output=NEXT_TOKEN),
}
"""BERT, T5 and GPT-2 without numbers of layers, drawn beside the model's own design."""
SHARES: Mapping[DesignKind, float] = {"encoder": 1.0, "encoder-decoder": 1.9, "decoder": 1.0}
"""Relative widths of the three designs."""
ALL_THREE = 680
"""Width in pixels from which on the designs stand side by side, else one below the other, the model's own first."""
BOX, THIN, SMALL, TWO_LINES = 24.0, 15.0, 12, 10
"""Pixels: height of a box, height of a norm or an addition, small font size, and that of two lines in a box."""
STEP, HEAD, TIMES, FRAME, SIDE = 6.0, 44.0, 22.0, 6.0, 22.0
"""Pixels: between boxes, of headings, of the number of layers, padding of a frame, width for residual lines."""
TOKENS, CELL = 6, 9.0
"""Number of tokens of the small masks, and cell size in pixels."""


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
    """Return a short name of a model's design."""
    return f"{model} is {NAMES[design.kind]}"


def encoder_and_decoder(design: Design, model: str, theme: Theme) -> go.Figure:
    """Draw the three designs, side by side if there is room; the model's own is marked and shows its numbers."""
    drawing, bottom = Drawing(theme), -2 * STEP
    rows = [list(SHARES)] if theme.pixels >= ALL_THREE else [[each] for each in sorted(SHARES, key=design.kind.__ne__)]
    for kinds in rows:
        bottom = _row(drawing, kinds, design, bottom + 2 * STEP)
    return drawing.figure(escape(design_title(model, design)), bottom)


def _row(drawing: Drawing, kinds: Sequence[DesignKind], design: Design, top: float) -> float:
    """Draw designs side by side; return the lower end."""
    unit = (drawing.width - 12 * (len(kinds) - 1)) / sum(SHARES[kind] for kind in kinds)
    left, ends = 0.0, []
    places = {}
    for kind in kinds:
        places[kind] = (left, left + unit * SHARES[kind])
        left = places[kind][1] + 12
    drawn = {kind: design if kind == design.kind else EXAMPLES[kind] for kind in kinds}
    for kind, (start, end) in places.items():
        words = "<b>this model</b>" if kind == design.kind else SUCH_AS[kind]
        drawing.note((start + end) / 2, top + HEAD / 2, f"<b>{HEADINGS[kind]}</b><br>{words}", drawing.theme.text)
        ends.append(_stacks(drawing, drawn[kind], (start + 8, end - 8), top + HEAD))
    low = max(ends) + 2 * STEP  # all masks at one height, below the tallest stack
    bottom = max(_masks(drawing, drawn[kind], (start + 8, end - 8), low) for kind, (start, end) in places.items())
    if design.kind in places:
        start, end = places[design.kind]
        drawing.ground((start, top, end, bottom))
        drawing.shapes.insert(0, drawing.shapes.pop())
        drawing.frame((start + 1, top + 1, end - 1, bottom - 1))
    return bottom


def _stacks(drawing: Drawing, design: Design, at: tuple[float, float], top: float) -> float:
    """Draw the stacks of a design and their outputs; return the lower end."""
    if design.kind == "encoder":
        blocks, times = _encoder_blocks(design.mixes), design.encoder_layers
        return _output(drawing, at, _stack(drawing, at, top, "the whole text", times, blocks, design), design)
    if design.kind == "decoder":
        blocks, times = _decoder_blocks(design.cross_attention, design.mixes), design.decoder_layers
        return _output(drawing, at, _stack(drawing, at, top, "the text so far", times, blocks, design), design)
    first, second = _halves(at)
    blocks = _encoder_blocks(design.mixes)
    end = _stack(drawing, first, top, "the whole text", design.encoder_layers, blocks, design)
    blocks, read = _decoder_blocks(True), "what is written so far"
    lower = _stack(drawing, second, top, read, design.decoder_layers, blocks, design, decoder=True)
    _hand_over(drawing, first, second, (top, end), design.order)
    return max(end + 2 * STEP + 20, _output(drawing, second, lower, design))


def _halves(at: tuple[float, float]) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the positions of an encoder and of the decoder beside it."""
    middle = sum(at) / 2
    return (at[0], middle - 12), (middle + 12, at[1])


def _masks(drawing: Drawing, design: Design, at: tuple[float, float], top: float) -> float:
    """Draw the attention mask of each stack; return the lower end of the text."""
    window, near = design.window, design.local_layers
    if design.kind == "encoder-decoder":
        first, second = _halves(at)
        quarter = (second[0] + second[1]) / 2
        ends = [
            _own_masks(drawing, first, top, False, design.encoder_layers, near, window),
            _mask(drawing, (second[0], quarter), top, True, "itself and before"),
            _mask(drawing, (quarter, second[1]), top, False, "cross: the whole text"),
        ]
        return max(ends)
    causal = design.kind == "decoder"
    if design.mixes:
        words = "each token is mixed with those before" if causal else "each token is mixed with every token"
        return _mask(drawing, at, top, causal, words, colour="other")
    return _own_masks(drawing, at, top, causal, design.encoder_layers + design.decoder_layers, near, window)


def _own_masks(
    drawing: Drawing, at: tuple[float, float], top: float, causal: bool, layers: int, near: int, window: Window | None
) -> float:
    """Draw the mask of a stack; two if some layers use a sliding window."""
    every = "itself and those before" if causal else "every token"
    if not near or window is None:
        return _mask(drawing, at, top, causal, f"each token sees {every}")
    if near >= layers:
        return _mask(drawing, at, top, causal, f"each token sees {_reach(window)}", window)
    middle = sum(at) / 2
    words = f"{_layers(layers - near)}: each token sees {every}", f"{_layers(near)}: {_reach(window)}"
    return max(
        _mask(drawing, (at[0], middle - 4), top, causal, words[0]),
        _mask(drawing, (middle + 4, at[1]), top, causal, words[1], window),
    )


def _tokens(count: int | None) -> str:
    return "1 token" if count == 1 else f"{count or 0:,} tokens"


def _layers(count: int) -> str:
    return f"{count} layer" if count == 1 else f"{count} layers"


def _reach(window: Window) -> str:
    """Describe which tokens a token attends to."""
    if window.before == window.after:
        return f"{_tokens(window.before)} to each side"
    return f"{_tokens(window.before)} before it" + (f" and {window.after:,} after it" if window.after else "")


def _encoder_blocks(mixes: bool) -> list[tuple[str, str]]:
    first = ("token mixing", "other") if mixes else ("self-attention", "attention")
    return [first, ("feed-forward", "feed_forward")]


def _decoder_blocks(cross: bool, mixes: bool = False) -> list[tuple[str, str]]:
    first = ("token mixing", "other") if mixes else ("masked self-attention", "attention")
    return [first, *([("cross-attention", "query")] if cross else []), ("feed-forward", "feed_forward")]


def _pieces(blocks: Sequence[tuple[str, str]], order: Order) -> list[_Piece]:
    """Return the boxes of a layer in order, normalisations included."""
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
    top: float,
    enters: str,
    layers: int,
    blocks: Sequence[tuple[str, str]],
    design: Design,
    decoder: bool = False,
) -> float:
    """Draw embeddings, a framed layer and the final norm; return the lower end."""
    theme, (left, right) = drawing.theme, at
    inner, middle = (left + SIDE + FRAME, right - FRAME - 2), (left + right + SIDE) / 2
    drawing.note(middle, top + 11, enters, theme.muted, size=SMALL + 1)
    y = top + 24
    drawing.arrow((middle, y - 4), (middle, y + STEP))
    y += STEP
    _box(drawing, (inner[0], y, inner[1], y + BOX), "embeddings", "embeddings")
    before = y = y + BOX
    top = y + STEP
    drawing.note(left + 6, top + TIMES / 2 - 2, f"<b>{layers or 'N'} ×</b>", theme.text, "left")
    y, start = top + TIMES, 0.0
    for piece in _pieces(blocks, design.order):
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
    if not (design.decoder_norm if decoder or design.kind == "decoder" else design.encoder_norm):
        return before
    y = before + FRAME + 2 * STEP
    drawing.arrow((middle, before), (middle, y))
    _box(drawing, (inner[0], y, inner[1], y + THIN), "norm", "layer_norm")
    return y + THIN


def _box(drawing: Drawing, at: Edges, words: str, part: str) -> None:
    fitted = fitted_words(words, "", at[2] - at[0])
    thin = at[3] - at[1] < BOX
    size = TWO_LINES if fitted.lines > 1 else min(fitted.size, SMALL) if thin else fitted.size
    drawing.box(at, fitted.text, drawing.theme.colours[part], size)


def _output(drawing: Drawing, at: tuple[float, float], end: float, design: Design) -> float:
    """Draw pooler, head and output; return the lower end."""
    left, right = at
    middle = (left + right + SIDE) / 2
    boxes = [("pooler", "pooler")] if design.pooler else []
    for words, part in [*boxes, *([(design.head, "task head")] if design.head else [])]:
        top = end + FRAME + 2 * STEP
        drawing.arrow((middle, end), (middle, top))
        _box(drawing, (left + SIDE + FRAME, top, right - FRAME - 2, top + BOX), words, part)
        end = top + BOX
    if not design.head and not design.pooler:
        drawing.arrow((middle, end), (middle, end + FRAME + 2 * STEP))
        end += FRAME + 2 * STEP
    lines = broken(design.output, right - left, SMALL + 1)
    drawing.note(
        middle, end + 4 + 8.5 * len(lines), "<br>".join(map(escape, lines)), drawing.theme.text, size=SMALL + 1
    )
    return end + 4 + 17 * len(lines)


def _hand_over(
    drawing: Drawing, first: tuple[float, float], second: tuple[float, float], ends: tuple[float, float], order: Order
) -> None:
    """Draw the arrow from the encoder's output to the decoder's cross-attention."""
    y = ends[0] + 24 + STEP + BOX + STEP + TIMES
    for piece in _pieces(_decoder_blocks(True), order):
        if piece.words == "cross-attention":
            y += piece.height / 2
            break
        y += piece.height + STEP
    middle, between, below = (sum(first) + SIDE) / 2, (first[1] + second[0]) / 2, ends[1] + FRAME + STEP
    drawing.line([(middle, ends[1]), (middle, below), (between, below), (between, y)])
    drawing.arrow((between, y), (second[0] + SIDE + FRAME, y))
    drawing.note(middle, below + 12, "keys and values", drawing.theme.muted, size=SMALL + 1)


def _mask(
    drawing: Drawing,
    at: tuple[float, float],
    top: float,
    causal: bool,
    words: str,
    window: Window | None = None,
    colour: str = "attention",
) -> float:
    """Draw a small attention mask (queries by keys); return the lower end of its text."""
    left = sum(at) / 2 - TOKENS * CELL / 2
    before, after = (TOKENS, 0 if causal else TOKENS) if window is None else (_near(window.before), _near(window.after))
    visible: list[Edges] = []
    hidden: list[Edges] = []
    for row in range(TOKENS):
        for column in range(TOKENS):
            x, y = left + column * CELL, top + row * CELL
            is_visible = -before <= column - row <= after
            (visible if is_visible else hidden).append((x, y, x + CELL * 0.86, y + CELL * 0.86))
    drawing.cells(visible, drawing.theme.colours[colour])
    if hidden:
        drawing.cells(hidden, drawing.theme.grid)
    lines = broken(words, at[1] - at[0], SMALL + 1)
    y = top + TOKENS * CELL + 4 + 8.5 * len(lines)
    drawing.note(sum(at) / 2, y, "<br>".join(map(escape, lines)), drawing.theme.text, size=SMALL + 1)
    return y + 8.5 * len(lines) + 6


def _near(side: int | None) -> int:
    """Return the cells to one side of the diagonal: a window wider than the small mask is drawn as two."""
    return TOKENS if side is None else side if side < TOKENS - 1 else 2


def _design_frame(design: Design, class_ledger: Ledger) -> "pd.DataFrame":
    names = {"encoder": "decoder"} if design.kind == "decoder" else {}
    parts = class_ledger.components
    rows = [(names.get(part.name, part.name), part.total, part.total / class_ledger.total) for part in parts]
    return pd.DataFrame(rows, columns=["component", "parameters", "share"])


@figure("design", "architecture_encoder", reported=True, table=_design_frame)
def design_figure(design: Design, class_ledger: Ledger) -> FigureSpec:
    """Encoder, decoder or both (--task)."""
    title = design_title(class_ledger.model, design)
    others = "; ".join(words for kind, words in SUCH_AS.items() if kind != design.kind)
    cross = ", with cross-attention" if design.cross_attention and design.kind == "decoder" else ""
    alt = f"{title}{cross}, marked beside the two other designs ({others})"
    stacks = [
        f"{_layers(count)} of the {name}"
        for name, count in (("encoder", design.encoder_layers), ("decoder", design.decoder_layers))
        if count
    ]
    norms = f", {design.order}" if design.order else ""
    caption = (
        f"{title}: {class_ledger.architecture}, {' and '.join(stacks) or 'no layers'}{norms}, "
        f"{class_ledger.total:,} parameters; output: {design.output}."
    )
    return FigureSpec(title, alt, partial(encoder_and_decoder, design, class_ledger.model), caption)
