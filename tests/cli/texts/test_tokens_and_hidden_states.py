"""`python -m bertviz_core tokens` and `hidden`: JSON contract, tables, exit code 2 with one line, no chatter.

Covers `bertviz_core/cli/app.py`, `bertviz_core/cli/options.py`, `bertviz_core/cli/options.py`,
`bertviz_core/cli/options.py`, `bertviz_core/cli/texts/*.py`.
"""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Command, alone
from tests.helpers.tiny_models import save_tiny

MODEL = "all-MiniLM-L6-v2"
TOKENS_KEYS = {"tokens", "input_ids", "token_type_ids", "word_ids", "offsets", "special"}
TEXT = "I love my pet python."


@pytest.mark.slow
def test_tokens_of_the_teaching_sentence() -> None:
    done = alone("tokens", MODEL, "Sinan loves a beautiful day", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert found.keys() >= TOKENS_KEYS
    assert found["input_ids"] == [101, 8254, 2319, 7459, 1037, 3376, 2154, 102]
    assert found["tokens"] == ["[CLS]", "sin", "##an", "loves", "a", "beautiful", "day", "[SEP]"]
    assert found["word_ids"] == [None, 0, 0, 1, 2, 3, 4, None]
    assert found["offsets"][1:4] == [[0, 3], [3, 5], [6, 11]]
    assert found["special"] == [True, *[False] * 6, True]
    assert (found["token_type_ids"], found["shape"]) == ([0] * 8, [1, 8])


def test_the_table_of_tokens_has_a_line_for_each_of_a_pair(command: Command) -> None:
    done = command("tokens", MODEL, "I love", "--pair", "my python")
    assert (done.returncode, done.stderr) == (0, "")
    first, _, _, *rows = done.stdout.splitlines()
    assert first == "7 tokens; input_ids (7,) becomes (1, 7) with the batch axis"
    assert [row.split()[:3] for row in rows[4:6]] == [["4", "my", "2026"], ["5", "python", "18750"]]
    assert rows[5].split()[-1] == "1"


@pytest.mark.slow
def test_hidden_states_and_the_pooler_checked() -> None:
    done = alone("hidden", MODEL, TEXT, "--layer", "6", "--pooler", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    states = np.array(found["hidden"])
    assert states.shape == (len(found["tokens"]), 384) == (8, 384)
    assert len(found["pooler_output"]) == 384
    assert 0 <= found["pooler_check"] < 1e-5


def test_the_first_entry_is_the_embedding_output(command: Command) -> None:
    found = json.loads(command("hidden", MODEL, TEXT, "--layer", "0", "--pair", "snakes", "--json").stdout)
    assert "pooler_output" not in found
    assert found["tokens"][-2:] == ["snakes", "[SEP]"]
    # Layer norm with its own weights: far from the last layer, and finite.
    assert np.isfinite(np.array(found["hidden"])).all()


def test_the_table_of_hidden_states_has_norms(command: Command) -> None:
    done = command("hidden", MODEL, "hi", "--layer", "1", "--pooler")
    assert (done.returncode, done.stderr) == (0, "")
    assert "shape (3, 384)" in done.stdout
    assert "max |pooler(CLS) - pooler_output| = " in done.stdout
    numbers = [word for line in done.stdout.splitlines()[3:] for word in line.split() if word[-1:].isdigit()]
    assert any(word.startswith("−0.") for word in numbers)
    assert not any(word.startswith("-") for word in numbers)


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("tokens", "no-such-model", "hi"), "no-such-model"),
        (("tokens", "bert-base-uncased", "hi"), "tokenizer"),
        (("tokens", MODEL, "a" * 120_000, "--pair", "b" * 90_000), "characters"),
        (("hidden", MODEL, "hi", "--layer", "7"), "--layer 0 (the embedding output) to 6"),
        (("hidden", MODEL, "hi", "--layer", "-1"), "--layer 0 (the embedding output) to 6"),
        (("hidden", MODEL, "hi", "--layer", "x"), "--layer 0 (the embedding output) to 6"),
        (("hidden", MODEL, "hi"), "--layer 0 (the embedding output) to 6"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_what_a_user_can_cause_is_one_line_and_exit_code_2(
    command: Command, arguments: tuple[str, ...], word: str
) -> None:
    done = command(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.strip().splitlines()) == 1
    assert word in done.stderr


@pytest.mark.sample(6)
@pytest.mark.parametrize("text", ["", "   ", "שלום עולם", "👨‍👩‍👧‍👦", "a\x1b[31mb\u202ec", "a\ud800b\udcff"])
@pytest.mark.parametrize("form", ["--json", ""])
def test_no_text_is_too_strange(command: Command, text: str, form: str) -> None:
    done = command("tokens", MODEL, text, *([form] if form else []))
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert "\x1b" not in done.stdout
    if form:
        assert json.loads(done.stdout)["tokens"][0] == "[CLS]"


def test_bytes_that_are_no_text_are_replaced(command: Command) -> None:
    done = command("tokens", MODEL, os.fsdecode(b"a\xed\xa0\x80b\xff"), "--json")  # as the interpreter reads them
    assert done.returncode == 0
    assert json.loads(done.stdout)["input_ids"][0] == 101
    assert "half character" in done.stderr


def test_a_long_text_says_on_stderr_what_was_cut_off(command: Command) -> None:
    done = command("tokens", MODEL, "word " * 600, "--json")
    found = json.loads(done.stdout)
    assert (len(found["tokens"]), found["tokens_cut"]) == (512, [90, 0])
    assert done.stderr.startswith("90 tokens cut off at the end of the text")


def test_a_model_without_pooler_says_so(command: Command, tmp_path: Path) -> None:

    save_tiny("distilbert", tmp_path)
    done = command("hidden", str(tmp_path), TEXT, "--layer", "3", "--pooler", "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["pooler_output"], found["pooler_check"]) == (0, None, None)
    assert done.stderr == "This model has no pooler.\n"
