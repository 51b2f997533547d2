"""Projection by UMAP itself: reproducible, neighbours stay together, clear refusals."""

import importlib
import sys
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from bertviz_core.errors import TextError, UnsupportedModelError
from bertviz_core.sentences import similarity
from bertviz_core.sentences.similarity import sentence_map

GROUPS, EACH = 3, 12


@pytest.fixture
def groups() -> Any:
    """Three groups of vectors, each around its own direction."""
    made = np.random.default_rng(0)
    middles = np.repeat(np.eye(GROUPS, 8), EACH, axis=0)
    return (middles + made.normal(scale=0.05, size=middles.shape)).astype(np.float32)


@pytest.mark.slow
def test_umap_keeps_neighbours_together_and_gives_the_same_picture_every_time(groups: Any) -> None:
    found = sentence_map(groups, "umap")
    assert (found.method, found.explained, found.points.dtype) == ("umap", None, np.float32)
    assert "axes mean nothing" in found.note
    distances = np.linalg.norm(found.points[:, None] - found.points[None], axis=-1)
    np.fill_diagonal(distances, np.inf)
    nearest = np.argsort(distances, axis=1)[:, : EACH // 2]
    assert (nearest // EACH == np.arange(GROUPS * EACH)[:, None] // EACH).all()
    with ThreadPoolExecutor(2) as pool:
        for again in pool.map(lambda _: sentence_map(groups, "umap"), range(2)):
            np.testing.assert_array_equal(again.points, found.points)
    np.testing.assert_array_equal(sentence_map(groups * 8, "umap").points, found.points)


@pytest.mark.parametrize(("count", "start"), [(9, "random"), (36, "spectral")])
@pytest.mark.slow
def test_points_are_those_of_umap_itself_and_what_it_compiles_is_kept(groups: Any, count: int, start: str) -> None:
    found = sentence_map(groups[:count], "umap").points
    umap = importlib.import_module("umap")
    made = umap.UMAP(n_neighbors=min(15, count - 1), metric="cosine", random_state=0, n_jobs=1, init=start)
    np.testing.assert_array_equal(found, made.fit_transform(groups[:count]))
    for compiled in (umap.umap_.compute_membership_strengths, umap.umap_.smooth_knn_dist, umap.utils.fast_knn_indices):
        assert sum(compiled.stats.cache_hits.values()) + sum(compiled.stats.cache_misses.values()) > 0


def test_without_a_folder_for_what_is_compiled_that_is_told(groups: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Unwritable(ModuleType):
        def __getattr__(self, name: str) -> Any:
            raise RuntimeError(f"cannot cache function {name!r}: no locator available for file 'layouts.py'")

    monkeypatch.setattr(similarity, "umap_available", lambda: True)
    monkeypatch.setitem(sys.modules, "umap", Unwritable("umap"))
    with pytest.raises(TextError, match="set NUMBA_CACHE_DIR to one, or choose PCA"):
        sentence_map(groups, "umap")


@pytest.mark.parametrize("count", [4, 9, 10, 15])
@pytest.mark.slow
def test_umap_places_few_sentences_and_equal_ones(groups: Any, count: int, recwarn: pytest.WarningsRecorder) -> None:
    importlib.import_module("umap")
    recwarn.clear()  # umap warns on import that TensorFlow is missing
    for vectors in (groups[:count], np.repeat(groups[:1], count, axis=0), np.zeros((count, 3), dtype=np.float32)):
        vectors.setflags(write=False)
        points = sentence_map(vectors, "umap").points
        assert points.shape == (count, 2)
        assert np.isfinite(points).all()
    assert not recwarn.list


def test_what_umap_cannot_place_is_refused(groups: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similarity, "umap_available", lambda: True)  # a refusal does not need it
    with pytest.raises(TextError, match="4 to 10,000 sentences, and these are 3"):
        sentence_map(groups[:3], "umap")
    monkeypatch.setattr(similarity, "MAX_UMAP_SENTENCES", 11)
    with pytest.raises(TextError, match="choose PCA"):
        sentence_map(groups[:12], "umap")
    groups[0, 0] = np.nan
    with pytest.raises(UnsupportedModelError, match="NaN"):
        sentence_map(groups, "umap")


def test_without_umap_its_absence_is_told(groups: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similarity, "umap_available", lambda: True)
    monkeypatch.setitem(sys.modules, "umap", ModuleType("umap"))  # another package with the same name
    with pytest.raises(TextError, match="install umap-learn"):
        sentence_map(groups, "umap")
    monkeypatch.undo()
    monkeypatch.setattr(similarity, "find_spec", lambda name: None)
    assert not similarity.umap_available()
    with pytest.raises(TextError, match="not installed here; install umap-learn"):
        sentence_map(groups, "umap")
    assert sentence_map(groups).method == "pca"
