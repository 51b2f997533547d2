"""What stands in the drawing of one layer: a row per step, bottom to top, with its sizes and parameters."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import plotly.graph_objects as go

from bertviz_core.architecture.results import FlowStep, LayerFlow, Shape
from bertviz_core.figures.architecture.drawing import Drawing
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import Theme, escape

MOST_EXTRAS = 2


@dataclass(frozen=True, slots=True)
class FlowRow:
    """One row of the drawing: boxes side by side, what leaves them, and where the residual line joins."""

    boxes: tuple[tuple[str, str, str], ...]
    """(words, sizes, colour) of every box; sizes may have two lines."""
    leaves: str
    """Shape of what leaves."""
    count: int
    """Parameters in the row."""
    begins: bool = False
    """Whether a residual line leaves below it."""
    joins: bool = False
    """Whether the residual line that left last is added here."""
    passed: float = 1.0
    """Share of the width that the boxes take; past them, on the right, go the values."""


def flow_rows(flow: LayerFlow) -> list[FlowRow]:
    """The rows from bottom to top; one per step, in the order of the run, where the order is not a known one."""
    if not flow.order:
        return [_plain_row(step) for step in flow.steps]
    norms = [step for step in flow.steps if step.kind == "norm"]
    attention, feed_forward = _attention_rows(flow), _feed_forward_rows(flow)
    whole = f"({flow.vectors:,}, {flow.hidden:,})" if flow.hidden else ""
    if flow.order == "post-norm":
        added = [_norm_row("add & norm", norm, joins=True) for norm in norms]
        return [_begins(attention[0]), *attention[1:], added[0], _begins(feed_forward[0]), *feed_forward[1:], added[1]]
    plain = FlowRow((("add", "", "other"),), whole, 0, joins=True)
    before = [_norm_row("norm", norm, begins=True) for norm in norms]
    first = [before[0], *attention] if flow.first_norm else [_begins(attention[0]), *attention[1:]]
    return [*first, plain, before[-1], *feed_forward, plain]


def _attention_rows(flow: LayerFlow) -> list[FlowRow]:
    mixing = [step for step in flow.steps if step.kind == "mixing"]
    if mixing:
        words = ("token mixing by Fourier transform", "no parameters", "other")
        return [FlowRow((words,), _shape(mixing[0].leaves), 0)]
    out = [step for step in flow.steps if step.kind == "attention_output"]
    projections = _projection_row(flow)
    heads, width = flow.num_attention_heads, flow.head_dim
    looking, seen = _lengths(flow, "query"), _lengths(flow, "key")
    near = f"\n{flow.window:,} tokens to each side" if flow.window is not None else ""
    each = f"{heads} heads, {looking:,} × {seen:,}{near}" if heads and looking and seen else ""
    if flow.softmax and heads and width and each:
        share = (len(projections.boxes) - 1) / len(projections.boxes) if len(projections.boxes) > 2 else 2 / 3
        scores = FlowRow(
            (("softmax(query · key)", each, "attention"),), f"({heads}, {looking:,}, {seen:,})", 0, passed=share
        )
        mixed = ("weighted sum of values", f"{heads} × {width} side by side", "attention")
        middle = [scores, FlowRow((mixed,), f"({looking:,}, {heads * width:,})", 0)]
    else:
        kind = "softmax(query · key), sum of values" if flow.softmax else "attention of the family's own kind"
        middle = [FlowRow(((kind, each, "attention"),), "", 0)]
    last = [FlowRow((("output projection", _sizes(step), step.part),), _shape(step.leaves), step.numel) for step in out]
    return [projections, *middle, *last]


def _lengths(flow: LayerFlow, part: str) -> int | None:
    """How many queries or keys there are; None where no step is known to make them."""
    made = [step for step in flow.steps if step.kind == "projection" and step.part in (part, "query_key_value")]
    if not made or not made[0].leaves or len(made[0].leaves) < 2:
        return None
    return made[0].leaves[-1 if _channels_first(made[0]) else -2]


def _channels_first(step: FlowStep) -> bool:
    return step.class_name == "Conv1d"


def _projection_row(flow: LayerFlow) -> FlowRow:
    """What makes queries, keys and values, in this order, with what else the attention has before them."""
    order = ("query", "query_key_value", "key", "value")
    made = sorted((step for step in flow.steps if step.kind == "projection"), key=lambda step: order.index(step.part))
    extras = [step for step in flow.steps if step.kind == "attention_other"]
    boxes = [(_projection_name(step), _sizes(step), step.part) for step in made]
    if extras:
        names = [step.name.rpartition(".")[2] for step in extras]
        more = f" and {len(names) - MOST_EXTRAS} more" if len(names) > MOST_EXTRAS else ""
        boxes.insert(0, (", ".join(names[:MOST_EXTRAS]) + more, "", "attention_other"))
    times = f"{len(made)} × " if len(made) > 1 and len({step.leaves for step in made}) == 1 else ""
    leaves = f"{times}{_shape(made[0].leaves)}" if made else ""
    return FlowRow(tuple(boxes), leaves, sum(step.numel for step in (*made, *extras)))


def _feed_forward_rows(flow: LayerFlow) -> list[FlowRow]:
    steps = [step for step in flow.steps if step.kind == "feed_forward"]
    if not steps:
        return [FlowRow((("feed-forward", "", "feed_forward"),), "", 0)]
    *wide, narrow = steps
    names = ["feed-forward in"] if len(wide) == 1 else [step.name.rpartition(".")[2] for step in wide]
    boxes = tuple((name, _sizes(step), "feed_forward") for name, step in zip(names, wide, strict=True))
    rows = [FlowRow(boxes, _shape(wide[0].leaves), sum(step.numel for step in wide))] if wide else []
    how = flow.activation.removeprefix("gated-") or "activation"
    one, other = ("first half", "second half") if len(wide) == 1 else tuple([*names, ""][:2])
    words = f"{how}({one}) × {other}" if flow.gated else how
    rows.append(FlowRow(((words, "", "feed_forward"),), _shape(narrow.enters), 0))
    rows.append(FlowRow((("feed-forward out", _sizes(narrow), "feed_forward"),), _shape(narrow.leaves), narrow.numel))
    return rows


def _norm_row(words: str, step: FlowStep, begins: bool = False, joins: bool = False) -> FlowRow:
    return FlowRow(((words, step.class_name, "layer_norm"),), _shape(step.leaves), step.numel, begins, joins)


def _plain_row(step: FlowStep) -> FlowRow:
    return FlowRow(((step.name, _sizes(step) or step.class_name, step.part),), _shape(step.leaves), step.numel)


def _begins(row: FlowRow) -> FlowRow:
    return FlowRow(row.boxes, row.leaves, row.count, begins=True)


def _projection_name(step: FlowStep) -> str:
    return "query, key, value" if step.part == "query_key_value" else step.part


def _sizes(step: FlowStep) -> str:
    """Width that goes in and width that comes out."""
    if not step.enters or not step.leaves or step.kind in ("norm", "activation"):
        return ""
    axis = -2 if _channels_first(step) and len(step.enters) > 1 else -1
    return f"{step.enters[axis]:,} → {step.leaves[axis]:,}"


def _shape(shape: Shape | None) -> str:
    return "" if shape is None else f"({', '.join(f'{size:,}' for size in shape)}{',' if len(shape) == 1 else ''})"


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


def layer_drawing(flow: LayerFlow, theme: Theme) -> go.Figure:
    """One layer from its input to its output; residual lines only where the order of the steps is known."""
    rows = flow_rows(flow)
    bottoms = _bottoms(rows)
    top = bottoms[-1] + _height(rows[-1])
    height = int(60 + 48 * (top + 1.8))
    drawing = Drawing(theme)
    entering = ("1 vector" if flow.vectors == 1 else f"{flow.vectors:,} vectors") + (
        f" of {flow.hidden:,} numbers" if flow.hidden else ""
    )
    drawing.note(MIDDLE, -0.82, entering, theme.muted)
    drawing.note(SHAPES, top + 0.45, "<b>leaves</b>", theme.text, "left")
    drawing.note(COUNTS, top + 0.45, "<b>parameters</b>", theme.text, "right")
    for index, (row, low) in enumerate(zip(rows, bottoms, strict=True)):
        _draw_row(drawing, row, low, theme)
        _draw_arrows(drawing, rows, bottoms, index, theme)
    drawing.arrow((MIDDLE, top), (MIDDLE, top + 0.45))
    _draw_residuals(drawing, rows, bottoms, theme)
    return drawing.figure(escape(layer_title(flow)), (-0.1, 12.5), (-1.05, top + 0.75), height)


def _bottoms(rows: Sequence[FlowRow]) -> list[float]:
    """Where each row begins; a block whose residual line leaves below it stands a little apart."""
    bottoms, y = [], 0.0
    for row in rows:
        y += (BLOCK_GAP - GAP) if row.begins else 0.0
        bottoms.append(y)
        y += _height(row) + GAP
    return bottoms


def _height(row: FlowRow) -> float:
    """Rows whose words stand above their sizes are taller, and more so where those have two lines."""
    return TALL + LINE * any("\n" in sizes for _, sizes, _ in row.boxes) if _stacked(row) else ROW


def _stacked(row: FlowRow) -> bool:
    longest = max(len(words) + len(sizes) for words, sizes, _ in row.boxes) if row.boxes else 0
    two_lines = any("\n" in sizes for _, sizes, _ in row.boxes)
    return len(row.boxes) > 2 or row.passed < 1 or two_lines or longest * len(row.boxes) > MOST_LETTERS


def _draw_row(drawing: Drawing, row: FlowRow, low: float, theme: Theme) -> None:
    for (left, right), (words, sizes, colour) in zip(_columns(row), row.boxes, strict=True):
        text = f"<b>{escape(words)}</b>"
        if sizes:
            text += ("<br>" if _stacked(row) else "   ") + escape(sizes).replace("\n", "<br>")
        drawing.box((left, low, right, low + _height(row)), text, theme.colours[colour])
    middle = low + _height(row) / 2
    drawing.note(SHAPES, middle, row.leaves, theme.text, "left")
    if row.count:
        drawing.note(COUNTS, middle, f"{row.count:,}", theme.muted, "right")


def _columns(row: FlowRow) -> list[tuple[float, float]]:
    """Left and right edge of every box of a row."""
    whole = (RIGHT - LEFT) * row.passed - (SPACE if row.passed < 1 else 0)
    width = (whole - SPACE * (len(row.boxes) - 1)) / len(row.boxes)
    return [(LEFT + index * (width + SPACE), LEFT + index * (width + SPACE) + width) for index in range(len(row.boxes))]


def _draw_arrows(drawing: Drawing, rows: Sequence[FlowRow], bottoms: Sequence[float], index: int, theme: Theme) -> None:
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


def _draw_residuals(drawing: Drawing, rows: Sequence[FlowRow], bottoms: Sequence[float], theme: Theme) -> None:
    start = 0.0
    for row, low in zip(rows, bottoms, strict=True):
        if row.begins:
            start = low - TAP
        if row.joins:
            middle = low + _height(row) / 2
            drawing.line([(MIDDLE, start), (SIDE, start), (SIDE, middle)])
            drawing.arrow((SIDE, middle), (LEFT, middle))
            drawing.note(SIDE - 0.28, (start + middle) / 2, "residual", theme.muted, angle=-90)


@figure("layer", "architecture_layer", "the way through one layer (--layer, --task), of a text")
def layer_figure(flow: LayerFlow) -> FigureSpec:
    """The way through one layer."""
    title = layer_title(flow)
    steps = ", ".join(step.name for step in flow.steps)
    alt = f"{title}, bottom to top with the sizes of each step: {steps}"
    passes = f"; one run passes it {flow.applications} times" if flow.applications > 1 else ""
    caption = f"{title}, {flow.class_name}, {flow.total:,} parameters{passes}."
    return FigureSpec(title, alt, partial(layer_drawing, flow), caption)
