"""Figures of a training run: the logged numbers, marks at the checkpoints, and the map of movement."""

import math

import numpy as np
import pytest

from bertviz_core.checkpoints.results import TensorLocation
from bertviz_core.checkpoints.training.results import FINAL, MOVED_PARTS, LogEntry, TrainingLog, TrainingMovement
from bertviz_core.figures.base.style import DARK, LIGHT, Theme
from bertviz_core.figures.checkpoints.training import (
    FIRST,
    MOST_MARKS,
    PREVIOUS,
    log_panels,
    training_log_figure,
    training_movement_figure,
)
from tests.helpers.hand_made import ACTIVE, ACTIVE_ESCAPED

STEPS = np.array([5, 1_500, 1_500])
NAMES = ("checkpoint-5", "checkpoint-1500", FINAL)
ENTRIES = (
    LogEntry(1, 0.5, {"loss": 2.0, "learning_rate": 1e-5, "grad_norm": 3.0}),
    LogEntry(2, 1.0, {"loss": math.nan, "learning_rate": 5e-6, "grad_norm": 2.0}),
    LogEntry(2, 1.0, {"eval_loss": 1.5, "eval_f1": 0.25, "eval_runtime": 9.0, ACTIVE: 4.0}),
    LogEntry(2, 1.0, {"train_loss": 1.7, "total_flos": 1e9}),
)
METRICS = tuple(dict.fromkeys(name for entry in ENTRIES for name in entry.values))
LOG = TrainingLog(ACTIVE, NAMES, STEPS, "trainer_state.json", ENTRIES, METRICS)
PLACES = ("embeddings", "layer 0", "layer 1")
RANDOM = np.random.default_rng(0)


def movement(count: int = 3) -> TrainingMovement:
    """A movement of three places with made-up numbers; layer 1 has one cell that is not finite."""
    from_first, from_previous = RANDOM.random((2, count, len(PLACES), len(MOVED_PARTS)))
    from_first[0] = from_previous[0] = 0
    from_first[:, 0, 1:] = from_previous[:, 0, 1:] = np.nan
    from_first[-1, 2, 0] = np.nan
    return TrainingMovement(
        run=ACTIVE,
        checkpoints=tuple(f"checkpoint-{step}" for step in range(count - 1)) + (FINAL,),
        steps=np.arange(count) * 1_000,
        places=PLACES,
        parts=MOVED_PARTS,
        from_first=from_first,
        from_previous=from_previous,
        whole_from_first=np.zeros(count),
        whole_from_previous=np.zeros(count),
        tensors=(TensorLocation("a", "a", "embeddings", None, "a", "other"),),
        shapes=((2, 3),),
        tensor_places=("embeddings",),
        tensor_from_first=np.zeros((count, 1)),
        tensor_from_previous=np.zeros((count, 1)),
        frozen=("a",),
        broken=(),
        unread=(),
        notices=(),
    )


def test_numbers_that_measure_one_thing_share_a_plot_and_those_of_the_machine_have_none() -> None:
    panels = {panel.title: panel.metrics for panel in log_panels(METRICS)}
    assert panels == {
        "loss": ("loss", "eval_loss"),
        "evaluation": ("eval_f1",),
        "learning rate": ("learning_rate",),
        "grad norm": ("grad_norm",),
        ACTIVE.replace("_", " "): (ACTIVE,),
    }


@pytest.mark.parametrize(
    ("names", "drawn", "more"),
    [
        (("loss",), 1, ""),
        (("loss", "eval_runtime"), 1, "1 more logged number is in the table"),
        (tuple(f"eval_{place}" for place in range(9)), 6, "3 more logged numbers are in the table"),
        (tuple("abcdefgh"), 5, "3 more logged numbers are in the table"),
    ],
)
def test_logged_numbers_without_a_curve_are_counted_in_the_caption(
    names: tuple[str, ...], drawn: int, more: str
) -> None:
    log = TrainingLog("run", (), np.array([], int), "", (LogEntry(1, None, dict.fromkeys(names, 1.0)),), names)
    spec = training_log_figure(log)
    assert len(spec.draw(LIGHT).data) == drawn + 1  # the row of checkpoints
    assert spec.caption == (f"{spec.title}; {more}" if more else "")


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_curves_are_the_log_and_diamonds_the_checkpoints(theme: Theme) -> None:
    figure = training_log_figure(LOG).drawn(theme)
    curves = {trace.name: trace for trace in figure.data}
    assert list(curves) == ["loss", "eval_loss", "eval_f1", "learning_rate", "grad_norm", ACTIVE_ESCAPED, "checkpoint"]
    assert (list(curves["loss"].x), list(curves["loss"].y)) == ([1, 2], [2.0, None])
    assert list(curves["eval_f1"].y) == [0.25]
    assert list(curves["checkpoint"].x) == STEPS.tolist()
    assert [shape.x0 for shape in figure.layout.shapes] == [5, 1_500]
    axes = {curves[name].yaxis for name in ("loss", "eval_loss")}
    assert len(axes) == 1
    assert curves["learning_rate"].yaxis not in axes
    assert len({(curves[name].line.color, curves[name].line.dash) for name in curves if name != "checkpoint"}) == 6
    assert ACTIVE_ESCAPED in figure.layout.title.text


def test_many_checkpoints_have_no_lines_and_no_log_is_their_row_alone() -> None:
    steps = np.arange(MOST_MARKS + 1)
    log = TrainingLog("run", tuple(map(str, steps)), steps, "", (), ())
    figure = training_log_figure(log).draw(LIGHT)
    assert not figure.layout.shapes
    (row,) = figure.data
    assert len(row.x) == MOST_MARKS + 1


def test_a_row_is_a_place_and_a_column_a_checkpoint() -> None:
    moved = movement()
    for moved_from, values in ((FIRST, moved.from_first), (PREVIOUS, moved.from_previous)):
        figure = training_movement_figure(moved, moved_from, "all", False).drawn(LIGHT)
        cells = figure.data[0]
        assert np.asarray(cells.z) == pytest.approx(values[:, :, 0].T, rel=1e-6, nan_ok=True)
        assert list(figure.layout.yaxis.ticktext) == list(PLACES)
        assert list(figure.layout.xaxis.ticktext) == ["0", "1,000", "2,000 final"]
        assert figure.layout.title.text.startswith(f"Movement from {moved_from}")
        assert "linear" in figure.layout.coloraxis.colorbar.title.text
        assert cells.customdata[1][1][0] == "layer 0, checkpoint-1, step 1,000"


def test_a_part_has_the_layers_alone_and_its_scale_is_named() -> None:
    moved = movement()
    figure = training_movement_figure(moved, FIRST, "attention", True).drawn(LIGHT)
    assert list(figure.layout.yaxis.ticktext) == ["layer 0", "layer 1"]
    shown = [[float(cell[1]) for cell in row] for row in figure.data[0].customdata]
    assert np.array(shown) == pytest.approx(moved.from_first[:, 1:, 1].T, rel=1e-4)
    assert "logarithmic" in figure.layout.coloraxis.colorbar.title.text


def test_a_cell_that_is_not_finite_stays_empty() -> None:
    figure = training_movement_figure(movement(), FIRST, "all", True).draw(LIGHT)
    assert np.isnan(np.asarray(figure.data[0].z)[2, 2])


def test_hundreds_of_checkpoints_are_cells_without_numbers() -> None:
    figure = training_movement_figure(movement(400), FIRST, "all", True).drawn(LIGHT)
    (cells,) = figure.data
    assert np.asarray(cells.z).shape == (3, 400)
    assert len(figure.layout.xaxis.ticktext) < 60
