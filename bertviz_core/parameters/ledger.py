"""The parameter ledger: every named parameter of a model, and sums that balance.

Three ways lead to the same ledger: a safetensors header (no torch, no weights), a config (built on the meta device),
a module in memory. Tied parameters are listed and counted once, as torch's own parameters() does.
"""

import gc
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from math import prod
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertviz_core import catalog, hub
from bertviz_core.checkpoint import read_header
from bertviz_core.errors import CheckpointError, HubError
from bertviz_core.ledger import balanced_ledger
from bertviz_core.names import module_tensors
from bertviz_core.places import places_of
from bertviz_core.results import Buffer, CheckpointHeader, Ledger, Parameter, Way
from bertviz_core.settings import Settings
from bertviz_core.sources import ModelSource, resolve
from bertviz_core.ties import left_out, tie_pairs, ties_that_hold

WHOLE_NUMBERS = frozenset(("int64", "int32", "bool"))
"""Dtypes that no parameter has: a stored tensor of these is a buffer, such as a table of position ids."""

if TYPE_CHECKING:
    import torch


def parameter_ledger(name: str, settings: Settings, task: str | None = None) -> Ledger:
    """The ledger of a model by name: from its header where it has one, else from its config.

    Args:
        name: a model's name (bertviz_core.sources).
        settings: what may be opened.
        task: count the class of this task, built from the config; None for what the checkpoint holds.

    Raises:
        BertvizError: the model is not there, cannot be read, or has no class for the task.
    """
    return source_ledger(resolve(name, settings), settings, task)


def source_ledger(source: ModelSource, settings: Settings, task: str | None = None) -> Ledger:
    """The ledger of a resolved model; see parameter_ledger."""
    if task is None and source.has_weights and source.folder is not None:
        with collection_paused():
            return header_ledger(source.name, source.config, read_header(source.folder))
    if task is None and source.kind == "hub" and source.hub_id is not None:
        with suppress(HubError):  # unplugged since the config was fetched: the config still tells the shapes
            header = hub.fetch_header(source.hub_id, source.revision, settings.hub_endpoint)
            return header_ledger(source.name, source.config, header)
    if task is None and source.folder is not None and source.kind == "local":
        _refuse_broken_weights(source.folder)
    return config_ledger(source.name, source.config, task or "base")


def header_ledger(name: str, config: Mapping[str, Any], header: CheckpointHeader) -> Ledger:
    """The ledger of what a checkpoint stores; imports no torch.

    Raises:
        CheckpointError: transformers does not know the config's model type.
    """
    facts = catalog.type_facts(str(config.get("model_type")))
    if facts is None:
        raise CheckpointError(f"{name!r}: transformers does not know the model type {config.get('model_type')!r}.")
    architecture = (config.get("architectures") or [facts.base_class])[0]
    base_only = architecture == facts.base_class
    named = module_tensors(header.tensors, facts, base_only)
    prefix = f"{facts.prefix}."
    wrapped = (
        bool(facts.prefix) and not base_only and any(tensor_name.startswith(prefix) for tensor_name, _, _ in named)
    )
    pairs = tie_pairs(architecture, facts)
    asked = {*pairs, *pairs.values()}
    names = {tensor_name for tensor_name, _, _ in named if tensor_name in asked}
    ties = ties_that_hold(pairs, config, facts, names)
    places = places_of(facts.model_type, facts.prefix, wrapped)
    located = places.located
    ordered: defaultdict[int, list[tuple[str, Parameter]]] = defaultdict(list)
    buffers: list[Buffer] = []
    for name_, shape, stored in named:
        place, layer, order, last = located(name_)
        if place.buffer or stored.dtype in WHOLE_NUMBERS:
            buffers.append(Buffer(name_, shape, stored.dtype, stored=True))
        else:
            trainable, tied_to = not place.frozen, ties.get(name_)
            row = Parameter(
                name_,
                stored.name,
                shape,
                prod(shape),
                stored.dtype,
                trainable,
                tied_to,
                place.component,
                layer,
                place.part,
            )
            ordered[order].append((last, row))
    for rows in ordered.values():
        if len(rows) > 1:
            rows.sort(key=itemgetter(0))
    parameters = [row for order in sorted(ordered) for _, row in ordered[order]]
    if ties:
        parameters += left_out(ties, parameters, names, places)
    own = wrapped or base_only or any(source in names for source in catalog.ties_of(architecture).values())
    shown = architecture if own or not facts.base_class else facts.base_class
    return balanced_ledger(
        name,
        config,
        shown,
        "header",
        parameters,
        buffers,
        (len(header.tensors), sum([tensor.nbytes for tensor in header.tensors])),
    )


def config_ledger(name: str, config: Mapping[str, Any], task: str = "base") -> Ledger:
    """The ledger of the class that a config describes, built on the meta device without weights.

    Raises:
        BertvizError: no such model can be built.
    """
    from bertviz_core.skeleton import build_skeleton

    return module_ledger(name, build_skeleton(name, config, task), way="config")


def module_ledger(name: str, module: "torch.nn.Module", way: Way = "module") -> Ledger:
    """The ledger of a PyTorch module in memory (a transformers model, with its config)."""
    configured: Any = getattr(module, "config", None)
    config = configured.to_dict() if configured is not None else {}
    architecture = type(module).__name__
    facts = catalog.type_facts(str(config.get("model_type")))
    prefix = getattr(module, "base_model_prefix", "")
    wrapped = bool(prefix) and hasattr(module, prefix) and not (facts and facts.base_class == architecture)
    places = places_of(str(config.get("model_type", "")), prefix, wrapped)
    named = list(module.named_parameters(remove_duplicate=False))
    owners = _owners(module, named)
    parameters = []
    for path, value in named:
        dtype, owner = str(value.dtype).removeprefix("torch."), owners[id(value)]
        tied_to = None if owner == path else owner
        parameters.append(places.named_row(path, tuple(value.shape), dtype, tied_to, value.requires_grad))
    kept = set(module.state_dict())
    buffers = [
        Buffer(path, tuple(value.shape), str(value.dtype).removeprefix("torch."), stored=False)
        for path, value in module.named_buffers()
        if path in kept
    ]
    return balanced_ledger(name, config, architecture, way, parameters, buffers, None)


@contextmanager
def collection_paused() -> Iterator[None]:
    """No garbage collection inside: of many rows being made none is garbage, and looking takes half the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _owners(module: "torch.nn.Module", named: "list[tuple[str, torch.nn.Parameter]]") -> dict[int, str]:
    """The one name under which each parameter is counted: the class says which of two tied names is the other's."""
    borrowed = set(getattr(module, "all_tied_weights_keys", None) or {})
    owners: dict[int, str] = {}
    for path, value in sorted(named, key=lambda found: found[0] in borrowed):
        owners.setdefault(id(value), path)
    return owners


def _refuse_broken_weights(folder: Path) -> None:
    """A folder with weights that cannot be read is refused; a folder with a config alone is described by it."""
    if any(path.name.startswith(("model", "pytorch_model", "tf_model")) for path in folder.iterdir()):
        read_header(folder)
