"""Blocks contain all rows in order; a sample depends only on the seed; texts belong to their rows."""

from pathlib import Path

import numpy as np
import pytest

from bertviz_core.corpus.analysis.row_samples import blocks, sampled_rows, texts_of
from bertviz_core.errors import CorpusError
from tests.helpers.made_corpora import ROWS, made_columns, made_corpus


def test_blocks_are_all_rows_in_float32() -> None:
    vectors = np.arange(70, dtype=np.float16).reshape(10, 7)
    for size in (1, 3, 10, 99, 0):
        parts = list(blocks(vectors, size))
        assert all(part.dtype == np.float32 for _, part in parts)
        np.testing.assert_array_equal(np.concatenate([part for _, part in parts]), vectors)
        np.testing.assert_array_equal(np.concatenate([np.arange(10)[place] for place, _ in parts]), np.arange(10))


def test_a_sample_is_drawn_by_its_seed() -> None:
    drawn = sampled_rows(1_000, 50, 3)
    assert len(set(drawn.tolist())) == 50
    assert (np.diff(drawn) > 0).all()
    np.testing.assert_array_equal(sampled_rows(1_000, 50, 3), drawn)
    assert (sampled_rows(1_000, 50, 4) != drawn).any()
    np.testing.assert_array_equal(sampled_rows(50, 50, 3), np.arange(50))


def test_texts_are_those_of_the_rows(tmp_path: Path) -> None:
    corpus = made_corpus(tmp_path / "mine")
    rows = np.array([7, 600, ROWS - 1])
    assert texts_of(corpus, rows) == [made_columns()["text"][row] for row in rows]
    with pytest.raises(CorpusError, match="'bare' keeps no texts"):
        texts_of(made_corpus(tmp_path / "bare", text_column=None), rows)
