"""Attention from recorded query and key: hand-made numbers, all kinds of masks, and properties of a distribution."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from bertviz_core.attention.maps import attention_probs, attention_rows, row_tiles
from bertviz_core.errors import UnsupportedModelError
from bertviz_core.models.loading import load_model
from bertviz_core.models.sources import folder_source
from bertviz_core.settings import Settings
from bertviz_core.trace.run import trace
from bertviz_core.trace.tokenization import load_tokenizer, tokenize
from tests.helpers.made_traces import made, mapped, random_trace
from tests.helpers.tiny_models import HEADS, LAYERS, save_tiny

LAYER, QUERIES, KEY_HEADS, SEQ, WIDTH = 1, 6, 3, 5, 4


@pytest.fixture
def random() -> tuple[Any, Any]:
    generator = np.random.default_rng(0)
    return generator.normal(size=(QUERIES, SEQ, WIDTH)), generator.normal(size=(KEY_HEADS, SEQ, WIDTH))


def plain(query: Any, key: Any, allowed: Any, added: Any, scaling: float) -> Any:
    """The definition, number by number."""
    heads, seq, _ = query.shape
    probs = np.zeros((heads, seq, seq))
    for head in range(heads):
        for row in range(seq):
            scores = [
                float(query[head, row] @ key[head * len(key) // heads, column]) * scaling + added[head, row, column]
                for column in range(seq)
            ]
            powers = [np.exp(score) if allowed[row, column] else 0.0 for column, score in enumerate(scores)]
            probs[head, row] = np.divide(powers, sum(powers) or 1.0)
    return probs


def test_hand_computed() -> None:
    """Two tokens, one head: scores 0 and ln 3, so weights of 1/4 and 3/4."""
    found = attention_probs(made([[[1.0], [0.0]]], [[[0.0], [np.log(3)]]]), LAYER)
    np.testing.assert_allclose(found, [[[0.25, 0.75], [0.5, 0.5]]], atol=1e-7)


@pytest.mark.parametrize("kind", ["none", "bool", "float", "float per head", "causal", "nothing allowed"])
def test_masks(random: tuple[Any, Any], kind: str) -> None:
    query, key = random
    generator = np.random.default_rng(1)
    allowed, added = np.ones((SEQ, SEQ), dtype=bool), np.zeros((QUERIES, SEQ, SEQ))
    mask = None
    if kind == "bool":
        allowed = generator.random((SEQ, SEQ)) < 0.6
        np.fill_diagonal(allowed, val=True)
        mask = allowed[None]
    if kind == "causal":
        allowed = np.tri(SEQ, dtype=bool)
        mask = allowed[None]
    if kind == "nothing allowed":
        allowed[2] = False
        mask = allowed[None]
    if kind.startswith("float"):
        added = generator.normal(size=(QUERIES if "head" in kind else 1, SEQ, SEQ)) * np.ones((QUERIES, 1, 1))
        mask = np.float32(added if "head" in kind else added[:1])
    found = attention_probs(made(query, key, mask, 0.5), LAYER)
    expected = plain(query, key, allowed, added, 0.5)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert (found[:, ~allowed] == 0).all()
    np.testing.assert_allclose(found.sum(axis=-1)[:, allowed.any(axis=1)], 1, atol=1e-6)
    for head in range(QUERIES):
        np.testing.assert_allclose(attention_probs(made(query, key, mask, 0.5), LAYER, head), expected[head], atol=1e-6)


def test_large_scores_stay_finite(random: tuple[Any, Any]) -> None:
    query, key = random
    found = attention_probs(made(query * 1e4, key * 1e4), LAYER)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found.sum(axis=-1), 1, atol=1e-6)


@pytest.mark.filterwarnings("error")
def test_infinite_queries_give_rows_of_nan_without_a_warning(random: tuple[Any, Any]) -> None:
    query, key = random
    broken = query.copy()
    broken[:, 1, 0] = np.inf
    found, whole = (attention_probs(made(each, key), LAYER) for each in (broken, query))
    assert np.isnan(found[:, 1]).all()
    np.testing.assert_array_equal(np.delete(found, 1, axis=1), np.delete(whole, 1, axis=1))


def test_the_first_layer_is_the_first_layer(random: tuple[Any, Any]) -> None:
    np.testing.assert_allclose(attention_probs(made(*random), 0), 1 / SEQ, atol=1e-7)


def test_a_trace_is_not_changed_by_looking(random: tuple[Any, Any]) -> None:
    found = made(*random)
    assert found.query is not None
    before = [array.copy() for array in found.query]
    attention_probs(found, LAYER)[:] = 7
    np.testing.assert_array_equal(found.query, before)


@pytest.mark.parametrize(("layer", "head"), [(-1, None), (2, None), (0, -1), (0, QUERIES)])
def test_layers_and_heads_that_are_not_there(random: tuple[Any, Any], layer: int, head: int | None) -> None:
    with pytest.raises(ValueError, match="of"):
        attention_probs(made(*random), layer, head)


def blas_threads() -> list[int]:
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_threads_of_other_products_are_as_before(random: tuple[Any, Any]) -> None:
    """The number of threads is restored, even if many threads compute maps at the same time."""
    before = blas_threads()
    run = made(*random)
    expected = attention_probs(run, LAYER)
    with ThreadPoolExecutor(8) as pool:
        maps = list(pool.map(lambda _: attention_probs(run, LAYER), range(64)))
    assert blas_threads() == before
    for probs in maps:
        np.testing.assert_array_equal(probs, expected)


@pytest.mark.parametrize("rows", [slice(0, 1), slice(1, 4), slice(2, None), slice(0, 0)])
@pytest.mark.parametrize("mask", [None, np.tri(SEQ, dtype=bool)[None], np.ones((QUERIES, SEQ, SEQ), dtype=np.float32)])
def test_some_rows_are_the_rows_of_the_whole_map(random: tuple[Any, Any], rows: slice, mask: Any) -> None:
    found = made(*random, mask)
    for head in range(QUERIES):
        whole = attention_probs(found, LAYER, head)
        # One row is multiplied by other code than several: its sums may round differently.
        np.testing.assert_allclose(attention_rows(found, LAYER, head, rows), whole[rows], atol=1e-6)
    maps = mapped(attention_probs(found, 0), attention_probs(found, LAYER))
    np.testing.assert_allclose(attention_rows(maps, LAYER, 3, rows), attention_probs(found, LAYER, 3)[rows], atol=1e-7)


def test_rows_with_a_step_are_a_mistake(random: tuple[Any, Any]) -> None:
    with pytest.raises(ValueError, match="neighbours"):
        attention_rows(made(*random), LAYER, 0, slice(0, SEQ, 2))


@pytest.mark.parametrize(
    ("seq", "start", "stop", "cells"), [(7, 0, None, 14), (7, 2, 6, 14), (9, 0, None, 1), (1, 0, 1, 5)]
)
def test_tiles_cover_the_rows_once_and_stay_small(seq: int, start: int, stop: int | None, cells: int) -> None:
    tiles = list(row_tiles(seq, start, stop, cells))
    assert [row for rows in tiles for row in range(rows.start, rows.stop)] == list(range(start, stop or seq))
    assert all((rows.stop - rows.start) * seq <= max(cells, seq) for rows in tiles)


def test_a_text_of_several_tiles_has_the_same_probabilities() -> None:
    seq = 1600
    allowed = np.abs(np.arange(seq)[:, None] - np.arange(seq)) <= 700
    found = random_trace(2, seq, 3, key_heads=1, mask=allowed[None])
    assert len(list(row_tiles(seq))) > 1
    assert found.query is not None
    assert found.key is not None
    scores = found.query[1][1].astype(np.float64) @ found.key[1][0].T.astype(np.float64) * found.scaling[1]  # type: ignore[index]  # recorded
    powers = np.where(allowed, np.exp(scores), 0)
    probs = attention_probs(found, LAYER, 1)
    np.testing.assert_allclose(probs, powers / powers.sum(axis=1, keepdims=True), atol=1e-6)
    assert (probs[~allowed] == 0).all()


def test_a_family_without_attention_says_why(tmp_path: Path) -> None:
    source, settings = folder_source("tiny", save_tiny("fnet", tmp_path)), Settings.from_environment()
    found = trace(load_model(source, settings), tokenize(load_tokenizer(source, settings), "my pet"))
    with pytest.raises(UnsupportedModelError, match="Fourier"):
        attention_probs(found, 0)


@pytest.mark.parametrize("local_attention", [4, 8])
def test_modernbert_looks_only_near_in_its_local_layers(tmp_path: Path, local_attention: int) -> None:
    """Layers 0 and 2 see everything, layer 1 keys at most local_attention / 2 away (Warner et al. 2024)."""
    source = folder_source("tiny", save_tiny("modernbert", tmp_path, local_attention=local_attention))
    settings = Settings.from_environment()
    found = trace(load_model(source, settings), tokenize(load_tokenizer(source, settings), "love my pet " * 6))
    seq = len(found.tokens)
    distance = np.abs(np.arange(seq)[:, None] - np.arange(seq)[None, :])
    for layer in range(LAYERS):
        probs = attention_probs(found, layer)
        near = np.ones_like(distance, dtype=bool) if layer % 2 == 0 else distance <= local_attention // 2
        assert probs.shape == (HEADS, seq, seq)
        assert (probs[:, near] > 0).all()
        assert (probs[:, ~near] == 0).all()
