"""An index of a corpus has the recall that it states, and a stale or damaged one is refused."""

import os
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from bertviz_core.corpus import search as index_module
from bertviz_core.corpus.exact_search import nearest_rows
from bertviz_core.corpus.folder import Corpus, open_corpus, shard_path
from bertviz_core.corpus.manifest import write_manifest
from bertviz_core.corpus.search import (
    FACTS_FILE,
    INDEX_FILE,
    index_facts,
    index_folder,
    make_index,
    nearest_in_index,
    open_index,
)
from bertviz_core.errors import CorpusError, SupersededError
from bertviz_core.settings import Settings
from tests.helpers.made_corpora import DIMENSIONS, MANIFEST, ROWS, made_corpus


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return made_corpus(tmp_path / "mine")


def test_an_index_gives_true_rows_with_true_cosines(corpus: Corpus, settings: Settings) -> None:
    calls: list[tuple[int, int]] = []
    facts = make_index(corpus, settings, lambda done, total: calls.append((done, total)))
    index = open_index(corpus, settings)
    assert index is not None
    assert index.facts == facts == index_facts(corpus, settings)
    assert calls[-1] == (ROWS, ROWS)
    assert (facts.rows, facts.dimensions, facts.fingerprint) == (ROWS, DIMENSIONS, corpus.fingerprint)
    vectors, hits = corpus.vectors(), 0
    for query in np.random.default_rng(3).standard_normal((40, DIMENSIONS)).astype(np.float32):
        ranked, true = nearest_in_index(index, vectors, query, 10), nearest_rows(vectors, query, 10)
        hits += len(np.intersect1d(ranked.rows, true.rows))
        known = dict(zip(true.rows.tolist(), true.scores.tolist(), strict=True))
        for row, score in zip(ranked.rows.tolist(), ranked.scores.tolist(), strict=True):
            assert known.get(row, score) == score
        assert (np.diff(ranked.scores) <= 0).all()
    assert hits / 400 >= 0.95
    assert facts.recall >= 0.95


@pytest.mark.slow
def test_every_row_is_in_the_index_those_held_back_too(corpus: Corpus, settings: Settings) -> None:
    make_index(corpus, settings)
    index, vectors = open_index(corpus, settings), corpus.vectors()
    assert index is not None
    assert index.graph.contains(np.arange(ROWS)).all()
    looked_for = np.arange(0, ROWS, 9)
    firsts = [nearest_in_index(index, vectors, vectors[row].astype(np.float32), 1).rows[0] for row in looked_for]
    # Threads insert rows in parallel, so sometimes no path leads to one: to at most 6 of 145 in 450 graphs.
    assert np.mean(firsts == looked_for) >= 0.9


