"""What is used of torch that it does not promise to keep.

An upgrade is checked against tests/models/test_internals.py.
"""

import copy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    import torch

INTERNALS = ("_cdata", "_modules", "_overloadpacket", "_forward_hooks")
"""Attributes that no other file reads."""


def children_of(module: "torch.nn.Module") -> "Iterable[tuple[str, torch.nn.Module | None]]":
    """Names and modules directly inside one, empty places and repeats included, which named_children leaves out."""
    return module._modules.items()


def with_child(module: "torch.nn.Module", name: str, child: "torch.nn.Module") -> Any:
    """A module that shares all that another has, but for the module directly inside it of this name."""
    other = copy.copy(module)
    vars(other)["_modules"] = {**module._modules, name: child}
    return other


def remove_hooks(module: "torch.nn.Module", made_in: str) -> None:
    """Take away the forward hooks whose function was defined in a Python module; those of others stay."""
    for key, hook in list(module._forward_hooks.items()):
        if getattr(hook, "__module__", "") == made_in:
            del module._forward_hooks[key]


def storage_key(tensor: "torch.Tensor") -> int:
    """What is the same for all tensors that share their memory, on the meta device too, where no address tells."""
    return int(tensor.untyped_storage()._cdata)


def operator_of(overload: Any) -> Any:
    """The operator of one of its overloads, which torch's formulas are registered by."""
    return overload._overloadpacket


def dispatch_mode() -> Any:
    """The class whose heirs see every operation, TorchDispatchMode; torch leaves it without types."""
    from torch.utils._python_dispatch import TorchDispatchMode

    return TorchDispatchMode


def tree_leaves(value: Any) -> list[Any]:
    """The values inside tuples, lists and dicts."""
    from torch.utils import _pytree

    return _pytree.tree_leaves(value)
