"""`python -m bertviz_core load-report`: JSON contract, printed text, exit code 2 with one line."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSequenceClassification

from tests.cli.conftest import Command
from tests.helpers.tiny_models import tiny_config

KEYS = {"matched", "new", "unused", "mismatched", "fraction_from_file", "suggestion"}


@pytest.fixture
def classifier(tmp_path: Path) -> Path:
    """A random classifier with three labels, saved."""
    torch.manual_seed(0)
    AutoModelForSequenceClassification.from_config(tiny_config("bert", num_labels=3)).save_pretrained(tmp_path)
    return tmp_path


def test_json_is_one_object_with_the_promised_keys(command: Command) -> None:
    done = command("load-report", "all-MiniLM-L6-v2", "--task", "sequence-classification", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert found.keys() >= KEYS
    assert (found["matched"], found["expected"]) == (103, 105)
    assert found["new"] == ["classifier.weight", "classifier.bias"]
    assert (found["unused"], found["mismatched"]) == ([], [])
    assert found["fraction_from_file"] == pytest.approx(22_713_216 / (22_713_216 + 2 * 384 + 2), abs=1e-12)
    assert "Train it before you use it" in found["suggestion"]
    assert found["bytes_read"] < 1_000_000 < found["stored_bytes"]


def test_labels_that_do_not_fit_are_listed_with_both_shapes(command: Command, classifier: Path) -> None:
    done = command("load-report", str(classifier), "--task", "sequence-classification", "--labels", "2", "--json")
    assert json.loads(done.stdout)["mismatched"] == [
        {"name": "classifier.weight", "checkpoint": [3, 12], "model": [2, 12]},
        {"name": "classifier.bias", "checkpoint": [3], "model": [2]},
    ]


def test_the_repair_stands_below_the_table(command: Command, classifier: Path) -> None:
    tensors = load_file(classifier / "model.safetensors")
    save_file({f"net.{name}": value for name, value in tensors.items()}, classifier / "model.safetensors")
    done = command("load-report", str(classifier), "--task", "sequence-classification")
    assert done.returncode == 0
    assert "0 of 57 tensors" in done.stdout
    assert "Repair: strip net. -> 57 of 57" in done.stdout
    assert "name.removeprefix('net.')" in done.stdout


def test_control_characters_of_a_name_do_not_reach_the_terminal(command: Command, classifier: Path) -> None:
    tensors = load_file(classifier / "model.safetensors")
    save_file({**tensors, "evil\x1b[31m\u202ename": torch.zeros(2)}, classifier / "model.safetensors")
    done = command("load-report", str(classifier), "--task", "base")
    assert done.returncode == 0
    assert "U+001B" in done.stdout
    assert "\x1b" not in done.stdout
    assert "\u202e" not in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("bert-base-uncased",),
        ("no-such-model",),
        ("all-MiniLM-L6-v2", "--task", "no-such-task"),
        ("ModernBERT-base", "--task", "next-sentence"),
        ("all-MiniLM-L6-v2", "--task", "masked-lm", "--labels", "2"),
        ("all-MiniLM-L6-v2", "--task", "token-classification", "--labels", "0"),
    ],
)
def test_what_a_user_can_cause_is_one_line_and_exit_code_2(command: Command, arguments: tuple[str, ...]) -> None:
    done = command("load-report", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.strip().splitlines()) == 1
    assert "Traceback" not in done.stderr
