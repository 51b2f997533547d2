"""From rows to a ledger: components, layers and totals are sums of rows."""

from collections.abc import Mapping
from operator import itemgetter
from typing import Any

from bertviz_core.arithmetic import component_arithmetic
from bertviz_core.dtypes import DTYPE_NBYTES
from bertviz_core.families import layer_applications, layer_numbers
from bertviz_core.parts import COMPONENTS, PARTS
from bertviz_core.results import Buffer, ComponentCount, LayerCount, Ledger, Parameter, Way


def balanced_ledger(
    name: str,
    config: Mapping[str, Any],
    architecture: str,
    way: Way,
    parameters: list[Parameter],
    buffers: list[Buffer],
    stored: tuple[int, int] | None,
) -> Ledger:
    """The ledger of these rows.

    Args:
        name: name of the model.
        config: its config.
        architecture: class whose parameters these are.
        way: how the rows were found.
        parameters: the rows, tied ones included.
        buffers: what is no parameter.
        stored: tensors and bytes in the file; None where no file was read.
    """
    parameters = layer_numbers(parameters)
    counted = parameters
    if [True for row in parameters if row.tied_to is not None]:
        counted = [row for row in parameters if row.tied_to is None]
    sums: dict[tuple[str, int], dict[str, int]] = {}
    groups: dict[str, list[Parameter]] = {part: [] for part in COMPONENTS}
    for row in counted:
        component, layer = row.component, row.layer
        groups[component].append(row)
        if layer is not None:
            where = (component, layer)
            if where not in sums:
                sums[where] = dict.fromkeys(PARTS, 0)
            sums[where][row.part] += row.numel
    total = sum([row.numel for row in counted])
    layers = _layers(sums, config)
    return Ledger(
        model=name,
        model_type=str(config.get("model_type", "")),
        architecture=architecture,
        way=way,
        parameters=tuple(parameters),
        buffers=tuple(buffers),
        components=tuple(_component(part, rows, layers) for part, rows in groups.items() if rows),
        layers=layers,
        total=total,
        trainable=total - sum([row.numel for row in counted if not row.trainable]),
        tensors=len(counted),
        tied=len(parameters) - len(counted),
        nbytes=_nbytes(counted, total),
        stored_tensors=stored[0] if stored else None,
        stored_nbytes=stored[1] if stored else None,
    )


def _nbytes(counted: list[Parameter], total: int) -> int:
    dtypes = {row.dtype for row in counted}
    if len(dtypes) == 1:
        return int(total * DTYPE_NBYTES.get(dtypes.pop(), 4))
    return int(sum([row.numel * DTYPE_NBYTES.get(row.dtype, 4) for row in counted]))


def _component(name: str, rows: list[Parameter], layers: tuple[LayerCount, ...]) -> ComponentCount:
    inside = [layer.total for layer in layers if layer.component == name]
    outside = [row for row in rows if row.layer is None] if inside else rows
    total = sum(inside) + sum([row.numel for row in outside])
    return ComponentCount(name, total, len(rows), component_arithmetic(inside, outside))


def _layers(sums: Mapping[tuple[str, int], dict[str, int]], config: Mapping[str, Any]) -> tuple[LayerCount, ...]:
    """One row for every layer of these sums of its parts."""
    runs = layer_applications(config)
    return tuple(
        [
            LayerCount(component, layer, sum(parts.values()), **parts, applications=runs.get(layer, 1))
            for (component, layer), parts in sorted(sums.items(), key=itemgetter(0))
        ]
    )
