"""The drawn way of the data through one layer, bottom to top, with the real sizes."""

from collections.abc import Sequence

import plotly.graph_objects as go

from bertviz_core.results.module_tree import LayerFlow
from figures.drawing import Drawing
from figures.layer_rows import FlowRow, flow_rows
from figures.style import Theme, escape

LEFT, RIGHT, MIDDLE = 1.1, 7.8, 4.45
SIDE, SHAPES, COUNTS = 0.5, 7.95, 12.45
ROW, TALL, LINE, GAP, BLOCK_GAP = 0.7, 0.98, 0.42, 0.24, 0.5
TAP, SPLIT, FOOT = 0.36, 0.17, 0.62
SPACE = 0.14
MOST_LETTERS = 34
"""Letters that a box as wide as a row holds on one line in a narrow window."""


def layer_title(flow: LayerFlow) -> str:
    """What is drawn, in a few words."""
    return f"Layer {flow.layer} of {flow.model} on {flow.seq:,} {'token' if flow.seq == 1 else 'tokens'}"


def layer_drawing(flow: LayerFlow, look: Theme) -> go.Figure:
    """One layer from its input to its output; residual lines only where the order of the steps is known."""
    rows = flow_rows(flow)
    bottoms = _bottoms(rows)
    top = bottoms[-1] + _height(rows[-1])
    height = int(60 + 48 * (top + 1.8))
    drawing = Drawing(look)
    entering = ("1 vector" if flow.vectors == 1 else f"{flow.vectors:,} vectors") + (
        f" of {flow.hidden:,} numbers" if flow.hidden else ""
    )
    drawing.note(MIDDLE, -0.82, entering, look.muted)
    drawing.note(SHAPES, top + 0.45, "<b>leaves</b>", look.text, "left")
    drawing.note(COUNTS, top + 0.45, "<b>parameters</b>", look.text, "right")
    for index, (row, low) in enumerate(zip(rows, bottoms, strict=True)):
        _draw_row(drawing, row, low, look)
        _draw_arrows(drawing, rows, bottoms, index, look)
    drawing.arrow((MIDDLE, top), (MIDDLE, top + 0.45))
    _draw_residuals(drawing, rows, bottoms, look)
    return drawing.figure(escape(layer_title(flow)), (-0.1, 12.5), (-1.05, top + 0.75), height)


def _bottoms(rows: Sequence[FlowRow]) -> list[float]:
    """Where each row begins; a block whose residual line leaves below it stands a little apart."""
    found, y = [], 0.0
    for row in rows:
        y += (BLOCK_GAP - GAP) if row.begins else 0.0
        found.append(y)
        y += _height(row) + GAP
    return found


def _height(row: FlowRow) -> float:
    """Rows whose words stand above their sizes are taller, and more so where those have two lines."""
    return TALL + LINE * any("\n" in sizes for _, sizes, _ in row.boxes) if _stacked(row) else ROW


def _stacked(row: FlowRow) -> bool:
    longest = max(len(words) + len(sizes) for words, sizes, _ in row.boxes) if row.boxes else 0
    two_lines = any("\n" in sizes for _, sizes, _ in row.boxes)
    return len(row.boxes) > 2 or row.passed < 1 or two_lines or longest * len(row.boxes) > MOST_LETTERS


def _draw_row(drawing: Drawing, row: FlowRow, low: float, look: Theme) -> None:
    for (left, right), (words, sizes, colour) in zip(_columns(row), row.boxes, strict=True):
        text = f"<b>{escape(words)}</b>"
        if sizes:
            text += ("<br>" if _stacked(row) else "   ") + escape(sizes).replace("\n", "<br>")
        drawing.box((left, low, right, low + _height(row)), text, look.colours[colour])
    middle = low + _height(row) / 2
    drawing.note(SHAPES, middle, row.leaves, look.text, "left")
    if row.count:
        drawing.note(COUNTS, middle, f"{row.count:,}", look.muted, "right")


def _columns(row: FlowRow) -> list[tuple[float, float]]:
    """Left and right edge of every box of a row."""
    whole = (RIGHT - LEFT) * row.passed - (SPACE if row.passed < 1 else 0)
    width = (whole - SPACE * (len(row.boxes) - 1)) / len(row.boxes)
    return [(LEFT + index * (width + SPACE), LEFT + index * (width + SPACE) + width) for index in range(len(row.boxes))]


def _draw_arrows(drawing: Drawing, rows: Sequence[FlowRow], bottoms: Sequence[float], index: int, look: Theme) -> None:
    """Arrows into the boxes of a row: from the boxes below, the values past the scores."""
    low, before = bottoms[index], bottoms[index - 1] + _height(rows[index - 1]) if index else -FOOT
    below = rows[index - 1] if index else None
    centres = [(left + right) / 2 for left, right in _columns(rows[index])]
    if below is not None and below.passed < 1:
        (left, right), *_ = _columns(below)
        drawing.arrow(((left + right) / 2, before), ((left + right) / 2, low))
        value = (right + SPACE + RIGHT) / 2
        drawing.arrow((value, bottoms[index - 2] + _height(rows[index - 2])), (value, low))
        return
    if below is not None and len(below.boxes) > 1:
        starts = [(left + right) / 2 for left, right in _columns(below)]
        limit = _columns(rows[index])[-1][1]
        for start in starts:
            if start < limit:
                drawing.arrow((start, before), (start, low))
        return
    if len(centres) == 1:
        at = MIDDLE if rows[index].passed == 1 else centres[0]
        drawing.arrow((at, before), (at, low))
        return
    split = low - SPLIT
    drawing.line([(MIDDLE, before), (MIDDLE, split)])
    drawing.line([(centres[0], split), (centres[-1], split)])
    for centre in centres:
        drawing.arrow((centre, split), (centre, low))


def _draw_residuals(drawing: Drawing, rows: Sequence[FlowRow], bottoms: Sequence[float], look: Theme) -> None:
    start = 0.0
    for row, low in zip(rows, bottoms, strict=True):
        if row.begins:
            start = low - TAP
        if row.joins:
            middle = low + _height(row) / 2
            drawing.line([(MIDDLE, start), (SIDE, start), (SIDE, middle)])
            drawing.arrow((SIDE, middle), (LEFT, middle))
            drawing.note(SIDE - 0.28, (start + middle) / 2, "residual", look.muted, angle=-90)
