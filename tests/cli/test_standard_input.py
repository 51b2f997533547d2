"""`-` is the standard input, for every command that takes a text or a file of texts.

Covers `bertviz_core/cli/options.py`.
"""

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.cli.conftest import Command

MODEL, TEXT, OTHER = "all-MiniLM-L6-v2", "a kitten's nap \u00e9", "another text"
COMMANDS = {
    "tokens": (TEXT,), "tokens of a pair": (OTHER, "--pair", TEXT), "hidden": (TEXT, "--layer", "0"),
    "attention": (TEXT, "--layer", "0", "--head", "0"), "similarity": (TEXT, OTHER),
    "word-pairs": (OTHER, TEXT, "--from-layer", "5"), "words": (TEXT, "--pair", OTHER),
    "causes": (OTHER, "--pair", TEXT, "--kind", "gradient"), "compare": (MODEL, "--text", TEXT),
}  # fmt: skip
"""Command -> its arguments after the model."""


def piped(monkeypatch: pytest.MonkeyPatch, content: str) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content.encode())))


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_text_from_the_standard_input_is_answered_as_one_that_is_typed(
    name: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    name_of_command = name.partition(" ")[0]
    typed = command(name_of_command, MODEL, *COMMANDS[name], "--json")
    piped(monkeypatch, f"{TEXT}\n")
    read = command(name_of_command, MODEL, *("-" if each == TEXT else each for each in COMMANDS[name]), "--json")
    assert (read.returncode, read.stdout) == (0, typed.stdout)


def test_each_line_is_a_sentence_of_a_list(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    piped(monkeypatch, f"{TEXT}\n\n{OTHER}\n")
    assert json.loads(command("similarity", MODEL, "-", "--json").stdout)["sentences"] == [TEXT, OTHER]


def test_lines_become_vectors_and_nothing_but_sentences_is_told(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    piped(monkeypatch, f"{TEXT}\n{OTHER}\n")
    done = command("embed", MODEL, "-", "-o", str(tmp_path / "out.csv"))
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()) == 3
    assert all(line.endswith(".") or line.endswith(".csv") for line in done.stderr.splitlines()), done.stderr


def test_it_is_read_once_and_must_hold_something(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    for content, words in ((TEXT, ("-", "--pair", "-")), (" \n", ("-",))):
        piped(monkeypatch, content)
        done = command("tokens", MODEL, *words)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == (
            "The standard input, requested by -, is empty or was read already; give one text that way.\n"
        )
