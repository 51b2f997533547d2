"""`python -m bertviz_core thresholds`: JSON, columns of the file, refusals."""

import csv
import json
from pathlib import Path

import pytest

from bertviz_core import open_model
from bertviz_core.sentences.analysis.example_pairs import EXAMPLE_PAIRS
from tests.cli.conftest import Command

MODEL = "all-MiniLM-L6-v2"
PAIRS = [(one, other) for one, other, _ in EXAMPLE_PAIRS]
LABELS = [label for _, _, label in EXAMPLE_PAIRS]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pairs") / "pairs.csv"
    with path.open("w", newline="", encoding="utf-8") as lines:
        rows = ((one, other, label, 5 * label, "x") for one, other, label in EXAMPLE_PAIRS)
        csv.writer(lines).writerows([("query", "text2", "label", "stars", "words"), *rows])
    return path


def test_the_command_prints_what_the_method_gives(file: Path, command: Command) -> None:
    done = command("thresholds", MODEL, "--file", str(file), "--column", "query", "--precision", "0.8", "--json")
    assert done.returncode == 0, done.stderr
    result = open_model(MODEL).thresholds(PAIRS, LABELS, precision=0.8)
    assert json.loads(done.stdout) == result.to_json()
    lines = command("thresholds", MODEL, "--file", str(file), "--column", "query", "--precision", "0.8").stdout
    assert f"F1 is largest, {result.best.f1:.3f}," in lines
    assert "I do not like this restaurant." in lines


def test_similarities_have_a_cut(file: Path, command: Command) -> None:
    words = ("thresholds", MODEL, "--file", str(file), "--column", "query", "--gold", "stars")
    found = json.loads(command(*words, "--json").stdout)
    assert (found["cut"], found["positives"], found["negatives"]) == (2.5, 12, 12)
    assert "go from 0 to 5; pairs with 2.5 or more count as positive" in " ".join(found["notices"])
    assert json.loads(command(*words, "--cut", "5", "--json").stdout)["positives"] == 12


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--gold", "words"), "No row of 'pairs.csv' has"),
        (("--gold", "none"), "has no column 'none'"),
        (("--pair", "none"), "has no column 'none'"),
        (("--cut", "2"), "All 24 pairs are negative with --cut=2"),
        (("--precision", "high"), "There is no --precision='high'"),
        (("--scored-by", "head"), "has no such head"),
        (("--scored-by", "magic"), "There is no --scored-by=magic"),
    ],
)
def test_refusals_are_one_line(words: tuple[str, ...], message: str, file: Path, command: Command) -> None:
    done = command("thresholds", MODEL, "--file", str(file), "--column", "query", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_list_of_too_many_pairs_is_refused(tmp_path: Path, command: Command) -> None:
    rows = [json.dumps({"sentence1": f"text {row}", "sentence2": "b", "label": row % 2 == 0}) for row in range(10_001)]
    (tmp_path / "many.jsonl").write_text("\n".join(rows))
    done = command("thresholds", MODEL, "--file", str(tmp_path / "many.jsonl"))
    assert done.returncode == 2
    assert "There are 10,001 pairs; at most 10,000 are scored." in done.stderr
    (tmp_path / "few.jsonl").write_text("\n".join(rows[:6]))
    found = json.loads(command("thresholds", MODEL, "--file", str(tmp_path / "few.jsonl"), "--json").stdout)
    assert (found["positives"], found["negatives"]) == (3, 3)