@pytest.mark.slow
def test_recall_is_that_of_rows_that_were_not_in_the_graph(
    corpus: Corpus, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search that always misses half of the near rows is detected."""
    ranked = index_module._ranked
    monkeypatch.setattr(index_module, "_ranked", lambda *arguments: index_module.RankedRows(
        ranked(*arguments).rows[::2], ranked(*arguments).scores[::2]
    ))  # fmt: skip
    assert make_index(corpus, settings).recall == pytest.approx(0.5, abs=0.02)


def test_without_an_index_there_is_none(corpus: Corpus, settings: Settings) -> None:
    assert open_index(corpus, settings) is None
    assert index_facts(corpus, settings) is None


def test_an_index_of_another_state_of_the_corpus_is_refused(corpus: Corpus, settings: Settings) -> None:
    make_index(corpus, settings)
    shard = shard_path(corpus.path, 0)
    shard.write_bytes(shard.read_bytes())
    with pytest.raises(CorpusError, match="made before the corpus was changed"):
        open_index(open_corpus(corpus.path), settings)


def test_a_damaged_index_is_refused(corpus: Corpus, settings: Settings) -> None:
    make_index(corpus, settings)
    folder = index_folder(corpus, settings)
    path, facts = folder / INDEX_FILE, (folder / FACTS_FILE).read_bytes()
    whole = path.read_bytes()
    for raw in (b"", whole[:-100], whole[:200], whole[:500] + b"\xff" + whole[501:]):
        path.write_bytes(raw)
        with pytest.raises(CorpusError, match="missing or damaged; make the index again"):
            open_index(corpus, settings)
    path.unlink()
    with pytest.raises(CorpusError, match="missing or damaged"):
        open_index(corpus, settings)
    for words, raw in (
        ("is damaged", b"{"),
        ("is damaged", facts.replace(b'"fingerprint": "', b'"fingerprint": "\xff')),
        ("is damaged", facts.replace(b'"expansion_search": ', b'"expansion_search": 9223372036854')),
        ("is damaged", facts.replace(b'"expansion_search": ', b'"expansion_search": -')),
        ("is damaged", facts.replace(b'"recall": ', b'"recall": 7')),
        ("another version", facts.replace(b'"format_version": 1', b'"format_version": 7')),
        ("corpus was changed", facts.replace(b'"rows": 1301', b'"rows": 1300')),
    ):
        (folder / FACTS_FILE).write_bytes(raw)
        with pytest.raises(CorpusError, match=words):
            index_facts(corpus, settings)


def test_an_index_that_came_with_the_corpus_is_not_read(corpus: Corpus, settings: Settings) -> None:
    """Even with a correct digest: a graph is followed unchecked, so one from elsewhere could end the process."""
    make_index(corpus, settings)
    for name in (INDEX_FILE, FACTS_FILE):
        (index_folder(corpus, settings) / name).replace(corpus.path / name)
    assert open_index(corpus, settings) is None
    assert index_facts(corpus, settings) is None


@pytest.mark.slow
def test_indexes_unused_the_longest_make_room(tmp_path: Path, settings: Settings) -> None:
    settings = replace(settings, vector_store_dir=tmp_path / "store")
    first, second, third = (made_corpus(tmp_path / name) for name in ("first", "second", "third"))
    for each in (first, second):
        make_index(each, settings)
    for ago, each in enumerate((second, first)):  # the first was used last
        os.utime(index_folder(each, settings), (ago, ago))
    nbytes = sum(path.stat().st_size for path in index_folder(first, settings).iterdir())
    make_index(third, replace(settings, max_store_bytes=round(2.5 * nbytes)))
    assert [open_index(each, settings) is None for each in (first, second, third)] == [False, True, False]
    make_index(second, replace(settings, max_store_bytes=1))
    assert [open_index(each, settings) is None for each in (first, second, third)] == [True, False, True]


def test_one_that_is_left_leaves_nothing_behind(corpus: Corpus, settings: Settings) -> None:
    before = sorted(path.name for path in corpus.path.iterdir())

    def leave(done: int, total: int) -> None:
        raise SupersededError

    with pytest.raises(SupersededError):
        make_index(corpus, settings, leave)
    assert sorted({path.name for path in corpus.path.iterdir()} - {"vectors.npy"}) == [
        name for name in before if name != "vectors.npy"
    ]
    assert open_index(corpus, settings) is None


def test_a_corpus_of_one_row_has_an_index(tmp_path: Path, settings: Settings) -> None:
    corpus = made_corpus(tmp_path / "one", rows=1, shards=1)
    facts = make_index(corpus, settings)
    assert (facts.queries, facts.recall) == (0, 1.0)
    index = open_index(corpus, settings)
    assert index is not None
    assert nearest_in_index(index, corpus.vectors(), np.ones(DIMENSIONS, dtype=np.float32), 3).rows.tolist() == [0]


def test_facts_are_kept_as_they_are(corpus: Corpus, settings: Settings) -> None:
    facts = make_index(corpus, settings)
    kept = msgspec.json.decode((index_folder(corpus, settings) / FACTS_FILE).read_bytes())
    assert kept["recall"] == facts.recall
    write_manifest(corpus.path, MANIFEST)
    assert index_facts(open_corpus(corpus.path), settings) == facts
