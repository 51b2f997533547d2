"""Find the four projections of an attention layer in any family, as matrices (output, input).

They are recognised by name (parameters/components.py) and stored as one Linear each, one for all three (ModernBERT,
GPT-2, DeBERTa), transposed (GPT-2), as a convolution of width 1 (SqueezeBERT), or as a bare tensor (XLNet).
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bertviz_core.errors import UnsupportedModelError
from bertviz_core.heads.results import StoredMatrix
from bertviz_core.lazy_imports import torch
from bertviz_core.models.families import family
from bertviz_core.models.loading import LoadedModel
from bertviz_core.parameters.naming import NameClassifier

HEAD_COUNT_ATTRIBUTES = ("num_attention_heads", "num_heads", "n_heads", "n_head")
KEY_HEAD_COUNT_ATTRIBUTES = ("num_key_value_heads", "num_kv_heads", "kv_heads")
CROSS_ATTENTION = ("crossattention", "cross_attn", "encoder_attn", "EncDecAttention")
"""Names of cross-attention, which an encoder does not have."""
ProjectionNames = Mapping[str, list[str]]


class Projection(NamedTuple):
    """A matrix of a layer and the module that applies it."""

    weight: "torch.Tensor"
    """(rows, columns); y = x @ weight.T + bias."""
    bias: "torch.Tensor | None"
    module: Any
    """The module that applies it, or owns the bare tensor."""
    bare: bool
    """Whether it is a bare tensor, so that a hook cannot record its product."""
    rows: "torch.Tensor | None"
    """Rows of this projection in the product of the module; None for all."""
    bias_behind: bool
    """Whether the bias is added after the module (DeBERTa)."""
    stored: StoredMatrix


class LayerProjections(NamedTuple):
    """The four projections of one layer."""

    query: Projection
    key: Projection
    value: Projection
    output: Projection
    heads: int
    key_heads: int
    shared_with: tuple[int, ...]
    """Layers that apply these weights, in the order of their calls."""


def layer_projections(loaded: LoadedModel, layer: int) -> LayerProjections:
    """The four projections of one layer.

    Raises:
        UnsupportedModelError: the family has no such projections, or keeps them in a way that is not known.
        ValueError: there is no such layer.
    """
    layers = loaded.num_hidden_layers
    if not 0 <= layer < layers:
        raise ValueError(f"layer {layer} of {layers}")
    blocks = _blocks(loaded)
    users = _users(loaded, len(blocks))
    block = next(index for index, shared in enumerate(users) if layer in shared)
    names = blocks[block]
    attention = _attention_modules(loaded, (names["query"] or names["query_key_value"] or names["key"])[0])
    heads = _count(attention, HEAD_COUNT_ATTRIBUTES, 0)
    if not heads:
        raise _unknown(loaded, "neither the model nor its config says how many heads a layer has")
    if names["query_key_value"]:
        query, key, value = _fused(loaded, names, heads, _count(attention, KEY_HEAD_COUNT_ATTRIBUTES, heads))
    else:
        query, key, value = (_projection(loaded, part, names[part]) for part in ("query", "key", "value"))
    head_dim, uneven = divmod(len(query.weight), heads)
    key_heads, unequal = divmod(len(key.weight), head_dim or 1)
    if uneven or unequal or not key_heads or heads % key_heads or len(value.weight) % key_heads:
        raise _unknown(loaded, f"{heads} heads do not divide projections of {len(query.weight)} rows")
    output = _projection(loaded, "attention_output", names["attention_output"], len(value.weight) // key_heads * heads)
    return LayerProjections(query, key, value, output, heads, key_heads, users[block])


def _blocks(loaded: LoadedModel) -> list[ProjectionNames]:
    """Names of the projections of every stored layer, by part."""
    classifier = NameClassifier(loaded.model_type, loaded.model.base_model_prefix, wrapped=False)
    blocks: dict[int, dict[str, list[str]]] = {}
    for name, _ in loaded.model.named_parameters():
        role, layer = classifier.classify(name)
        if layer is not None and not any(word in name for word in CROSS_ATTENTION):
            parts = ("query", "key", "value", "query_key_value", "attention_output")
            block = blocks.setdefault(layer, {part: [] for part in parts})
            if role.part in block:
                block[role.part].append(name)
    stored_blocks: list[ProjectionNames] = [blocks[layer] for layer in sorted(blocks)]
    if not stored_blocks or not all(
        block["query_key_value"] or (block["query"] and block["key"]) for block in stored_blocks
    ):
        row = family(loaded.model_type)
        why = "mixes tokens without query, key and value, so it has no heads"
        if row.has_attention:
            why = "keeps its query, key and value projections under names that are not known here"
        raise UnsupportedModelError(f"{row.title} {why}; choose another model.")
    return stored_blocks


def _users(loaded: LoadedModel, blocks: int) -> list[tuple[int, ...]]:
    """The layers of a forward pass that use each stored layer (ALBERT: Lan et al. 2020, section 3.1)."""
    layers = loaded.num_hidden_layers
    if blocks == layers:
        return [(layer,) for layer in range(layers)]
    config = loaded.model.config
    groups, inner = getattr(config, "num_hidden_groups", None), getattr(config, "inner_group_num", 1)
    if groups is None or groups * inner != blocks:
        raise _unknown(loaded, f"it stores {blocks} layers of projections for {layers} layers")
    used = [int(layer // inner / (layers / inner / groups)) * inner + layer % inner for layer in range(layers)]
    return [tuple(layer for layer in range(layers) if used[layer] == block) for block in range(blocks)]


def _attention_modules(loaded: LoadedModel, name: str) -> list[Any]:
    """The modules around a projection, nearest first, and the config of the model."""
    path = name.split(".")
    depths = range(len(path) - 1, max(len(path) - 4, 0), -1)
    return [*(loaded.model.get_submodule(".".join(path[:depth])) for depth in depths), loaded.model.config]


def _count(modules: list[Any], attributes: Sequence[str], default: int) -> int:
    """The first count of heads among the attributes of the modules."""
    counts = (getattr(module, attribute, None) for module in modules for attribute in attributes)
    return next((count for count in counts if isinstance(count, int) and count > 0), default)


def _projection(loaded: LoadedModel, part: str, names: list[str], least_columns: int = 0) -> Projection:
    """The only matrix among these parameters, with its bias."""
    tensors = {name: loaded.model.get_parameter(name) for name in names}
    matrices = [name for name in names if tensors[name].ndim > 1]
    if least_columns:
        matrices = [name for name in matrices if tensors[name].numel() // len(tensors[name]) >= least_columns]
    if len(matrices) != 1:
        raise _unknown(loaded, f"a layer has {len(matrices)} {part.replace('_', ' ')} projections")
    name = matrices[0]
    module_path, _, attribute = name.rpartition(".")
    module = loaded.model.get_submodule(module_path)
    bare = attribute not in ("weight", "kernel")
    weight, form = _matrix(module, tensors[name], bare, part == "attention_output")
    bias = None if bare else getattr(module, "bias", None)
    return Projection(weight, bias, module, bare, None, False, StoredMatrix(name, tuple(tensors[name].shape), form))


def _matrix(module: Any, weight: "torch.Tensor", bare: bool, output: bool) -> "tuple[torch.Tensor, str]":
    """A stored weight as (rows, columns), and how it was read."""
    if isinstance(module, torch.nn.Conv1d) and not bare:
        # Each group of rows reads its own group of columns; the others stand as zeros.
        wide = torch.zeros(len(weight), module.in_channels, dtype=weight.dtype, device=weight.device)
        for group, rows in enumerate(weight.detach().squeeze(-1).chunk(module.groups)):
            wide[group * len(rows) : (group + 1) * len(rows), group * rows.shape[1] : (group + 1) * rows.shape[1]] = (
                rows
            )
        return wide, "as stored" if module.groups == 1 else f"{module.groups} groups, zero outside them"
    if weight.ndim == 3:
        flat = weight.flatten(1)
        return (flat, "heads side by side") if output else (flat.T, "heads side by side, transposed")
    if type(module).__name__ == "Conv1D":
        return weight.T, "transposed"
    return weight, "as stored"


def _fused(
    loaded: LoadedModel, names: ProjectionNames, heads: int, key_heads: int
) -> tuple[Projection, Projection, Projection]:
    """Query, key and value out of the one matrix that holds all three, in the order of the family."""
    whole = _projection(loaded, "query_key_value", names["query_key_value"])
    total, order = len(whole.weight), family(loaded.model_type).fused
    if not order:
        raise _unknown(loaded, "it keeps query, key and value in one matrix, in an order that is not known")
    if total % (heads + 2 * key_heads) or heads % key_heads:
        raise _unknown(loaded, f"{heads} heads do not divide a projection of {total} rows")
    if order == "head by head":
        row_numbers = torch.arange(total).view(key_heads, heads // key_heads + 2, -1)
        cuts: Sequence[torch.Tensor] = (row_numbers[:, :-2], row_numbers[:, -2], row_numbers[:, -1])
    else:
        size = total // (heads + 2 * key_heads)
        cuts = torch.arange(total).tensor_split((heads * size, (heads + key_heads) * size))
    row_sets = [cut.flatten() for cut in cuts]
    forms = _forms(row_sets, total, heads, key_heads, "columns" if whole.stored.form == "transposed" else "rows")
    parts = []
    for part, rows, form in zip(("query", "key", "value"), row_sets, forms, strict=True):
        # DeBERTa keeps the biases of query and value by themselves, behind the fused product.
        own = [loaded.model.get_parameter(name) for name in names[part]]
        bias = own[0] if own else None if whole.bias is None else whole.bias[rows]
        stored = StoredMatrix(whole.stored.name, whole.stored.shape, form)
        parts.append(Projection(whole.weight[rows], bias, whole.module, False, rows, bool(own), stored))
    return parts[0], parts[1], parts[2]


def _forms(row_sets: "Sequence[torch.Tensor]", total: int, heads: int, key_heads: int, side: str) -> list[str]:
    """Where the queries, the keys and the values stand among the rows, in words."""
    if all(int(rows[-1] - rows[0]) == len(rows) - 1 for rows in row_sets):
        return [f"{side} {int(rows[0]):,} to {int(rows[-1]):,} of {total:,}" for rows in row_sets]
    if key_heads == heads:
        return [f"{word} third of each head's rows" for word in ("first", "second", "last")]
    shares = ("all but the last two blocks", "last block but one", "last block")
    return [f"{share} of each key head's {heads // key_heads + 2} blocks of rows" for share in shares]


def _unknown(loaded: LoadedModel, reason: str) -> UnsupportedModelError:
    title = family(loaded.model_type).title
    return UnsupportedModelError(
        f"The projections of {title} cannot be cut into heads here ({reason}); choose another model."
    )
