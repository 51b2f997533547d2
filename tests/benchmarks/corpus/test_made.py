"""A corpus of made vectors is one that the command would open, and the same whenever it is made."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.corpus.made import KINDS, MadeRunner, linked_corpus, made_corpus, made_vectors, written_input
from bertviz_core.corpus.exact_search import nearest_rows
from bertviz_core.corpus.folder import open_corpus

ROWS, PER_SHARD = 700, 256


def test_the_vectors_of_a_made_corpus_are_those_of_its_shards(tmp_path: Path) -> None:
    runner = MadeRunner()
    made_corpus(tmp_path / "corpus", written_input(tmp_path / "rows.csv", ROWS), PER_SHARD, runner)
    corpus = open_corpus(tmp_path / "corpus")
    assert corpus.starts.tolist() == [0, 256, 512, 700]
    expected = np.concatenate([made_vectors(shard, rows, 384) for shard, rows in enumerate((256, 256, 188))])
    np.testing.assert_array_equal(corpus.vectors()[:], expected.astype(np.float16))
    assert nearest_rows(corpus.vectors(), expected[301], 1).rows.tolist() == [301]
    assert corpus.mask("kind=k1").sum() == ROWS // KINDS
    assert runner.seconds > 0

    linked_corpus(corpus, tmp_path / "linked", 5)
    linked = open_corpus(tmp_path / "linked")
    assert replace(linked.manifest, rows=ROWS, rows_per_shard=PER_SHARD, shards=3) == corpus.manifest
    assert linked.rows == 5 * PER_SHARD
    np.testing.assert_array_equal(linked.vectors()[-PER_SHARD:], corpus.vectors()[:PER_SHARD])


def test_made_vectors_are_of_unit_length_and_clustered() -> None:
    vectors = made_vectors(3, 2_000, 16)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)
    np.testing.assert_array_equal(vectors, made_vectors(3, 2_000, 16))
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -1)
    alone = np.random.default_rng(0).standard_normal((2_000, 16))
    alone /= np.linalg.norm(alone, axis=1, keepdims=True)
    others = alone @ alone.T
    np.fill_diagonal(others, -1)
    assert np.median(cosines.max(axis=1)) > np.median(others.max(axis=1))
