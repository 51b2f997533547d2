"""`python -m bertviz_core prompts` and `compare_prompts`: sentences, files with gold, refusals."""

import json
from pathlib import Path

import pytest

from bertviz_core import open_model
from bertviz_core.errors import TextError
from tests.cli.conftest import Command
from tests.sentences.test_prompts import DOCUMENTS, MODEL, QUERIES, RELEVANCE, TEXTS

ROWS = [
    (query, text, float(RELEVANCE[row, column]))
    for row, query in enumerate(QUERIES)
    for column, text in enumerate(DOCUMENTS)
]


def test_a_list_is_compared_as_by_the_method(command: Command) -> None:
    done = command("prompts", MODEL, *TEXTS, "--query-prompt", "query: ", "--document-prompt", "passage: ", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    made = open_model(MODEL).compare_prompts(list(TEXTS), query_prompt="query: ", document_prompt="passage: ")
    assert made.to_json().keys() == found.keys()
    assert [each["name"] for each in found["prompted"]] == [each.name for each in made.data.prompted]
    assert found["prompted"][1]["cosines"] == pytest.approx(made.data.prompted[1].cosines, abs=1e-6)
    assert found["pair"]["query"] == "query: "
    assert list(made.to_pandas()["prompts"])[:3] == ["no prompt", "with prompts", "swapped"]
    printed = command("prompts", MODEL, *TEXTS).stdout
    assert "With the prompts the mean cosine" in printed
    assert "Pairs that moved most" in printed


@pytest.mark.parametrize("columns", ["query,text,relevance", "question,document,score", "text,query,label"])
def test_a_file_has_queries_documents_and_gold(columns: str, tmp_path: Path, command: Command) -> None:
    first = columns.split(",")[0] != "text"
    lines = [f'"{row[0 if first else 1]}","{row[1 if first else 0]}",{row[2]}' for row in ROWS]
    (tmp_path / "gold.csv").write_text("\n".join([columns, *lines]))
    done = command("prompts", MODEL, "--file", str(tmp_path / "gold.csv"), "--prompts", "E5", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    queries, texts, gold = zip(*ROWS, strict=True)
    made = open_model(MODEL).compare_prompts(texts, queries=queries, gold=gold, prompts="E5")
    assert made.to_json() == found
    assert set(found["queries"]) == set(QUERIES)
    assert len(found["relevant"]) == (RELEVANCE > 0).sum()


def test_a_file_without_gold_has_relevant_pairs(tmp_path: Path, command: Command) -> None:
    (tmp_path / "pairs.csv").write_text("anchor,positive\nWho?,A man.\nWhere?,At home.\n,Nobody.\n")
    done = command("prompts", MODEL, "--file", str(tmp_path / "pairs.csv"))
    assert done.returncode == 0, done.stderr
    assert "no column of relevance: the document of each row counts as relevant" in done.stderr
    assert "2 documents for 2 queries" in done.stdout
    chosen = command("prompts", MODEL, "--file", str(tmp_path / "pairs.csv"), "--query", "positive", "--text", "anchor")
    assert "2 documents for 2 queries" in chosen.stdout


REFUSED = {
    "neither": ((), "Give either sentences or a --file"),
    "a column without a file": ((*TEXTS, "--gold", "x"), "--gold names a column"),
    "two ways": ((*TEXTS, "--prompts", "E5", "--query-prompt", "x"), "instead of --prompts"),
    "unknown prompts": ((*TEXTS, "--prompts", "e6"), "no prompts 'e6'"),
    "one sentence": (("one",), "a second sentence"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_wrong_is_one_line(case: str, command: Command) -> None:
    arguments, words = REFUSED[case]
    done = command("prompts", MODEL, *arguments)
    assert done.returncode == 2
    assert words in done.stderr.strip().splitlines()[-1]


def test_a_wrong_column_is_one_line(tmp_path: Path, command: Command) -> None:
    (tmp_path / "gold.csv").write_text("query,text,relevance\nWho?,A man.,x\n")
    for options, words in ((("--gold", "z"), "has no column 'z'"), ((), "a number in 'relevance'")):
        done = command("prompts", MODEL, "--file", str(tmp_path / "gold.csv"), *options)
        assert done.returncode == 2
        assert words in done.stderr.strip().splitlines()[-1]


def test_lists_of_other_lengths_are_refused() -> None:
    model = open_model(MODEL)
    with pytest.raises(TextError, match="queries 2, texts 1, gold 1"):
        model.compare_prompts(["a"], queries=["b", "c"])
    with pytest.raises(TextError, match="give queries, too"):
        model.compare_prompts(["a", "b"], gold=[1, 0])  # type: ignore[call-overload]  # what a caller may do
    ranked = model.compare_prompts(["a", "b"], queries=["a", "b"])
    assert ranked.moved()["rank without"].tolist() == [1, 1]
