"""`training FOLDER`, its figures, and `open_training`: the log and the movement of a run, in text, JSON and tables.

Covers `bertviz_core/cli/checkpoints.py`, `bertviz_core/questions/models/training.py`,
`bertviz_core/questions/tables/training/*.py`, `bertviz_core/api/training.py`.
"""

import json
import pickle
import shlex
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from bertviz_core import BertvizError, open_model, open_training
from bertviz_core.checkpoints.training import movement
from bertviz_core.checkpoints.training.results import FINAL, TrainingMovement
from bertviz_core.cli import figure
from bertviz_core.errors import SupersededError
from bertviz_core.figures.base.spec import FigureSpec
from bertviz_core.figures.base.style import LIGHT
from bertviz_core.questions.models import training as questions
from bertviz_core.questions.models.training import OpenedTraining, training_movement
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.question import Answer, Silent
from bertviz_core.settings import Settings
from tests.cli.conftest import Command
from tests.helpers.training_runs import CUT_OFF, FROZEN_LAYER, SAVED, STEPS, save_run, state_of, weights

CASES = (
    "training-log",
    "training-movement --set 'moved_from=the previous checkpoint' --set moved_part=attention --set scale=even",
    "training-text 'love bank' --pair 'my language'",
    "training-scores 'love bank' LABEL_0 'my my' LABEL_1 --set with_gold=true",
    "training-cka 'love bank' 'my my' 'a river' pet",
    "training-entropy 'love bank' 'my my' 'a river' pet",
)
LISTED = ("love bank", "my my", "a river", "pet")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A training run with a checkpoint that is cut off."""
    return save_run(tmp_path / "run")


def test_json_has_the_log_and_the_movement(command: Command, folder: Path) -> None:
    done = command("training", str(folder), "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["run"] == "run"
    assert found["checkpoints"] == [*(f"checkpoint-{step}" for step in SAVED), FINAL]
    assert found["steps"] == [*SAVED, STEPS]
    assert found["log"] == state_of(folder)["log_history"]
    assert found["frozen"]
    assert all(f".layer.{FROZEN_LAYER}." in name for name in found["frozen"])
    assert found["broken"] == []
    first, last = weights(folder / "checkpoint-2"), weights(folder)
    rows = {each["name"]: each["from_first"][-1] for each in found["tensors"]}
    for name, then in first.items():
        assert rows[name] == pytest.approx(np.linalg.norm(last[name] - then) / np.linalg.norm(then), rel=1e-9)
    assert f"'checkpoint-{CUT_OFF}' is left out until it can be read" in done.stderr


@pytest.mark.slow
def test_text_has_the_same_numbers_and_says_the_rule(command: Command, folder: Path) -> None:
    done = command("training", str(folder))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "run: 5 checkpoints, of the steps 2, 4, 6, 8, 8"
    loss = [row["loss"] for row in state_of(folder)["log_history"] if "loss" in row][-1]
    (row,) = [line.split() for line in lines if line.startswith("loss ")]
    assert (row[1], float(row[2])) == ("8", pytest.approx(loss, rel=1e-3))
    found = open_training(folder).movement().data
    row = next(line.split() for line in lines if line.startswith("checkpoint-6"))
    assert float(row[2]) == pytest.approx(found.whole_from_first[2], rel=0.01)
    assert "A tensor is broken where" in lines[-1]


@pytest.mark.slow
def test_a_broken_tensor_is_named_with_its_step(command: Command, folder: Path) -> None:
    own = {name: value.astype(np.float32) for name, value in weights(folder / "checkpoint-6").items()}
    own["classifier.weight"][:] = np.nan
    own["classifier.bias"][:2] = np.nan, np.inf
    save_file(own, folder / "checkpoint-6" / "model.safetensors")
    lines = command("training", str(folder)).stdout.splitlines()
    assert "  classifier.weight: NaN first at step 6" in lines
    assert "  classifier.bias: NaN first at step 6, infinity first at step 6" in lines
    assert "broken: 2 tensors" in lines  # one of them in two ways
    rows = json.loads(command("training", str(folder), "--json").stdout)["broken"]
    assert ("classifier.weight", 6, "NaN") in [(row["tensor"], row["step"], row["what"]) for row in rows]
    result = open_training(folder).movement()
    assert result.broken_tensors().to_dict("records") == rows
    assert len(rows) == 3
    assert result.to_json()["movement"]["from_first"][2][-1][0] is None


def test_the_movement_is_shown_where_no_log_can_be_read(command: Command, folder: Path) -> None:
    for place in (folder, *folder.glob("checkpoint-*")):
        (place / "trainer_state.json").write_text("{")
    done = command("training", str(folder), "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["log"] == []
    assert len(found["movement"]["from_first"]) == len(SAVED) + 1
    assert "the log is empty" in done.stderr
    assert open_training(folder).log().to_pandas().empty


@pytest.mark.slow
def test_the_command_follows_a_text_labelled_texts_and_layers(command: Command, folder: Path, tmp_path: Path) -> None:
    table = tmp_path / "texts.csv"
    table.write_text("text,label\nlove bank,LABEL_0\nmy my,LABEL_1\na river,\npet,LABEL_0\n")
    options = ("--text", "love bank", "--pair", "my language", "--file", str(table), "--column", "text")
    done = command("training", str(folder), *options, "--gold", "label", "--layers", "--json")
    assert done.returncode == 0, done.stderr
    found, run = json.loads(done.stdout), open_training(folder)
    text = run.follow("love bank", "my language")
    assert found["text"]["answers"] == text.to_json()["answers"]
    assert found["text"]["changes"] == [int(text.data.steps[at]) for at in text.data.changes]
    assert [row["answer"] for row in found["answers"]] == list(text.data.answers)
    assert [row["cosine"] for row in found["answers"]] == pytest.approx(text.to_json()["cosine"], abs=1e-6)
    scores = run.scores(["love bank", "my my", "a river", "pet"], ["LABEL_0", "LABEL_1", "", "LABEL_0"]).data
    assert found["scores"]["accuracy"] == pytest.approx(scores.accuracy.tolist())
    assert found["scores"]["changed"] == list(scores.changed)
    assert np.array(found["layers"]["cka"]) == pytest.approx(run.layers(LISTED).data.cka, abs=1e-6)
    assert done.stderr.count(f"'checkpoint-{CUT_OFF}' is left out") == 1
    lines = command("training", str(folder), *options, "--gold", "label").stdout.splitlines()
    assert lines[lines.index("love bank") + 1] == text.sentences[0]
    rows = [line.split() for line in lines if line.startswith("checkpoint-6 ")]
    assert rows[-1][-1] == str(scores.changed[2])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--pair", "a"), "give the first with --text"),
        (("--gold", "label"), "give it with --file"),
        (("--file", "texts.csv"), "with --gold, or --layers"),
        (("--file", "texts.csv", "--layers", "--pair-column", "b"), "give --gold, too"),
        (("--text", ""), "The text is empty"),
    ],
)
def test_options_without_effect_are_refused(
    options: tuple[str, ...], message: str, command: Command, folder: Path
) -> None:
    done = command("training", str(folder), *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr.splitlines()[-1]


def test_a_tilde_is_the_home_folder(command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(folder.parent))
    assert open_training(f"~/{folder.name}").checkpoints == open_training(folder).checkpoints


def test_a_single_checkpoint_has_its_log_and_says_why_no_more(command: Command, folder: Path) -> None:
    done = command("training", str(folder / "checkpoint-4"), "--json")
    assert done.returncode == 0
    assert "has a single checkpoint" in done.stderr
    assert "movement" not in json.loads(done.stdout)
    with pytest.raises(BertvizError, match="has a single checkpoint"):
        open_training(folder / "checkpoint-4").movement()


@pytest.mark.parametrize("name", ["nowhere", "empty"])
def test_a_folder_without_checkpoints_is_one_line(name: str, command: Command, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = command("training", str(tmp_path / name))
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert name in line


def test_hostile_names_do_not_reach_the_terminal(command: Command, folder: Path) -> None:
    own = weights(folder / "checkpoint-2")
    for place in (folder, *folder.glob("checkpoint-*")):
        save_file({**own, "evil\x1b[2J": np.ones(3)}, place / "model.safetensors")
    done = command("training", str(folder))
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.slow
def test_the_library_has_tables_of_log_movement_and_tensors(folder: Path) -> None:
    run = open_training(folder)
    assert run.checkpoints == {**{f"checkpoint-{step}": step for step in SAVED}, FINAL: STEPS}
    assert len(run.notices) == 1
    assert "checkpoint-2" in repr(run)
    log, moved = run.log(), run.movement()
    history = state_of(folder)["log_history"]
    frame = log.to_pandas()
    assert frame["loss"].dropna().tolist() == [row["loss"] for row in history if "loss" in row]
    assert frame["step"].tolist() == [row["step"] for row in history]
    assert log.to_json()["log"] == history
    tensors = moved.tensors()
    assert tuple(tensors.loc[tensors["frozen"], "tensor"]) == moved.frozen
    rows = moved.to_pandas()
    one = rows[(rows["checkpoint"] == "checkpoint-6") & (rows["place"] == "layer 2") & (rows["part"] == "attention")]
    data = moved.data
    assert one["from the first checkpoint"].item() == data.from_first[2, data.places.index("layer 2"), 1]
    assert moved.broken == ()
    assert repr(log).startswith("run: 5 checkpoints")
    assert moved.figure().data[0].type == "heatmap"
    assert log.figure().data[0].name == "loss"
    with pytest.raises(BertvizError, match="is about a training run; use open_training"):
        open_model("all-MiniLM-L6-v2").compute("training-log")
    with pytest.raises(BertvizError, match="is about a model; use open_model"):
        run.compute("effects")


@pytest.mark.slow
def test_a_folder_that_grows_is_followed_and_only_what_is_new_is_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def counted(start: Any, before: Any, now: Any, progress: Any, known: Any) -> Any:
        read.append(now.checkpoint.folder.name)
        return movement.checkpoint_sums(start, before, now, progress, known)

    monkeypatch.setattr(questions, "checkpoint_sums", counted)
    run = open_training(folder)
    first = run.movement().data
    assert read == ["checkpoint-2", "checkpoint-4", "checkpoint-6", "checkpoint-8", "run"]
    assert run.movement().data is first
    shutil.copy(folder / "checkpoint-8" / "model.safetensors", folder / f"checkpoint-{CUT_OFF}")
    second = run.movement().data
    assert read[5:] == [f"checkpoint-{CUT_OFF}", "run"]
    assert second.checkpoints[-2] == f"checkpoint-{CUT_OFF}"
    assert np.array_equal(second.from_first[:4], first.from_first[:4], equal_nan=True)


def test_what_is_done_before_a_cancellation_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = OpenedTraining(folder, Settings.from_environment(any_folder=True))
    shown: list[Answer[TrainingMovement]] = []

    class Stops(Silent):
        """Cancels the work after three checkpoints."""

        def __call__(self, done: int, total: int, /) -> None:
            if done == 3:
                raise SupersededError("stopped")

        def show(self, so_far: Any, /) -> None:
            shown.append(so_far)

    with pytest.raises(SupersededError):
        training_movement(opened, Options(), Stops())
    assert [len(each.result.checkpoints) for each in shown] == [2, 3]
    read: list[str] = []

    def counted(start: Any, before: Any, now: Any, progress: Any, known: Any) -> Any:
        read.append(now.checkpoint.folder.name)
        return movement.checkpoint_sums(start, before, now, progress, known)

    monkeypatch.setattr(questions, "checkpoint_sums", counted)
    training_movement(opened, Options())
    assert read == ["checkpoint-8", "run"]


def test_a_partial_movement_is_computed_only_for_those_who_show_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: list[int] = []

    def recorded(run: Any, sums: Any) -> Any:
        counts.append(len(sums))
        return movement.training_movement(run, sums)

    monkeypatch.setattr(questions, "movement_of", recorded)
    open_training(folder).movement()
    assert counts == [5]


def test_an_opened_run_can_be_pickled(folder: Path) -> None:
    opened = OpenedTraining(folder, Settings.from_environment(any_folder=True))
    again = pickle.loads(pickle.dumps(opened))
    assert again.run.folder == opened.run.folder


@pytest.mark.slow
@pytest.mark.parametrize("words", CASES)
def test_a_figure_of_the_command_has_the_numbers_of_the_library(
    words: str, folder: Path, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    specs: list[FigureSpec] = []

    def keep(ending: str, picture: Any, *_: Any) -> bytes:
        specs.append(picture)
        return b"kept"

    monkeypatch.setattr(figure, "figure_file", keep)
    name, *options = shlex.split(words)
    done = command("figure", name, str(folder), *options, "-o", str(tmp_path / "a.svg"))
    assert done.returncode == 0, done.stderr
    trace, run = specs[0].drawn(LIGHT).data[0], open_training(folder)
    if name == "training-log":
        assert list(trace.y) == [row["loss"] for row in state_of(folder)["log_history"] if "loss" in row]
    elif name == "training-text":
        probabilities = run.follow("love bank", "my language").data.probabilities
        assert probabilities is not None
        assert list(trace.y) == pytest.approx(probabilities[:, 0].tolist(), rel=1e-5)
    elif name == "training-scores":
        accuracy = run.scores(["love bank", "my my"], ["LABEL_0", "LABEL_1"]).data.accuracy
        assert list(trace.y) == pytest.approx((100 * accuracy).tolist())
    elif name == "training-cka":
        assert np.asarray(trace.z) == pytest.approx(run.layers(LISTED).data.cka.T, rel=1e-5)
    elif name == "training-entropy":
        entropy = run.layers(LISTED).entropy()["entropy"].to_numpy().reshape(len(SAVED) + 1, -1)
        assert np.asarray(trace.z) == pytest.approx(entropy.T, rel=1e-5)
    else:
        data = open_training(folder).movement().data
        assert np.asarray(trace.z) == pytest.approx(data.from_previous[:, 1:4, 1].T, rel=1e-5)


def test_the_example_run_is_opened_by_its_name(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("INSIDE_BERT_MODELS_DIR", str(tmp_path))
    run = open_training("negations")
    assert run.checkpoints == {f"checkpoint-{step}": step for step in (20, 40, 60, 80)}
    moved = run.movement().data
    assert moved.base == "all-MiniLM-L6-v2"
    printed = json.loads(command("training", "negations", "--json").stdout)
    assert printed["base"] == moved.base
    assert printed["frozen"] == list(moved.frozen)
    assert printed["movement"]["whole_from_first"] == pytest.approx(moved.whole_from_first.tolist())
