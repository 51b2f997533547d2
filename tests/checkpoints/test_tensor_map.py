"""The map of tensors in another order: the same cells, largest first, with the same names."""

import numpy as np
import pytest

from bertviz_core.checkpoints.results import TensorGrid
from bertviz_core.checkpoints.tensor_map import sorted_grid

GRID = TensorGrid(
    places=("query", "key", "value"),
    layers=("0", "1"),
    values=np.array([[1, 2], [np.nan, 9], [3, 0]], np.float32),
    names=(("q0", "q1"), ("", "k1"), ("v0", "v1")),
    outside=("words", "pooler"),
    outside_values=np.array([0.5, np.inf], np.float32),
    left_out=4,
)


def cells(grid: TensorGrid) -> dict[tuple[str, str], tuple[str, float]]:
    """Module and layer -> the tensor there and its number; the layer is "" outside layers."""
    found = {
        (place, layer): (grid.tensor_at(row, column), float(np.nan_to_num(grid.values[row, column], nan=-1)))
        for row, place in enumerate(grid.places)
        for column, layer in enumerate(grid.layers)
    }
    alone = {
        (name, ""): (grid.tensor_at(row, -1), float(grid.outside_values[row])) for row, name in enumerate(grid.outside)
    }
    return found | alone


@pytest.mark.parametrize(("modules", "layers"), [(False, False), (True, False), (False, True), (True, True)])
def test_an_order_moves_cells_and_changes_none(modules: bool, layers: bool) -> None:
    found = sorted_grid(GRID, modules, layers)
    assert cells(found) == cells(GRID)
    assert found.left_out == GRID.left_out
    assert found.places == (("key", "value", "query") if modules else GRID.places)
    assert found.outside == (("pooler", "words") if modules else GRID.outside)
    assert found.layers == (("1", "0") if layers else GRID.layers)


def test_a_map_without_layers_can_be_sorted() -> None:
    bare = TensorGrid((), (), np.zeros((0, 0), np.float32), (), ("a", "b"), np.array([0, 1], np.float32), 0)
    assert sorted_grid(bare, True, True).outside == ("b", "a")
