"""Classify parameters by name.

The module at the top gives the component (embeddings, encoder, pooler, task head), the modules below it the part of
a layer (query, key, ..., feed-forward, layer norm). Most families use the same names;
exceptions are listed in bertviz_core.models.families.
"""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from bertviz_core.models.families import family
from bertviz_core.parameters.results import Parameter

BLOCK = 100_000
"""Factor of the first number if layers are numbered by block and index."""


def layer_numbers(rows: list[Parameter]) -> list[Parameter]:
    """The rows with consecutive layer numbers, if layers are numbered by block and index."""
    indices = sorted({row.layer for row in rows if row.layer is not None})
    if not indices or indices[-1] < BLOCK:
        return rows
    plain_index = {layer: index for index, layer in enumerate(indices)}
    return [replace(row, layer=plain_index[row.layer]) if row.layer is not None else row for row in rows]


def count_in(config: Mapping[str, Any], key: str, default: int) -> int:
    """A positive integer of a config; the default if it is missing or invalid."""
    value = config.get(key)
    return value if isinstance(value, int) and value > 0 else default


def layer_applications(config: Mapping[str, Any]) -> dict[int, int]:
    """Layer -> number of applications in a forward pass, for families that reuse layers (ALBERT, Funnel).

    ALBERT (Lan et al. 2020, section 3.1) shares parameters across layers: layer i uses group i // (layers / groups).
    """
    if config.get("model_type") == "albert":
        layers = count_in(config, "num_hidden_layers", 12)
        groups, inner = count_in(config, "num_hidden_groups", 1), count_in(config, "inner_group_num", 1)
        uses = Counter(int(layer / (layers / groups)) for layer in range(layers))
        return {group * inner + index: count for group, count in uses.items() for index in range(inner)}
    if config.get("model_type") == "funnel":
        sizes = config.get("block_sizes") or [4, 4, 4]
        repeats = config.get("block_repeats") or [1] * len(sizes)
        plain = [repeat for size, repeat in zip(sizes, repeats, strict=False) for _ in range(size)]
        return dict(enumerate(plain))
    return {}


EMBEDDINGS, ENCODER, DECODER, POOLER, TASK_HEAD = "embeddings", "encoder", "decoder", "pooler", "task head"
COMPONENTS = (EMBEDDINGS, ENCODER, DECODER, POOLER, TASK_HEAD)
ATTENTION_PARTS = ("query", "key", "value", "query_key_value", "attention_output", "attention_other")
PARTS = (*ATTENTION_PARTS, "feed_forward", "layer_norm", "other")

NUMBER = re.compile(r"(?:^|\.)(\d+)\.")
EMBEDDING = re.compile(
    r"(?!rel|query|key|value)([a-z0-9]+_)*(embed(dings?|s)?|embedder|emb|embedding_norm|wte|wpe|shared)"
    r"(_(tokens|positions|project|projection|layer_?norm|norm|scale|dropout))?"
)
STACK = re.compile(r"(([a-z]+_)?encoder|decoder|transformer|layers?|blocks?|h|backbone|model|[a-z]*_model|[a-z]*tower)")
NORM = re.compile(r"(^|\.)(?!normal)[a-z0-9_]*(norm|norm\d|ln|ln_[a-z0-9]+|ln\d)(\.\d+)?\.(weight|bias|scale)$", re.I)
ATTENTION = re.compile(r"att(n|ention)|rel_attn|mixer|fourier|_lin\b", re.I)
ATTENTION_PART = (
    (r"(query_key_value|q_?k_?v|wqkv|c_attn|in_proj)(_proj|_weight|_bias)?", "query_key_value"),
    (r"(pos|c2p|p2c|rel|relative|r|distance)_?.*", "attention_other"),
    (r"(query|q|wq)(_?(proj|lin|layer|weight|bias))?", "query"),
    (r"(key|k|wk)(_?(proj|lin|layer|weight|bias))?", "key"),
    (r"(value|v|wv)(_?(proj|lin|layer|weight|bias))?", "value"),
    (r"(output|out|o|wo|c|proj|dense|conv1d)(_?(proj|lin|projection))?|dense", "attention_output"),
)
FEED_FORWARD = re.compile(
    r"(mlp|ffn?s?|feed_?forward|intermediate|output|dense|fc_?\d?|lin\d|w[io123]|experts?|moe|(up|down|gate)_proj"
    r"|block_sparse_moe|router|swiglu|gated_layers|wo)(_|\.|\d|$)",
    re.I,
)


