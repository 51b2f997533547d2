"""The trainer's log: every number of trainer_state.json, NaN as it was logged, and hostile files in one sentence."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from bertviz_core.checkpoints.training.folder import training_run
from bertviz_core.checkpoints.training.log import log_of, read_state
from bertviz_core.checkpoints.training.results import LogEntry, TrainingLog
from bertviz_core.errors import CheckpointError
from bertviz_core.questions.tables.training import best_sentence
from bertviz_core.settings import Settings
from tests.helpers.training_runs import RATE, SAVED, STEPS, save_run, state_of, write_state


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A whole training run."""
    return save_run(tmp_path / "run", cut_off=False)


def log(folder: Path, settings: Settings) -> TrainingLog:
    run = training_run(folder.name, folder, settings)
    names, steps = zip(*((each.name, each.step) for each in run.checkpoints), strict=True)
    return log_of(run.name, names, steps, run.state_places)


def test_every_number_of_the_newest_state_is_in_the_log(folder: Path, settings: Settings) -> None:
    found = log(folder, settings)
    history = state_of(folder)["log_history"]
    assert [{**each.values, "step": each.step, "epoch": each.epoch} for each in found.entries] == history
    assert found.source == "trainer_state.json"
    assert found.metrics[:3] == ("grad_norm", "learning_rate", "loss")
    assert "eval_accuracy" in found.metrics
    assert found.steps.tolist() == [*SAVED, STEPS]
    assert {each.values["learning_rate"] for each in found.entries if "loss" in each.values} == {RATE}
    assert found.notices == ()


def test_the_newest_checkpoint_has_the_log_where_the_folder_itself_has_none_or_an_older_one(
    folder: Path, settings: Settings
) -> None:
    write_state(folder, 4, [{"step": 4, "loss": 9.0}])
    assert log(folder, settings).source == "checkpoint-8/trainer_state.json"
    (folder / "trainer_state.json").unlink()
    assert log(folder, settings).source == "checkpoint-8/trainer_state.json"
    (folder / "checkpoint-8" / "trainer_state.json").write_text('{"global_step": 8, "log_hist')
    found = log(folder, settings)
    assert found.source == "checkpoint-6/trainer_state.json"
    assert "'checkpoint-8' is left out" in found.notices[0]


def test_a_loss_that_became_nan_is_read_as_python_writes_it(folder: Path, settings: Settings) -> None:
    rows = [{"step": 1, "loss": 2.0}, {"step": 3, "loss": math.nan}, {"step": 5, "loss": math.inf, "grad_norm": 1}]
    write_state(folder, STEPS, rows)
    found = log(folder, settings)
    assert math.isnan(found.entries[1].values["loss"])
    assert found.entries[2].values == {"loss": math.inf, "grad_norm": 1.0}
    assert found.notices == ("'loss' is not a finite number at step 3 for the first time.",)


def test_only_numbers_with_a_step_are_taken(folder: Path, settings: Settings) -> None:
    rows = [
        {"step": 1, "loss": 2, "note": "text", "ok": True, "huge": 10**400, "x" * 101: 1.0, "a\x1b[2J": 1.0},
        {"step": -1, "loss": 1.0},
        {"loss": 1.0},
        {"step": "2", "loss": 1.0},
        {"step": 2, "note": "text"},
        ["step", 1],
        None,
    ]
    write_state(folder, STEPS, rows)
    found = log(folder, settings)
    assert [(each.step, dict(each.values)) for each in found.entries] == [(1, {"loss": 2.0})]
    assert "left out: 6" in found.notices[0]


def test_more_names_than_two_hundred_are_cut(folder: Path, settings: Settings) -> None:
    write_state(folder, STEPS, [{"step": 1, **{f"m{place}": place for place in range(250)}}])
    found = log(folder, settings)
    assert len(found.metrics) == len(found.entries[0].values) == 200
    assert "Of 250 names" in found.notices[0]


