"""Code of "How this is computed" runs as it is, for three kinds of models, and gives the page's numbers.

Covers `ui/views/heads/reproduction.py`, `ui/views/representations/texts.py`.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from bertviz_core.models.sources import bundled_folder
from tests.helpers.tiny_models import save_tiny
from tests.pages.opened import _decoded, opened, scale_end

BUNDLED = "all-MiniLM-L6-v2"
MODELS = (BUNDLED, "gpt2", "t5", "deberta", "modernbert", "eurobert")


@pytest.fixture(autouse=True)
def models_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The models folder of the test's dashboard."""
    monkeypatch.setenv("INSIDE_BERT_MODELS_DIR", str(tmp_path))
    monkeypatch.setenv("INSIDE_BERT_ALLOW_HUB", "0")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return tmp_path


def ran(page: str, chart: str, model: str, folder: Path, **address: str) -> tuple[AppTest, list[Any]]:
    """A view with its code open, and the output of this code."""
    if model != BUNDLED:
        save_tiny(model, folder / model)
    at = opened(page, model=model, **{f"{chart}_explained": "true"}, **address)
    assert not at.exception
    assert not at.error
    code = at.code[-1].value.replace(f"sentence-transformers/{BUNDLED}", str(bundled_folder()))
    printed: list[Any] = []
    exec(code, {"print": lambda *values: printed.extend(values)})
    return at, [each.detach().numpy() if isinstance(each, torch.Tensor) else each for each in printed]


def data(at: AppTest, chart: int = 0) -> list[dict[str, Any]]:
    figure: dict[str, Any] = _decoded(json.loads(at.get("plotly_chart")[chart].proto.spec))
    return list(figure["data"])


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("measure", ["change", "input", "length"])
@pytest.mark.sample(4)
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
@pytest.mark.sample(2)
def test_paths(model: str, models_dir: Path) -> None:
    at, (points, _) = ran("representations", "representations_paths", model, models_dir, view="Paths")
    lines = [trace for trace in data(at) if "lines" in trace["mode"]]
    expected = np.stack([np.stack([line["x"], line["y"]], axis=1) for line in lines], axis=1)
    np.testing.assert_allclose(points.reshape(expected.shape), expected, atol=1e-3)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.sample(2)
def test_input(model: str, models_dir: Path) -> None:
    at, found = ran("representations", "representations_embedding", model, models_dir, view="Input")
    np.testing.assert_allclose(found[-1], data(at)[-1]["y"], atol=1e-4)


def test_pooler(models_dir: Path) -> None:
    shown = {"view": "Values", "vectors_of": "[CLS] and pooler"}
    at, (found,) = ran("representations", "representations_pooler", BUNDLED, models_dir, **shown)
    np.testing.assert_allclose(found[0], data(at)[1]["y"], atol=1e-4)


@pytest.mark.sample(4)
@pytest.mark.parametrize("model", MODELS)
def test_one_word(model: str, models_dir: Path) -> None:
    at, (found,) = ran("representations", "representations_word", model, models_dir, view="One word, two texts")
    np.testing.assert_allclose(found, data(at)[0]["y"][-len(found) :], atol=1e-4)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("block", ["key", "output"])
@pytest.mark.sample(2)
def test_one_matrix(model: str, block: str, models_dir: Path) -> None:
    at, (_, heads) = ran("heads", "heads_matrix", model, models_dir, matrix=block)
    (bars,) = [trace for trace in data(at) if trace["type"] == "bar"]
    norms = np.linalg.norm(heads.reshape(len(heads), -1), axis=1)
    np.testing.assert_allclose(norms, bars["x" if block == "key" else "y"], rtol=1e-4)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.sample(2)
def test_products(model: str, models_dir: Path) -> None:
    shown = {"products_shown": "true", "layer": "1", "matrix": "value"}
    at, (one, difference) = ran("heads", "heads_products", model, models_dir, **shown)
    figure = _decoded(json.loads(at.get("plotly_chart")[1].proto.spec))
    frame, limit = np.array(figure["data"][0]["z"]), scale_end(figure)
    expected = np.clip(one.transpose(1, 0, 2).reshape(frame.shape), -limit, limit)
    np.testing.assert_allclose(frame / 127 * limit, expected, atol=limit / 100)
    assert difference < 1e-4


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.sample(2)
def test_one_cell(model: str, models_dir: Path) -> None:
    at, (row, _, part) = ran("heads", "heads_cell", model, models_dir, view="One cell", layer="1", head="1")
    np.testing.assert_allclose(row, data(at)[1]["y"], atol=1e-4)
    np.testing.assert_allclose(part, data(at, 1)[1]["y"], atol=1e-3)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.sample(2)
def test_all_heads(model: str, models_dir: Path) -> None:
    at, printed = ran("heads", "heads_norms", model, models_dir, weights_of="all layers")
    maps = [trace["z"][0] for trace in data(at) if trace["type"] == "heatmap"]
    for norms, expected in zip(printed[1::2], maps, strict=True):
        shared = len(expected) // len(norms)
        np.testing.assert_allclose(np.repeat(norms, shared), expected, rtol=1e-4)
