"""The view Word swaps: shipped sets, typed pairs and templates, one number of several; the numbers of the library.

Covers `bertviz_core/questions/views/answered.py`, `bertviz_core/figures/predictions/swaps.py`.
"""

from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core import open_model
from bertviz_core.figures.predictions.swaps import mean_words
from bertviz_core.questions.tables.labelled.swaps import LIMITS
from tests.helpers.tiny_heads import save_tiny_head
from tests.pages.opened import opened, visible_text
from tests.pages.snippets import chart, printed

CLASSES = {0: "neutral", 1: "good", 2: "bad"}
TYPED = {
    "swap_set": "typed",
    "word_pairs": "pet / river\nmy / a",
    "swap_templates": "I love {} bank.\na {}\nthe {} pet",
}

pytestmark = pytest.mark.usefixtures("patience")


def page(models_dir: Path, **query: str) -> AppTest:
    save_tiny_head("bert", "sequence-classification", models_dir / "classes", num_labels=3, id2label=CLASSES)
    at = opened("predictions", model="classes", view="Word swaps", **query)
    assert not at.exception
    return at


def test_the_shipped_set_has_the_numbers_of_the_library(models_dir: Path) -> None:
    at = page(models_dir, swap_set="pronouns", swap_output="bad", predictions_swaps_explained="true")
    assert not at.error
    result = open_model(models_dir / "classes").word_swaps(shipped="pronouns", output="bad")
    templates, means = [trace for trace in chart(at, "predictions_swaps") if trace["type"] == "scatter"]
    np.testing.assert_allclose(templates["x"], result.data.numbers.reshape(-1), atol=1e-7)
    np.testing.assert_allclose(means["x"], result.mean[:, 0], atol=1e-7)
    np.testing.assert_allclose(means["error_x"]["array"], result.interval[1, :, 0] - result.mean[:, 0], atol=1e-7)
    assert mean_words(result.data, "bad") in {visible_text(each.value) for each in at.markdown}
    assert LIMITS in {each.value for each in at.caption}
    listed = at.dataframe[-1].value
    assert list(listed["first text"]) == [text for text, _ in result.data.texts[::2]]
    np.testing.assert_allclose(listed["with the second"], result.values[:, :, 1, 0].reshape(-1), atol=1e-7)
    np.testing.assert_allclose(listed["difference"], result.data.numbers.reshape(-1), atol=1e-7)
    assert str(result.outputs) in str(printed(at.code[-1].value)[0])


def test_typed_pairs_and_templates_are_compared_by_the_cosine(models_dir: Path) -> None:
    at = page(models_dir, swaps_by="cosine", **TYPED)
    assert not at.error
    pairs, templates = TYPED["word_pairs"].splitlines(), TYPED["swap_templates"].splitlines()
    result = open_model(models_dir / "classes").word_swaps(pairs, templates, compared_by="cosine")
    points, means = [trace for trace in chart(at, "predictions_swaps") if trace["type"] == "scatter"]
    np.testing.assert_allclose(points["x"], result.values.reshape(-1), atol=1e-6)
    np.testing.assert_allclose(means["x"], result.mean[:, 0], atol=1e-6)
    assert "with the second" not in at.dataframe[-1].value


def test_a_bad_list_is_one_sentence_and_a_file_is_asked_for(models_dir: Path) -> None:
    at = page(models_dir, **{**TYPED, "swap_templates": "no slot"})
    assert "Template 1, 'no slot', has no slot" in visible_text(at.error[0].value)
    at = page(models_dir, **{**TYPED, "word_pairs": "he"})
    assert "Pair 1, 'he', has 1 word" in visible_text(at.error[0].value)
    assert "Choose it under **Texts**" in page(models_dir, swap_set="file").info[0].value
