"""Find the modules to intervene at: every layer, its feed-forward block and its attention's output projection."""

from dataclasses import dataclass
from typing import Any

from bertviz_core.errors import UnsupportedModelError
from bertviz_core.heads.projections import layer_projections
from bertviz_core.lazy_imports import torch
from bertviz_core.models.families import family
from bertviz_core.models.loading import LoadedModel
from bertviz_core.parameters.components import inside_layer
from bertviz_core.parameters.naming import NameClassifier

HIDDEN_SIZES = ("hidden_size", "d_model", "dim", "n_embd", "emb_dim")
"""Config names of the width of a hidden state."""


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Modules of the base model -> the layers they serve, in the order of their calls."""

    layers: "dict[torch.nn.Module, tuple[int, ...]]"
    """Whole layers; {} if a family keeps the parts of a layer in separate lists (XLM)."""
    feed_forward: "dict[torch.nn.Module, tuple[int, ...]]"
    """Last linear map of the feed-forward block; {} if a layer has several or none is known."""
    projections: "dict[torch.nn.Module, tuple[int, ...]]"
    """Output projection of attention; {} if attention is recorded, or the projection is a bare tensor (XLNet)."""
    columns: int
    """Number of leading input columns of the projection that come from the heads; 0 without projections."""
    heads: int
    """Heads per layer; 0 without projections."""
    across: bool
    """Whether the layers take states as (batch, hidden, seq), as the convolutions of SqueezeBERT do."""


def model_parts(loaded: LoadedModel, heads_needed: bool = True) -> Parts:
    """Find the parts of a model that can be changed; call check_recording first, which settles attention_source.

    Args:
        loaded: the model.
        heads_needed: whether heads are to be changed; without them layers can be changed in more families.

    Raises:
        UnsupportedModelError: heads are needed, and the model has no attention, or no module with separate heads.
    """
    if heads_needed and loaded.attention_source == "none":
        title = family(loaded.model_type).title
        raise UnsupportedModelError(
            f"{title} has no attention heads whose output could be changed; choose another model."
        )
    projections: dict[torch.nn.Module, tuple[int, ...]] = {}
    columns = heads = 0
    if loaded.attention_source == "eager":
        try:
            projections, columns, heads = _projections(loaded)
        except UnsupportedModelError:
            if heads_needed:
                raise
    return Parts(
        layers=_layers(loaded, _names(loaded)),
        feed_forward=feed_forward_maps(loaded),
        projections=projections,
        columns=columns,
        heads=heads,
        across=any(is_convolution(module) for module in projections),
    )


def _projections(loaded: LoadedModel) -> "tuple[dict[torch.nn.Module, tuple[int, ...]], int, int]":
    """Return the modules that read the heads' outputs, the width of these outputs, and the number of heads."""
    modules: dict[torch.nn.Module, tuple[int, ...]] = {}
    columns = heads = 0
    for layer in range(loaded.num_hidden_layers):
        row = layer_projections(loaded, layer)
        if row.output.bare:
            raise UnsupportedModelError(
                f"{family(loaded.model_type).title} applies its output projection without a module of its own, so "
                "nothing can be changed before it; choose another model."
            )
        heads, columns = row.heads, len(row.value.weight) // row.key_heads * row.heads
        modules[row.output.module] = row.shared_with
    return modules, columns, heads


def _names(loaded: LoadedModel) -> dict[int, list[tuple[str, str]]]:
    """Return names and parts of the parameters of every stored layer, in order."""
    classifier = NameClassifier(loaded.model_type, loaded.model.base_model_prefix, wrapped=False)
    blocks: dict[int, list[tuple[str, str]]] = {}
    for name, _ in loaded.model.named_parameters():
        role, layer = classifier.classify(name)
        if layer is not None:
            blocks.setdefault(layer, []).append((name, role.part))
    return {index: blocks[layer] for index, layer in enumerate(sorted(blocks))}


def _served(loaded: LoadedModel, stored: int) -> list[tuple[int, ...]]:
    """Return the layers of a forward pass that each stored layer serves; () if unknown."""
    if stored == loaded.num_hidden_layers:
        return [(layer,) for layer in range(stored)]
    try:
        rows = [layer_projections(loaded, layer).shared_with for layer in range(loaded.num_hidden_layers)]
    except UnsupportedModelError:
        return []
    return list(dict.fromkeys(rows))


def _layers(loaded: LoadedModel, names: dict[int, list[tuple[str, str]]]) -> "dict[torch.nn.Module, tuple[int, ...]]":
    """Find the module that contains all parameters of each layer, if there is one."""
    modules: dict[torch.nn.Module, tuple[int, ...]] = {}
    served = _served(loaded, len(names))
    for block, layers in enumerate(served):
        paths = set()
        for name, _ in names[block]:
            location = inside_layer(name, loaded.model_type)
            paths.add(name[: location[0][-1].stop] if location is not None else "")
        if len(paths) != 1:
            return {}
        modules[loaded.model.get_submodule(paths.pop())] = layers
    return modules if len(modules) == len(names) else {}


def feed_forward_maps(loaded: LoadedModel) -> "dict[torch.nn.Module, tuple[int, ...]]":
    """Find the matrix of each feed-forward block that projects back to the hidden size, and the layers it serves.

    Args:
        loaded: the model.

    Returns:
        Module -> layers in the order of its calls; {} if a layer has several such matrices or none is known.
    """
    names, config = _names(loaded), loaded.model.config
    hidden = next((size for each in HIDDEN_SIZES if isinstance(size := getattr(config, each, None), int)), 0)
    modules: dict[torch.nn.Module, tuple[int, ...]] = {}
    served = _served(loaded, len(names))
    for block, layers in enumerate(served):
        matrices = [
            name.rpartition(".")[0]
            for name, part in names[block]
            if part == "feed_forward" and name.endswith(".weight")
        ]
        last = [path for path in matrices if _leads_to(loaded.model.get_submodule(path), hidden)]
        if len(last) != 1:
            return {}
        modules[loaded.model.get_submodule(last[0])] = layers
    return modules


def is_convolution(module: Any) -> bool:
    """Return whether a linear map is stored as a convolution of width 1, with input (batch, channels, seq)."""
    return isinstance(module, torch.nn.Conv1d)


def _leads_to(module: Any, width: int) -> bool:
    """Return whether a linear map has this output width and another input width."""
    shape = tuple(module.weight.shape)
    if len(shape) == 3 and shape[2] == 1:  # a convolution of width 1
        shape = shape[:2]
    if type(module).__name__ == "Conv1D":  # GPT-2 stores its matrices transposed
        shape = shape[::-1]
    return len(shape) == 2 and shape[0] == width and shape[1] != width
