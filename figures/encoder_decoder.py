"""An encoder alone beside an encoder with a decoder: their layers, and who sees whom in each attention."""

import plotly.graph_objects as go

from bertviz_core.results import Architecture, Ledger
from figures.drawing import Drawing, Edges
from figures.style import Theme, escape

ALONE, ENCODER, DECODER = (0.55, 3.55), (5.05, 8.05), (9.55, 12.55)
ROW, STEP = 0.62, 0.92
TOKENS, WRITTEN = 6, 4
"""Tokens of the little masks: of the text, and of what has been written."""
CELL = 0.2


def encoder_and_decoder(model: Architecture, ledger: Ledger, local_layers: int, look: Theme) -> go.Figure:
    """The two designs side by side; the one that the model has carries its own counts.

    Args:
        model: what the model is.
        ledger: its parameters, of which the layers are taken.
        local_layers: how many layers attend to a window of neighbours only.
        look: theme.
    """
    name = escape(model.model)
    drawing = Drawing(look)
    counts = {
        part: sum(row.applications for row in ledger.layers if row.component == part) for part in ("encoder", "decoder")
    }
    alone = model.encoder_only
    first = f"<b>{name}:<br>an encoder alone</b>" if alone else "<b>an encoder alone,<br>such as BERT</b>"
    second = "<b>encoder and decoder,<br>such as T5 or BART</b>" if alone else f"<b>{name}:<br>encoder and decoder</b>"
    drawing.note(sum(ALONE) / 2, 6.8, first, look.text)
    drawing.note((ENCODER[0] + DECODER[1]) / 2, 6.8, second, look.text)
    drawing.line([(4.0, -2.7), (4.0, 6.7)], "dot")
    mixes = alone and any(each.name == "Attention maps" and each.answer == "none" for each in model.capabilities)
    _encoder(drawing, ALONE, _times(counts["encoder"], alone), mixes, look)
    _outputs(drawing, model if alone else None, look)
    _encoder(drawing, ENCODER, _times(counts["encoder"], not alone), False, look)
    _decoder(drawing, _times(counts["decoder"], not alone), look)
    _hand_over(drawing, look)
    layers = counts["encoder"]
    own = f"every token sees all;<br>in {local_layers} of {layers} layers<br>those near it"
    own = own if local_layers and alone else "every token sees<br>every token"
    _mask(drawing, ALONE, TOKENS, TOKENS, False, own, look)
    _mask(drawing, ENCODER, TOKENS, TOKENS, False, "the text: every token<br>sees every token", look)
    _mask(drawing, (8.85, 10.85), WRITTEN, WRITTEN, True, "written: itself<br>and before", look)
    _mask(drawing, (11.05, 13.05), WRITTEN, TOKENS, False, "cross: all<br>the text", look)
    return drawing.figure("", (-0.15, 13.5), (-2.85, 7.2), 650)


def _times(count: int, own: bool) -> str:
    return f"{count} ×" if own and count else "N ×"


def _stack(drawing: Drawing, at: tuple[float, float], times: str, rows: list[tuple[str, str]], look: Theme) -> float:
    """Embeddings, and a framed layer of these rows above them; gives back where the frame ends."""
    left, right = at
    middle = (left + right) / 2
    drawing.box((left, 0.6, right, 0.6 + ROW), "<b>embeddings</b>", look.colours["embeddings"])
    drawing.arrow((middle, 0.25), (middle, 0.6))
    low = 1.85
    for index, (words, part) in enumerate(rows):
        y = low + index * STEP
        drawing.box((left, y, right, y + ROW), f"<b>{words}</b>", look.colours[part])
        drawing.arrow((middle, y - (STEP - ROW) if index else 0.6 + ROW), (middle, y))
    top = low + (len(rows) - 1) * STEP + ROW
    drawing.frame((left - 0.18, low - 0.2, right + 0.18, top + 0.2))
    side, anchor = (left - 0.25, "right") if len(rows) == 2 else (right + 0.25, "left")
    drawing.note(side, (low + top) / 2, f"<b>{times}</b>", look.text, anchor)
    drawing.arrow((middle, top), (middle, top + 0.6))
    return top


def _encoder(drawing: Drawing, at: tuple[float, float], times: str, mixes: bool, look: Theme) -> None:
    drawing.note(sum(at) / 2, 0.02, "the whole text", look.muted)
    first = ("token mixing", "other") if mixes else ("self-attention", "attention")
    top = _stack(drawing, at, times, [first, ("feed-forward", "feed_forward")], look)
    drawing.note(sum(at) / 2, top + 0.82, "one vector per token", look.text)


def _decoder(drawing: Drawing, times: str, look: Theme) -> None:
    rows = [("masked<br>self-attention", "attention"), ("cross-attention", "query"), ("feed-forward", "feed_forward")]
    drawing.note(sum(DECODER) / 2, 0.02, "what is written so far", look.muted)
    top = _stack(drawing, DECODER, times, rows, look)
    y = top + 0.6
    drawing.box((DECODER[0], y, DECODER[1], y + ROW), "<b>language<br>model head</b>", look.colours["task head"])
    drawing.arrow((sum(DECODER) / 2, y + ROW), (sum(DECODER) / 2, y + ROW + 0.35))
    drawing.note(sum(DECODER) / 2, y + ROW + 0.55, "the next token", look.text)


def _outputs(drawing: Drawing, model: Architecture | None, look: Theme) -> None:
    """What stands on the encoder: the pooler where this model has one, a task head in general."""
    words, part = ("pooler", "pooler") if model and model.has_pooler else ("a task head", "task head")
    middle = sum(ALONE) / 2
    drawing.arrow((middle, 4.4), (middle, 4.85))
    drawing.box((ALONE[0], 4.85, ALONE[1], 4.85 + ROW), f"<b>{words}</b>", look.colours[part])
    drawing.arrow((middle, 4.85 + ROW), (middle, 5.82))
    drawing.note(middle, 6.02, "one answer for the text" if part == "pooler" else "labels, spans, scores", look.text)


def _hand_over(drawing: Drawing, look: Theme) -> None:
    """From the encoder's output to the middle row of the decoder."""
    top, cross = 1.85 + STEP + ROW + 1.05, 1.85 + STEP + ROW / 2
    drawing.line([(sum(ENCODER) / 2, top), (sum(ENCODER) / 2, top + 0.35), (8.6, top + 0.35), (8.6, cross)])
    drawing.arrow((8.6, cross), (DECODER[0], cross))
    drawing.note(7.7, top + 0.72, "keys and<br>values", look.muted)


def _mask(
    drawing: Drawing, at: tuple[float, float], rows: int, columns: int, causal: bool, words: str, look: Theme
) -> None:
    """A little map of who may see whom: rows look at columns."""
    left, top = sum(at) / 2 - columns * CELL / 2, -0.55
    seen: list[Edges] = []
    hidden: list[Edges] = []
    for row in range(rows):
        for column in range(columns):
            x, y = left + column * CELL, top - row * CELL
            (hidden if causal and column > row else seen).append((x, y - CELL * 0.86, x + CELL * 0.86, y))
    drawing.cells(seen, look.colours["attention"])
    if hidden:
        drawing.cells(hidden, look.grid)
    drawing.note(sum(at) / 2, top - TOKENS * CELL - 0.45, words, look.text)
