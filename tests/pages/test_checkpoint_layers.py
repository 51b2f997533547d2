"""Layers over many texts: the page shows the numbers of plain transformers, for models of different sizes.

Covers `bertviz_core/questions/views/checkpoint.py`, `bertviz_core/questions/models/checkpoints.py`.
"""

from pathlib import Path

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest
from transformers import AutoModel, AutoTokenizer

from bertviz_core import BertvizError, open_model
from bertviz_core.predictions.probing.reading import example_set
from tests.checkpoints.test_layer_similarity import plain_cka
from tests.helpers.tiny_models import LAYERS, save_tiny
from tests.pages.opened import opened, visible_text
from tests.pages.test_checkpoint_weights import charts

TEXTS = ("a cat sat", "the dog ran home", "the bank of the river", "money and banks", "a tree", "a small house")


pytestmark = pytest.mark.usefixtures("patience")


@pytest.fixture
def two(models_dir: Path) -> tuple[Path, Path]:
    """Tiny models of two families, with other sizes and vocabularies."""
    return save_tiny("bert", models_dir / "bert"), save_tiny("roberta", models_dir / "roberta")


def page(**query: str) -> AppTest:
    return opened("checkpoint", view="Compare with base", compared="layers over many texts", **query)


def means(folder: Path) -> np.ndarray:
    """Mean of the tokens' vectors of each text at every hidden state (states, texts, hidden)."""
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    with torch.no_grad():
        runs = [model(**tokenizer(text, return_tensors="pt"), output_hidden_states=True) for text in TEXTS]
    return np.stack([torch.stack([state[0].mean(0) for state in run.hidden_states]).numpy() for run in runs], axis=1)


def test_models_of_two_families_are_compared_over_my_own_list(two: tuple[Path, Path]) -> None:
    at = page(model="bert", other="roberta", compared_list="my own list")
    assert "Write at least 4 texts" in at.info[0].value
    at.text_area(key="compared_texts").set_value("\n".join(TEXTS)).run()
    assert not at.exception
    assert not at.error
    layers, cosines = charts(at)
    first, second = map(means, two)
    expected = [[plain_cka(one, other) for other in second] for one in first]
    assert np.array(layers["data"][0]["z"]) == pytest.approx(np.array(expected), abs=1e-4)
    for line, vectors in zip(cosines["data"], (first, second), strict=True):
        unit = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
        among = (unit @ unit.transpose(0, 2, 1))[:, ~np.eye(len(TEXTS), dtype=bool)].mean(axis=1)
        assert np.array(line["y"]) == pytest.approx(among, abs=1e-5)
    assert "CKA is **" in " ".join(each.value for each in at.markdown)
    assert any("6 texts of your own list" in each.value for each in at.caption)


def test_the_example_set_is_the_start_and_the_library_gives_the_same(two: tuple[Path, Path]) -> None:
    at = page(model="bert", other="itself, rounded to float8_e4m3fn")
    copy = at.selectbox(key="other").value
    cells = np.array(charts(at)[0]["data"][0]["z"])
    found = open_model(str(two[0])).compute("layer-similarity", other=copy)
    assert found.texts == len(example_set().texts)
    assert cells == pytest.approx(found.cka, abs=1e-6)
    assert cells.shape == (LAYERS + 1, LAYERS + 1)


def test_the_same_checkpoint_twice_is_exactly_alike_in_the_same_layer(two: tuple[Path, Path]) -> None:
    at = page(model="bert", other="bert", layer_measure="nearest texts shared")
    assert np.diag(np.array(charts(at)[0]["data"][0]["z"])).tolist() == [1] * (LAYERS + 1)


def test_too_few_or_too_many_texts_and_no_other_model_are_one_sentence(two: tuple[Path, Path]) -> None:
    at = page(model="bert", other="roberta", compared_list="my own list")
    at.text_area(key="compared_texts").set_value("one\ntwo").run()
    assert not at.exception
    assert "at least 4" in visible_text(at.error[0].value)
    model = open_model(str(two[0]))
    with pytest.raises(BertvizError, match="at most 2,000"):
        model.compute("layer-similarity", *["a cat"] * 2_001, other=str(two[1]))
    with pytest.raises(BertvizError, match="other=MODEL"):
        model.compute("layer-similarity", *TEXTS)
