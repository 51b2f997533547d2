"""A run of LoRA adapters as one training run: its movement is NumPy's from the weights that peft merges.

Covers `bertviz_core/checkpoints/training/folder.py`, with `tests/checkpoints/training/test_folder.py`.
"""

import json
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from bertviz_core import open_model, open_training
from bertviz_core.checkpoints.training.folder import TrainingRun, training_run
from bertviz_core.checkpoints.training.movement import checkpoint_sums, moved_tensors, training_movement
from bertviz_core.checkpoints.training.results import FINAL, TrainingMovement
from bertviz_core.errors import CheckpointError, MissingFilesError, ModelNotFoundError
from bertviz_core.settings import Settings
from tests.helpers.adapter_runs import ALONE, BASE, base_weights, merged_by_peft, save_adapter_run
from tests.helpers.tiny_models import LAYERS
from tests.helpers.training_runs import GOLD, SAVED, STEPS, TEXTS

ADAPTER, CONFIG = "adapter_model.safetensors", "adapter_config.json"


@pytest.fixture
def models(tmp_path: Path, settings: Settings) -> Settings:
    """Settings with a models folder of a base and a run of its adapters."""
    save_adapter_run(tmp_path)
    return replace(settings, models_dir=tmp_path)


def run_of(models: Settings) -> TrainingRun:
    return training_run("lora", models.models_dir / "lora", models)


def moved(run: TrainingRun) -> TrainingMovement:
    states = run.states
    sums = [checkpoint_sums(states[0], states[0], states[0])]
    for before, now in zip(states, states[1:], strict=False):
        sums.append(checkpoint_sums(states[0], before, now, None, sums[0]))
    return training_movement(run, sums)


def ratio(now: dict[str, np.ndarray], then: dict[str, np.ndarray]) -> float:
    """||now - then|| / ||then|| of all values in one row; 0 where they are equal."""
    row, old = (np.concatenate([each[name].reshape(-1) for name in now]) for each in (now, then))
    return 0.0 if np.array_equal(row, old) else float(np.linalg.norm(row - old) / np.linalg.norm(old))


def test_movement_is_that_of_the_weights_that_peft_merges(models: Settings) -> None:
    run = run_of(models)
    found = moved(run)
    assert (found.base, found.checkpoints) == (BASE, tuple(f"checkpoint-{step}" for step in SAVED))
    assert found.steps.tolist() == list(SAVED)
    at = [merged_by_peft(models.models_dir, step) for step in SAVED]
    # The base has no head, which has not moved from it, and from the previous checkpoint from the second one on.
    start = {**at[0], **base_weights(models.models_dir)}
    names = [each.name for each in found.tensors]
    assert set(names) == {name for name in at[0] if not name.endswith("position_ids")}
    for row, now in enumerate(at):
        before = at[row - 1] if row else start
        head = {name for name in names if name.startswith("classifier")}
        for then, new, whole, by_tensor, by_place in (
            (start, head, found.whole_from_first, found.tensor_from_first, found.from_first),
            (
                before,
                set() if row else head,
                found.whole_from_previous,
                found.tensor_from_previous,
                found.from_previous,
            ),
        ):
            inside = {name: now[name] for name in names if name not in new}
            assert whole[row] == pytest.approx(ratio(inside, then), rel=1e-5)
            expected = [np.nan if name in new else ratio({name: now[name]}, then) for name in names]
            assert by_tensor[row].tolist() == pytest.approx(expected, rel=1e-4, abs=1e-9, nan_ok=True)
            for column, place in enumerate(found.places):
                own = {
                    name: now[name] for name, where in zip(names, found.tensor_places, strict=True) if where == place
                }
                moved_by = np.nan if new & own.keys() else ratio(own, then)
                assert by_place[row, column, 0] == pytest.approx(moved_by, rel=1e-4, abs=1e-9, nan_ok=True)


def test_what_has_no_update_never_moved(models: Settings) -> None:
    found = moved(run_of(models))
    trained = {
        f"encoder.layer.{layer}.attention.self.{part}.weight"
        for layer in range(LAYERS)
        for part in ("query", "value")
        if layer != ALONE
    }
    assert set(found.frozen) == {each.name for each in found.tensors} - trained - {
        "classifier.weight",
        "classifier.bias",
    }
    assert not found.broken


def test_nan_in_an_update_is_named_with_its_step(models: Settings) -> None:
    path = models.models_dir / "lora" / "checkpoint-6" / ADAPTER
    tensors = load_file(path)
    name = next(each for each in tensors if "layer.0" in each and "query.lora_B" in each)
    tensors[name] = np.full_like(tensors[name], np.nan)
    save_file(tensors, path)
    broken = moved(run_of(models)).broken
    assert {(each.name, each.step) for each in broken} == {("encoder.layer.0.attention.self.query.weight", 6)}


