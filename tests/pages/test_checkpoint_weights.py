"""The checkpoint page's views of weights and of two checkpoints show the numbers of NumPy.

Covers `pages/checkpoint.py`, `bertviz_core/questions/views/checkpoint.py`.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from streamlit.testing.v1 import AppTest
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from bertviz_core.checkpoints.rounding import COPIES
from bertviz_core.checkpoints.values import PIECE_NUMBERS
from bertviz_core.models.catalog import bundled_folder
from bertviz_core.questions.views.texts.checkpoint import HISTOGRAM, WEIGHTS
from tests.helpers.charts import sent_charts
from tests.helpers.tiny_models import HEADS, LAYERS, save_tiny
from tests.pages.opened import metrics, opened, visible_text

pytestmark = pytest.mark.usefixtures("patience")

MODEL = "all-MiniLM-L6-v2"
QUERY = "encoder.layer.1.attention.self.query.weight"


def charts(at: AppTest) -> list[dict[str, Any]]:
    """All charts of the page as sent to the browser."""
    return [each.figure for each in sent_charts(at)]


def maps(at: AppTest) -> tuple[dict[str, Any], dict[str, Any]]:
    """The cells outside the layers and those in them, from the page's first chart."""
    outside, inside = (each for each in charts(at)[0]["data"] if each["type"] == "heatmap")
    return outside, inside


def weights(**query: str) -> AppTest:
    """Open the view of the weights of a checkpoint."""
    return opened("checkpoint", view="Weights", **query)


def compared(**query: str) -> AppTest:
    """Open the view of two checkpoints."""
    return opened("checkpoint", view="Compare with base", **{"other": next(iter(COPIES)), **query})


@pytest.fixture
def tiny(models_dir: Path) -> Path:
    """A tiny BERT in the models folder."""
    return save_tiny("bert", models_dir / "base")


@pytest.fixture
def edited(tiny: Path) -> Path:
    """A copy of it with one tensor changed."""
    folder = tiny.with_name("edited")
    shutil.copytree(tiny, folder)
    tensors = load_file(tiny / "model.safetensors")
    tensors[QUERY] = tensors[QUERY] * 1.5
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def test_the_bundled_model_is_healthy_and_its_spreads_are_numpys() -> None:
    at = weights()
    assert not at.exception
    assert not at.error
    assert not at.warning
    assert "Nothing suspicious in 104 tensors" in at.success[0].value
    arrays = load_file(bundled_folder() / "model.safetensors")
    outside, inside = maps(at)
    for trace in (outside, inside):
        for names, values in zip(trace["customdata"], trace["z"], strict=True):
            for (name, _), value in zip(names, values, strict=True):
                assert value == pytest.approx(float(arrays[name].double().std(correction=0)), rel=1e-5)
    assert len(inside["z"]) == 16
    assert {len(row) for row in inside["z"]} == {6}


def test_a_linked_tensor_is_shown_with_its_own_numbers() -> None:
    name = "encoder.layer.4.output.dense.weight"
    at = weights(tensor=name, statistic="largest")
    values = load_file(bundled_folder() / "model.safetensors")[name].numpy()
    assert at.selectbox(key="tensor").value == name
    assert metrics(at)["Shape"] == "384×1536"
    assert float(metrics(at)["Standard deviation"]) == pytest.approx(values.std(), rel=1e-3)
    bars, curve = charts(at)[1]["data"]
    shown = sum(bars["y"])
    left = [each.value for each in at.caption if "outside the picture" in each.value]
    assert shown + sum(int(each.split()[0].replace(",", "")) for each in left) == values.size
    assert "standard deviation 0.02" in curve["name"]


