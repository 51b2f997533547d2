"""`corpus neighbours` and `OpenedCorpus.neighbours`: the same numbers, and refusals in one line."""

import json
from pathlib import Path

import numpy as np
import pytest

from bertviz_core import open_corpus
from bertviz_core.corpus.folder import Corpus
from tests.cli.conftest import Command
from tests.helpers.made_corpora import made_corpus

OTHER = "splade-tiny"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    place = tmp_path_factory.mktemp("corpora") / "mine"
    return made_corpus(place, rows=40, rows_per_shard=25, shards=2)


def test_rows_are_counted_and_listed(corpus: Corpus, command: Command) -> None:
    done = command("corpus", "neighbours", str(corpus.path), "--model", OTHER, "-k", "4", "--rows", "20", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["total"], found["compared"], found["neighbours"], found["second"]) == (40, 20, 4, OTHER)
    assert "20 of the 40 rows are compared with each other, evenly spaced in the corpus." in found["notices"]
    assert len(found["rows"]) == found["changed"] == sum(found["counts"][:4])
    assert [each["kept"] for each in found["rows"]] == sorted(each["kept"] for each in found["rows"])
    first = found["rows"][0]
    assert first["kept"] >= len(set(first["before"]) & set(first["now"]))
    result = open_corpus(corpus.path).neighbours(OTHER, 4, rows=20)
    assert result.to_json() == found
    assert result.to_pandas()["kept"].tolist() == np.sort(result.data.same).tolist()
    assert result.figure().layout.title.text.startswith("Nearest rows kept of 4 ")
    lines = command("corpus", "neighbours", str(corpus.path), "--model", OTHER, "-k", "4", "--rows", "20").stdout
    assert lines.splitlines()[0] == found["summary"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--model", OTHER, "--rows", "2"), "give 3 to 5,000"),
        (("--model", OTHER, "-k", "101"), "give 1 to 100"),
        (("--model", OTHER, "-k", "x"), "whole number"),
        (("--model", "no-such-model"), "no-such-model"),
        ((), "Missing"),
    ],
)
def test_a_wrong_option_is_one_line(options: tuple[str, ...], words: str, corpus: Corpus, command: Command) -> None:
    done = command("corpus", "neighbours", str(corpus.path), *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr.splitlines()[-1]


def test_a_corpus_without_texts_is_refused(tmp_path: Path, command: Command) -> None:
    folder = made_corpus(tmp_path / "bare", rows=40, rows_per_shard=25, shards=2, text_column=None).path
    done = command("corpus", "neighbours", str(folder), "--model", OTHER)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("The corpus 'bare' keeps no texts (--no-text)")
