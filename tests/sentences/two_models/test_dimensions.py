"""What fewer dimensions keep equals scikit-learn's neighbours and SciPy's rank correlation."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.neighbors import NearestNeighbors

from bertviz_core import open_model
from bertviz_core.errors import BertvizError, CheckpointError, TextError
from bertviz_core.models.sources import folder_source
from bertviz_core.sentences.dimensions import MOST_SENTENCES, dimension_curve, trained_dimensions, usual_dimensions
from bertviz_core.settings import Settings
from tests.helpers.tiny_models import save_tiny

TEXTS = ["a cat sat", "the dog ran home", "the bank of the river", "money and banks", "a tree"]


def made(sentences: int, dimensions: int) -> np.ndarray:
    """Vectors whose first dimensions are the largest."""
    values = np.random.default_rng(sentences).normal(size=(sentences, dimensions))
    return (values / np.arange(1, dimensions + 1)).astype(np.float32)


def nearest(vectors: np.ndarray, count: int) -> list[set[int]]:
    """The nearest sentences of each by cosine, itself left out."""
    found = NearestNeighbors(n_neighbors=count + 1, metric="cosine").fit(vectors).kneighbors(vectors)[1]
    return [set(row) - {place} for place, row in enumerate(found)]


def test_the_curve_is_that_of_scikit_learn_and_scipy() -> None:
    vectors = made(40, 50)
    found = dimension_curve("m", [str(place) for place in range(40)], vectors, 5, trained=(10, 50, 700))
    assert found.dimensions.tolist() == [8, 10, 16, 32, 50]
    assert found.nbytes.tolist() == [32, 40, 64, 128, 200]
    assert found.trained == (10, 50)
    upper = np.triu_indices(40, 1)
    for place, count in enumerate(found.dimensions.tolist()):
        pairs = zip(nearest(vectors, 5), nearest(vectors[:, :count], 5), strict=True)
        assert found.shared[place] == pytest.approx(np.mean([len(one & other) / 5 for one, other in pairs]))
        cosines = [cosine_similarity(each)[upper] for each in (vectors, vectors[:, :count])]
        assert found.spearman[place] == pytest.approx(spearmanr(*cosines).statistic, abs=1e-3)
    assert (found.shared[-1], found.spearman[-1]) == (1.0, pytest.approx(1.0))


def test_the_usual_dimensions() -> None:
    assert usual_dimensions(384) == (8, 16, 32, 64, 128, 256, 384)
    assert usual_dimensions(64, (24,)) == (8, 16, 24, 32, 64)
    assert usual_dimensions(8) == (1, 2, 4, 8)
    assert usual_dimensions(1) == (1,)


def test_hostile_lists_and_vectors() -> None:
    vectors = made(4, 12)
    for few in (0, 1, 2):
        with pytest.raises(TextError, match="at least 3 sentences"):
            dimension_curve("m", ["a"] * few, vectors[:few], 5)
    for wrong in ([0], [13], [], list(range(1, 12)) * 9 + [99]):
        with pytest.raises(TextError, match="have 12 dimensions"):
            dimension_curve("m", ["a"] * 4, vectors, 5, wrong)
    broken = vectors.copy()
    broken[2, 11] = np.nan
    with pytest.raises(CheckpointError, match="NaN or infinity"):
        dimension_curve("m", ["a"] * 4, broken, 5)
    same = dimension_curve("m", ["a"] * 4, np.ones((4, 12), np.float32), 5)
    assert np.isnan(same.spearman).all()
    zeros = vectors.copy()
    zeros[:, :8] = 0
    assert np.isnan(dimension_curve("m", ["a"] * 4, zeros, 5, [8]).spearman).all()
    long = dimension_curve("m", ["a"] * 900, made(900, 9), 5, [9])
    assert len(long.sentences) == MOST_SENTENCES


@pytest.mark.sample(1)
@pytest.mark.parametrize("key", ["matryoshka_dimensions", "matryoshka_dims"])
@pytest.mark.parametrize("file", ["config_sentence_transformers.json", "config.json"])
def test_a_model_that_names_its_dimensions_has_them_marked(key: str, file: str, tmp_path: Path) -> None:
    settings = Settings.from_environment(any_folder=True)
    folder = save_tiny("bert", tmp_path / "plain")
    message = " ".join(open_model(folder).sentences(TEXTS).dimensions().data.notices)
    assert "was not trained to be cut" in message
    named = Path(shutil.copytree(folder, tmp_path / "named"))
    before = json.loads((named / file).read_text()) if (named / file).exists() else {}
    (named / file).write_text(json.dumps({**before, key: [8, 4, True, -1, "16", 9_999]}))
    assert trained_dimensions(folder_source("named", named), settings) == (4, 8, 9_999)
    found = open_model(named).sentences(TEXTS).dimensions()
    assert found.data.trained == (4, 8)
    assert list(found.to_pandas().query("trained")["dimensions"]) == [4, 8]
    assert "trained for" in str(found)
    assert "4, 8" in found.data.notices[0]
    (named / file).write_text(json.dumps({**before, key: {"8": 1}}))
    assert not open_model(named).sentences(TEXTS).dimensions([2]).data.trained


def test_wrong_numbers_are_one_sentence(tmp_path: Path) -> None:
    found = open_model(save_tiny("bert", tmp_path / "plain")).sentences(TEXTS)
    for wrong in ([], [0], [-4], [10**30]):
        with pytest.raises(BertvizError):
            found.dimensions(wrong)
    model = open_model(tmp_path / "plain")
    with pytest.raises(BertvizError, match="'x' is no number of dimensions"):
        model.compute("dimensions", *TEXTS, dimensions="8,x")
