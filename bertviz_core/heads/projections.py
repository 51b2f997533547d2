"""Query, key, value and output of the heads of a layer, and what the layer reads."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from threading import get_ident
from typing import Any, NamedTuple

import numpy as np

from bertviz_core.errors import SupersededError, UnsupportedModelError
from bertviz_core.heads.results import LayerRun, StoredMatrix
from bertviz_core.lazy_imports import torch
from bertviz_core.models.families import family
from bertviz_core.models.loading import LoadedModel
from bertviz_core.parameters.naming import NameClassifier
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.run import RUN_LOCK, to_numpy
from bertviz_core.trace.verification import forward, model_inputs, reset_model_state

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
    """The four projections of one layer."""
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


LayerCapture = dict[int, tuple["torch.Tensor", "torch.Tensor | None"]]
"""id of a module -> its input and output."""


class _LayerPassedError(SupersededError):
    """Ends the run after everything was recorded."""


def capture_layer_io(loaded: LoadedModel, tokens: Tokens, layer: int) -> LayerRun:
    """Inputs and outputs of the projections of a layer for a text; the run ends after the layer."""
    with RUN_LOCK:
        inputs = model_inputs(loaded, (tokens,))
        reset_model_state(loaded.model, len(tokens))
        projections = layer_projections(loaded, layer)
        with torch.inference_mode(), _capturing(projections, projections.shared_with.index(layer)) as capture:
            _run(loaded, inputs)
    run = _captured_run(projections, capture, len(tokens))
    return run if loaded.intervention is None else replace(run, mixed=None)


def _run(loaded: LoadedModel, inputs: "dict[str, torch.Tensor]") -> None:
    with suppress(_LayerPassedError):
        forward(loaded, inputs)


@contextmanager
def _capturing(projections: LayerProjections, call: int) -> Iterator[LayerCapture]:
    """Record call number `call` of each module; the last one ends the run."""
    capture: LayerCapture = {}
    modules = {
        id(part.module): part.module
        for part in (projections.query, projections.key, projections.value, projections.output)
    }
    bare = {id(part.module) for part in (projections.query, projections.output) if part.bare}
    hook = _capture_hook(capture, call, set(modules), bare)
    hooks = [module.register_forward_hook(hook, with_kwargs=True) for module in modules.values()]
    try:
        yield capture
    finally:
        for handle in hooks:
            handle.remove()


def _capture_hook(capture: LayerCapture, call: int, modules: set[int], bare: set[int]) -> Callable[..., None]:
    thread, calls = get_ident(), dict.fromkeys(modules, -1)

    def record(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        if get_ident() != thread:
            return
        key = id(module)
        calls[key] += 1
        if calls[key] != call:
            return
        inputs = args[0] if args else next(iter(kwargs.values()))
        product = output[0] if isinstance(output, tuple) else output
        # Copies, since some families scale a product in place.
        capture[key] = inputs.clone(), None if key in bare else product.clone()
        if len(capture) == len(modules):
            raise _LayerPassedError

    return record


def _captured_run(projections: LayerProjections, capture: LayerCapture, seq: int) -> LayerRun:
    inputs, products = {}, {}
    for name in ("query", "key", "value", "output"):
        projection: Projection = getattr(projections, name)
        vectors, product = capture[id(projection.module)]
        inputs[name] = _rows(projection, vectors, seq)
        products[name] = None if product is None else _product(projection, _rows(projection, product, seq))
    for name in ("key", "value"):
        # In most families all three have the same inputs.
        if np.array_equal(inputs[name], inputs["query"]):
            inputs[name] = inputs["query"]
    return LayerRun(
        query_input=inputs["query"],
        key_input=inputs["key"],
        value_input=inputs["value"],
        query=products["query"],
        key=products["key"],
        value=products["value"],
        mixed=None if projections.output.bare else inputs["output"],
        output=products["output"],
    )


def _product(projection: Projection, rows: Any) -> Any:
    """The rows of this projection in a module's product, with the bias that the family adds separately."""
    if projection.rows is not None:
        rows = rows[:, projection.rows.numpy()]
    return rows + to_numpy(projection.bias) if projection.bias_behind and projection.bias is not None else rows


def _rows(projection: Projection, vectors: "torch.Tensor", seq: int) -> Any:
    """The vectors of a batch of one text as (seq, width), without padding, whatever the family's axis order."""
    if isinstance(projection.module, torch.nn.Conv1d):
        vectors = vectors.transpose(1, 2)
    return to_numpy(vectors.reshape(-1, vectors.shape[-1])[:seq], copy=True)
