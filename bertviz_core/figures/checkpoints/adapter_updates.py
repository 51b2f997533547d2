"""The figure of what an adapter adds to each matrix of its base."""

from functools import partial

from bertviz_core.checkpoints.results import TensorGrid
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.checkpoints.weights import PLACES, tensor_map
from bertviz_core.parameters.results import AdapterUpdates

RELATIVE, STABLE = "norm of the update", "stable rank"
UPDATE_MEASURES = (RELATIVE, STABLE)
UNITS = {RELATIVE: "share of the norm of the matrix", STABLE: "stable rank"}


def update_numbers(updates: AdapterUpdates, measure: str) -> list[float]:
    """Return one of UPDATE_MEASURES of every update."""
    return [each.relative_norm if measure == RELATIVE else each.stable_rank for each in updates.updates]


@figure("adapter-updates", "checkpoint_adapter", "how much an adapter adds to each matrix of its base")
def adapter_updates_figure(update_grid: TensorGrid, adapter_updates: AdapterUpdates, update_measure: str) -> FigureSpec:
    """Plot the norm or the stable rank of every update, by place and layer."""
    title = f"{update_measure.capitalize()} — {adapter_updates.adapter} on {adapter_updates.base}"
    draw = partial(tensor_map, update_grid, title, UNITS[update_measure])
    return FigureSpec(title, f"{title}, of every matrix that the adapter changes: {PLACES}", draw)
