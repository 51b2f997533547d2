"""The lines of Python on the page Representations run as they are, for several families, and give its numbers.

Covers `bertviz_core/questions/report/model_lines.py`.
"""

from pathlib import Path

import numpy as np
import pytest

from tests.pages.snippets import BUNDLED
from tests.ui.views.printed import MODELS, data, ran


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("measure", ["change", "input", "length"])
@pytest.mark.sample(1)
def test_change(model: str, measure: str, models_dir: Path) -> None:
    at, (found,) = ran("representations", "representations_change", model, models_dir, map=measure)
    np.testing.assert_allclose(found, data(at)[0]["z"], atol=1e-4)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.sample(1)
def test_values_and_similarities(model: str, models_dir: Path) -> None:
    at, (found,) = ran("representations", "representations_values", model, models_dir, view="Values", layer="1")
    np.testing.assert_allclose(found, data(at)[0]["z"], atol=1e-4)
    at, (found,) = ran(
        "representations", "representations_similarity", model, models_dir, view="Token similarity", layer="0"
    )
    np.testing.assert_allclose(found, data(at)[0]["z"], atol=1e-4)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.sample(1)
def test_paths(model: str, models_dir: Path) -> None:
    at, (points, _) = ran("representations", "representations_paths", model, models_dir, view="Paths")
    lines = [trace for trace in data(at) if "lines" in trace["mode"]]
    expected = np.stack([np.stack([line["x"], line["y"]], axis=1) for line in lines], axis=1)
    np.testing.assert_allclose(points.reshape(expected.shape), expected, atol=1e-3)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.sample(1)
def test_input(model: str, models_dir: Path) -> None:
    at, found = ran("representations", "representations_embedding", model, models_dir, view="Input")
    np.testing.assert_allclose(found[-1], data(at)[-1]["y"], atol=1e-4)


def test_pooler(models_dir: Path) -> None:
    shown = {"view": "Values", "vectors_of": "[CLS] and pooler"}
    at, (found,) = ran("representations", "representations_pooler", BUNDLED, models_dir, **shown)
    np.testing.assert_allclose(found[0], data(at)[1]["y"], atol=1e-4)


@pytest.mark.sample(1)
@pytest.mark.parametrize("model", MODELS)
def test_one_word(model: str, models_dir: Path) -> None:
    at, (found,) = ran("representations", "representations_word", model, models_dir, view="One word, two texts")
    np.testing.assert_allclose(found, data(at)[0]["y"][-len(found) :], atol=1e-4)
