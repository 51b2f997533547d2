"""`python -m bertviz_core causes`: the JSON contract, the table, exit code 2 with one line."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from tests.cli.conftest import Command
from tests.helpers.tiny_heads import save_tiny_head
from tests.helpers.tiny_models import HEADS, LAYERS, PAIR, TEXT


@pytest.fixture
def run(command: Command) -> Command:
    """The command of this file."""
    return partial(command, "causes")


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """A tiny classifier."""
    return str(save_tiny_head("bert", "sequence-classification", tmp_path / "tiny", num_labels=3))


@pytest.mark.parametrize("kind", ["zero", "mean", "gradient"])
def test_the_json_contract(run: Command, folder: str, kind: str) -> None:
    answer = json.loads(run(folder, TEXT, "--pair", PAIR, "--kind", kind, "--json").stdout)
    assert (answer["target"], answer["kind"]) == ("cosine", kind)
    assert -1 <= answer["clean"] <= 1
    assert np.array(answer["effects"]).shape == (LAYERS, HEADS)
    assert len(answer["layers"]) == len(answer["feed_forward"]) == LAYERS
    assert bool(answer["reference"]) == (kind == "mean")


def test_one_text_is_asked_for_the_models_own_answer(run: Command, folder: str) -> None:
    answer = json.loads(run(folder, TEXT, "--json").stdout)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.no_grad():
        logits = model(**tokenizer(TEXT, return_tensors="pt")).logits[0]
    assert answer["target"] == f"class:LABEL_{int(logits.argmax())}"
    assert answer["clean"] == pytest.approx(float(logits.max()), abs=1e-5)


def test_a_class_and_its_table(run: Command, folder: str) -> None:
    done = run(folder, TEXT, "--target", "class:LABEL_1", "--measure", "probability")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert "probability of 'LABEL_1'" in lines[0]
    assert lines[2].split() == ["layer", "head", "0", "head", "1", "feed-forward", "whole", "layer"]
    assert lines[3 + LAYERS] == ""
    assert "Of whole layers" in lines[-1]
    assert len(lines) == 5 + LAYERS


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--target", "class:joy"], "no class 'joy'"),
        (["--target", "nonsense"], "is no target"),
        (["--pair", PAIR, "--kind", "loud"], "no --kind=loud"),
        (["--target", "class:LABEL_1", "--measure", "loud"], "no --measure=loud"),
        (["--target", "word:bank@2"], "head for masked-lm"),
    ],
)
def test_what_cannot_be_done_is_one_line(run: Command, folder: str, arguments: list[str], words: str) -> None:
    done = run(folder, TEXT, *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
