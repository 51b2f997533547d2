"""Uses of torch's private interfaces, collected here for upgrades; checked by tests/models/test_internals.py."""

import copy
from collections.abc import Iterable
from typing import Any

from bertviz_core.lazy_imports import torch

INTERNALS = ("_cdata", "_modules", "_overloadpacket", "_forward_hooks", "_python_dispatch", "_pytree")
"""Private attributes and modules that are used nowhere else."""


def children_of(module: "torch.nn.Module") -> "Iterable[tuple[str, torch.nn.Module | None]]":
    """Names and direct children of a module, including None and repeats, which named_children leaves out."""
    return module._modules.items()


def with_child(module: "torch.nn.Module", name: str, child: "torch.nn.Module") -> Any:
    """A shallow copy of a module with one direct child replaced."""
    other = copy.copy(module)
    vars(other)["_modules"] = {**module._modules, name: child}
    return other


def remove_hooks(module: "torch.nn.Module", defined_in: str) -> None:
    """Remove the forward hooks whose functions are defined in a given Python module."""
    for key, hook in list(module._forward_hooks.items()):
        if getattr(hook, "__module__", "") == defined_in:
            del module._forward_hooks[key]


def storage_key(tensor: "torch.Tensor") -> int:
    """A key shared by all tensors of the same storage, also on the meta device, where there are no addresses."""
    return int(tensor.untyped_storage()._cdata)


def operator_of(overload: Any) -> Any:
    """The operator of an overload; torch registers its FLOP formulas by operator."""
    return overload._overloadpacket


def dispatch_mode() -> Any:
    """The class TorchDispatchMode, whose subclasses see every operation."""
    return torch.utils._python_dispatch.TorchDispatchMode


def tree_leaves(value: Any) -> list[Any]:
    """The values inside tuples, lists and dicts."""
    return torch.utils._pytree.tree_leaves(value)
