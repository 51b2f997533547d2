"""The stack of a model, and the way through one layer."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import isclose

import plotly.graph_objects as go

from bertviz_core.architecture.results import (
    Architecture,
    Block,
    FlowRemainder,
    FlowStep,
    LayerFacts,
    LayerFlow,
    ModelFacts,
    Shape,
    Window,
)
from bertviz_core.figures.architecture.drawing import Box, Picture, Row, draw_rows
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import Theme
from bertviz_core.figures.parameters import components_frame
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.parameters.results import LayerCount, Ledger, Parameter

MOST_EXTRAS = 2
UNUSED = "not used for this text,"
FUSED = {"query_key_value": "query, key, value"}


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
    boxes = [Box(FUSED.get(step.part, step.part), _sizes(step), step.part) for step in projections]
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
    names = ["feed-forward in"] if len(wide) == 1 else [step.name.rpartition(".")[2].replace("_", " ") for step in wide]
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


def _sizes(step: FlowStep) -> str:
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


def flow_frame(flow: LayerFlow) -> "pd.DataFrame":
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


@figure("layer", "architecture_layer", reported=True, table=flow_frame)
def layer_figure(flow: LayerFlow) -> FigureSpec:
    """The way through one layer (--layer, --task), of a text."""
    title = layer_title(flow)
    steps = ", ".join(step.name for step in flow.steps)
    alt = f"{title}, top to bottom with the sizes of each step: {steps}"
    passes = f"; one run passes it {flow.applications} times" if flow.applications > 1 else ""
    caption = f"{title}: {flow.class_name}, {flow.total:,} parameters{passes}.{unused_words(flow)}"
    return FigureSpec(title, alt, partial(layer_drawing, flow), caption)


MAX_TABLES = 3
EMBEDDINGS = "embeddings"
ATTENTION_PARTS = ("query", "key", "value", "query_key_value", "attention_output", "attention_other")
ROLES = {"word": "word", "position": "position", "token type": "token type"}
NOT_IN_STREAM = "beside the main path"


def model_stack(architecture: Architecture, ledger: Ledger, theme: Theme) -> go.Figure:
    """Draw the model from token ids at the top to outputs at the bottom."""
    return draw_rows(stack_picture(architecture, ledger), theme)


def stack_picture(architecture: Architecture, ledger: Ledger) -> Picture:
    """Return the rows of the stack; order and data flow are those recorded in a run."""
    facts = architecture.facts
    rows = [*_embedding_rows(facts, ledger)]
    sums = []
    for stack in ("encoder", "decoder"):
        drawn, layer_sums = _stack_rows(architecture, ledger, stack)
        rows += drawn
        sums += layer_sums
    rows += _top_rows(architecture, ledger)
    rows += _beside_rows(facts, ledger)
    title = f"From token ids to output — {architecture.model}"
    return Picture(tuple(rows), title, "token ids", sums=tuple(sums), total=f"{ledger.total:,}")


def _counted(ledger: Ledger, component: str) -> list[Parameter]:
    return [row for row in ledger.parameters if row.component == component and row.tied_to is None]


def _module(row: Parameter) -> str:
    return row.name.rpartition(".")[0]


def _embedding_rows(facts: ModelFacts | None, ledger: Ledger) -> list[Row]:
    """Return the rows of summed embedding tables and the modules after the sum; without a run, unordered tables."""
    rows = _counted(ledger, EMBEDDINGS)
    tables = [row for row in rows if len(row.shape) == 2]
    if facts is None:
        drawn = [_tables_row(tables, {}, apart=True)] if tables else []
        rest = [row for row in rows if row not in tables]
        return [*drawn, *_module_rows(rest, apart=True, group=EMBEDDINGS)]
    roles = {_owner(table.name, ledger): ROLES.get(table.role, "") for table in facts.tables}
    found = [row for row in ledger.parameters if row.name in roles and row.tied_to is None]
    looked_up = sorted(found, key=lambda row: list(roles).index(row.name))
    drawn = [_tables_row(looked_up, roles, apart=False)] if looked_up else []
    passed = [row for row in rows if row not in looked_up and _module(row) in facts.before]
    outside = [row for row in _counted(ledger, "encoder") if row.layer is None and _module(row) in facts.before]
    return [*drawn, *_module_rows([*passed, *outside], order=facts.before, group=EMBEDDINGS)]


def _owner(name: str, ledger: Ledger) -> str:
    """Return the name under which a parameter is counted."""
    return next((row.tied_to for row in ledger.parameters if row.name == name and row.tied_to), name)


def _tables_row(tables: Sequence[Parameter], roles: dict[str, str], apart: bool) -> Row:
    boxes = [
        Box(roles.get(row.name) or _table_name(row), _shape_text(row.shape), EMBEDDINGS) for row in tables[:MAX_TABLES]
    ]
    if len(tables) > MAX_TABLES:
        boxes[-1] = Box(f"{len(tables) - MAX_TABLES + 1} more tables", "", EMBEDDINGS)
    return Row(tuple(boxes), _sum(tables), group=EMBEDDINGS, sign="" if apart else "+", apart=apart)


def _module_rows(
    rows: Sequence[Parameter], order: Sequence[str] = (), group: str = "", apart: bool = False
) -> list[Row]:
    """Return one row per module, in the order of the run; more than MAX_TABLES modules share one."""
    modules = sorted({_module(row) for row in rows}, key=lambda path: order.index(path) if path in order else 0)
    if len(modules) > MAX_TABLES:
        return [Row((Box(f"{len(modules)} modules", "", "other"),), _sum(rows), group=group, apart=apart)]
    drawn = []
    for path in modules:
        own = [row for row in rows if _module(row) == path]
        norm = all(len(row.shape) == 1 and not row.name.endswith(".weights") for row in own)  # of tokens: Model2Vec
        largest = max(own, key=lambda row: row.numel)
        biased = any(row.name.endswith("bias") for row in own)  # RMS norms have none
        label = (
            ("layer norm" if biased else "norm") if norm else "position" if "position" in path else _path_words(path)
        )
        box = Box(label, _shape_text(largest.shape), "layer_norm" if norm else "other")
        drawn.append(Row((box,), _sum(own), group=group, apart=apart))
    return drawn


def _stack_rows(architecture: Architecture, ledger: Ledger, stack: str) -> tuple[list[Row], list[tuple[str, str]]]:
    """Return the rows of a stack (one layer and the modules after the last), and headings with totals of its layers."""
    facts = architecture.facts
    layers = [row for row in ledger.layers if row.component == stack]
    outside = [row for row in _counted(ledger, stack) if row.layer is None]
    behind = () if facts is None else (*facts.encoder_behind, *facts.decoder_behind)
    ends = _module_rows([row for row in outside if _module(row) in behind], order=behind)
    if not layers:
        return ends, []
    typical = layers[len(layers) // 2]
    equal = all(row.total == typical.total for row in layers)
    heading = _heading(layers, typical, equal, "" if stack == "encoder" else "decoder ")
    whole = sum(row.total for row in layers)
    size = f"{len(layers):,} × {typical.total:,}" if equal and len(layers) > 1 else f"{whole:,} in them"
    layer = facts.layer(stack, typical.layer) if facts else None
    rows = [*_layer_rows(architecture, ledger, typical, layer, heading), *ends]
    if facts and stack == "decoder" and _has_both(ledger):
        own = [row for row in ledger.parameters if _is_of_decoder(row) and _module(row) not in behind]
        first, *others = [*_module_rows(own, group="embeddings of the decoder"), *rows]
        rows = [replace(first, enters="tokens of the decoder"), *others]
    return rows, [(heading, size)]


def _is_of_decoder(row: Parameter) -> bool:
    """Whether it is in a decoder and in none of its layers."""
    return "decoder" in row.name.split(".") and row.layer is None and row.tied_to is None


def _has_both(ledger: Ledger) -> bool:
    return {"encoder", "decoder"} <= {row.component for row in ledger.layers}


def _heading(layers: Sequence[LayerCount], typical: LayerCount, equal: bool, name: str) -> str:
    times = sum(row.applications for row in layers)
    if times != len(layers):
        return f"{len(layers)} {name}layer{'s' * (len(layers) > 1)}, run {times} times"
    drawn = (", each:" if len(layers) > 1 else "") if equal else f", layer {typical.layer} drawn:"
    return f"{len(layers)} {name}layer{'s' * (len(layers) > 1)}{drawn}"


def _layer_rows(
    architecture: Architecture, ledger: Ledger, count: LayerCount, layer_facts: LayerFacts | None, group: str
) -> list[Row]:
    """Return the rows of one layer with its residual connections; without an order, of its contents."""
    own = [row for row in _counted(ledger, count.component) if row.layer == count.layer]
    blocks = layer_facts.blocks if layer_facts else ()
    if not layer_facts or not layer_facts.order:
        return _unordered_rows(architecture, count, layer_facts, group)
    drawn: list[Row] = []
    for block in blocks:
        drawn += _model_stack_block_rows(architecture, own, block, layer_facts, group)
    rest = count.total - sum(row.count or 0 for row in drawn)
    return [*drawn, *([Row((Box("other", "", "other"),), rest, group=group, apart=True)] if rest else [])]


def _model_stack_block_rows(
    architecture: Architecture, own: Sequence[Parameter], block: Block, layer_facts: LayerFacts, group: str
) -> list[Row]:
    if layer_facts.stack == "decoder":  # its feed-forward may have another width than the encoder's
        matrices = [row.shape for row in own if row.part == "feed_forward" and len(row.shape) == 2]
        inner = (size for shape in matrices for size in shape if size != architecture.hidden_size)
        architecture = replace(architecture, intermediate_size=min(inner, default=architecture.intermediate_size))
    boxes = tuple(_block_box(architecture, kind, layer_facts) for kind in block.kinds)
    total = sum(_block_count(own, kind, block, layer_facts.blocks) for kind in block.kinds)
    before, within, behind = (
        [Row((Box(words, _width(own, path), "layer_norm"),), _of(own, path), group=group) for path in paths]
        for words, paths in (
            ("norm", block.norms_before),
            ("norm", block.norms_within),
            ("add & norm", block.norms_behind),
        )
    )
    rows = [*before, Row(boxes, total or None, group=group), *within]
    added = behind or [Row((Box("add", "", "other"),), group=group)]
    return [replace(rows[0], begins=True), *rows[1:], replace(added[0], joins=True), *added[1:]]


def _block_count(own: Sequence[Parameter], kind: str, block: Block, blocks: Sequence[Block]) -> int:
    """Return the parameters of a block without its normalisations; all of its part if it is the only such block."""
    parts = (*ATTENTION_PARTS,) if "attention" in kind else ("feed_forward",) if kind == "feed-forward" else ()
    alike = [each for each in blocks for other in each.kinds if ("attention" in other) == ("attention" in kind)]
    if parts and len(alike) == 1:
        return _sum([row for row in own if row.part in parts])
    norms = (*block.norms_before, *block.norms_within, *block.norms_behind)
    # Keys and values of cross-attention read the encoder, so no state of the decoder passes them.
    around = {path.rpartition(".")[0] for path in block.modules if path not in norms and kind == "cross-attention"}
    inside = [
        row
        for row in own
        if (path := _module(row)) not in norms and (path in block.modules or path.rpartition(".")[0] in around)
    ]
    return _sum([row for row in inside if not parts or row.part in parts])


def _block_box(architecture: Architecture, kind: str, layer_facts: LayerFacts) -> Box:
    hidden, inner, heads = architecture.hidden_size, architecture.intermediate_size, architecture.num_attention_heads
    if kind == "feed-forward":
        wide = f"2 × {inner:,}" if layer_facts.gated and inner else f"{inner:,}" if inner else ""
        widths = f"{hidden:,} → {wide} → {hidden:,}" if hidden and inner else ""
        return Box("gated feed-forward" if layer_facts.gated else "feed-forward", widths, "feed_forward")
    if kind in ("attention", "cross-attention"):
        head_text = f"{heads} heads × {architecture.head_dim}" if heads and architecture.head_dim else ""
        if kind == "cross-attention":
            head_text = f"{head_text}, over the encoder".removeprefix(", ")
        return Box("self-attention" if kind == "attention" else kind, head_text, "attention")
    return Box("token mixing", "no attention", "other") if kind == "mixing" else Box("other", "", "other")


def _unordered_rows(
    architecture: Architecture, count: LayerCount, layer_facts: LayerFacts | None, group: str
) -> list[Row]:
    gated = layer_facts or LayerFacts(count.component, count.layer, (), None, gated=False)
    parts = (
        (_block_box(architecture, "attention", gated) if count.attention else None, count.attention),
        (_block_box(architecture, "feed-forward", gated), count.feed_forward),
        (Box("layer norms", "", "layer_norm"), count.layer_norm),
        (Box("other", "", "other"), count.other),
    )
    return [Row((box,), numel, group=group, apart=True) for box, numel in parts if box and numel]


def _beside_rows(facts: ModelFacts | None, ledger: Ledger) -> list[Row]:
    """Return the rows of modules outside the layers and the main data flow, such as a table of relative positions."""
    drawn = () if facts is None else (*facts.before, *facts.encoder_behind, *facts.decoder_behind)
    tables = {_owner(table.name, ledger) for table in facts.tables} if facts else set()
    rest = [
        row
        for stack in (("encoder", "decoder") if facts is None else (EMBEDDINGS, "encoder", "decoder"))
        for row in _counted(ledger, stack)
        if row.layer is None and _module(row) not in drawn and row.name not in tables
        if facts is None or not (_is_of_decoder(row) and _has_both(ledger))
    ]
    if not rest:
        return []
    modules = list(dict.fromkeys(_module(row).removesuffix(".regression") or row.name for row in rest))
    names = ", ".join(_path_words(path) for path in modules[:2]) + (
        f" and {len(modules) - 2} more" if modules[2:] else ""
    )
    used = NOT_IN_STREAM if facts else ""
    return [Row((Box(names, used, "other"),), _sum(rest), apart=True)]


def _top_rows(architecture: Architecture, ledger: Ledger) -> list[Row]:
    rows = []
    hidden = architecture.hidden_size
    for name, detail in (("pooler", f"first token, {hidden:,} → {hidden:,}" if hidden else ""), ("task head", "")):
        total = sum(part.total for part in ledger.components if part.name == name)
        if total:
            rows.append(Row((Box(name, detail, name),), total))
    return rows


def _path_words(path: str) -> str:
    names = [name for name in path.split(".") if not name.isdecimal()]
    return names[-1].replace("rel_embeddings", "relative positions").replace("_", " ") if names else "model"


def _table_name(row: Parameter) -> str:
    module = row.name.removesuffix(".weight").rpartition(".")[2]
    return module.replace("_embeddings", "").replace("embed_", "").replace("_", " ")


def _width(own: Sequence[Parameter], path: str) -> str:
    shapes = [row.shape for row in own if _module(row) == path]
    return _shape_text(shapes[0]) if shapes else ""


def _of(own: Sequence[Parameter], path: str) -> int:
    return _sum([row for row in own if _module(row) == path])


def _shape_text(shape: Sequence[int]) -> str:
    return " × ".join(f"{size:,}" for size in shape)


def _sum(rows: Sequence[Parameter]) -> int:
    return sum(row.numel for row in rows)


@figure("overview", "overview_stack", reported=True, table=components_frame)
def stack_figure(architecture: Architecture, ledger: Ledger) -> FigureSpec:
    """The stack of the model's blocks."""
    alt = f"Stack of {ledger.model}: embeddings, layers and outputs with their sizes"
    caption = f"{ledger.model}: {ledger.total:,} parameters."
    draw = partial(model_stack, architecture, ledger)
    return FigureSpec(f"From token ids to output — {architecture.model}", alt, draw, caption)
