"""Locate every tensor of a checkpoint in the model, and arrange one number per tensor by modules and layers."""

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from bertviz_core.checkpoints.results import BUFFER, TensorGrid, TensorLocation
from bertviz_core.checkpoints.values import Checkpoint
from bertviz_core.parameters.components import inside_layer
from bertviz_core.parameters.ledger import header_ledger
from bertviz_core.parameters.results import Ledger, Parameter

MAX_ROWS = 48
MAX_OUTSIDE = 24
NUMBER = re.compile(r"\d+")


def locations(checkpoint: Checkpoint) -> tuple[TensorLocation, ...]:
    """Locate every stored tensor in the model, in the order of the data flow; buffers last."""
    ledger: Ledger = header_ledger(checkpoint.name, checkpoint.config, checkpoint.header, checkpoint.folder)
    rows: dict[str, list[Parameter]] = {}
    for row in ledger.parameters:
        if row.stored_name is not None:
            rows.setdefault(row.stored_name, []).append(row)
    tensors = _without_repeats([_location(stored, parts, checkpoint.model_type) for stored, parts in rows.items()])
    # Tensors listed twice under one name in the module (slices of a fused tensor) already have a row.
    unlisted = (tensor.name for tensor in checkpoint.header.tensors if tensor.name not in rows)
    return (*tensors, *(TensorLocation(name, name, BUFFER, None, name, "other") for name in unlisted))


def tensor_grid(tensors: Sequence[TensorLocation], numbers: Sequence[float]) -> TensorGrid:
    """Arrange one number per tensor as a map; every tensor except buffers has a cell.

    If a layer has more than MAX_ROWS tensors (a mixture of experts), those with names that differ only in numbers share
    a cell, which shows their largest number.
    """
    rows = [(tensor, value) for tensor, value in zip(tensors, numbers, strict=True) if not tensor.is_buffer]
    inside = [(tensor, value) for tensor, value in rows if tensor.layer is not None]
    outside = [(tensor, value) for tensor, value in rows if tensor.layer is None]
    places = list(dict.fromkeys(tensor.inside for tensor, _ in inside))
    folded = len(places) > MAX_ROWS
    if folded:
        places = list(dict.fromkeys(NUMBER.sub("*", name) for name in places))
    grid_rows = {name: index for index, name in enumerate(places[:MAX_ROWS])}
    stacks = list(dict.fromkeys(tensor.component for tensor, _ in inside))
    layer_keys = sorted({(stacks.index(tensor.component), tensor.layer or 0) for tensor, _ in inside})
    columns = {layer_key: index for index, layer_key in enumerate(layer_keys)}
    values = np.full((len(grid_rows), len(layer_keys)), np.nan, dtype=np.float32)
    names = [[""] * len(layer_keys) for _ in grid_rows]
    left_out = 0
    for tensor, value in inside:
        row = grid_rows.get(NUMBER.sub("*", tensor.inside) if folded else tensor.inside)
        if row is None:
            left_out += 1
            continue
        column = columns[stacks.index(tensor.component), tensor.layer or 0]
        if not names[row][column] or not value <= values[row, column]:
            values[row, column], names[row][column] = value, tensor.name
    labels = [f"{stacks[stack]} {layer}" if len(stacks) > 1 else str(layer) for stack, layer in layer_keys]
    shown, rest = outside[:MAX_OUTSIDE], outside[MAX_OUTSIDE:]
    return TensorGrid(
        places=tuple(grid_rows),
        layers=tuple(labels),
        values=values,
        names=tuple(map(tuple, names)),
        outside=tuple(tensor.name for tensor, _ in shown),
        outside_values=np.array([value for _, value in shown], dtype=np.float32),
        left_out=left_out + len(rest),
    )


def sorted_grid(grid: TensorGrid, modules: bool, layers: bool) -> TensorGrid:
    """Sort modules, layers or both of a map by their largest number; NaN last."""
    places = _descending(grid.values) if modules else range(len(grid.places))
    columns = _descending(grid.values.T) if layers else range(len(grid.layers))
    outside = _descending(grid.outside_values[:, None]) if modules else range(len(grid.outside))
    return TensorGrid(
        places=tuple(grid.places[row] for row in places),
        layers=tuple(grid.layers[column] for column in columns),
        values=grid.values[np.ix_(places, columns)],
        names=tuple(tuple(grid.names[row][column] for column in columns) for row in places),
        outside=tuple(grid.outside[row] for row in outside),
        outside_values=grid.outside_values[list(outside)],
        left_out=grid.left_out,
    )


def _descending(values: np.ndarray) -> list[int]:
    """Return the row order by largest number, stable."""
    most = np.nan_to_num(values, nan=-np.inf, posinf=np.inf, neginf=-np.inf).max(axis=1, initial=-np.inf)
    return [int(row) for row in np.argsort(-most, kind="stable")]


def _location(stored: str, parts: Sequence[Parameter], model_type: str) -> tuple[TensorLocation, str]:
    """Return the location of a tensor, and its name with * for layer numbers."""
    row = parts[0]
    name = row.name if len(parts) == 1 else stored
    part = row.part if len(parts) == 1 else "query_key_value"
    if row.layer is None:
        repeats = row.tied_to is not None
        return TensorLocation(stored, name, row.component, None, name, part, repeats), name
    match, numbered = inside_layer(name, model_type), name
    if match is None:
        match, numbered = inside_layer(row.name, model_type), row.name
    counters, inside = match or ((), numbered)
    for counter in reversed(counters):
        numbered = f"{numbered[: counter.start]}*{numbered[counter.stop :]}"
    return TensorLocation(stored, name, row.component, row.layer, inside, part), numbered


def _without_repeats(located: Sequence[tuple[TensorLocation, str]]) -> list[TensorLocation]:
    """Make names unique within a layer: XLM has layer_norm1.0.weight and layer_norm2.0.weight."""
    times = Counter((tensor.component, tensor.layer, tensor.inside) for tensor, _ in located)
    shared = {inside for (_, layer, inside), count in times.items() if layer is not None and count > 1}
    return [replace(tensor, inside=numbered) if tensor.inside in shared else tensor for tensor, numbered in located]
