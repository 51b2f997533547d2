"""Weights of fewer bits: page, method and question show the numbers of plain transformers.

Covers `bertviz_core/questions/views/checkpoint.py`, `bertviz_core/questions/texts/number_formats.py`,
`bertviz_core/questions/tables/checkpoints.py`.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from sklearn.neighbors import NearestNeighbors
from streamlit.testing.v1 import AppTest
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from bertviz_core import BertvizError, open_model
from bertviz_core.checkpoints.rounding import COPIES, Rounding
from bertviz_core.predictions.probing.reading import example_set
from tests.checkpoints.rounding.test_scaled import by_loop
from tests.helpers.tiny_heads import save_tiny_head
from tests.helpers.tiny_models import save_tiny
from tests.pages.opened import opened

TEXTS = ["a cat sat", "the dog ran home", "the bank of the river", "money and banks", "a tree", "a small house"]


pytestmark = pytest.mark.usefixtures("patience")


@pytest.fixture
def classes(models_dir: Path) -> Path:
    """A tiny classifier whose answers differ by text."""
    folder = save_tiny_head("bert", "sequence-classification", models_dir / "classes", num_labels=3)
    path = folder / "model.safetensors"
    weights = load_file(path)
    weights["classifier.bias"].zero_()
    weights["classifier.weight"] *= 20
    save_file(weights, path, metadata={"format": "pt"})
    return folder


def captions(at: AppTest) -> str:
    """All captions of a page."""
    return " ".join(each.value for each in at.caption)


def fewer_bits(**query: Any) -> AppTest:
    """The view, opened by an address."""
    return opened("checkpoint", view="Fewer bits", **query)


def plain(folder: Path, rounding: Rounding | None) -> tuple[np.ndarray, list[int]]:
    """Mean vectors and answers of the texts, with matrices rounded by a loop."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    vectors, answers = [], []
    with torch.no_grad():
        for weight in model.parameters() if rounding else ():
            if weight.ndim > 1:
                weight.copy_(torch.from_numpy(by_loop(weight.numpy(), rounding)))
        for text in TEXTS:
            run = model(**tokenizer(text, return_tensors="pt"), output_hidden_states=True)
            vectors.append(run.hidden_states[-1][0].mean(0).numpy())
            answers.append(int(run.logits.argmax()))
    return np.array(vectors), answers


def nearest(vectors: np.ndarray, count: int) -> list[set[int]]:
    """The nearest texts of each by cosine, itself left out."""
    found = NearestNeighbors(n_neighbors=count + 1, metric="cosine").fit(vectors).kneighbors(vectors)[1]
    return [set(row) - {place} for place, row in enumerate(found)]


@pytest.mark.slow
@pytest.mark.parametrize("rounding", ["int8", "int4 groups of 32", "nf4"])
def test_vectors_neighbours_and_answers_are_those_of_the_rounded_model(classes: Path, rounding: Rounding) -> None:
    found = open_model(classes).number_formats(TEXTS, [rounding])
    (each,), (before, answers), (after, changed) = found.data.formats, plain(classes, None), plain(classes, rounding)
    unit = [vectors / np.linalg.norm(vectors, axis=1, keepdims=True) for vectors in (before, after)]
    assert each.agreement is not None
    np.testing.assert_allclose(each.agreement.cosines, (unit[0] * unit[1]).sum(1), atol=1e-5)
    count = each.agreement.neighbours
    assert count == 2
    pairs = zip(nearest(before, count), nearest(after, count), strict=True)
    assert each.agreement.shared is not None
    np.testing.assert_allclose(each.agreement.shared, [len(one & other) / count for one, other in pairs])
    assert each.agreement.changed is not None
    assert each.agreement.changed.tolist() == [place for place in range(6) if answers[place] != changed[place]]
    table = found.to_pandas()
    assert table["mean cosine"][0] == pytest.approx(each.agreement.cosines.mean())
    assert table["answers changed"][0] == len(each.agreement.changed)
    assert "in memory, one after another" in str(found)
    assert found.data.copy_nbytes == sum(weight.nbytes for weight in load_file(classes / "model.safetensors").values())


@pytest.mark.slow
def test_the_model_stays_as_it_is(classes: Path) -> None:
    model = open_model(classes)
    before = model.trace(TEXTS[0]).data.hidden_states.copy()
    digest = (classes / "model.safetensors").read_bytes()
    model.number_formats(TEXTS, ["nf4", "float8_e4m3fn"])
    np.testing.assert_array_equal(model.trace(TEXTS[0]).data.hidden_states, before)
    np.testing.assert_array_equal(open_model(classes).trace(TEXTS[0]).data.hidden_states, before)
    assert (classes / "model.safetensors").read_bytes() == digest


