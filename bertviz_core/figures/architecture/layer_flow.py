"""What stands in the drawing of one layer: a row per step, bottom to top, with its sizes and parameters."""

from dataclasses import dataclass

from bertviz_core.results.module_tree import FlowStep, LayerFlow, Shape

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
