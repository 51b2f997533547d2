"""Probes with labels from a column equal direct probes on the same sampled texts; a planted property is detected."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from bertviz_core.corpus.analysis import profiles
from bertviz_core.corpus.analysis.profiles import corpus_probe_scores, labelled_sample
from bertviz_core.corpus.folder import Corpus
from bertviz_core.errors import CorpusError, TextError
from bertviz_core.models.loading import load_model
from bertviz_core.models.sources import DEFAULT_MODEL, resolve
from bertviz_core.predictions.probing.reading import example_set
from bertviz_core.predictions.probing.scores import layer_vectors, probe_scores
from bertviz_core.settings import Settings
from bertviz_core.trace.tokenization import load_tokenizer
from tests.helpers.made_corpora import ROWS, made_columns, made_corpus


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return made_corpus(tmp_path_factory.mktemp("corpora") / "mine")


def test_a_sample_has_texts_with_their_own_labels(corpus: Corpus) -> None:
    columns, labelled = made_columns(), labelled_sample(corpus, "kind", 50, 2)
    kind_of = dict(zip(columns["text"], columns["kind"], strict=True))
    assert len(labelled.texts) == 50
    assert [kind_of[text] for text in labelled.texts] == list(labelled.labels)
    assert labelled == labelled_sample(corpus, "kind", 50, 2)
    assert labelled != labelled_sample(corpus, "kind", 50, 3)
    having = sum(kind is not None for kind in columns["kind"])
    assert labelled.notices == (f"50 of {having:,} rows with a label, drawn by seed 2.",)
    assert set(labelled_sample(corpus, "year", 60).classes) == {"2000", "2001", "2002", "2003", "2004"}
    assert set(labelled_sample(corpus, "truncated", 60).classes) == {"False", "True"}


def test_what_has_no_classes_is_refused(corpus: Corpus, tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="share a value of 'text'"):
        labelled_sample(corpus, "text", 40)
    with pytest.raises(CorpusError, match="no column 'colour'"):
        labelled_sample(corpus, "colour")
    with pytest.raises(CorpusError, match="give 4 to 2,000"):
        labelled_sample(corpus, "kind", 2_001)
    with pytest.raises(CorpusError, match="keeps no texts"):
        labelled_sample(made_corpus(tmp_path / "bare", text_column=None), "kind")
    with pytest.raises(TextError, match="one class"):
        labelled_sample(made_corpus(tmp_path / "few", rows=12, shards=1), "truncated", 12)


@pytest.mark.slow
def test_scores_are_those_of_part_4_on_the_same_texts(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    """The texts and labels of the corpus are replaced by the example set, whose topics every layer encodes."""
    settings = Settings.from_environment()
    source = resolve(DEFAULT_MODEL, settings)
    loaded, tokenizer = load_model(source, settings), load_tokenizer(source, settings)
    examples, rows = example_set(), list(range(0, 220, 5))
    labels = pa.chunked_array([pa.array([examples.labels[row] for row in rows] + [None] * (ROWS - len(rows)))])
    monkeypatch.setattr(type(corpus), "column", lambda *_: labels)
    monkeypatch.setattr(profiles, "texts_of", lambda _, chosen: [examples.texts[rows[row]] for row in chosen])
    calls: list[tuple[int, int]] = []
    scores = corpus_probe_scores(
        corpus, loaded, tokenizer, "topic", seed=1, progress=lambda done, total: calls.append((done, total))
    )
    labelled = labelled_sample(corpus, "topic")
    vectors = layer_vectors(loaded, tokenizer, labelled.texts, "mean")
    expected = probe_scores(loaded, labelled, "mean", vectors, 1)
    np.testing.assert_array_equal(scores.accuracy, expected.accuracy)
    np.testing.assert_array_equal(scores.control_accuracy, expected.control_accuracy)
    assert scores.accuracy[-1].mean() > 2 * scores.majority
    assert scores.texts == "column 'topic' of mine"
    assert calls[0][1] == len(rows)
    assert calls[-1][0] == calls[-1][1] > len(rows)


def test_rows_with_a_blank_label_are_not_sampled(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    labels = ["a", "", "b", " "] * 4 + [None] * (ROWS - 16)
    column = pa.chunked_array([pa.array(labels)])
    for cells in (column, column.dictionary_encode()):
        monkeypatch.setattr(type(corpus), "column", lambda *_, cells=cells: cells)
        labelled = labelled_sample(corpus, "kind", 6)
        assert len(labelled.texts) == 6
        assert labelled.notices == ("6 of 8 rows with a label, drawn by seed 0.",)


def test_classes_left_out_are_counted(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    labels = pa.chunked_array([pa.array(["a", "a", "b", "b", "c"] + [None] * (ROWS - 5))])
    monkeypatch.setattr(type(corpus), "column", lambda *_: labels)
    assert labelled_sample(corpus, "kind").notices == ("Classes left out for having fewer than 2 sampled texts: 1.",)
