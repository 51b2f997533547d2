"""The lines of Python on the page Heads run as they are, for several families, and give the page's numbers."""

from pathlib import Path

import numpy as np
import pytest

from tests.pages.opened import scale_end
from tests.ui.views.printed import MODELS, data, figure, ran


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("block", ["key", "output"])
@pytest.mark.sample(1)
def test_one_matrix(model: str, block: str, models_dir: Path) -> None:
    at, (_, heads) = ran("heads", "heads_matrix", model, models_dir, matrix=block)
    (bars,) = [trace for trace in data(at) if trace["type"] == "bar"]
    norms = np.linalg.norm(heads.reshape(len(heads), -1), axis=1)
    np.testing.assert_allclose(norms, bars["x" if block == "key" else "y"], rtol=1e-4)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.sample(1)
def test_products(model: str, models_dir: Path) -> None:
    shown = {"products_shown": "true", "layer": "1", "matrix": "value"}
    at, (one, difference) = ran("heads", "heads_products", model, models_dir, **shown)
    products = figure(at, 1)
    frame, limit = np.array(products["data"][0]["z"]), scale_end(products)
    expected = np.clip(one.transpose(1, 0, 2).reshape(frame.shape), -limit, limit)
    np.testing.assert_allclose(frame / 127 * limit, expected, atol=limit / 100)
    assert difference < 1e-4


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.sample(1)
def test_one_cell(model: str, models_dir: Path) -> None:
    at, (row, _, part) = ran("heads", "heads_cell", model, models_dir, view="One cell", layer="1", head="1")
    np.testing.assert_allclose(row, data(at)[1]["y"], atol=1e-4)
    np.testing.assert_allclose(part, data(at, 1)[1]["y"], atol=1e-3)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.sample(1)
def test_all_heads(model: str, models_dir: Path) -> None:
    at, printed = ran("heads", "heads_norms", model, models_dir, weights_of="all layers")
    maps = [trace["z"][0] for trace in data(at) if trace["type"] == "heatmap"]
    for norms, expected in zip(printed[1::2], maps, strict=True):
        shared = len(expected) // len(norms)
        np.testing.assert_allclose(np.repeat(norms, shared), expected, rtol=1e-4)
