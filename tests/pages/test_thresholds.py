"""The view Threshold: its example, typed pairs and a file; the same numbers as in the library.

Covers `bertviz_core/questions/views/vectors/thresholds.py`, `ui/views/sentences.py`.
"""

from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core import open_model
from bertviz_core.figures.sentences.thresholds import best_words, reaching_words
from bertviz_core.sentences.analysis.example_pairs import EXAMPLE_PAIRS
from tests.helpers.tiny_heads import save_tiny_head
from tests.pages.opened import metrics, opened, visible_text
from tests.pages.snippets import chart, printed

MODEL = "all-MiniLM-L6-v2"
PAIRS = [(one, other) for one, other, _ in EXAMPLE_PAIRS]
LABELS = [label for _, _, label in EXAMPLE_PAIRS]
SHORT = "the river bank\tmy pet\t0\nmy pet\tthe pets\t1\nthe river\ta river, my bank\t1\npython\tthe bank\t0\n"

pytestmark = pytest.mark.usefixtures("patience")


def page(**query: str) -> AppTest:
    at = opened("sentences", view="Threshold", **query)
    assert not at.exception
    return at


@pytest.mark.slow
def test_the_example_has_the_numbers_of_the_library_and_its_code_prints_them() -> None:
    at = page(precision="0.8", sentences_thresholds_explained="true")
    assert not at.error
    expected = open_model(MODEL).thresholds(PAIRS, LABELS, precision=0.8)
    words = " ".join(visible_text(each.value) for each in at.markdown)
    assert best_words(expected.data) in words
    assert reaching_words(expected.data) in words
    assert metrics(at)["Threshold, largest F1"] == f"{expected.best.threshold:.4f}"
    lines = {trace["name"]: trace for trace in chart(at, "sentences_thresholds") if trace.get("name")}
    curve = expected.data.curve
    for name, values in (("precision", curve.precision), ("recall", curve.recall), ("F1", curve.f1)):
        np.testing.assert_allclose(lines[name]["x"][1:], curve.thresholds, atol=1e-6)
        np.testing.assert_allclose(lines[name]["y"][1:], values, atol=1e-6)
    assert sum(lines["positive, 12"]["y"]) == sum(lines["negative, 12"]["y"]) == 2 * 12
    assert set(at.dataframe[-1].value["mistake"]) <= {"false positive", "false negative"}
    assert len(at.dataframe[-1].value) == expected.best.false_positives + expected.best.false_negatives
    values = printed(at.code[-1].value)
    assert values[0] == expected.best
    np.testing.assert_allclose(values[-1], expected.scores, atol=1e-6)


def test_typed_pairs_are_divided_by_the_logit_of_a_head(models_dir: Path) -> None:
    save_tiny_head("bert", "sequence-classification", models_dir / "reranker", num_labels=1)
    at = page(model="reranker", labelled_from="my own list", gold_pairs=SHORT, threshold_of="logit")
    assert not at.error
    rows = [line.split("\t") for line in SHORT.splitlines()]
    model = open_model(models_dir / "reranker")
    expected = model.thresholds([(a, b) for a, b, _ in rows], [float(c) for *_, c in rows], threshold_of="logit")
    assert expected.data.score_name == "logit"
    assert best_words(expected.data) in " ".join(visible_text(each.value) for each in at.markdown)


def test_without_pairs_the_view_says_what_to_do_and_one_label_is_refused() -> None:
    assert "Under **Pairs**, write pairs" in page(labelled_from="my own list").info[0].value
    assert "This view reads a file" in page(labelled_from="file").info[0].value
    at = page(labelled_from="my own list", gold_pairs=SHORT.replace("\t0", "\t1"))
    assert "All 4 pairs have the label 1" in visible_text(at.error[0].value)


@pytest.mark.slow
def test_a_file_is_read_by_its_columns() -> None:
    at = page(labelled_from="file")
    rows = "\n".join(f'"{one}","{other}",{label}' for one, other, label in EXAMPLE_PAIRS)
    at.file_uploader[0].upload("pairs.csv", f"sentence1,sentence2,label\n{rows}\n".encode(), "text/csv").run()
    assert not at.exception
    assert not at.error, at.error[0].value
    assert metrics(at)["Pairs"] == "12 + 12"
