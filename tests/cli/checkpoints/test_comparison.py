"""`python -m bertviz_core compare`: JSON contract, tables, exit code 2 with one line.

Also what `number-formats` says of weights that are not finite."""

import json
import math
from functools import partial
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from tests.cli.conftest import Command
from tests.helpers.tiny_models import HEADS, LAYERS, TEXT, save_tiny

MODEL = "all-MiniLM-L6-v2"


@pytest.fixture
def run(command: Command) -> Command:
    """The command of this file."""
    return partial(command, "compare")


@pytest.fixture
def pair(tmp_path: Path) -> tuple[str, str]:
    """A tiny model, and a classifier derived from it with one tensor doubled."""
    base = save_tiny("bert", tmp_path / "base")
    torch.manual_seed(0)
    model = AutoModelForSequenceClassification.from_pretrained(base, num_labels=5)
    with torch.no_grad():
        model.bert.encoder.layer[1].intermediate.dense.weight *= 2
    model.save_pretrained(tmp_path / "tuned")
    AutoTokenizer.from_pretrained(base).save_pretrained(tmp_path / "tuned")
    return str(base), str(tmp_path / "tuned")


def test_the_same_model_twice_is_all_zeros(run: Command) -> None:
    code, out, err = run(MODEL, MODEL, "--json")
    found = json.loads(out)
    assert (code, err) == (0, "")
    assert (found["added"], found["removed"], found["resized"], found["relative_change"]) == ([], [], [], 0)
    assert len(found["tensors"]) == 104
    assert {each["relative_change"] for each in found["tensors"]} == {0}
    assert "behaviour" not in found


def test_of_equal_checkpoints_no_tensor_is_named(run: Command) -> None:
    assert "No tensor changed: all 103 tensors are equal in both." in run(MODEL, MODEL).stdout.splitlines()


def test_a_classifier_and_its_base(run: Command, pair: tuple[str, str]) -> None:
    code, out, _ = run(*pair, "--text", TEXT, "--json")
    found = json.loads(out)
    assert code == 0
    assert found["prefixes"] == ["", "bert."]
    assert sorted(found["added"]) == ["classifier.bias", "classifier.weight"]
    assert (found["removed"], found["resized"]) == ([], [])
    lit = {each["name"]: each["relative_change"] for each in found["tensors"] if each["relative_change"]}
    assert lit == {"encoder.layer.1.intermediate.dense.weight": pytest.approx(1)}
    acts = found["behaviour"]
    assert len(acts["cosines"]) == LAYERS + 1
    assert {len(row) for row in acts["cosines"]} == {len(acts["tokens"])}
    assert [len(row) for row in acts["divergences"]] == [HEADS] * LAYERS
    assert acts["divergences"][0] == acts["divergences"][1] == [0] * HEADS
    assert min(acts["divergences"][2]) > 0


def test_the_table_names_the_most_changed_first(run: Command, pair: tuple[str, str]) -> None:
    code, out, _ = run(*pair, "--text", TEXT)
    lines = out.splitlines()
    assert code == 0
    assert "55 tensors in both, 2 added, 0 removed, 0 resized" in lines[0]
    most = "encoder.layer.1.intermediate.dense.weight"
    assert f"Of 55 tensors of parameters, {most} changed most: by 1 of its norm; the median is 0." in lines
    first = lines[next(index for index, line in enumerate(lines) if line.startswith("tensor")) + 1]
    assert first.split()[0] == most
    assert "1.000e+00" in first
    assert any(line.startswith("Jensen-Shannon divergence") for line in lines)


@pytest.mark.slow
def test_changes_without_measure_are_null(run: Command, pair: tuple[str, str], tmp_path: Path) -> None:
    zeros = save_tiny("bert", tmp_path / "zeros", initializer_range=0.3)
    model = AutoModelForSequenceClassification.from_pretrained(zeros, num_labels=5)
    with torch.no_grad():
        model.bert.pooler.dense.weight.zero_()
    model.save_pretrained(zeros)
    found = json.loads(run(str(zeros), pair[0], "--json").stdout)
    values = {each["name"]: each["relative_change"] for each in found["tensors"]}
    assert values["bert.pooler.dense.weight"] is None


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ("bert-base-uncased", "not on this machine"),
        ("no-such-model", "No model 'no-such-model' found"),
        ("./nowhere", "No folder"),
    ],
)
def test_a_model_that_cannot_be_read_is_told_in_one_line(run: Command, other: str, words: str) -> None:
    code, out, err = run(MODEL, other)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert words in err


def test_a_text_that_the_two_read_differently_is_told_in_one_line(run: Command, pair: tuple[str, str]) -> None:
    code, out, err = run(MODEL, pair[0], "--text", TEXT)
    assert (code, out) == (2, "")
    assert "compare two models with the same vocabulary" in err.splitlines()[-1]


def broken(folder: Path) -> str:
    """A tiny model with an infinite number in a matrix of its second layer."""
    path = save_tiny("bert", folder)
    weights = load_file(path / "model.safetensors")
    weights["encoder.layer.1.attention.self.query.weight"][0, 0] = torch.inf
    save_file(weights, path / "model.safetensors", {"format": "pt"})
    return str(path)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("options", [(), ("--text", TEXT), ("--text", TEXT, "--view", "heads")])
def test_weights_that_are_not_finite_are_named(
    run: Command, pair: tuple[str, str], tmp_path: Path, options: tuple[str, ...]
) -> None:
    code, _, err = run(pair[0], broken(tmp_path / "broken"), *options)
    assert code == 0
    assert err.splitlines()[0].startswith("1 tensor holds NaN or infinity ('encoder.layer.1.attention.self.query")
    if options:
        assert "from entry 2 on" in err


def test_the_largest_changes_come_first_also_beside_one_that_cannot_be_measured(
    run: Command, pair: tuple[str, str], tmp_path: Path
) -> None:
    path = Path(broken(tmp_path / "broken")) / "model.safetensors"
    weights = load_file(path)
    weights["encoder.layer.1.attention.self.query.weight"][0, 0] = torch.nan
    scaled = {name: value * (1 + place / 100) for place, (name, value) in enumerate(weights.items(), 1)}
    save_file(scaled, path, {"format": "pt"})
    code, out, _ = run(pair[0], str(path.parent))
    rows = [line for line in out.splitlines() if line.startswith(("embeddings.", "encoder.", "pooler."))]
    changes = [float(row.split()[-2]) for row in rows]
    assert code == 0
    assert rows[0].startswith("encoder.layer.1.attention.self.query.weight")
    assert math.isnan(changes[0])
    largest = sorted((place / 100 for place, name in enumerate(weights, 1) if name not in rows[0]), reverse=True)
    assert changes[1:] == pytest.approx(largest[: len(rows) - 1], rel=1e-3)


def test_number_formats_name_weights_that_are_not_finite(command: Command, tmp_path: Path) -> None:
    code, _, err = command("number-formats", broken(tmp_path / "broken"), "--formats", "float16")
    assert code == 0
    assert err.startswith("1 tensor holds NaN or infinity ('encoder.layer.1.attention.self.query")
