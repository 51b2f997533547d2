"""Finding the checkpoints of a training run: steps, order, what is left out, and what is refused in one sentence."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.numpy import save_file
from safetensors.torch import save_file as save_torch

from bertviz_core.checkpoints.training.folder import TrainingRun, files_stamp, holds_run, training_run
from bertviz_core.checkpoints.training.results import FINAL
from bertviz_core.errors import CheckpointError
from bertviz_core.settings import Settings
from tests.helpers.tiny_models import save_tiny
from tests.helpers.training_runs import CUT_OFF, SAVED, STEPS, save_run, weights, write_state


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A training run with a checkpoint that is cut off."""
    return save_run(tmp_path / "run")


def found(folder: Path, settings: Settings) -> TrainingRun:
    return training_run(folder.name, folder, settings)


def named(run: TrainingRun) -> list[tuple[str, int]]:
    return [(each.name, each.step) for each in run.checkpoints]


def test_the_checkpoints_of_a_trainer_are_found_by_step_with_the_final_model_last(
    folder: Path, settings: Settings
) -> None:
    (folder / "runs").mkdir()  # the trainer's TensorBoard files
    run = found(folder, settings)
    assert named(run) == [*((f"checkpoint-{step}", step) for step in SAVED), (FINAL, STEPS)]
    assert holds_run(folder)
    assert not holds_run(folder / "checkpoint-2")


def test_a_checkpoint_that_is_cut_off_is_left_out_with_a_sentence_and_taken_when_it_is_whole(
    folder: Path, settings: Settings
) -> None:
    (notice,) = found(folder, settings).notices
    assert notice.startswith(f"'checkpoint-{CUT_OFF}' is left out until it can be read: model.safetensors is cut off")
    before = files_stamp(folder)
    shutil.copy(folder / "checkpoint-8" / "model.safetensors", folder / f"checkpoint-{CUT_OFF}")
    run = found(folder, settings)
    assert files_stamp(folder) != before
    assert named(run)[-2] == (f"checkpoint-{CUT_OFF}", CUT_OFF)
    assert run.notices == ()


def test_a_checkpoint_without_a_config_or_weights_yet_is_left_out(folder: Path, settings: Settings) -> None:
    (folder / f"checkpoint-{CUT_OFF}" / "model.safetensors").unlink()
    (folder / "checkpoint-4" / "config.json").unlink()
    run = found(folder, settings)
    assert [step for _, step in named(run)] == [2, 6, 8, 8]
    assert len([each for each in run.notices if "is left out until it can be read" in each]) == 2


