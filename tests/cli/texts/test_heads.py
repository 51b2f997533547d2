"""`python -m bertviz_core heads`: JSON contract, tables, exit code 2 with one line."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from bertviz_core.models.catalog import bundled_folder
from tests.cli.conftest import Command
from tests.helpers.tiny_models import HEAD_DIM, HEADS, HIDDEN, save_tiny

MODEL = "all-MiniLM-L6-v2"


@pytest.fixture
def run(command: Command) -> Command:
    """The command of this file."""
    return partial(command, "heads")


def own(name: str) -> np.ndarray:
    """A tensor of the bundled checkpoint, read without our code."""
    found: np.ndarray = load_file(bundled_folder() / "model.safetensors")[name]
    return found


def test_norms_are_the_default(run: Command) -> None:
    code, out, _ = run(MODEL, "--layer", "2", "--json")
    found = json.loads(out)
    weight = own("encoder.layer.2.attention.self.query.weight")
    assert code == 0
    assert (found["num_heads"], found["head_dim"], found["layer"]) == (12, 32, 2)
    np.testing.assert_allclose(found["query"], np.linalg.norm(weight.reshape(12, -1), axis=1), rtol=1e-5)
    assert found["query"] == found["norms"]["query"]
    assert found["shapes"] == {name: [12, 32, 384] for name in ("query", "key", "value")} | {"output": [12, 384, 32]}


def test_weights_are_the_checkpoints(run: Command) -> None:
    _, out, _ = run(MODEL, "--layer", "0", "--weights", "--json")
    found = json.loads(out)
    for block in ("query", "key", "value"):
        weight = own(f"encoder.layer.0.attention.self.{block}.weight")
        np.testing.assert_allclose(np.array(found[block]), weight.reshape(12, 32, 384), rtol=1e-6)
        bias = own(f"encoder.layer.0.attention.self.{block}.bias")
        np.testing.assert_allclose(np.array(found[f"{block}_bias"]), bias.reshape(12, 32), rtol=1e-6)
    weight = own("encoder.layer.0.attention.output.dense.weight")
    for head in range(12):
        np.testing.assert_allclose(np.array(found["output"][head]), weight[:, head * 32 : (head + 1) * 32], rtol=1e-6)


def test_fused_projections_are_named_with_their_rows(run: Command, tmp_path: Path) -> None:
    code, out, _ = run(str(save_tiny("modernbert", tmp_path)), "--layer", "1", "--json")
    found = json.loads(out)
    assert code == 0
    assert (found["num_heads"], found["head_dim"]) == (HEADS, HEAD_DIM)
    assert found["stored"]["key"]["shape"] == [3 * HIDDEN, HIDDEN]
    assert found["stored"]["key"]["form"] == "rows 12 to 23 of 36"


def test_the_table_has_a_row_per_head(run: Command) -> None:
    code, out, _ = run(MODEL, "--layer", "5")
    lines = out.splitlines()
    assert code == 0
    assert lines[0] == f"{MODEL}: layer 5, 12 heads of 32"
    assert [line.split()[0] for line in lines[-12:]] == [str(head) for head in range(12)]


@pytest.mark.parametrize("layer", ["6", "-1", "x", ""])
def test_a_wrong_layer_is_told_its_range_in_one_line(run: Command, layer: str) -> None:
    code, out, err = run(MODEL, *(["--layer", layer] if layer else []))
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert "--layer 0 to 5" in err


def test_a_family_without_heads_is_refused_in_one_line(run: Command, tmp_path: Path) -> None:
    code, out, err = run(str(save_tiny("fnet", tmp_path)), "--layer", "0")
    assert (code, out) == (2, "")
    assert "has no heads" in err.splitlines()[-1]


def test_the_help_names_the_lists_of_every_weight(run: Command) -> None:
    assert "in lists of heads, rows and columns" in " ".join(run("--help").stdout.replace("│", " ").split())