def test_a_clicked_cell_becomes_the_tensor_and_does_not_undo_a_later_choice() -> None:
    at = weights()
    at.session_state["checkpoint_weights"] = {"point": {"row": 2, "column": 3}}
    at.run()
    assert at.selectbox(key="tensor").value == "encoder.layer.3.attention.self.key.weight"
    at.selectbox(key="tensor").select(QUERY)
    at.run()
    assert at.selectbox(key="tensor").value == QUERY
    at.session_state["checkpoint_weights"] = {"point": {"row": 0, "column": -1}}
    at.run()
    assert at.selectbox(key="tensor").value == "embeddings.word_embeddings.weight"


def test_a_model_that_was_never_trained_is_told(models_dir: Path) -> None:
    torch.manual_seed(0)
    from transformers import AutoModel

    from tests.helpers.tiny_models import tiny_config

    AutoModel.from_config(tiny_config("bert")).save_pretrained(models_dir / "new")
    at = weights(model="new")
    assert not at.success
    assert "The model appears to be untrained" in visible_text(at.warning[0].value)


def test_names_in_a_file_are_shown_and_not_read(models_dir: Path) -> None:
    folder = save_tiny("bert", models_dir / "odd")
    tensors = load_file(folder / "model.safetensors")
    bad = "<img src=x>.![a](http://evil.example).weight"
    save_file({**tensors, bad: torch.full((8, 9), torch.nan)}, folder / "model.safetensors", metadata={"format": "pt"})
    at = weights(model="odd", tensor=bad)
    assert not at.exception
    assert not [each for each in at.warning if "http://" in each.value]
    (warning,) = [each for each in at.warning if "NaN" in each.value]
    assert "\\<img" in warning.value
    assert "72 values that are NaN" in visible_text(warning.value)
    assert "<img" not in json.dumps([each["layout"]["title"] for each in charts(at)])


@pytest.mark.parametrize("view", ["Weights", "Compare with base"])
def test_a_model_without_weights_says_what_can_be_done(view: str) -> None:
    at = opened("checkpoint", view=view, model="bert-base-uncased", other=next(iter(COPIES)))
    assert not at.exception
    (error,) = at.info
    assert "The weights of 'bert-base-uncased' are not on this machine" in visible_text(error.value)


@pytest.mark.slow
def test_a_checkpoint_is_compared_with_a_rounded_copy() -> None:
    at = compared()
    assert not at.exception
    assert any("rounded to float8_e4m3fn as they are read" in line.value for line in at.caption)
    assert metrics(at)["Tensors in both"] == "104"
    arrays = load_file(bundled_folder() / "model.safetensors")
    _, inside = maps(at)
    drawn = {name: value for row in inside["customdata"] for name, value in row}
    for name in (QUERY, "encoder.layer.5.attention.self.key.bias"):
        one = arrays[name].double()
        change = (arrays[name].to(torch.float8_e4m3fn).double() - one).norm() / one.norm()
        assert float(drawn[name]) == pytest.approx(float(change), rel=1e-5)


@pytest.mark.slow
def test_the_same_checkpoint_can_still_be_named() -> None:
    at = compared(other=MODEL)
    assert not at.exception
    assert "every change is exactly 0" in at.info[0].value
    assert metrics(at)["Relative change"] == "0"
    assert (metrics(at)["Tensors in both"], metrics(at)["Unchanged"]) == ("104", "104")
    for trace in maps(at):
        assert not np.any(trace["z"])


@pytest.mark.slow
def test_a_rounded_copy_reads_the_text(tiny: Path) -> None:
    at = compared(model="base", other="itself, rounded to bfloat16", compared="behaviour with the text")
    assert not at.exception
    assert not at.error
    cosines, divergences = (each["data"][0]["z"] for each in charts(at))
    assert 0.99 < np.min(cosines) < 1
    assert np.max(divergences) > 0
    assert any(each.value == "Both models ran on cpu in float32." for each in at.caption)
    alone = compared(model="base", other="base", compared="behaviour with the text")
    assert np.min(charts(alone)[0]["data"][0]["z"]) == pytest.approx(1, abs=1e-6)


