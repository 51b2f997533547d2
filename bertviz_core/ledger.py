"""From rows to a ledger: components, layers and totals are sums of rows."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from bertviz_core.arithmetic import component_arithmetic
from bertviz_core.families import layer_applications, layer_numbers
from bertviz_core.parts import COMPONENTS, PARTS
from bertviz_core.results import Buffer, ComponentCount, LayerCount, Ledger, Parameter, Way
from bertviz_core.safetensors_header import DTYPE_NBYTES


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
    by_dtype: dict[str, int] = defaultdict(int)
    groups: dict[str, list[Parameter]] = {part: [] for part in COMPONENTS}
    for row in counted:
        by_dtype[row.dtype] += row.numel
        groups[row.component].append(row)
    total = sum(by_dtype.values())
    return Ledger(
        model=name,
        model_type=str(config.get("model_type", "")),
        architecture=architecture,
        way=way,
        parameters=tuple(parameters),
        buffers=tuple(buffers),
        components=tuple(_component(part, rows) for part, rows in groups.items() if rows),
        layers=_layers(counted, config),
        total=total,
        trainable=total - sum([row.numel for row in counted if not row.trainable]),
        tensors=len(counted),
        tied=len(parameters) - len(counted),
        nbytes=int(sum(numel * DTYPE_NBYTES.get(dtype, 4) for dtype, numel in by_dtype.items())),
        stored_tensors=stored[0] if stored else None,
        stored_nbytes=stored[1] if stored else None,
    )


def _component(name: str, rows: list[Parameter]) -> ComponentCount:
    return ComponentCount(name, sum([row.numel for row in rows]), len(rows), component_arithmetic(rows))


def _layers(counted: list[Parameter], config: Mapping[str, Any]) -> tuple[LayerCount, ...]:
    sums: dict[tuple[str, int], dict[str, int]] = defaultdict(lambda: dict.fromkeys(PARTS, 0))
    for _, _, _, numel, _, _, _, component, layer, part in counted:
        if layer is not None:
            sums[component, layer][part] += numel
    runs = layer_applications(config)
    return tuple(
        LayerCount(component, layer, sum(parts.values()), **parts, applications=runs.get(layer, 1))
        for (component, layer), parts in sorted(sums.items())
    )
