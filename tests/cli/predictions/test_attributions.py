"""`python -m bertviz_core words`: the JSON contract, the table, exit code 2 with one line."""

import json
from functools import partial
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.helpers.tiny_heads import save_tiny_head
from tests.helpers.tiny_models import PAIR, TEXT


@pytest.fixture
def run(command: Command) -> Command:
    """The command of this file."""
    return partial(command, "words")


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """A tiny classifier."""
    return str(save_tiny_head("bert", "sequence-classification", tmp_path / "tiny", num_labels=3))


def test_the_json_contract(run: Command, folder: str) -> None:
    answer = json.loads(run(folder, TEXT, "--pair", PAIR, "--json").stdout)
    assert (answer["target"], answer["method"], answer["error"]) == ("cosine", "leave-one-out", 0)
    assert -1 <= answer["reference"] <= 1
    assert answer["tokens"] == ["I", "love", "my", "pet", "python", "."]
    assert len(answer["shares"]) == len(answer["positions"]) == 6
    pieces = json.loads(run(folder, "my pythons", "--pair", PAIR, "--tokens", "--instead", "drop", "--json").stdout)
    assert pieces["tokens"] == ["my", "python", "##s"]


@pytest.mark.parametrize("method", ["integrated-gradients", "gradient-x-input"])
def test_shares_of_gradients_come_with_their_error(run: Command, folder: str, method: str) -> None:
    answer = json.loads(run(folder, TEXT, "--target", "class:LABEL_1", "--method", method, "--json").stdout)
    missed = abs(sum(answer["shares"]) - (answer["clean"] - answer["reference"]))
    assert missed == pytest.approx(answer["error"], abs=1e-5)
    assert answer["method"] == method


def test_a_class_and_its_table(run: Command, folder: str) -> None:
    done = run(folder, TEXT, "--target", "class:LABEL_1", "--measure", "probability")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert "probability of 'LABEL_1'" in lines[0]
    assert "The shares add up to" in lines[1]
    assert lines[3].split() == ["tokens", "word", "share"]
    assert [line.split()[-2] for line in lines[4:]] == ["I", "love", "my", "pet", "python", "."]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--pair", PAIR, "--method", "loud"], "no --method 'loud'"),
        (["--pair", PAIR, "--instead", "loud"], "no --instead 'loud'"),
    ],
)
def test_what_cannot_be_done_is_one_line(run: Command, folder: str, arguments: list[str], words: str) -> None:
    done = run(folder, TEXT, *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