def test_one_edited_tensor_lights_up_exactly_its_cell(edited: Path) -> None:
    at = compared(model="base", other="edited", scale="even")
    assert not at.exception
    assert (metrics(at)["Tensors in both"], metrics(at)["Unchanged"]) == ("55", "54")
    outside, inside = maps(at)
    ((row, column),) = np.argwhere(np.array(inside["z"]) > 0).tolist()
    assert inside["customdata"][row][column][0] == QUERY
    assert inside["z"][row][column] == pytest.approx(0.5, rel=1e-6)
    assert not np.any(outside["z"])
    assert at.selectbox(key="changed").value == QUERY
    assert sum(charts(at)[1]["data"][2]["y"]) == 144


@pytest.mark.slow
def test_a_classifier_meets_its_base_and_both_read_the_text(tiny: Path, models_dir: Path) -> None:
    torch.manual_seed(0)
    model = AutoModelForSequenceClassification.from_pretrained(tiny, num_labels=5)
    with torch.no_grad():
        model.bert.encoder.layer[1].attention.self.query.weight *= 3
    model.save_pretrained(models_dir / "tuned")
    AutoTokenizer.from_pretrained(tiny).save_pretrained(models_dir / "tuned")
    at = compared(model="base", other="tuned")
    assert "without their prefix" in " ".join(visible_text(each.value) for each in at.markdown)
    assert metrics(at)["Added"] == "2"
    at = compared(model="base", other="tuned", compared="behaviour with the text")
    assert not at.exception
    cosines, divergences = (each["data"][0]["z"] for each in charts(at))
    assert np.shape(divergences) == (LAYERS, HEADS)
    assert len(cosines) == LAYERS + 1
    assert not np.any(divergences[0])
    assert np.min(divergences[1]) > 0
    np.testing.assert_allclose(cosines[:2], 1, atol=1e-6)


def test_two_vocabularies_are_refused_in_one_sentence(tiny: Path) -> None:
    at = compared(model=MODEL, other="base", compared="behaviour with the text")
    assert not at.exception
    (error,) = at.error
    assert "compare two models with the same vocabulary" in visible_text(error.value)


def test_models_of_nothing_in_common_say_so(tiny: Path, models_dir: Path) -> None:
    save_tiny("xlm", models_dir / "xlm")
    at = compared(model="base", other="xlm")
    assert not at.exception
    assert not at.error
    assert "nothing can be subtracted" in at.info[0].value


def test_weights_that_are_not_finite_are_named_beside_the_changes(edited: Path) -> None:
    tensors = load_file(edited / "model.safetensors")
    tensors["pooler.dense.weight"][0, 0] = torch.nan
    save_file(tensors, edited / "model.safetensors", metadata={"format": "pt"})
    at = compared(model="base", other="edited")
    assert not at.exception
    (warning,) = at.warning
    assert "1 tensor holds NaN or infinity ('pooler.dense.weight')" in visible_text(warning.value)
    (alone,) = weights(model="edited").warning
    assert "holds 1 value that is NaN; results" in visible_text(alone.value)


def test_the_text_names_the_size_of_a_piece_and_the_width_of_a_histogram(edited: Path) -> None:
    assert f"pieces of {PIECE_NUMBERS:,} numbers" in WEIGHTS
    tensors = load_file(edited / "model.safetensors")
    tensors[QUERY] = tensors[QUERY] / 100  # so that the curve, of standard deviation 0.3, is wider
    save_file(tensors, edited / "model.safetensors", metadata={"format": "pt"})
    bars, _ = charts(weights(model="edited", tensor=QUERY))[1]["data"]
    half = bars["width"] / 2
    assert (bars["x"][0] - half, bars["x"][-1] + half) == pytest.approx((-3 * 0.3, 3 * 0.3), rel=1e-3)
    assert "as far as three of its own" in HISTOGRAM
