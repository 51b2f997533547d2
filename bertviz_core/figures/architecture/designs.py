"""An encoder alone, an encoder with a decoder, a decoder alone: their layers, and who sees whom in each attention."""

from collections.abc import Mapping
from functools import partial

import plotly.graph_objects as go

from bertviz_core.architecture.results import Architecture, Design, DesignKind
from bertviz_core.figures.architecture.drawing import Drawing, Edges
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import Theme, escape
from bertviz_core.parameters.results import Ledger

Column = tuple[float, float]
ALONE, ENCODER, DECODER, WRITER = (0.4, 3.4), (4.3, 7.3), (8.4, 11.4), (12.3, 15.3)
"""Left and right edge of each stack: an encoder, the two of an encoder-decoder, a decoder."""
BANDS: Mapping[DesignKind, Column] = {
    "encoder": (0.05, 3.75),
    "encoder-decoder": (3.95, 11.75),
    "decoder": (11.95, 15.65),
}
NAMES: Mapping[DesignKind, str] = {
    "encoder": "an encoder alone",
    "encoder-decoder": "an encoder and a decoder",
    "decoder": "a decoder alone",
}
HEADINGS: Mapping[DesignKind, str] = {
    "encoder": "encoder alone",
    "encoder-decoder": "encoder and decoder",
    "decoder": "decoder alone",
}
SUCH_AS: Mapping[DesignKind, str] = {
    "encoder": "such as BERT",
    "encoder-decoder": "such as T5 or BART",
    "decoder": "such as GPT-2",
}
ROW, STEP, LOW = 0.82, 1.08, 2.0
FOOT, TOP = -3.55, 9.05
TOKENS, WRITTEN = 6, 4
"""Tokens of the little masks: of the text, and of what has been written."""
CELL = 0.2
SELF, WIDE = "self-<br>attention", "feed-<br>forward"


def design_title(model: str, design: Design) -> str:
    """What a model is, in a few words."""
    return f"{model}: {NAMES[design.kind]}"


def encoder_and_decoder(model: Architecture, design: Design, theme: Theme) -> go.Figure:
    """The three designs side by side; the one that the model has is marked and carries its own counts.

    Args:
        model: what the model is.
        design: which of the three it has.
        theme: colours and typeface.
    """
    drawing = Drawing(theme)
    _mark(drawing, design.kind, theme)
    for kind, band in BANDS.items():
        own = kind == design.kind
        words = f"<b>{HEADINGS[kind]}</b><br>{'<b>this model</b>' if own else SUCH_AS[kind]}"
        drawing.note(sum(band) / 2, 8.55, words, theme.text)
    alone, both, writer = (design if design.kind == kind else None for kind in BANDS)
    _encoder(drawing, ALONE, alone, theme)
    _outputs(drawing, model if alone else None, theme)
    _encoder(drawing, ENCODER, both, theme)
    _decoder(drawing, DECODER, both, True, theme)
    _hand_over(drawing, theme)
    _decoder(drawing, WRITER, writer, writer is not None and writer.cross_attention, theme)
    return drawing.figure(escape(design_title(model.model, design)), (-0.05, 15.75), (FOOT, TOP), 690)


def _mark(drawing: Drawing, kind: DesignKind, theme: Theme) -> None:
    """A ground and a frame for the design of the model at hand."""
    left, right = BANDS[kind]
    low, high = FOOT + 0.05, TOP - 0.05
    path = f"M {left},{low} L {right},{low} L {right},{high} L {left},{high} Z"
    ground = {"type": "path", "path": path, "fillcolor": theme.neutral, "opacity": 0.4, "line": {"width": 0}}
    drawing.shapes.append({**ground, "layer": "below"})
    drawing.frame((left, low, right, high))


def _stack(drawing: Drawing, at: Column, times: str, rows: list[tuple[str, str]], theme: Theme) -> float:
    """Embeddings, and a framed layer of these rows above them; gives back where the frame ends."""
    left, right = at
    middle = sum(at) / 2
    drawing.box((left, 0.6, right, 0.6 + ROW), "<b>embeddings</b>", theme.colours["embeddings"])
    drawing.arrow((middle, 0.25), (middle, 0.6))
    for index, (words, part) in enumerate(rows):
        y = LOW + index * STEP
        drawing.box((left, y, right, y + ROW), f"<b>{words}</b>", theme.colours[part])
        drawing.arrow((middle, y - (STEP - ROW) if index else 0.6 + ROW), (middle, y))
    top = LOW + (len(rows) - 1) * STEP + ROW
    drawing.frame((left - 0.16, LOW - 0.19, right + 0.16, top + 0.19))
    drawing.note(left, top + 0.47, f"<b>{times}</b>", theme.text, "left")
    drawing.arrow((middle, top), (middle, top + 0.7))
    return top + 0.7


