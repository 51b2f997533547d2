"""Training run: the page shows the log and the movement of a run below the models folder, and follows it as it grows.

Covers `bertviz_core/questions/views/training.py`, `ui/cache/shared_model.py`.
"""

import json
import shutil
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from safetensors.numpy import save_file
from streamlit.testing.v1 import AppTest

from bertviz_core import open_training
from tests.helpers.adapter_runs import BASE, save_adapter_run
from tests.helpers.training_runs import CUT_OFF, SAVED, STEPS, save_run, state_of, weights
from tests.pages.opened import opened, training_page, visible_text
from tests.pages.test_checkpoint_weights import charts

pytestmark = pytest.mark.usefixtures("patience")


def captions(at: AppTest) -> str:
    return " ".join(visible_text(each.value) for each in at.caption)


def test_the_log_and_the_movement_are_those_of_the_files(run_folder: Path) -> None:
    at = training_page()
    log, moved = charts(at)
    losses = [row["loss"] for row in state_of(run_folder)["log_history"] if "loss" in row]
    curves = {each["name"]: each for each in log["data"]}
    assert np.array(curves["loss"]["y"]) == pytest.approx(losses)
    assert np.array(curves["checkpoint"]["x"]).tolist() == [*SAVED, STEPS]
    assert [row[-1] for row in moved["data"][0]["customdata"][0]] != []
    first, last = weights(run_folder / "checkpoint-2"), weights(run_folder)
    names = [name for name in first if ".layer.2." in name]
    then, now = (np.concatenate([each[name].reshape(-1) for name in names]) for each in (first, last))
    row = moved["layout"]["yaxis"]["ticktext"].index("layer 2")
    shown = float(moved["data"][0]["customdata"][row][-1][1])
    assert shown == pytest.approx(np.linalg.norm(now - then) / np.linalg.norm(then), rel=1e-3)
    assert {each.label: each.value for each in at.metric}["Never moved"] == "16"
    assert f"'checkpoint-{CUT_OFF}' is left out until it can be read" in captions(at)
    logged = {name for row in state_of(run_folder)["log_history"] for name in row} - {"step", "epoch"}
    undrawn = len(logged) - (len(curves) - 1)  # without the row of checkpoints
    assert f"{undrawn} more logged numbers are in the table." in captions(at)
    assert "none blew up" in at.success[0].value


def test_a_checkpoint_that_is_saved_meanwhile_is_taken_at_the_next_look(run_folder: Path) -> None:
    at = training_page()
    shutil.rmtree(run_folder / f"checkpoint-{CUT_OFF}")
    shutil.copytree(run_folder / "checkpoint-8", run_folder / f"checkpoint-{CUT_OFF}")
    own = {name: value.astype(np.float32) for name, value in weights(run_folder / "checkpoint-8").items()}
    bad = own["bert.pooler.dense.bias"].copy()
    bad[:2] = np.nan, np.inf
    own |= {"bert.pooler.dense.bias": bad, "classifier.bias": np.full_like(own["classifier.bias"], np.inf)}
    save_file(own, run_folder / f"checkpoint-{CUT_OFF}" / "model.safetensors")
    at.button(key="look_again").click().run()
    assert not at.exception
    assert "left out" not in captions(at)
    assert len(charts(at)[1]["layout"]["xaxis"]["ticktext"]) == len(SAVED) + 2
    warning = visible_text(at.warning[0].value)
    assert "bert.pooler.dense.bias holds NaN, first at step 10; 1 more is in the table." in warning
    assert {each.label: each.value for each in at.metric}["Broken tensors"] == "2"  # one of them in two ways


def test_options_change_the_map_as_in_the_library(run_folder: Path) -> None:
    at = training_page(moved_from="the previous checkpoint", moved_part="attention", scale="even")
    moved = charts(at)[1]
    found = open_training(run_folder).movement().data
    layers = [index for index, place in enumerate(found.places) if place.startswith("layer")]
    expected = found.from_previous[:, layers, found.parts.index("attention")].T
    assert np.array(moved["data"][0]["z"]) == pytest.approx(expected, rel=1e-5)
    assert list(moved["layout"]["yaxis"]["ticktext"]) == ["layer 0", "layer 1", "layer 2"]


