"""Draw the stack of a model: embeddings, layers, pooler and head, with sizes and parameters."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import plotly.graph_objects as go

from bertviz_core.architecture.results import Architecture, Block, LayerFacts, ModelFacts
from bertviz_core.figures.architecture.box_rows import Box, Picture, Row, draw_rows
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import Theme
from bertviz_core.parameters.results import LayerCount, Ledger, Parameter

MAX_TABLES = 3
EMBEDDINGS = "embeddings"
ATTENTION_PARTS = ("query", "key", "value", "query_key_value", "attention_output", "attention_other")
ROLES = {"word": "word", "position": "position", "token type": "token type"}
NOT_IN_STREAM = "read inside the layers"


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
    rows += _beside_rows(facts, ledger)
    rows += _top_rows(architecture, ledger)
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
    boxes = [Box(roles.get(row.name) or _table_name(row), _sizes(row.shape), EMBEDDINGS) for row in tables[:MAX_TABLES]]
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
        norm = all(len(row.shape) == 1 for row in own)
        largest = max(own, key=lambda row: row.numel)
        label = "layer norm" if norm else _words(path)
        box = Box(label, _sizes(largest.shape), "layer_norm" if norm else "other")
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
    return [*_layer_rows(architecture, ledger, typical, layer, heading), *ends], [(heading, size)]


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
        drawn += _block_rows(architecture, own, block, layer_facts, group)
    rest = count.total - sum(row.count or 0 for row in drawn)
    return [*drawn, *([Row((Box("other", "", "other"),), rest, group=group, apart=True)] if rest else [])]


def _block_rows(
    architecture: Architecture,
    own: Sequence[Parameter],
    block: Block,
    layer_facts: LayerFacts,
    group: str,
) -> list[Row]:
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
    inside = [row for row in own if _module(row) in block.modules and _module(row) not in norms]
    return _sum([row for row in inside if not parts or row.part in parts])


def _block_box(architecture: Architecture, kind: str, layer_facts: LayerFacts) -> Box:
    hidden, inner, heads = architecture.hidden_size, architecture.intermediate_size, architecture.num_attention_heads
    if kind == "feed-forward":
        wide = f"2 × {inner:,}" if layer_facts.gated and inner else f"{inner:,}" if inner else ""
        widths = f"{hidden:,} → {wide} → {hidden:,}" if hidden and inner else ""
        return Box("gated feed-forward" if layer_facts.gated else "feed-forward", widths, "feed_forward")
    if kind in ("attention", "cross-attention"):
        head_text = f"{heads} heads × {architecture.head_dim}" if heads and architecture.head_dim else ""
        return Box("self-attention" if kind == "attention" else kind, head_text, "attention")
    return Box("token mixing", "no attention", "other") if kind == "mixing" else Box("other", "", "other")


def _unordered_rows(
    architecture: Architecture, count: LayerCount, layer_facts: LayerFacts | None, group: str
) -> list[Row]:
    """Return the rows of a layer's contents without an order."""
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
    ]
    if not rest:
        return []
    modules = list(dict.fromkeys(_module(row) for row in rest))
    names = ", ".join(_words(path) for path in modules[:2]) + (f" and {len(modules) - 2} more" if modules[2:] else "")
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


def _words(path: str) -> str:
    """Return the name of a module in words."""
    names = [name for name in path.split(".") if not name.isdecimal()]
    return names[-1].replace("_", " ") if names else "model"


def _table_name(row: Parameter) -> str:
    module = row.name.removesuffix(".weight").rpartition(".")[2]
    return module.replace("_embeddings", "").replace("embed_", "").replace("_", " ")


def _width(own: Sequence[Parameter], path: str) -> str:
    shapes = [row.shape for row in own if _module(row) == path]
    return _sizes(shapes[0]) if shapes else ""


def _of(own: Sequence[Parameter], path: str) -> int:
    return _sum([row for row in own if _module(row) == path])


def _sizes(shape: Sequence[int]) -> str:
    return " × ".join(f"{size:,}" for size in shape)


def _sum(rows: Sequence[Parameter]) -> int:
    return sum(row.numel for row in rows)


@figure("overview", "overview_stack", "the stack of the model's blocks", reported=True)
def stack_figure(architecture: Architecture, ledger: Ledger) -> FigureSpec:
    """Plot the blocks of a model, from its token ids to its outputs."""
    alt = f"Stack of {ledger.model}: embeddings, layers and outputs with their sizes"
    caption = f"{ledger.model}: {ledger.total:,} parameters."
    draw = partial(model_stack, architecture, ledger)
    return FigureSpec(f"From token ids to output — {architecture.model}", alt, draw, caption)
