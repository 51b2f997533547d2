"""From rows to a ledger: components, layers and totals are sums of rows."""

from collections import defaultdict
from collections.abc import Mapping
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
    if any(row.tied_to is not None for row in parameters):
        counted = [row for row in parameters if row.tied_to is None]
    cells: dict[tuple[str, int | None, str, str], int] = defaultdict(int)
    groups: dict[str, list[Parameter]] = {part: [] for part in COMPONENTS}
    for row in counted:
        cells[row.component, row.layer, row.part, row.dtype] += row.numel
        groups[row.component].append(row)
    total = sum(cells.values())
    layers = _layers(cells, config)
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
        nbytes=int(sum([numel * DTYPE_NBYTES.get(dtype, 4) for (_, _, _, dtype), numel in cells.items()])),
        stored_tensors=stored[0] if stored else None,
        stored_nbytes=stored[1] if stored else None,
    )


def _component(name: str, rows: list[Parameter], layers: tuple[LayerCount, ...]) -> ComponentCount:
    inside = [layer.total for layer in layers if layer.component == name]
    outside = [row for row in rows if row.layer is None] if inside else rows
    total = sum(inside) + sum([row.numel for row in outside])
    return ComponentCount(name, total, len(rows), component_arithmetic(inside, outside))


def _layers(cells: Mapping[tuple[str, int | None, str, str], int], config: Mapping[str, Any]) -> tuple[LayerCount, ...]:
    """One row for every layer of these sums by component, layer, part and dtype."""
    sums: dict[tuple[str, int], dict[str, int]] = defaultdict(lambda: dict.fromkeys(PARTS, 0))
    for (component, layer, part, _), numel in cells.items():
        if layer is not None:
            sums[component, layer][part] += numel
    runs = layer_applications(config)
    return tuple(
        LayerCount(component, layer, sum(parts.values()), **parts, applications=runs.get(layer, 1))
        for (component, layer), parts in sorted(sums.items())
    )
