"""Rows read from their file equal those of the written array; a truncated file is refused."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bertviz_core.corpus import exact_search
from bertviz_core.corpus.exact_search import nearest_rows
from bertviz_core.corpus.folder import VECTORS_FILE
from bertviz_core.errors import CorpusError
from bertviz_core.sentences.store import vectors as module
from bertviz_core.sentences.store.vectors import VectorFile
from tests.helpers.made_corpora import DIMENSIONS, ROWS, made_corpus


def written(path: Path, dtype: str = "float16") -> tuple[VectorFile, np.ndarray]:
    array = np.random.default_rng(0).standard_normal((ROWS, DIMENSIONS)).astype(dtype)
    np.save(path, array)
    return VectorFile(path), array


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_rows_are_those_of_the_array(tmp_path: Path, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SPAN_ROWS", 32)
    monkeypatch.setattr(module, "GAP_ROWS", 3)
    file, array = written(tmp_path / "rows.npy", dtype)
    assert (len(file), file.shape, file.dtype, file.ndim) == (ROWS, array.shape, array.dtype, 2)
    mask = np.random.default_rng(1).random(ROWS) < 0.1
    many = np.random.default_rng(2).integers(-ROWS, ROWS, 400)
    keys: list[Any] = [0, -1, slice(None), slice(5, 9), slice(9, 5), slice(1_290, 9_999), slice(None, None, -7)]
    for key in (*keys, mask, many, [3, 3, 1], np.arange(0), np.array([[1, 2], [3, 0]])):
        np.testing.assert_array_equal(file[key], array[key])
    np.testing.assert_array_equal(np.asarray(file), array)
    for wrong in (ROWS, -ROWS - 1, [0.5], ["a"]):
        with pytest.raises(IndexError):
            file[wrong]


@pytest.mark.parametrize("mask", [None, np.arange(ROWS) % 3 == 0])
def test_a_search_of_the_file_is_one_of_the_array(tmp_path: Path, mask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact_search, "BLOCK_ROWS", 200)
    file, array = written(tmp_path / "rows.npy")
    query = np.random.default_rng(3).standard_normal(DIMENSIONS).astype(np.float32)
    found, expected = nearest_rows(file, query, 20, mask), nearest_rows(array, query, 20, mask)
    np.testing.assert_array_equal(found.rows, expected.rows)
    np.testing.assert_array_equal(found.scores, expected.scores)


def test_a_file_that_is_cut_off_while_it_is_open_is_refused_and_then_made_again(tmp_path: Path) -> None:
    corpus = made_corpus(tmp_path)
    vectors, query = corpus.vectors(), np.ones(DIMENSIONS, dtype=np.float32)
    whole = vectors[:]
    os.truncate(tmp_path / VECTORS_FILE, 500)
    with pytest.raises(CorpusError, match=r"vectors\.npy.* cut off while it was read.* made from the shards"):
        nearest_rows(vectors, query, 5)
    with pytest.raises(CorpusError, match="cut off"):
        vectors[[ROWS - 1]]
    np.testing.assert_array_equal(corpus.vectors()[:], whole)


def test_one_put_in_its_place_changes_nothing(tmp_path: Path) -> None:
    file, array = written(tmp_path / "rows.npy")
    np.save(tmp_path / "other.npy", np.zeros_like(array))
    (tmp_path / "other.npy").replace(tmp_path / "rows.npy")
    np.testing.assert_array_equal(file[:], array)


@pytest.mark.parametrize("array", [np.zeros(7), np.zeros((3, 2), int), np.zeros((3, 2), order="F")])
def test_what_is_no_rows_of_numbers_is_refused(tmp_path: Path, array: np.ndarray) -> None:
    np.save(tmp_path / "rows.npy", array)
    with pytest.raises(ValueError, match="no rows"):
        VectorFile(tmp_path / "rows.npy")
