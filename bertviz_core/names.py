"""From the names in a checkpoint file to the names in the PyTorch module, so that both ledgers have the same rows.

A file may be older than the class (LayerNorm.gamma), may come from a class with a task head (bert.embeddings...), may
keep query, key and value fused, and may hold buffers. The renames are transformers' own, packaged in
catalog/library.json, applied as its loader applies them.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from bertviz_core.catalog import TypeFacts
from bertviz_core.results import StoredTensor

LEGACY = (
    {"from": ["LayerNorm.gamma"], "to": ["LayerNorm.weight"]},
    {"from": ["LayerNorm.beta"], "to": ["LayerNorm.bias"]},
)
OLD_NAMES = (".gamma", ".beta")
NUMBERS = re.compile(r"(?:^|(?<=\.))(\d+)(?=\.)")
"""Numbers that stand for a layer or a group; split by it, a name is text and numbers in turn."""
BUFFER = re.compile(
    r"(^|\.)(position_ids|token_type_ids|num_batches_tracked|running_mean|running_var|inv_freq|masked_bias"
    r"|h\.\d+\.attn\.bias)$"
)


NamedTensor = tuple[str, tuple[int, ...], StoredTensor]
"""Name in the module, shape, and the stored tensor that it is, or that it is an even slice of."""


def module_tensors(tensors: Sequence[StoredTensor], facts: TypeFacts, base_only: bool) -> list[NamedTensor]:
    """The stored tensors under their names in the module.

    Args:
        tensors: what the header lists.
        facts: what is known of the model type.
        base_only: whether the config names the base class (or none), so that a prefix around everything goes away.
    """
    if facts.renames or [True for tensor in tensors if tensor.name.endswith(OLD_NAMES)]:
        steps = (*facts.renames, *LEGACY)
        named = [cut for tensor in tensors for cut in _renamed(tensor, steps)]
    else:
        named = [(tensor.name, tensor.shape, tensor) for tensor in tensors]
    prefix = f"{facts.prefix}."
    if base_only and facts.prefix and all(name.startswith(prefix) for name, _, _ in named):
        return [(name.removeprefix(prefix), shape, tensor) for name, shape, tensor in named]
    return named


def _renamed(tensor: StoredTensor, steps: Sequence[Mapping[str, Any]]) -> list[NamedTensor]:
    name = tensor.name
    for step in steps:
        match = _pattern(tuple(step["from"])).search(name)
        if match is None:
            continue
        targets = [_filled(target, match) for target in step["to"]]
        renamed = [name.replace(match.group(0), target, 1) for target in targets]
        if "chunk" not in step:
            name = renamed[0]
        elif tensor.shape and tensor.shape[step["chunk"]] % len(targets) == 0:
            axis = step["chunk"]
            shape = (*tensor.shape[:axis], tensor.shape[axis] // len(targets), *tensor.shape[axis + 1 :])
            return [(each, shape, tensor) for each in renamed]
    return [(name, tensor.shape, tensor)]


@cache
def _pattern(sources: tuple[str, ...]) -> re.Pattern[str]:
    """One pattern for several sources, the longest first; a pattern that ends in a letter ends on a name's boundary."""
    branches = []
    for source in sorted(sources, key=len, reverse=True):
        pattern = source.replace("*.", r".*\.")
        branches.append(f"(?:{pattern})" + (r"(?!\w)" if re.search(r"[a-zA-Z0-9]$", pattern) else ""))
    return re.compile("|".join(branches))


def _filled(target: str, match: re.Match[str]) -> str:
    groups = [group for group in match.groups() if group is not None]
    return target.replace(r"\1", groups[0]) if groups and r"\1" in target else target