def test_the_run_says_what_its_movement_is_of(models: Settings) -> None:
    notices = " ".join(run_of(models).notices)
    assert "weights merged into the base 'base'" in notices
    assert "'classifier.bias' and 1 more start at 'checkpoint-2'" in notices


def test_one_checkpoint_has_moved_from_the_base(models: Settings) -> None:
    for step in SAVED[1:]:
        shutil.rmtree(models.models_dir / "lora" / f"checkpoint-{step}")
    found = moved(run_of(models))
    assert found.checkpoints == ("checkpoint-2",)
    assert found.whole_from_first[0] > 0


def test_an_adapter_in_the_folder_itself_is_the_final_model(tmp_path: Path, settings: Settings) -> None:
    save_adapter_run(tmp_path, final=True)
    found = moved(run_of(replace(settings, models_dir=tmp_path)))
    assert found.checkpoints[-1] == FINAL
    assert found.whole_from_previous[-1] == 0


def test_a_half_written_adapter_is_left_out(models: Settings) -> None:
    folder = models.models_dir / "lora"
    cut = folder / "checkpoint-4" / ADAPTER
    cut.write_bytes(cut.read_bytes()[:-50])
    (folder / "checkpoint-6" / CONFIG).unlink()
    run = run_of(models)
    assert [each.step for each in run.checkpoints] == [2, 8]
    assert sum("is left out until it can be read" in notice for notice in run.notices) == 2


def test_a_missing_base_is_one_sentence(models: Settings) -> None:
    (models.models_dir / BASE).rename(models.models_dir / "moved")
    with pytest.raises(ModelNotFoundError, match="base of the adapter 'lora/checkpoint-2' cannot be opened"):
        run_of(models)


def test_weights_of_the_base_that_are_elsewhere_are_one_sentence(models: Settings) -> None:
    for path in (models.models_dir / "lora").glob(f"*/{CONFIG}"):
        path.write_text(json.dumps({**json.loads(path.read_text()), "base_model_name_or_path": "bert-base-uncased"}))
    with pytest.raises(MissingFilesError, match="weights of 'bert-base-uncased' are not on this machine"):
        run_of(models)


def test_adapters_of_two_bases_are_no_run(models: Settings) -> None:
    shutil.copytree(models.models_dir / BASE, models.models_dir / "other")
    path = models.models_dir / "lora" / "checkpoint-6" / CONFIG
    path.write_text(json.dumps({**json.loads(path.read_text()), "base_model_name_or_path": "other"}))
    with pytest.raises(CheckpointError, match="adapters of different bases, 'checkpoint-2' of 'base' and"):
        run_of(models)


def test_tensors_of_the_base_are_read_once(models: Settings) -> None:
    states = run_of(models).states
    known = checkpoint_sums(states[0], states[0], states[0])
    path = models.models_dir / BASE / "model.safetensors"
    start = 8 + int.from_bytes(path.read_bytes()[:8], "little")
    path.write_bytes(path.read_bytes()[:start] + bytes(path.stat().st_size - start))
    now, anew = (checkpoint_sums(states[0], states[0], states[1], None, each) for each in (known, None))
    at = [each.name for each in moved_tensors(states[0].checkpoint)[0]].index("embeddings.word_embeddings.weight")
    assert now.squares[at] == known.squares[at] > 0
    assert anew.squares[at] == 0


def test_every_checkpoint_answers_as_the_model_of_its_name(models: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSIDE_BERT_MODELS_DIR", str(models.models_dir))
    (models.models_dir / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(models.models_dir / "temporary"))
    for step in SAVED[1:-1]:
        shutil.rmtree(models.models_dir / "lora" / f"checkpoint-{step}")
    left = SAVED[:1] + SAVED[-1:]
    run = open_training(models.models_dir / "lora")
    gold = [f"LABEL_{each}" for each in GOLD]
    found = run.scores(list(TEXTS), gold).data
    for step, answers in zip(left, found.answers, strict=True):
        model = open_model(f"lora/checkpoint-{step}")
        own = [model.predict(text).data for text in TEXTS]
        assert list(answers) == [each.labels[int(np.argmax(each.probabilities))] for each in own]
    assert run.follow(TEXTS[0]).data.steps.tolist() == list(left)
    states = run.layers([*TEXTS, "i love my bank"]).data
    assert states.cka[0].tolist() == pytest.approx([1] * (LAYERS + 1))
    assert states.entropy is not None
    own = {place for place in Path(tempfile.tempdir or "").iterdir() if place.name.startswith("inside-bert-merged-")}
    assert len(own) == len(left)  # those of open_model, none of the run's
    assert open_training(models.models_dir / "lora").log().data.steps.tolist()[-1] == STEPS