def test_a_run_without_a_state_has_an_empty_log_that_says_so(folder: Path, settings: Settings) -> None:
    for place in (folder, *folder.glob("checkpoint-*")):
        (place / "trainer_state.json").unlink()
    found = log(folder, settings)
    assert found.entries == ()
    assert "there is no log" in found.notices[0]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[1, 2]",
        b'{"log_history": {"step": 1}}',
        b'{"log_history": [' + b"[" * 200_000,
        b'{"global_step": ' + b"9" * 5_000 + b"}",
        b"\xff\xfe\x00",
    ],
)
def test_a_hostile_state_is_one_sentence(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "trainer_state.json").write_bytes(content)
    with pytest.raises(CheckpointError, match="trainer_state") as refused:
        read_state(tmp_path)
    assert len(str(refused.value)) < 300


def test_a_state_that_is_a_link_or_a_pipe_is_refused(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "secret.json").write_text(json.dumps({"log_history": [{"step": 1, "loss": 1.0}]}))
    (tmp_path / "own" / "trainer_state.json").symlink_to(tmp_path / "secret.json")
    with pytest.raises(CheckpointError, match="link out of"):
        read_state(tmp_path / "own")


def test_a_state_that_is_too_large_or_has_too_many_values_is_one_sentence(tmp_path: Path) -> None:
    state = tmp_path / "trainer_state.json"
    with state.open("wb") as file:
        file.truncate(64 * 1024**2 + 1)
    with pytest.raises(CheckpointError, match="67,108,865 bytes"):
        read_state(tmp_path)
    state.write_bytes(b'{"log_history": [' + b"1," * 5_000_001 + b"1]}")
    with pytest.raises(CheckpointError, match="lists about 5,000,003 values"):
        read_state(tmp_path)


@pytest.mark.slow
def test_a_long_log_is_read(tmp_path: Path) -> None:
    row = b'{"epoch": 0.01, "grad_norm": 1.5, "learning_rate": 0.00001, "loss": 0.25, "step": 7},'
    state = b'{"global_step": 8, "log_history": [' + row * 120_000 + row[:-1] + b"]}"  # 10 MB, 720,000 values
    (tmp_path / "trainer_state.json").write_bytes(state)
    assert len(read_state(tmp_path).history) == 120_001


def test_a_run_whose_states_are_all_damaged_has_an_empty_log_that_says_so_and_all_its_checkpoints(
    folder: Path, settings: Settings
) -> None:
    for place in (folder, *folder.glob("checkpoint-*")):
        (place / "trainer_state.json").write_text("{")
    found = log(folder, settings)
    assert (found.entries, found.metrics) == ((), ())
    assert found.steps.tolist() == [*SAVED, STEPS]  # the final model has the last step
    assert "'checkpoint-8' is left out" in found.notices[0]
    assert "the log is empty" in found.notices[-1]


def test_after_five_states_that_cannot_be_read_only_that_of_the_folder_is_tried(
    folder: Path, settings: Settings
) -> None:
    write_state(folder, STEPS, [{"step": 1, "loss": 2.0}])
    places = [(str(place), folder / f"old-{place}") for place in range(7)]
    for _, place in places:
        place.mkdir()
        (place / "trainer_state.json").write_text("{")
    found = log_of("run", (), (), [*places, ("", folder)])
    assert len(found.entries) == 1
    assert len(found.notices) == 5


def test_the_best_checkpoint_is_named_by_the_direction_of_each_number() -> None:
    logged = {
        20: {"eval_loss": 0.5, "eval_accuracy": 0.8, "eval_accuracy_threshold": 0.9, "loss": 0.01},
        30: {"eval_loss": 0.1, "eval_accuracy": 0.99},  # no checkpoint was saved there
        40: {"eval_loss": 0.3, "eval_accuracy": 0.9, "eval_accuracy_threshold": 0.1, "eval_runtime": 9.0},
        60: {"eval_loss": 0.4, "eval_accuracy": 0.95, "eval_runtime": 1.0},
    }
    entries = tuple(LogEntry(step, None, values) for step, values in logged.items())
    metrics = tuple(dict.fromkeys(name for values in logged.values() for name in values))
    names = ("checkpoint-20", "checkpoint-40", "checkpoint-60")
    assert best_sentence(TrainingLog("run", names, np.array([20, 40, 60]), "state", entries, metrics)) == (
        "Of the checkpoints in the folder the best is checkpoint-60 by eval_accuracy (highest, 0.95); "
        "checkpoint-40 by eval_loss (lowest, 0.3). Logged in training, on its own evaluation texts."
    )
