"""Hand-written results for figures: all sizes differ, and names contain active HTML."""

import math

from bertviz_core.architecture.results import Architecture, Block, BlockKind, LayerFacts, ModelFacts, StreamTable
from bertviz_core.figures.parameters import LAYER_PARTS
from bertviz_core.parameters.results import ComponentCount, LayerCount, Ledger, Parameter, TreeNode

ACTIVE = "<b>hi</b>&"
ACTIVE_ESCAPED = "&lt;b&gt;hi&lt;/b&gt;&amp;"

TREE = (
    TreeNode("", None, "TinyModel", 1_009, 17, "", "", 0),
    TreeNode("embeddings", "", "embeddings", 401, 3, "embeddings", "", 0),
    TreeNode(f"embeddings.{ACTIVE}", "embeddings", ACTIVE, 263, 1, "embeddings", "", 0),
    TreeNode("embeddings.position", "embeddings", "position", 138, 2, "embeddings", "", 0),
    TreeNode("encoder.layer", "", "encoder", 571, 12, "encoder", "", 0),
    TreeNode("encoder.layer.0", "encoder.layer", "0", 307, 7, "encoder", "", 0),
    TreeNode("encoder.layer.0.attention", "encoder.layer.0", "attention", 190, 4, "encoder", "attention", 0),
    TreeNode("encoder.layer.0.output", "encoder.layer.0", "output", 117, 3, "encoder", "feed_forward", 0),
    TreeNode("encoder.layer/folded", "encoder.layer", "2 smaller", 264, 5, "encoder", "", 2),
    TreeNode("pooler.dense", "", "pooler", 37, 2, "pooler", "", 0),
)


TABLES = (
    StreamTable("embeddings.word_embeddings.weight", "word", 97),
    StreamTable("embeddings.position_embeddings.weight", "position", 29),
    StreamTable("embeddings.token_type_embeddings.weight", "token type", 5),
)
"""Tables that are added to the tokens."""


def layer(component: str, index: int, applications: int, *parts: int) -> LayerCount:
    """A layer with these parts, in the order of LAYER_PARTS."""
    named = dict(zip(LAYER_PARTS, parts, strict=True))
    return LayerCount(component=component, layer=index, total=sum(parts), applications=applications, **named)


PLAIN_LAYERS = (
    layer("encoder", 0, 1, 11, 12, 13, 0, 14, 0, 61, 4, 0),
    layer("encoder", 1, 1, 21, 22, 23, 0, 24, 0, 62, 6, 0),
    layer("encoder", 2, 1, 31, 32, 33, 0, 34, 0, 63, 8, 0),
)
SHARED_LAYERS = (
    layer("encoder", 0, 5, 41, 42, 43, 0, 44, 0, 64, 10, 0),
    layer("encoder", 1, 1, 51, 52, 53, 0, 54, 0, 65, 16, 0),
)
TWO_STACKS = (
    layer("encoder", 0, 1, 0, 0, 0, 71, 15, 3, 66, 18, 9),
    layer("decoder", 0, 1, 0, 0, 0, 72, 25, 5, 67, 20, 7),
)


def parameter(name: str, shape: tuple[int, ...], component: str, tied_to: str | None = None) -> Parameter:
    """A trainable float32 parameter outside the layers, from a config."""
    return Parameter(
        name=name,
        stored_name=None,
        shape=shape,
        numel=math.prod(shape),
        dtype="float32",
        trainable=True,
        tied_to=tied_to,
        component=component,
        layer=None,
        part="other",
    )


def ledger(
    model: str, layers: tuple[LayerCount, ...] = PLAIN_LAYERS, parameters: tuple[Parameter, ...] = (), **others: int
) -> Ledger:
    """A ledger with these layers; `others` are further components and their totals, such as embeddings=83."""
    totals = {"embeddings": others.get("embeddings", 0)}
    for row in layers:
        totals[row.component] = totals.get(row.component, 0) + row.total
    totals |= {"pooler": others.get("pooler", 0), "task head": others.get("task_head", 0)}
    components = tuple(ComponentCount(name, total, 1, f"{total:,}") for name, total in totals.items() if total)
    total = sum(part.total for part in components)
    tensors = len(parameters)
    return Ledger(
        model, "bert", "TinyModel", "config", parameters, (), components, layers, total, total, tensors, 0,
        4 * total, None, None,
    )  # fmt: skip


def facts(norm_first: bool = False, tables: tuple[StreamTable, ...] = TABLES, mixes: bool = False) -> ModelFacts:
    """Facts of a run with 3 layers, with norms after the sums or before the blocks."""
    kinds: tuple[BlockKind, ...] = ("mixing" if mixes else "attention", "feed-forward")
    layers = tuple(LayerFacts("encoder", index, _blocks(kinds, norm_first, index), None, False) for index in range(3))
    return ModelFacts(
        "TinyModel", tables, ("embeddings.LayerNorm",), (), (), layers, ("absolute",), True, "table", True, True,
        "TinyModel", True,
    )  # fmt: skip


def _blocks(kinds: tuple[BlockKind, ...], norm_first: bool, index: int) -> tuple[Block, ...]:
    norms = [(f"encoder.layer.{index}.{name}_norm",) for name in ("first", "second")]
    if norm_first:
        return tuple(Block((kind,), norm, (), (), norm) for kind, norm in zip(kinds, norms, strict=True))
    return tuple(Block((kind,), (), (), norm, ()) for kind, norm in zip(kinds, norms, strict=True))


def architecture(model: str = "tiny", norm_first: bool = False, model_facts: ModelFacts | None = None) -> Architecture:
    """An architecture with 2 heads of size 19, hidden size 38 and intermediate size 53."""
    return Architecture(
        model=model,
        title="Tiny",
        model_type="bert",
        architecture="TinyModel",
        kind="local",
        num_hidden_layers=3,
        num_attention_heads=2,
        head_dim=19,
        hidden_size=38,
        embedding_size=38,
        intermediate_size=53,
        vocab_size=97,
        max_position_embeddings=29,
        type_vocab_size=5,
        hidden_act="gelu",
        config_class="TinyModel",
        has_pooler=True,
        facts=model_facts or facts(norm_first),
        capabilities=(),
    )
