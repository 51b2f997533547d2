"""The question what an adapter adds to its base."""

import math

from bertviz_core.checkpoints.results import TensorGrid
from bertviz_core.checkpoints.tensor_map import locations, tensor_grid
from bertviz_core.checkpoints.values import open_checkpoint
from bertviz_core.figures.checkpoints.adapter_updates import UPDATE_MEASURES, update_numbers
from bertviz_core.parameters.adapters import adapter_updates as measured_updates
from bertviz_core.parameters.results import AdapterUpdates
from bertviz_core.questions.opened import Opened, answered
from bertviz_core.questions.parameters import Options, choice
from bertviz_core.questions.question import Answer, question
from bertviz_core.text import quoted

UPDATE_MEASURE = choice(
    "update_measure",
    UPDATE_MEASURES,
    "the number of every update of an adapter that is drawn; the stable rank says over how many directions it has",
    "Of each update",
)


@question(figures=("adapter-updates",), params=(UPDATE_MEASURE,))
def adapter_updates(opened: Opened, options: Options) -> Answer[AdapterUpdates]:
    """Norm, rank and singular values of what an adapter adds to each matrix of its base."""
    measure = options.choice(UPDATE_MEASURE)
    updates = opened.get_or_compute((__name__, "updates"), lambda: measured_updates(opened.source, opened.settings))
    grid = update_grid(opened, updates, measure)
    drawn = {"update_grid": grid, "adapter_updates": updates, "update_measure": measure}
    return answered(opened, updates, _notices(updates), **drawn)


def update_grid(opened: Opened, updates: AdapterUpdates, measure: str) -> TensorGrid:
    """Arrange one number of every update by modules and layers.

    Args:
        opened: the adapter.
        updates: its updates.
        measure: one of UPDATE_MEASURES.
    """
    places = opened.get_or_compute(
        (__name__, "places"), lambda: locations(open_checkpoint(opened.source, opened.settings))
    )
    numbers = dict(zip((each.name for each in updates.updates), update_numbers(updates, measure), strict=True))
    changed = [place for place in places if place.name in numbers]
    return tensor_grid(changed, [numbers[place.name] for place in changed])


def _notices(updates: AdapterUpdates) -> tuple[str, ...]:
    """Notices about the adapter, and about updates that are not finite."""
    bad = [each.name for each in updates.updates if not math.isfinite(each.norm)]
    if not bad:
        return updates.notices
    broken = (f"{len(bad):,} of the updates hold NaN or infinity ({quoted(bad[0])}, ...); they have no norm.",)
    return (*updates.notices, *broken)