@pytest.mark.slow
def test_the_page_shows_what_the_library_says(classes: Path) -> None:
    at = fewer_bits(model="classes", rounded_for="my own list", formats=["int8", "nf4"])
    assert "Write texts in the box" in at.info[0].value
    at.text_area(key="compared_texts").set_value("\n".join(TEXTS)).run()
    assert not at.exception
    assert not at.error
    found = open_model(classes).number_formats(TEXTS, ["int8", "nf4"]).to_pandas()
    table = next(each.value for each in at.dataframe if "mean cosine" in each.value)
    for column in ("relative error", "bytes after", "mean cosine", "neighbours kept", "answers changed"):
        np.testing.assert_allclose(table[column].astype(float), found[column].astype(float), rtol=1e-6)
    assert "biases and layer norms stay as they are" in captions(at)


@pytest.mark.slow
def test_the_example_set_is_run_where_it_is_chosen(classes: Path) -> None:
    found = open_model(classes).number_formats(formats=["int8"], examples=True).data
    assert found.texts == example_set().texts
    page = fewer_bits(model="classes", rounded_for="example set", formats=["int8"])
    assert "example set" in captions(page)


def test_numbers_of_a_regression_are_no_answers_that_change(models_dir: Path) -> None:
    save_tiny_head("bert", "sequence-classification", models_dir / "one", num_labels=1, problem_type="regression")
    found = open_model(models_dir / "one").number_formats(["a cat", "a dog"], ["nf4"])
    (each,) = found.data.formats
    assert each.agreement is not None
    assert each.agreement.changed is None
    assert "answers changed" not in found.to_pandas()


@pytest.mark.slow
@pytest.mark.parametrize("texts", [[], ["a cat"], ["a cat", "a dog"]])
def test_few_texts(classes: Path, texts: list[str]) -> None:
    (each,) = open_model(classes).number_formats(texts, ["nf4"]).data.formats
    assert (each.agreement is None) == (not texts)
    if each.agreement is not None:
        assert each.agreement.shared is None
        assert len(each.agreement.cosines) == len(texts)


@pytest.mark.slow
def test_wrong_formats_and_broken_weights_are_one_sentence(classes: Path, models_dir: Path) -> None:
    model = open_model(classes)
    with pytest.raises(BertvizError, match="no number format 'int5'; choose from float16"):
        model.number_formats(formats=["int8", "int5"])
    with pytest.raises(BertvizError, match="empty list"):
        model.number_formats(formats=[])
    broken = Path(shutil.copytree(classes, models_dir / "broken"))
    weights = load_file(broken / "model.safetensors")
    weights["bert.encoder.layer.0.intermediate.dense.weight"][0, 0] = torch.nan
    save_file(weights, broken / "model.safetensors", metadata={"format": "pt"})
    found = open_model(broken).number_formats(formats=["int8", "nf4"])
    assert np.isnan(found.to_pandas()["relative error"]).all()
    assert found.to_json()["formats"][0]["relative_error"] is None
    assert found.to_json()["formats"][0]["parts"][0]["relative_error"] > 0
    with pytest.raises(BertvizError, match="NaN or infinity"):
        open_model(broken).number_formats(TEXTS, ["int8"])
    page = fewer_bits(model="broken", formats=["int8"])
    assert not page.exception


@pytest.mark.slow
def test_weights_beyond_a_format_are_said_and_the_other_formats_stay(models_dir: Path) -> None:
    folder = save_tiny("bert", models_dir / "large")
    weights = load_file(folder / "model.safetensors")
    weights["embeddings.LayerNorm.bias"][0] = 1e5  # infinite in float16
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    found = open_model(folder).number_formats(TEXTS, ["float16", "int8"]).data
    half, whole = found.formats[1] if found.formats[0].name == "int8" else found.formats[0], found.formats[-1]
    assert half.agreement is not None
    assert whole.agreement is not None
    assert np.isnan(half.agreement.cosines).all()
    assert half.agreement.shared is None
    assert np.isfinite(whole.agreement.cosines).all()
    assert any("Rounded to float16, the model gives NaN" in each for each in found.notices)
    assert json.dumps(open_model(folder).number_formats(TEXTS, ["float16"]).to_json())


def test_groups_that_do_not_divide_a_row_are_named(classes: Path) -> None:
    found = open_model(classes).number_formats(formats=["int4 groups of 32", "int8"]).data
    (notice,) = (each for each in found.notices if "no multiple of 32" in each)
    assert "int4 groups of 32: the rows of " in notice
    assert str(len(found.formats[1].uneven)) in notice or str(len(found.formats[0].uneven)) in notice
    assert set(COPIES.values()) >= {each.name for each in found.formats}
