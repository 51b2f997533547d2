"""The view Calibration: its example, typed lists, bins and a second model; the same numbers as in the library.

Covers `bertviz_core/questions/views/answered.py`, `bertviz_core/figures/predictions/calibration.py`.
"""

import numpy as np
import pytest

from bertviz_core import open_model
from bertviz_core.figures.predictions.calibration import scores_words, temperature_words
from bertviz_core.predictions.probing.reading import example_sets
from tests.pages.opened import opened, visible_text
from tests.pages.snippets import chart, printed

MODEL, OTHER = "negations/checkpoint-80", "negations/checkpoint-40"
PLACES = example_sets()[1]

pytestmark = pytest.mark.usefixtures("patience")


@pytest.mark.slow
def test_the_example_has_the_numbers_of_the_library_beside_those_of_a_second_model() -> None:
    at = opened("predictions", view="Calibration", model=MODEL, other=OTHER, bins="7", binned_by="equal mass")
    assert not at.exception
    assert not at.error
    expected = open_model(MODEL).calibration(PLACES.texts, PLACES.labels, bins=7, other=OTHER).data
    assert expected.other is not None
    words = " ".join(visible_text(each.value) for each in at.markdown)
    for each in expected.both:
        assert temperature_words(each.labels[0]) in words
    assert scores_words(open_model(MODEL).calibration(PLACES.texts, PLACES.labels).data).split("equal mass")[0] in words
    for suffix, models in (("", (expected,)), ("_beside", expected.both)):
        lines = {trace["name"]: trace for trace in chart(at, f"predictions_calibration{suffix}") if trace.get("name")}
        covered = [trace for trace in chart(at, f"predictions_coverage{suffix}") if trace.get("name")]
        assert len(covered) == len(models)
        for each, curve in zip(models, covered, strict=True):
            bins = each.labels[0].equal_mass
            np.testing.assert_allclose(lines[each.model]["x"], bins.probability, atol=1e-6)
            np.testing.assert_allclose(lines[each.model]["y"], bins.share, atol=1e-6)
            np.testing.assert_allclose(lines[each.model]["error_y"]["array"], bins.interval[1] - bins.share, atol=1e-6)
            np.testing.assert_allclose(curve["y"], 100 * each.labels[0].covered_accuracy, atol=1e-4)
    assert len(at.dataframe[-1].value) == 6


@pytest.mark.slow
def test_the_code_prints_the_scores() -> None:
    lines = "good\tThe bed was clean.\nbad\tThe bread was rude.\ngood\tThe train is fine.\nbad\tIt was awful."
    at = opened(
        "predictions", view="Calibration", model=MODEL, many_texts=lines, predictions_calibration_explained="true"
    )
    pairs = [line.split("\t") for line in lines.splitlines()]
    expected = open_model(MODEL).calibration([text for _, text in pairs], [label for label, _ in pairs])
    assert printed(at.code[-1].value)[0] == expected.scores


def test_a_list_without_labels_or_with_a_single_one_is_one_sentence() -> None:
    at = opened("predictions", view="Calibration", model=MODEL, many_texts="The bed.\nThe bread.")
    assert "Calibration compares answers with gold labels" in at.info[0].value
    at = opened("predictions", view="Calibration", model=MODEL, many_texts="\n".join(["good\tThe bed."] * 5))
    assert "All 5 texts have the gold label 'good'" in visible_text(at.error[0].value)
    assert not at.exception
