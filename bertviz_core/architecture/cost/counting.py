"""Count the multiply-adds of a run without weights by module and part, with PyTorch's formulas."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from bertviz_core.architecture.cost.results import MultiplyAdds
from bertviz_core.architecture.dry_run import DryModel, dry_model, plain_row
from bertviz_core.architecture.layer_modules import layer_paths
from bertviz_core.errors import TextError
from bertviz_core.lazy_imports import torch
from bertviz_core.models.torch_internals import dispatch_mode, operator_of
from bertviz_core.parameters.components import ATTENTION_PARTS
from bertviz_core.parameters.ledger import module_ledger
from bertviz_core.parameters.results import Ledger

PROJECTED = ("query", "key", "value", "query_key_value", "attention_output")
"""Parts of the projections of attention."""
STACKS = ("encoder", "decoder")


class Places:
    """The layers and parts of the modules of a class."""

    def __init__(self, ledger: Ledger) -> None:
        """Derive them from the parameters of the class."""
        self._parts: dict[str, set[str]] = {}
        for row in ledger.parameters:
            if len(row.shape) > 1:
                self._parts.setdefault(row.name.rpartition(".")[0], set()).add(row.part)
        self._layers = {
            path: (stack, layer)
            for stack in STACKS
            for layer, paths in layer_paths(ledger, ledger.model_type, stack).items()
            for path in paths
        }

    def layer(self, path: str) -> tuple[str, str, int] | None:
        """(path of the layer around a module, its stack, its index); None outside the layers."""
        parts = path.split(".")
        above = (".".join(parts[:end]) for end in range(len(parts), 0, -1))
        around = next((each for each in above if each in self._layers), None)
        return None if around is None else (around, *self._layers[around])

    def part(self, path: str) -> str:
        """The field of MultiplyAdds for the products of a module.

        A module of a layer without weight matrices multiplies activations, which is attention.
        """
        parts = self._parts.get(path, set())
        if self.mixed(path) or (not parts and self.layer(path) is not None):
            return "attention"
        if parts == {"feed_forward"}:
            return "feed_forward"
        return "projections" if parts and parts <= set(PROJECTED) else "other"

    def mixed(self, path: str) -> bool:
        """Whether a module has several matrices of attention and also computes the scores (XLNet)."""
        parts = self._parts.get(path, set())
        return len(parts) > 1 and parts <= set(ATTENTION_PARTS)


def places_of(dry: DryModel) -> Places:
    """The layers and parts of the modules of a dry model."""
    return Places(module_ledger(dry.name, dry.model))


def module_counts(dry: DryModel, seq: int) -> dict[str, int]:
    """Multiply-adds of a run on `seq` tokens by innermost module; they add up to the total of the run.

    Raises:
        TextError: a run on the CPU would take too long.
    """
    counts: dict[str, int] = {}
    around: list[tuple[str, int]] = []
    inputs = dry.inputs([plain_row(dry.model, seq)])  # BigBird replaces modules depending on the length
    with _counting() as counter:

        def enter(path: str) -> None:
            around.append((path, counter.flops))

        def leave(path: str) -> None:
            _, before = around.pop()
            inside = counter.flops - before
            counts[path] = counts.get(path, 0) + inside
            if around:
                outer = around[-1][0]
                counts[outer] = counts.get(outer, 0) - inside

        hooks = []
        for path, module in dry.model.named_modules():
            hooks.append(module.register_forward_pre_hook(lambda *_, path=path: enter(path)))
            hooks.append(module.register_forward_hook(lambda *_, path=path: leave(path)))
        try:
            dry.run(inputs)
        finally:
            for hook in hooks:
                hook.remove()
    return {path: count // 2 for path, count in counts.items() if count}


def counted(name: str, config: Mapping[str, Any], lengths: Sequence[int], task: str = "base") -> MultiplyAdds:
    """Count multiply-adds by part for runs of these lengths, with PyTorch's formulas (torch.utils.flop_counter).

    Attention is eager, so every pair of tokens counts regardless of windows. Lengths whose run would take too long are
    left out.

    Args:
        name: name of the model.
        config: its config.
        lengths: tokens of the texts.
        task: task of the class.

    Raises:
        UnsupportedModelError: the class cannot be run without weights.
    """
    dry = dry_model(name, config, task)
    where = places_of(dry)
    known: list[int] = []
    sums: dict[str, list[int]] = {part: [] for part in ("projections", "attention", "feed_forward", "other")}
    for seq in lengths:
        with suppress(TextError):
            counts = module_counts(dry, seq)
            known.append(seq)
            for part, values in sums.items():
                values.append(sum(count for path, count in counts.items() if where.part(path) == part))
    arrays = {part: np.array(values, dtype=np.int64) for part, values in sums.items()}
    return MultiplyAdds(np.array(known, dtype=np.int64), every_pair=arrays["attention"], **arrays)


@contextmanager
def _counting() -> Iterator[Any]:
    """Count operations of this thread into `flops`; FlopCounterMode itself would hook modules of all threads."""
    from torch.utils.flop_counter import flop_registry

    mode: Any = dispatch_mode()

    class _Counter(mode):  # type: ignore[misc]  # torch leaves the class without types
        flops = 0

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if operator_of(func) not in flop_registry:
                with self:
                    parts = func.decompose(*args, **(kwargs or {}))
                if parts is not NotImplemented:
                    return parts
            out = func(*args, **(kwargs or {}))
            formula = flop_registry.get(operator_of(func))
            if formula is not None:
                self.flops += formula(*args, **(kwargs or {}), out_val=out)
            return out

    with torch.no_grad(), _Counter() as counter:
        yield counter
