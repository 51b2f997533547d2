"""`python -m bertviz_core word-pairs`: the JSON contract, whose sum is the cosine; the table; exit code 2."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Command
from tests.helpers.tiny_heads import save_tiny_head
from tests.helpers.tiny_models import LAYERS, PAIR, TEXT


@pytest.fixture
def run(command: Command, tmp_path: Path) -> Command:
    """The command of this file on a tiny model."""
    return partial(command, "word-pairs", str(save_tiny_head("bert", "masked-lm", tmp_path / "tiny")))


def test_the_json_contract(run: Command) -> None:
    answer = json.loads(run(TEXT, PAIR, "--from-layer", "1", "--json").stdout)
    shares = np.array(answer["shares"])
    assert shares.shape == (len(answer["rows"]), len(answer["columns"]))
    assert shares.sum() + answer["reference_terms"] == pytest.approx(answer["cosine"], abs=3e-5)
    assert answer["error"] <= 1e-5


def test_the_table_has_a_row_for_each_token(run: Command) -> None:
    lines = run(TEXT, PAIR, "--from-layer", "1").stdout.splitlines()
    assert "reference terms" in lines[0]
    assert lines[2].split()[0] == "[CLS]"
    assert [line.split()[0] for line in lines[3:]] == ["[CLS]", "i", "love", "my", "pet", "python", ".", "[SEP]"]


def test_a_layer_that_is_not_there_is_one_line(run: Command) -> None:
    done = run(TEXT, PAIR, "--from-layer", str(LAYERS))
    assert done.returncode == 2
    assert f"--from-layer 0 (the embedding output) to {LAYERS - 1}." in done.stderr
    assert done.stderr.count("\n") == 1
