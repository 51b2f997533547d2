"""Rows of the drawing of one layer: one row per step, with its sizes and parameters."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import isclose

import pandas as pd
import plotly.graph_objects as go

from bertviz_core.architecture.results import Block, FlowRemainder, FlowStep, LayerFlow, Shape, Window
from bertviz_core.figures.architecture.box_rows import Box, Picture, Row, draw_rows
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import Theme

MOST_EXTRAS = 2
UNUSED = "not used for this text,"


def flow_rows(flow: LayerFlow) -> list[Row]:
    """Return the rows from top to bottom, whose counts add up to the layer's.

    One per step, in the order of the run, if no chain of blocks is known; last the parameters outside the steps.
    """
    drawn: list[Row] = []
    norms: set[str] = set()
    for block in flow.blocks:
        drawn += _block_rows(flow, block, norms)
    if sum(row.count or 0 for row in drawn) != sum(step.numel for step in flow.steps) or not drawn:
        drawn = [_plain_row(step) for step in flow.steps]
    return [*drawn, *_remainder_rows(flow)]


def _remainder_rows(flow: LayerFlow) -> list[Row]:
    """Return the rows of the parameters outside the steps: one per module, or per group of modules not in use."""
    groups: dict[str, list[FlowRemainder]] = {}
    for each in flow.remainders:
        place = each.module if each.called else each.module.rpartition(".")[0]
        use = "added" if each.called else UNUSED
        groups.setdefault(f"{use} in {place or 'the layer'}", []).append(each)
    return [
        Row((Box(remainder_names(group), detail, "other"),), sum(each.numel for each in group), apart=True)
        for detail, group in groups.items()
    ]


def remainder_names(remainders: Sequence[FlowRemainder]) -> str:
    """Return the last parts of the names: of parameters, or of modules that are not in use."""
    names = (each.names if each.called else (each.module.rpartition(".")[2],) for each in remainders)
    return ", ".join(dict.fromkeys(name for group in names for name in group))


def _block_rows(flow: LayerFlow, block: Block, counted: set[str]) -> list[Row]:
    """Return the rows of a block, its normalisations and its addition; the residual line branches above the first."""
    inside = [step for step in flow.steps if step.name in block.modules]
    around = (*block.norms_before, *block.norms_within, *block.norms_behind)
    own = [step for step in inside if step.name not in around]
    if "mixing" in block.kinds:
        rows = [Row((Box("token mixing by Fourier transform", "no parameters", "other"),), shape=_whole(flow))]
    elif block.kinds == ("attention",):
        rows = _attention_rows(flow, own)
    elif block.kinds == ("feed-forward",):
        rows = _feed_forward_rows(flow, own)
    else:
        rows = [_plain_row(step) for step in own]
    rows = [
        *_norm_rows("norm", flow, block.norms_before, counted),
        *rows,
        *_norm_rows("norm", flow, block.norms_within, counted),
    ]
    added = _norm_rows("add & norm", flow, block.norms_behind, counted)
    added = added or [Row((Box("add", "", "other"),), shape=_whole(flow))]
    return [replace(rows[0], begins=True), *rows[1:], replace(added[0], joins=True), *added[1:]]


def _norm_rows(words: str, flow: LayerFlow, names: Sequence[str], counted: set[str]) -> list[Row]:
    """Return the rows of normalisations; one that is used twice (X-MOD) is counted once."""
    rows = []
    for step in (step for name in names for step in flow.steps if step.name == name):
        count = None if step.name in counted else step.numel
        counted.add(step.name)
        rows.append(Row((Box(words, step.class_name, "layer_norm"),), count, _shape(step.leaves)))
    return rows


def _whole(flow: LayerFlow) -> str:
    return f"({flow.vectors:,}, {flow.hidden:,})" if flow.hidden else ""


def _attention_rows(flow: LayerFlow, steps: Sequence[FlowStep]) -> list[Row]:
    out = [step for step in steps if step.kind == "attention_output"]
    projections = _projection_row(steps)
    heads, width = flow.num_attention_heads, flow.head_dim
    query_length, key_length = _lengths(steps, "query"), _lengths(steps, "key")
    each = f"{heads} heads, {query_length:,} × {key_length:,}" if heads and query_length and key_length else ""
    more = [words for words in (each, _window(flow.window), _terms(flow)) if words]
    if flow.softmax and heads and width and each:
        share = (len(projections.boxes) - 1) / len(projections.boxes) if len(projections.boxes) > 2 else 2 / 3
        formula = Box(scores_formula(flow), "\n".join(more), "attention")
        scores = Row((formula,), None, f"({heads}, {query_length:,}, {key_length:,})", passed=share)
        mixed = Box("weighted sum of values", f"{heads} × {width} side by side", "attention")
        middle = [scores, Row((mixed,), None, f"({query_length:,}, {heads * width:,})")]
    else:
        kind = f"{scores_formula(flow)}, sum of values" if flow.softmax else "the family's own kind of attention"
        middle = [Row((Box(kind, "\n".join(more), "attention"),))]
    last = [Row((Box("output projection", _sizes(step), step.part),), step.numel, _shape(step.leaves)) for step in out]
    return [projections, *middle, *last]


def scores_formula(flow: LayerFlow) -> str:
    """Return the formula from scores to weights, with the scaling of the run."""
    factor = flow.scaling
    if factor is None:
        return "softmax(query · key)"
    divisor = factor**-2
    if isclose(factor, 1, rel_tol=1e-6):
        return "softmax(query · key)"
    if isclose(divisor, round(divisor), rel_tol=1e-5):
        return f"softmax(query · key / √{round(divisor):,})"
    return f"softmax({factor:.4g} · query · key)"


def _window(window: Window | None) -> str:
    if window is None or not window.limited:
        return ""
    if window.before == window.after:
        return f"{window.before:,} tokens to each side"
    return f"itself and {window.before:,} tokens before it"


def _terms(flow: LayerFlow) -> str:
    """Return further terms of the scores."""
    relative = "plus terms for the distance" if "relative" in flow.positions else ""
    rotary = "query and key rotated by position" if "rotary" in flow.positions else ""
    unscaled = "not divided by √d" if flow.scaling is not None and isclose(flow.scaling, 1, rel_tol=1e-6) else ""
    return ", ".join(words for words in (unscaled, rotary, relative) if words)


def _lengths(steps: Sequence[FlowStep], part: str) -> int | None:
    """Return the number of queries or keys; None if no known step computes them."""
    projections = [step for step in steps if step.kind == "projection" and step.part in (part, "query_key_value")]
    if not projections or not projections[0].leaves or len(projections[0].leaves) < 2:
        return None
    return projections[0].leaves[-1 if _channels_first(projections[0]) else -2]


def _channels_first(step: FlowStep) -> bool:
    return step.class_name == "Conv1d"


def _projection_row(steps: Sequence[FlowStep]) -> Row:
    """Return the row of the projections to queries, keys and values, with preceding steps."""
    order = ("query", "query_key_value", "key", "value")
    projections = sorted((step for step in steps if step.kind == "projection"), key=lambda step: order.index(step.part))
    extras = [step for step in steps if step.kind in ("attention_other", "norm")]
    boxes = [Box(_projection_name(step), _sizes(step), step.part) for step in projections]
    if extras:
        names = [step.name.rpartition(".")[2].replace("_", " ") for step in extras]
        more = f" and {len(names) - MOST_EXTRAS} more" if len(names) > MOST_EXTRAS else ""
        boxes.insert(0, Box(", ".join(names[:MOST_EXTRAS]) + more, "", "attention_other"))
    times = f"{len(projections)} × " if len(projections) > 1 and len({step.leaves for step in projections}) == 1 else ""
    leaves = f"{times}{_shape(projections[0].leaves)}" if projections else ""
    return Row(tuple(boxes), sum(step.numel for step in (*projections, *extras)), leaves)


def _feed_forward_rows(flow: LayerFlow, inside: Sequence[FlowStep]) -> list[Row]:
    steps = [step for step in inside if step.kind == "feed_forward"]
    others = [_plain_row(step) for step in inside if step.kind not in ("feed_forward", "activation")]
    if not steps:
        return others or [Row((Box("feed-forward", "", "feed_forward"),))]
    *wide, narrow = steps
    names = ["feed-forward in"] if len(wide) == 1 else [_words(step) for step in wide]
    boxes = tuple(Box(name, _sizes(step), "feed_forward") for name, step in zip(names, wide, strict=True))
    rows = [Row(boxes, sum(step.numel for step in wide), _shape(wide[0].leaves))] if wide else []
    how = flow.activation.removeprefix("gated-") or "activation"
    one, other = ("first half", "second half") if len(wide) == 1 else tuple([*names, ""][:2])
    words = f"{how}({one}) × {other}" if flow.gated else how
    rows.append(Row((Box(words, "", "feed_forward"),), None, _shape(narrow.enters)))
    rows.append(Row((Box("feed-forward out", _sizes(narrow), "feed_forward"),), narrow.numel, _shape(narrow.leaves)))
    return [*others, *rows]


def _plain_row(step: FlowStep) -> Row:
    return Row((Box(step.name, _sizes(step) or step.class_name, step.part),), step.numel, _shape(step.leaves))


def _words(step: FlowStep) -> str:
    return step.name.rpartition(".")[2].replace("_", " ")


def _projection_name(step: FlowStep) -> str:
    return "query, key, value" if step.part == "query_key_value" else step.part


def _sizes(step: FlowStep) -> str:
    """Return input and output width."""
    if not step.enters or not step.leaves or step.kind in ("norm", "activation"):
        return ""
    axis = -2 if _channels_first(step) and len(step.enters) > 1 else -1
    return f"{step.enters[axis]:,} → {step.leaves[axis]:,}"


def _shape(shape: Shape | None) -> str:
    return "" if shape is None else f"({', '.join(f'{size:,}' for size in shape)}{',' if len(shape) == 1 else ''})"


def layer_title(flow: LayerFlow) -> str:
    """Return a short title of the drawing."""
    return f"Layer {flow.layer} on {flow.seq:,} {'token' if flow.seq == 1 else 'tokens'} — {flow.model}"


def layer_drawing(flow: LayerFlow, theme: Theme) -> go.Figure:
    """Draw one layer from its input to its output; residual lines only if the data flow is known."""
    entering = "1 vector" if flow.vectors == 1 else f"{flow.vectors:,} vectors"
    enters = f"{entering} of {flow.hidden:,} numbers" if flow.hidden else entering
    total = f"{flow.total:,}"
    picture = Picture(tuple(flow_rows(flow)), layer_title(flow), enters, shapes="output shape", total=total)
    return draw_rows(picture, theme)


def unused_words(flow: LayerFlow) -> str:
    """Return a sentence about the parameters that the text does not use; "" if there are none."""
    unused = [each for each in flow.remainders if not each.called]
    if not unused:
        return ""
    count = sum(each.numel for each in unused)
    return f" {count:,} of them are not used for this text: {remainder_names(unused)}."


def flow_frame(flow: LayerFlow) -> pd.DataFrame:
    """The steps as a table, and behind them the parameters outside the steps."""
    steps = [
        {
            "step": step.name,
            "class": step.class_name,
            "part": step.part,
            "weights": ", ".join(map(str, step.weights)),
            "parameters": step.numel,
            "input shape": str(step.enters or ""),
            "output shape": str(step.leaves or ""),
        }
        for step in flow.steps
    ]
    others = [
        {
            "step": ", ".join(f"{each.module}.{name}".lstrip(".") for name in each.names),
            "part": "added to a step's output" if each.called else "not used for this text",
            "parameters": each.numel,
        }
        for each in flow.remainders
    ]
    return pd.DataFrame([*steps, *others]).fillna("")


@figure(
    "layer",
    "architecture_layer",
    "the way through one layer (--layer, --task), of a text",
    reported=True,
    table=flow_frame,
)
def layer_figure(flow: LayerFlow) -> FigureSpec:
    """Plot the data flow through one layer."""
    title = layer_title(flow)
    steps = ", ".join(step.name for step in flow.steps)
    alt = f"{title}, top to bottom with the sizes of each step: {steps}"
    passes = f"; one run passes it {flow.applications} times" if flow.applications > 1 else ""
    caption = f"{title}: {flow.class_name}, {flow.total:,} parameters{passes}.{unused_words(flow)}"
    return FigureSpec(title, alt, partial(layer_drawing, flow), caption)