@pytest.mark.slow
def test_a_link_opens_any_two_checkpoints_as_two_models(run_folder: Path) -> None:
    at = training_page(first_checkpoint="checkpoint-4")
    assert at.selectbox(key="second_checkpoint").value == "final model"
    at.selectbox(key="second_checkpoint").set_value("checkpoint-8").run()
    (links,) = [each.proto for each in at.get("bidi_component") if each.proto.id.endswith("-training_two")]
    (link,) = json.loads(links.json)["links"]
    query = {name: values[0] for name, values in parse_qs(urlsplit(link["address"]).query).items()}
    assert query == {"model": "my-run/checkpoint-4", "view": "Compare with base", "other": "my-run/checkpoint-8"}
    two = opened("checkpoint", **query)
    assert not two.exception
    assert not two.error
    *_, whole = [each.value for each in two.metric if each.label == "Relative change"]  # after that of a tensor
    first, second = weights(run_folder / "checkpoint-4"), weights(run_folder / "checkpoint-8")
    then, now = (np.concatenate([each[name].reshape(-1) for name in first]) for each in (first, second))
    assert float(whole) == pytest.approx(np.linalg.norm(now - then) / np.linalg.norm(then), rel=1e-3)


def test_a_run_with_a_single_checkpoint_shows_its_log_and_says_why_no_more(run_folder: Path) -> None:
    for place in [*run_folder.glob("checkpoint-[468]"), run_folder / f"checkpoint-{CUT_OFF}"]:
        shutil.rmtree(place)
    (run_folder / "model.safetensors").unlink()
    at = training_page()
    assert len(charts(at)) == 1
    assert "has a single checkpoint" in visible_text(at.info[0].value)


def test_the_movement_is_shown_where_no_log_can_be_read(run_folder: Path) -> None:
    for place in (run_folder, *run_folder.glob("checkpoint-*")):
        (place / "trainer_state.json").write_text("{")
    at = training_page()
    assert len(charts(at)) == 1
    assert "the log is empty" in visible_text(at.warning[-1].value)


def test_without_a_run_of_ones_own_the_page_shows_the_example(models_dir: Path) -> None:
    at = training_page()
    assert at.selectbox(key="training").options == ["negations"]
    assert len(charts(at)) == 2
    assert "weights merged into the base" in visible_text(at.caption[0].value)


def test_where_no_run_may_be_opened_the_page_says_what_to_put_where(
    models_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INSIDE_BERT_ALLOWED_MODELS", "all-MiniLM-L6-v2")
    assert "no training run that may be opened here" in training_page().info[0].value


def test_only_runs_of_the_models_folder_and_of_the_allow_list_are_offered(
    run_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = save_run(tmp_path / "elsewhere")
    (run_folder.parent / "linked").symlink_to(elsewhere)
    at = training_page(training=str(elsewhere))
    assert at.selectbox(key="training").options == ["my-run", "negations"]
    assert at.selectbox(key="training").value == "my-run"
    monkeypatch.setenv("INSIDE_BERT_ALLOWED_MODELS", "all-MiniLM-L6-v2")
    assert "no training run" in training_page().info[0].value


def test_a_run_of_adapters_is_shown_from_its_base(models_dir: Path) -> None:
    folder = save_adapter_run(models_dir)
    (models_dir / BASE).rename(models_dir / "elsewhere")
    at = opened("checkpoint", view="Training run", training="lora")
    assert not at.exception
    assert "The base of the adapter 'lora/checkpoint-2' cannot be opened" in visible_text(at.error[0].value)
    (models_dir / "elsewhere").rename(models_dir / BASE)
    at = training_page(training="lora")
    found = open_training(folder).movement().data
    labels = {each.label: each.value for each in at.metric}
    assert labels["Checkpoints"] == f"{len(SAVED)}"
    assert float(labels["Moved from the base"]) == pytest.approx(float(found.whole_from_first[-1]), rel=1e-3)
