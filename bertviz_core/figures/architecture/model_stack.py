"""The drawn stack of a model: embeddings, layers, pooler and head, each with its real sizes and parameters."""

from collections.abc import Sequence
from functools import partial

import plotly.graph_objects as go

from bertviz_core.architecture.results import Architecture
from bertviz_core.figures.architecture.drawing import BlockRow, Box, draw_blocks
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import Theme, escape
from bertviz_core.parameters.results import LayerCount, Ledger, Parameter

MAX_TABLES = 3


def model_stack(architecture: Architecture, ledger: Ledger, theme: Theme) -> go.Figure:
    """The model from the token ids at the bottom to its outputs at the top."""
    rows = [*_embedding_rows(ledger), *_stack_rows(architecture, ledger), *_top_rows(architecture, ledger)]
    title = f"{escape(architecture.model)}, bottom to top"
    return draw_blocks(rows, title, "token ids, one per word piece", theme)


def _embedding_rows(ledger: Ledger) -> list[BlockRow]:
    rows = [row for row in ledger.parameters if row.component == "embeddings" and row.tied_to is None]
    tables = [row for row in rows if len(row.shape) == 2]
    rest = [row for row in rows if len(row.shape) != 2]
    entries = []
    if tables:
        boxes = [Box(_table_name(row), _shape(row.shape), "embeddings") for row in tables[:MAX_TABLES]]
        if len(tables) > MAX_TABLES:
            boxes[-1] = Box(f"{len(tables) - MAX_TABLES + 1} more tables", "added or projected", "embeddings")
        entries.append(BlockRow(tuple(boxes), sum(row.numel for row in tables), "embeddings", "+"))
    if rest:
        entries.append(BlockRow((Box("layer norm", _shape(rest[0].shape), "layer_norm"),), _sum(rest), "embeddings"))
    return entries


def _stack_rows(architecture: Architecture, ledger: Ledger) -> list[BlockRow]:
    rows = []
    for component in ("encoder", "decoder"):
        layers = [row for row in ledger.layers if row.component == component]
        counted = [row for row in ledger.parameters if row.component == component and row.tied_to is None]
        outside = [row for row in counted if row.layer is None]
        norms = [row for row in outside if "norm" in row.name.lower() or ".ln" in row.name]
        rows += _module_rows([row for row in outside if row not in norms])
        if layers:
            times = sum(row.applications for row in layers)
            shared = f", {len(layers)} shared" if times != len(layers) else ""
            typical = layers[len(layers) // 2]
            differ = f", layer {typical.layer} drawn" if any(row.total != typical.total for row in layers) else ""
            if component == "encoder":
                rows += _layer_rows(architecture, typical, f"{times} ×{shared}{differ}")
            else:
                rows += _decoder_rows(typical, f"{times} × {component}{differ}")
        if norms:
            rows.append(BlockRow((Box("final norm", _shape(norms[0].shape), "layer_norm"),), _sum(norms)))
    return rows


def _module_rows(rows: Sequence[Parameter]) -> list[BlockRow]:
    """What a stack has outside its layers, such as a projection of the embeddings: a row if it is one module."""
    modules = list(dict.fromkeys(row.name.rpartition(".")[0] for row in rows))
    if not modules:
        return []
    if len(modules) > 1:
        return [BlockRow((Box(f"{len(modules)} modules outside the layers", "", "other"),), _sum(rows))]
    label = modules[0].rpartition(".")[2].replace("_", " ")
    return [BlockRow((Box(label, _shape(rows[0].shape), "other"),), _sum(rows))]


def _layer_rows(architecture: Architecture, layer: LayerCount, group: str) -> list[BlockRow]:
    """One layer, bottom to top; its two normalisations share their count."""
    hidden, inner, heads = architecture.hidden_size, architecture.intermediate_size, architecture.num_attention_heads
    head_text = f"{heads} heads × {architecture.head_dim}" if heads and architecture.head_dim else ""
    widths = f"{hidden:,} → {inner:,} → {hidden:,}" if hidden and inner else ""
    mixing = (
        Box("self-attention", head_text, "attention")
        if layer.attention
        else Box("token mixing", "no attention", "other")
    )
    steps = [BlockRow((mixing,), layer.attention or None, group)]
    ffn = BlockRow((Box("feed-forward", widths, "feed_forward"),), layer.feed_forward, group)
    norm_label = "norm" if architecture.norm_first else "add & norm"
    norm = BlockRow((Box(norm_label, f"{hidden:,}" if hidden else "", "layer_norm"),), layer.layer_norm // 2, group)
    steps = [norm, *steps, norm, ffn] if architecture.norm_first else [*steps, norm, ffn, norm]
    if layer.other:
        steps.append(BlockRow((Box("other", "", "other"),), layer.other, group))
    return steps


def _decoder_rows(layer: LayerCount, group: str) -> list[BlockRow]:
    """A decoder's layer by kind of block: it attends twice, to itself and to the encoder."""
    blocks = (
        ("self- and cross-attention", "attention", layer.attention),
        ("feed-forward", "feed_forward", layer.feed_forward),
        ("norms", "layer_norm", layer.layer_norm),
        ("other", "other", layer.other),
    )
    return [BlockRow((Box(label, "", colour),), count, group) for label, colour, count in blocks if count]


def _top_rows(architecture: Architecture, ledger: Ledger) -> list[BlockRow]:
    rows = []
    hidden = architecture.hidden_size
    for name, detail in (("pooler", f"first token, {hidden:,} → {hidden:,}" if hidden else ""), ("task head", "")):
        total = sum(part.total for part in ledger.components if part.name == name)
        if total:
            rows.append(BlockRow((Box(name, detail, name),), total))
    return rows


def _table_name(row: Parameter) -> str:
    module = row.name.removesuffix(".weight").rpartition(".")[2]
    name = module.replace("_embeddings", "").replace("embed_", "").replace("_", " ")
    return {"tok": "token", "tokens": "token", "word embedding": "word"}.get(name, name)


def _shape(shape: Sequence[int]) -> str:
    return " × ".join(f"{size:,}" for size in shape)


def _sum(rows: Sequence[Parameter]) -> int:
    return sum(row.numel for row in rows)


@figure("overview", "overview_stack", "the stack of the model's blocks")
def stack_figure(architecture: Architecture, ledger: Ledger) -> FigureSpec:
    """The blocks of a model, from its token ids to its outputs."""
    alt = f"Stack of {ledger.model}: embeddings, layers and outputs with their sizes"
    caption = f"{ledger.model}: {ledger.total:,} parameters."
    draw = partial(model_stack, architecture, ledger)
    return FigureSpec(f"{architecture.model}, bottom to top", alt, draw, caption)
