"""The figure of an adapter draws one number of every update in the place of its matrix."""

import numpy as np
import pytest

from bertviz_core.checkpoints.results import TensorLocation
from bertviz_core.checkpoints.tensor_map import tensor_grid
from bertviz_core.figures.base.style import LIGHT
from bertviz_core.figures.checkpoints.load_report import (
    RELATIVE,
    STABLE,
    UPDATE_MEASURES,
    adapter_updates_figure,
    update_numbers,
)
from bertviz_core.parameters.adapters.results import AdapterUpdate, AdapterUpdates

PLACES = (("query", 0), ("value", 0), ("query", 1))
VALUES = ([3.0, 4.0], [2.0, 0.0], [0.0, 0.0])


def made() -> tuple[AdapterUpdates, list[TensorLocation]]:
    names = [f"layer.{layer}.{module}.weight" for module, layer in PLACES]
    updates = tuple(
        AdapterUpdate(name, (5, 7), 2, 0.5, ("A", "B"), 10.0, np.sort(np.array(values, np.float32))[::-1])
        for name, values in zip(names, VALUES, strict=True)
    )
    places = [
        TensorLocation(name, name, "encoder", layer, f"{module}.weight", module)
        for name, (module, layer) in zip(names, PLACES, strict=True)
    ]
    return AdapterUpdates("mine", "base", updates, ()), places


@pytest.mark.parametrize("measure", UPDATE_MEASURES)
def test_the_map_shows_the_number_of_each_update(measure: str) -> None:
    updates, places = made()
    numbers = {RELATIVE: [0.5, 0.2, 0.0], STABLE: [25 / 16, 1.0, 0.0]}[measure]
    np.testing.assert_allclose(update_numbers(updates, measure), numbers, rtol=1e-6)
    spec = adapter_updates_figure(tensor_grid(places, numbers), updates, measure)
    (cells,) = (trace for trace in spec.drawn(LIGHT).data if trace.type == "heatmap")
    expected = [[numbers[0], numbers[2]], [numbers[1], np.nan]]  # query and value by layers
    np.testing.assert_allclose(np.array(cells.z, float), expected, rtol=1e-6)
    assert "mine" in spec.title
