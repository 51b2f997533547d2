"""`corpus search`: its JSON, its table, its index, and refusals in one line."""

import json
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from bertviz_core.corpus.exact_search import nearest_rows
from bertviz_core.corpus.folder import Corpus
from bertviz_core.corpus.results import CorpusHit, CorpusHits
from bertviz_core.corpus.search import INDEX_FILE, index_folder
from bertviz_core.models.catalog import BUNDLED, WEIGHTS
from bertviz_core.questions.tables.texts import HITS
from bertviz_core.settings import Settings
from tests.cli.conftest import Command
from tests.helpers.made_corpora import made_columns, made_corpus

MODEL, QUERY, ROWS = "all-MiniLM-L6-v2", "A bank of the river.", 301


def wide(folder: Path) -> Corpus:
    """A corpus with seeded vectors of the bundled model's size."""
    sha = BUNDLED[MODEL].digests[WEIGHTS]
    return made_corpus(folder, dimensions=384, rows=ROWS, rows_per_shard=200, shards=2, weights_sha256=sha)


def test_json_has_the_nearest_rows_with_their_columns(tmp_path: Path, command: Command) -> None:
    corpus, expected = wide(tmp_path / "mine"), made_columns()
    done = command("corpus", "search", str(corpus.path), QUERY, "-k", "4", "--where", "kind=a", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    output = json.loads(done.stdout)
    assert (output["method"], output["model"], output["rows"], output["where"]) == ("exact", MODEL, ROWS, "kind=a")
    assert output["searched"] == sum(kind == "a" for kind in expected["kind"][:ROWS])
    assert len(output["hits"]) == 4
    scores = [hit["score"] for hit in output["hits"]]
    assert scores == sorted(scores, reverse=True)
    for hit in output["hits"]:
        assert hit["kind"] == "a"
        assert hit["year"] == expected["year"][hit["row"]]
        assert hit["text"] == expected["text"][hit["row"]]
    embedded = json.loads(command("hidden", MODEL, QUERY, "--layer", "6", "--json").stdout)["hidden"]
    vector = np.mean(embedded, axis=0).astype(np.float32)
    mask = np.array([kind == "a" for kind in expected["kind"][:ROWS]])
    ranked = nearest_rows(corpus.vectors(), vector, 4, mask)
    assert [hit["row"] for hit in output["hits"]] == ranked.rows.tolist()
    np.testing.assert_allclose(scores, ranked.scores, atol=1e-5)


@pytest.mark.slow
def test_an_index_is_made_once_and_then_used(tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSIDE_BERT_VECTOR_STORE_DIR", str(tmp_path / "store"))
    corpus = wide(tmp_path / "mine")
    file = index_folder(corpus, Settings.from_environment()) / INDEX_FILE
    first = command("corpus", "search", str(corpus.path), QUERY, "--index")
    assert first.returncode == 0, first.stderr
    assert "recall@10" in first.stderr
    assert "301 of 301 rows searched" in first.stdout
    made = file.stat().st_mtime_ns
    again = json.loads(command("corpus", "search", str(corpus.path), QUERY, "--index", "--json").stdout)
    assert (again["method"], file.stat().st_mtime_ns) == ("index", made)
    assert 0.9 <= again["recall"] <= 1
    file.write_bytes(b"broken")
    mended = command("corpus", "search", str(corpus.path), QUERY, "--index")
    assert mended.returncode == 0
    assert "is missing or damaged" in mended.stderr
    assert file.stat().st_size > 1000


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["-k", "0"], "0 rows were requested; give 1 to 1,000."),
        (["-k", "many"], "-k is 'many'; give a whole number from 1 to 1,000."),
        (["--where", "kind"], "has no equals sign"),
        (["--where", "colour=red"], "no column 'colour'"),
        (["--where", "year=soon"], "write a number"),
    ],
)
def test_a_wrong_option_is_refused_in_one_line(
    tmp_path: Path, command: Command, options: list[str], words: str
) -> None:
    done = command("corpus", "search", str(wide(tmp_path / "mine").path), QUERY, *options)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert words in line


def test_no_corpus_other_weights_and_no_text_are_refused(tmp_path: Path, command: Command) -> None:
    made_corpus(tmp_path / "foreign", dimensions=384, rows=3, shards=1)
    for inputs, words in (
        ((str(tmp_path), QUERY), "is no corpus folder"),
        ((str(tmp_path / "foreign"), QUERY), "was made with 'all-MiniLM-L6-v2', revision 'r1'"),
        ((str(wide(tmp_path / "mine").path), " "), "give a text"),
    ):
        done = command("corpus", "search", *inputs)
        assert (done.returncode, done.stdout) == (2, "")
        assert words in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_columns_called_as_facts_of_a_hit_are_kept_beside_them() -> None:
    hit = CorpusHit(7, 0.5, "A bank.", {"score": 3, "row": None, "day": date(2026, 11, 22), "kind": "a"})
    inputs = CorpusHits("q", "mine", MODEL, (hit,), "exact", "", 9, 9, None, 0.1)
    assert HITS.to_json(inputs)["hits"] == [
        {
            **{"row": 7, "score": 0.5, "text": "A bank.", "kind": "a", "day": "2026-11-22"},
            **{"score_input": 3, "row_input": None},
        }
    ]
    assert "score=3" in HITS.to_lines(inputs)[-1]
