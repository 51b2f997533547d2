"""The figure of what an adapter adds to each matrix of its base."""

from functools import partial

from bertviz_core.checkpoints.results import TensorGrid
from bertviz_core.checkpoints.tables import adapter_frame
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.checkpoints.weights import PLACES, tensor_map
from bertviz_core.parameters.results import AdapterUpdates
from bertviz_core.text import digits

RELATIVE, STABLE = "norm of the update", "stable rank"
UPDATE_MEASURES = (RELATIVE, STABLE)
TITLES = {
    RELATIVE: ("Norm of the update over that of the matrix", "relative norm"),
    STABLE: ("Stable rank of the update", "stable rank"),
}
"""Measure -> title of its figure, unit."""


def update_numbers(updates: AdapterUpdates, measure: str) -> list[float]:
    """Return one number of every update.

    Args:
        updates: the updates.
        measure: one of UPDATE_MEASURES.
    """
    return [each.relative_norm if measure == RELATIVE else each.stable_rank for each in updates.updates]


@figure(
    "adapter-updates", "checkpoint_adapter", "how much an adapter adds to each matrix of its base", table=adapter_frame
)
def adapter_updates_figure(update_grid: TensorGrid, adapter_updates: AdapterUpdates, update_measure: str) -> FigureSpec:
    """Plot the norm or the stable rank of every update, by place and layer."""
    words, unit = TITLES[update_measure]
    title = f"{words} — {adapter_updates.adapter}"
    largest = _largest(adapter_updates, update_measure)
    alt = f"{title}, of every matrix of {adapter_updates.base} that the adapter changes{largest}: {PLACES}"
    return FigureSpec(title, alt, partial(tensor_map, update_grid, title, unit))


def _largest(updates: AdapterUpdates, measure: str) -> str:
    """Name the update with the largest number, for readers who do not see the map; "" without updates."""
    named = zip(update_numbers(updates, measure), updates.updates, strict=True)
    value, update = max(named, key=lambda each: each[0], default=(0.0, None))
    return "" if update is None else f" (largest {digits(value, 2)}, of {update.name})"