def test_a_checkpoint_that_the_trainer_deletes_while_it_is_read_is_left_out(
    folder: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_file = Path.is_file

    def deleted_afterwards(path: Path) -> bool:
        was = is_file(path)
        if path.parent.name == "checkpoint-4":
            shutil.rmtree(path.parent, ignore_errors=True)
        return was

    monkeypatch.setattr(Path, "is_file", deleted_afterwards)
    run = found(folder, settings)
    assert [step for _, step in named(run)] == [2, 6, 8, 8]
    (notice,) = [each for each in run.notices if "'checkpoint-4'" in each]
    assert "one of its files was deleted or is being written" in notice


def test_sharded_checkpoints_in_folders_of_any_name_take_their_steps_from_name_or_state(
    folder: Path, settings: Settings, tmp_path: Path
) -> None:
    plain = tmp_path / "plain"
    for name, step in (("early", 2), ("step_4", 4), ("best", 6)):
        shutil.copytree(folder / f"checkpoint-{step}", plain / name)
    (plain / "step_4" / "trainer_state.json").unlink()
    shards = {"a.safetensors": {}, "b.safetensors": {}}
    tensors = weights(plain / "best")
    for place, (name, value) in enumerate(tensors.items()):
        shards["ab"[place % 2] + ".safetensors"][name] = value
    for name, values in shards.items():
        save_file(values, plain / "best" / name)
    index = {"weight_map": {tensor: name for name, values in shards.items() for tensor in values}}
    (plain / "best" / "model.safetensors.index.json").write_text(json.dumps(index))
    (plain / "best" / "model.safetensors").unlink()
    assert named(found(plain, settings)) == [("early", 2), ("step_4", 4), ("best", 6)]
    assert not holds_run(plain)  # offered in the dashboard only by the names that a trainer gives


def test_folders_numbered_by_epochs_have_the_steps_that_the_trainer_saved(
    folder: Path, settings: Settings, tmp_path: Path
) -> None:
    run = tmp_path / "epochs"
    for epoch in (1, 2, 3):
        shutil.copytree(folder / "checkpoint-4", run / f"epoch-{epoch}")
        write_state(run / f"epoch-{epoch}", 250 * epoch, [])
    assert named(found(run, settings)) == [("epoch-1", 250), ("epoch-2", 500), ("epoch-3", 750)]
    (run / "epoch-1" / "trainer_state.json").write_text("{")
    assert named(found(run, settings))[0] == ("epoch-1", 1)


def test_a_checkpoint_without_a_step_is_left_out_but_not_as_one_that_cannot_be_read(
    folder: Path, settings: Settings, tmp_path: Path
) -> None:
    shutil.copytree(folder / "checkpoint-4", folder / "best")
    (folder / "best" / "trainer_state.json").unlink()
    (notice,) = [each for each in found(folder, settings).notices if "'best'" in each]
    assert notice.startswith("'best' is left out: its name has no step")
    shutil.copytree(folder / "best", tmp_path / "alone" / "best")
    assert "'alone' has no checkpoint with a step: its name has no step" in refusal(tmp_path / "alone", settings)


def test_a_damaged_state_in_the_folder_of_the_run_leaves_the_final_model_with_the_last_step(
    folder: Path, settings: Settings
) -> None:
    (folder / "trainer_state.json").write_text("{")
    run = found(folder, settings)
    assert named(run)[-1] == (FINAL, STEPS)
    assert not any(FINAL in each for each in run.notices)


def test_links_to_checkpoints_are_not_followed(folder: Path, settings: Settings, tmp_path: Path) -> None:
    elsewhere = save_tiny("bert", tmp_path / "secret")
    (folder / "checkpoint-12").symlink_to(elsewhere)
    assert all(step <= STEPS for _, step in named(found(folder, settings)))


def test_a_missing_step_is_known_by_the_distance_of_the_others(folder: Path, settings: Settings) -> None:
    shutil.rmtree(folder / "checkpoint-4")
    (notice,) = [each for each in found(folder, settings).notices if "missing" in each]
    assert notice.startswith("The checkpoint of step 4 is missing (others are saved every 2 steps)")


@pytest.mark.parametrize(
    "steps", [(1_000, 2_000, 3_000), (1_000, 2_000, 2_500), (1_234,), (500, 2_000), (700, 800, 850)]
)
def test_checkpoints_saved_by_epochs_miss_none_whatever_save_steps_the_trainer_writes(
    steps: tuple[int, ...], folder: Path, settings: Settings, tmp_path: Path
) -> None:
    for step in steps:
        place = tmp_path / "epochs" / f"checkpoint-{step}"
        shutil.copytree(folder / "checkpoint-4", place)
        write_state(place, step, [], save_steps=500)  # the default of transformers, also with save_strategy="epoch"
    assert found(tmp_path / "epochs", settings).notices == ()


def test_a_final_model_in_another_format_is_named_since_rounding_shows_as_movement(
    folder: Path, settings: Settings
) -> None:
    shutil.rmtree(folder / f"checkpoint-{CUT_OFF}")
    assert found(folder, settings).notices == ()
    own = {name: torch.from_numpy(value).bfloat16() for name, value in weights(folder).items()}
    save_torch(own, folder / "model.safetensors")
    (notice,) = found(folder, settings).notices
    assert "('checkpoint-2' and 3 more in float32, 'final model' in bfloat16)" in notice
    assert "differ by rounding" in notice


def test_two_checkpoints_of_one_step_are_one(folder: Path, settings: Settings) -> None:
    shutil.copytree(folder / "checkpoint-4", folder / "copy-4")
    run = found(folder, settings)
    assert [step for _, step in named(run)] == [2, 4, 6, 8, 8]
    assert any("both of step 4" in each for each in run.notices)


def refusal(folder: Path, settings: Settings) -> str:
    with pytest.raises(CheckpointError) as refused:
        found(folder, settings)
    return str(refused.value)


def test_a_folder_without_checkpoints_says_what_to_give(tmp_path: Path, settings: Settings) -> None:
    (tmp_path / "empty" / "logs").mkdir(parents=True)
    assert "'empty' has no checkpoints; give the folder that a trainer writes to" in refusal(
        tmp_path / "empty", settings
    )
    assert "cannot be read" in refusal(tmp_path / "nowhere", settings)


def test_checkpoints_of_different_models_name_the_difference(folder: Path, settings: Settings) -> None:
    shutil.rmtree(folder / "checkpoint-6")
    save_tiny("roberta", folder / "checkpoint-6")
    assert "model type bert and roberta" in refusal(folder, settings)
    shutil.rmtree(folder / "checkpoint-6")
    shutil.copytree(folder / "checkpoint-8", folder / "checkpoint-6")
    tensors = weights(folder / "checkpoint-6")
    save_file({**tensors, "classifier.bias": tensors["classifier.bias"][:1]}, folder / "checkpoint-6/model.safetensors")
    message = refusal(folder, settings)
    assert "'classifier.bias' is " in message
    assert "different models, 'checkpoint-2' and 'checkpoint-6'" in message


def test_pickled_checkpoints_are_refused_with_the_way_to_convert_them(folder: Path, settings: Settings) -> None:
    for place in (folder, *folder.glob("checkpoint-*")):
        (place / "model.safetensors").rename(place / "pytorch_model.bin")
    message = refusal(folder, settings)
    assert "pytorch_model.bin" in message
    assert "save_pretrained" in message


def test_a_thousand_and_one_folders_are_too_many(tmp_path: Path, settings: Settings) -> None:
    for step in range(1_001):
        (tmp_path / "run" / f"checkpoint-{step}").mkdir(parents=True)
    assert "at most 1,000" in refusal(tmp_path / "run", settings)
