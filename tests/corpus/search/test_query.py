"""A query of a corpus has the same vector as on the Sentences page; hits are rows; other weights are refused."""

from pathlib import Path

import numpy as np
import pytest

from bertviz_core.corpus import search as query_module
from bertviz_core.corpus.exact_search import nearest_rows
from bertviz_core.corpus.folder import Corpus
from bertviz_core.corpus.search import check_weights, make_index, open_index, query_vector, search
from bertviz_core.errors import CorpusError
from bertviz_core.models.catalog import BUNDLED, WEIGHTS
from bertviz_core.models.loading import load_model
from bertviz_core.models.sources import DEFAULT_MODEL, resolve
from bertviz_core.sentences.encoding import sentence_vectors
from bertviz_core.sentences.plan import recommended
from bertviz_core.settings import Settings
from bertviz_core.trace.tokenization import load_tokenizer
from tests.helpers.made_corpora import DIMENSIONS, MANIFEST, ROWS, made_columns, made_corpus

SHA = BUNDLED[DEFAULT_MODEL].digests[WEIGHTS]
QUERY = np.linspace(-1, 1, DIMENSIONS, dtype=np.float32)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return made_corpus(tmp_path_factory.mktemp("corpora") / "mine")


def test_a_query_has_the_vector_of_the_sentences_page(tmp_path: Path, settings: Settings) -> None:
    source = resolve(DEFAULT_MODEL, settings)
    loaded, tokenizer = load_model(source, settings), load_tokenizer(source, settings)
    made = {"dimensions": 384, "rows": 3, "shards": 1, "weights_sha256": SHA}
    wide = made_corpus(tmp_path / "wide", **made, layer=loaded.num_hidden_layers)
    vector = query_vector(wide, loaded, tokenizer, source, settings, "A bank of the river.")
    there = sentence_vectors(loaded, tokenizer, ("A bank of the river.",), recommended(source, settings)).vectors[0]
    np.testing.assert_allclose(vector, there, atol=1e-6)
    prompted = made_corpus(tmp_path / "prompted", **made, layer=2, prompt="query: ", pooling="max")
    other = query_vector(prompted, loaded, tokenizer, source, settings, "A bank of the river.")
    assert np.abs(other - there).max() > 0.01
    with pytest.raises(CorpusError, match="give a text"):
        query_vector(wide, loaded, tokenizer, source, settings, " \n")
    narrow = made_corpus(tmp_path / "narrow", **{**made, "dimensions": 7})
    with pytest.raises(CorpusError, match="vectors of 384 numbers, and those of 'narrow' have 7"):
        query_vector(narrow, loaded, tokenizer, source, settings, "A bank.")
    foreign = made_corpus(tmp_path / "foreign", **{**made, "weights_sha256": "f" * 64})
    with pytest.raises(CorpusError, match="other weights of that name are here"):
        query_vector(foreign, loaded, tokenizer, source, settings, "A bank.")


def test_other_weights_are_refused(corpus: Corpus) -> None:
    check_weights(corpus, "a copy by another name", MANIFEST.weights_sha256)
    with pytest.raises(CorpusError, match="other weights of that name are here"):
        check_weights(corpus, MANIFEST.model, "f" * 64)
    with pytest.raises(CorpusError, match="'bert-base-uncased' has other weights"):
        check_weights(corpus, "bert-base-uncased", "f" * 64)


def test_hits_are_the_rows_with_their_columns(corpus: Corpus) -> None:
    expected, ranked = made_columns(), nearest_rows(corpus.vectors(), QUERY, 4)
    hits = search(corpus, "x", QUERY, 4)
    assert [hit.row for hit in hits.hits] == ranked.rows.tolist()
    assert [hit.score for hit in hits.hits] == ranked.scores.tolist()
    for hit in hits.hits:
        assert hit.text == expected["text"][hit.row]
        assert dict(hit.columns) == {name: expected[name][hit.row] for name in ("kind", "year")}
    assert (hits.method, hits.recall, hits.searched, hits.rows, hits.where) == ("exact", None, ROWS, ROWS, "")


def test_a_filter_leaves_the_nearest_of_its_rows(corpus: Corpus) -> None:
    expected = made_columns()
    hits = search(corpus, "x", QUERY, 5, "kind=a")
    having = [row for row in range(ROWS) if expected["kind"][row] == "a"]
    everything = search(corpus, "x", QUERY, 1_000).hits
    assert [hit.row for hit in hits.hits] == [hit.row for hit in everything if hit.row in having][:5]
    assert hits.searched == len(having)
    assert "No row has year=1900." in search(corpus, "x", QUERY, 5, "year=1900").notices
    with pytest.raises(CorpusError, match="no column 'colour'"):
        search(corpus, "x", QUERY, 5, "colour=red")


@pytest.mark.slow
def test_an_index_is_named_with_its_recall_and_a_filter_does_without(tmp_path: Path, settings: Settings) -> None:
    own = made_corpus(tmp_path / "own")
    make_index(own, settings)
    index = open_index(own, settings)
    hits = search(own, "x", QUERY, 3, index=index)
    assert (hits.method, hits.recall) == ("index", index.facts.recall if index else None)
    assert "recall@10" in hits.notices[0]
    filtered = search(own, "x", QUERY, 3, "kind=a", index)
    assert (filtered.method, filtered.recall) == ("exact", None)
    assert "not used" in filtered.notices[0]


def test_a_large_corpus_is_told_of_the_index(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not search(corpus, "x", QUERY).notices
    monkeypatch.setattr(query_module, "WORTHWHILE", ROWS)
    assert "--index" in search(corpus, "x", QUERY).notices[0]


@pytest.mark.parametrize("count", [0, -1, 1_001])
def test_a_count_that_is_not_offered_is_refused(corpus: Corpus, count: int) -> None:
    with pytest.raises(CorpusError, match="give 1 to 1,000"):
        search(corpus, "x", QUERY, count)


def test_a_corpus_without_texts_has_hits_without(tmp_path: Path) -> None:
    bare = made_corpus(tmp_path / "bare", text_column=None)
    hits = search(bare, "x", QUERY, 2).hits
    assert [hit.text for hit in hits] == [None, None]
    assert all(set(hit.columns) == {"kind", "year"} for hit in hits)