def is_stack_or_embedding(module: str) -> bool:
    """Whether this is a common name of a stack of layers or of embeddings."""
    return bool(STACK.fullmatch(module) or EMBEDDING.fullmatch(module))


def component_of(path: str, prefix: str, wrapped: bool) -> str:
    """Component of a parameter.

    Args:
        wrapped: whether names of the base model have that prefix.
    """
    if wrapped:
        if not path.startswith(f"{prefix}."):
            return TASK_HEAD
        path = path[len(prefix) + 1 :]
    modules = path.split(".")[:-1] or [path]
    top = modules[0]
    if path == "encoder.weight":  # a table by the name that early language models gave it, as in NeoBERT
        return EMBEDDINGS
    if top.startswith(("pooler", "sequence_summary")):
        return POOLER
    for depth, name in enumerate(modules[:3]):
        if EMBEDDING.fullmatch(name) and (depth == 0 or STACK.fullmatch(modules[depth - 1])):
            return EMBEDDINGS
        if not STACK.fullmatch(name):
            break
    if top in ("cls", "lm_head", "classifier", "qa_outputs", "score", "discriminator_predictions", "predictions"):
        return TASK_HEAD
    return DECODER if "decoder" in modules[:2] else ENCODER


def inside_layer(path: str, model_type: str) -> tuple[tuple[slice, ...], str] | None:
    """Spans of the layer number (or block and index) in a name, and the rest of the name; None outside the layers."""
    pattern = family(model_type).layers
    match = re.search(pattern, path) if pattern else NUMBER.search(path)
    if match is None:
        return None
    return tuple(slice(*match.span(group)) for group in range(1, len(match.groups()) + 1)), path[match.end() :]


def part_of(inside: str, path: str, model_type: str) -> str:
    """Part of the layer that a parameter belongs to.

    Args:
        inside: its name below the layer, such as "attention.self.query.weight".
        path: its full name, for families that number parts instead of layers (XLM).
    """
    for pattern, part in family(model_type).parts:
        if re.search(pattern, inside):
            return part
    whole = inside if inside.count(".") else path
    if NORM.search(whole):
        return "layer_norm"
    modules = whole.split(".")
    where = next((i for i, name in enumerate(modules) if ATTENTION.search(name)), None)
    if where is not None:
        return _attention_part(modules[where:])
    return "feed_forward" if any(FEED_FORWARD.match(name) for name in modules) else "other"


def _attention_part(modules: list[str]) -> str:
    names = [name for name in modules if name not in ("weight", "bias")]
    for name in reversed(names[1:] or names):
        for pattern, part in ATTENTION_PART:
            if re.fullmatch(pattern, name, re.I):
                return part
    return "attention_other"


LEADING = ("word", "tok_", "embed_tokens", "position", "token_type")


def reading_rank(name: str, component: str, part: str) -> tuple[bool, int]:
    """Sort key of a parameter: (whether it follows the layers, rank within component or layer).

    Outside the layers the word table comes first and a normalisation last; inside a layer attention comes before
    feed-forward, each followed by its normalisation.
    """
    norm = NORM.search(name) is not None
    if not part:
        lead = next((i for i, word in enumerate(LEADING) if word in name), len(LEADING))
        return component != EMBEDDINGS and (norm or component == TASK_HEAD), lead + (len(LEADING) if norm else 0)
    in_attention = ATTENTION.search(name) is not None
    return False, len(ATTENTION_PARTS) if part == "layer_norm" and in_attention else PARTS.index(part) + 1
