"""A corpus run in int8 has a receipt of what it keeps, and is refused where that is too little."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.metrics.pairwise import cosine_similarity

from bertviz_core.corpus.embedding import EmbeddingOptions, embed_corpus
from bertviz_core.corpus.folder import open_corpus
from bertviz_core.corpus.int8 import agreement, receipt
from bertviz_core.corpus.manifest import read_manifest
from bertviz_core.corpus.shards import embed_shards
from bertviz_core.corpus.tables import manifest_frame
from bertviz_core.errors import BertvizError, CorpusError
from bertviz_core.settings import Settings
from tests.helpers.tiny_models import FILLERS, WORDS, save_tiny

ROWS = 53
OPTIONS = EmbeddingOptions(vector_dtype="float32", run_dtype="int8", rows_per_shard=19)
KNOWN = (*WORDS[:9], *FILLERS)
TEXTS = [" ".join(KNOWN[(row * 7 + place * row) % 26] for place in range(2 + row * 5 % 23)) for row in range(ROWS)]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    pq.write_table(pa.table({"text": TEXTS}), path := tmp_path / "rows.parquet")
    return path


def test_the_receipt_is_what_scikit_learn_finds() -> None:
    rng = np.random.default_rng(3)
    exact = rng.standard_normal((37, 23)).astype(np.float32)
    rounded = (exact * 3 + 0.2 * rng.standard_normal(exact.shape)).astype(np.float32)
    found = receipt("mine", exact, rounded)
    same = np.diag(cosine_similarity(exact.astype(np.float64), rounded.astype(np.float64)))
    nearest = [
        np.argsort(-(cosine_similarity(each.astype(np.float64)) - 9 * np.eye(37)), axis=1)[:, :10]
        for each in (exact, rounded)
    ]
    kept = np.mean([len({*one} & {*other}) / 10 for one, other in zip(*nearest, strict=True)])
    np.testing.assert_allclose(
        (found.mean_cosine, found.worst_cosine, found.neighbours_kept), (same.mean(), same.min(), kept), atol=1e-12
    )
    assert (found.rows, found.neighbours) == (37, 10)
    assert kept < 1
    assert receipt("mine", exact[:1], exact[:1]).neighbours_kept == 1


def test_vectors_that_are_too_far_are_refused() -> None:
    exact = np.random.default_rng(3).standard_normal((37, 23)).astype(np.float32)
    turned = exact.copy()
    turned[:, 0] += 0.8
    with pytest.raises(CorpusError, match=r"'mine' in int8 are too far .* mean cosine 0\.9.* at least 0\.99\. Take"):
        receipt("mine", exact, turned)
    turned[5, 2] = np.nan
    with pytest.raises(CorpusError, match=r"Of 37 rows that 'mine' embedded in int8, 1 came out as NaN .*; take"):
        receipt("mine", exact, turned)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["bert", "t5"])
def test_a_corpus_in_int8(family: str, rows: Path, tmp_path: Path, settings: Settings) -> None:
    save_tiny(family, settings.models_dir / "mine")
    told: list[str] = []
    for name, options in (("exact", replace(OPTIONS, run_dtype="float32")), ("int8", OPTIONS)):
        made = embed_corpus("mine", str(rows), tmp_path / name, settings, options, embed_shards, notify=told.append)
    exact, rounded = (open_corpus(tmp_path / name) for name in ("exact", "int8"))
    assert not np.array_equal(exact.vectors(), rounded.vectors())
    assert made.int8 is not None
    assert made.int8.mean_cosine > 0.99
    # All rows are in the sample; scales within a token make a vector independent of its batch, up to rounding.
    again = receipt("mine", np.asarray(exact.vectors()), np.asarray(rounded.vectors()))
    np.testing.assert_allclose(again.mean_cosine, made.int8.mean_cosine, atol=1e-3)
    assert (again.rows, again.neighbours) == (made.int8.rows, made.int8.neighbours)
    assert f"Runs are in int8: {agreement(made.int8)}." in told
    facts = dict(manifest_frame(rounded).to_numpy().tolist())
    assert facts["run in"] == f"int8: {agreement(made.int8)}"
    assert embed_corpus("mine", str(rows), tmp_path / "int8", settings, OPTIONS, embed_shards).int8 == made.int8
    assert read_manifest(tmp_path / "int8").int8 == made.int8
    assert read_manifest(tmp_path / "exact").int8 is None


def test_what_cannot_run_in_int8_is_one_sentence(
    rows: Path, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_tiny("bert", settings.models_dir / "mine")
    for changes in ({"layer": 0}, {"pooling": "pooler"}):
        with pytest.raises(CorpusError, match=r"gives the last hidden states alone, .* take --run-dtype float32"):
            embed_corpus("mine", str(rows), tmp_path / "out", settings, replace(OPTIONS, **changes), embed_shards)
    monkeypatch.setitem(sys.modules, "openvino", None)
    with pytest.raises(BertvizError, match=r"needs the package openvino.*\[int8\]"):
        embed_corpus("mine", str(rows), tmp_path / "out", settings, OPTIONS, embed_shards)
    assert not (tmp_path / "out").exists()