def _encoder(drawing: Drawing, at: Column, own: Design | None, theme: Theme) -> None:
    drawing.note(sum(at) / 2, -0.05, "the whole text", theme.muted)
    mixes = own is not None and own.mixes
    first = ("token<br>mixing", "other") if mixes else (SELF, "attention")
    top = _stack(drawing, at, _times(own.encoder_layers if own else 0), [first, (WIDE, "feed_forward")], theme)
    drawing.note(sum(at) / 2, top + 0.42, "one vector<br>per token", theme.text)
    near = own.local_layers if own else 0
    words = f"every token<br>sees all; in {near}<br>layers those near" if near else "every token<br>sees every<br>token"
    _mask(drawing, sum(at) / 2, TOKENS, TOKENS, False, words, theme)


def _decoder(drawing: Drawing, at: Column, own: Design | None, cross: bool, theme: Theme) -> None:
    """A stack that writes: what it has written goes in, the next token comes out."""
    middle = sum(at) / 2
    mixes = own is not None and own.mixes
    first = ("token<br>mixing", "other") if mixes else (f"masked {SELF}", "attention")
    between = [("cross-<br>attention", "query")] if cross else []
    drawing.note(middle, -0.12, "what is written<br>so far", theme.muted)
    y = _stack(drawing, at, _times(own.decoder_layers if own else 0), [first, *between, (WIDE, "feed_forward")], theme)
    drawing.box((at[0], y, at[1], y + ROW), "<b>language<br>model head</b>", theme.colours["task head"])
    drawing.arrow((middle, y + ROW), (middle, y + ROW + 0.35))
    drawing.note(middle, y + ROW + 0.6, "the next token", theme.text)
    if cross and at == WRITER:
        level = LOW + STEP + ROW / 2
        drawing.arrow((at[1] + 0.38, level), (at[1], level))
    near = own.local_layers if own else 0
    words = f"itself, before;<br>in {near} layers<br>the last ones" if near else "written:<br>itself and<br>before"
    left = middle - 0.85 if cross else middle
    _mask(drawing, left, WRITTEN, WRITTEN, True, words, theme)
    if cross:
        seen = "cross:<br>all the<br>text" if at == DECODER else "cross:<br>another<br>model's"
        _mask(drawing, middle + 0.95, WRITTEN, TOKENS, False, seen, theme)


def _times(count: int) -> str:
    return f"{count} ×" if count else "N ×"


def _outputs(drawing: Drawing, model: Architecture | None, theme: Theme) -> None:
    """What stands on the encoder: the pooler where this model has one, a task head in general."""
    words, part = ("pooler", "pooler") if model and model.has_pooler else ("a task head", "task head")
    middle, low = sum(ALONE) / 2, 5.95
    drawing.arrow((middle, low - 0.45), (middle, low))
    drawing.box((ALONE[0], low, ALONE[1], low + ROW), f"<b>{words}</b>", theme.colours[part])
    drawing.arrow((middle, low + ROW), (middle, low + ROW + 0.35))
    given = "one answer<br>for the text" if part == "pooler" else "labels,<br>spans, scores"
    drawing.note(middle, low + ROW + 0.75, given, theme.text)


def _hand_over(drawing: Drawing, theme: Theme) -> None:
    """From the encoder's output to the middle row of the decoder."""
    top, cross, between = 5.5, LOW + STEP + ROW / 2, (ENCODER[1] + DECODER[0]) / 2
    drawing.line([(sum(ENCODER) / 2, top), (sum(ENCODER) / 2, top + 0.35), (between, top + 0.35), (between, cross)])
    drawing.arrow((between, cross), (DECODER[0], cross))
    drawing.note(between - 0.95, top + 0.85, "keys and<br>values", theme.muted)


def _mask(drawing: Drawing, middle: float, rows: int, columns: int, causal: bool, words: str, theme: Theme) -> None:
    """A little map of who may see whom: rows theme at columns."""
    left, top = middle - columns * CELL / 2, -0.75
    seen: list[Edges] = []
    hidden: list[Edges] = []
    for row in range(rows):
        for column in range(columns):
            x, y = left + column * CELL, top - row * CELL
            (hidden if causal and column > row else seen).append((x, y - CELL * 0.86, x + CELL * 0.86, y))
    drawing.cells(seen, theme.colours["attention"])
    if hidden:
        drawing.cells(hidden, theme.grid)
    drawing.note(middle, top - TOKENS * CELL - 0.68, words, theme.text)


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
