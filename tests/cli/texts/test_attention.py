"""`python -m bertviz_core attention`: JSON contract, table, words, exit code 2 with one line that names the range."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from bertviz_core.models.catalog import bundled_folder
from tests.cli.conftest import Command, Done, alone
from tests.helpers.tiny_models import HEADS, LAYERS, save_tiny

MODEL = "all-MiniLM-L6-v2"
TEXT = "Sinan loves a beautiful day"


@pytest.fixture
def run(command: Command) -> Command:
    """The command of this file."""
    return partial(command, "attention")


@pytest.mark.slow
def test_as_a_shell_runs_it() -> None:
    """One JSON object on stdout and nothing else; the attention equals transformers' eager run."""
    import torch
    from transformers import AutoModel

    done = alone("attention", MODEL, TEXT, "--layer", "2", "--head", "3", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert found["tokens"] == ["[CLS]", "sin", "##an", "loves", "a", "beautiful", "day", "[SEP]"]
    assert (found["layer"], found["head"], found["num_hidden_layers"], found["num_attention_heads"]) == (2, 3, 6, 12)
    model = AutoModel.from_pretrained(bundled_folder(), attn_implementation="eager").eval()
    ids = torch.tensor([[101, 8254, 2319, 7459, 1037, 3376, 2154, 102]])
    with torch.no_grad():
        own = model(ids, output_attentions=True).attentions[2][0, 3]
    np.testing.assert_allclose(found["attention"], own, atol=1e-5)


def test_a_pair_is_one_map(run: Command) -> None:
    found = json.loads(run(MODEL, "I love", "--pair", "my python", "--layer", "0", "--head", "11", "--json").stdout)
    attention = np.array(found["attention"])
    assert found["tokens"] == ["[CLS]", "i", "love", "[SEP]", "my", "python", "[SEP]"]
    assert attention.shape == (7, 7)
    np.testing.assert_allclose(attention.sum(axis=1), 1, atol=1e-5)


def test_words_are_merged_and_rows_still_sum_to_1(run: Command) -> None:
    found = json.loads(run(MODEL, TEXT, "--layer", "5", "--head", "0", "--words", "--json").stdout)
    assert found["tokens"] == ["[CLS]", "Sinan", "loves", "a", "beautiful", "day", "[SEP]"]
    assert found["positions"] == [[0], [1, 2], [3], [4], [5], [6], [7]]
    np.testing.assert_allclose(np.sum(found["attention"], axis=1), 1, atol=1e-5)


def test_the_table_names_the_strongest_keys(run: Command) -> None:
    arguments = (MODEL, TEXT, "--layer", "2", "--head", "3")
    attention = np.array(json.loads(run(*arguments, "--json").stdout)["attention"])
    done = run(*arguments)
    first, _, _, *rows = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    assert first.startswith(f"{MODEL}: attention of layer 2 of 0 to 5, head 3 of 0 to 11, shape (8, 8)")
    assert len(rows) == 8
    for row, weights in zip(rows, attention, strict=True):
        assert row.split()[2:4] == [f"{weights.max():.3f}", str(weights.argmax())]


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (("--layer", "6", "--head", "0"), f"There is no layer '6' in '{MODEL}'; give --layer 0 to 5."),
        (("--layer", "-1", "--head", "0"), f"There is no layer '-1' in '{MODEL}'; give --layer 0 to 5."),
        (("--layer", "0", "--head", "12"), f"There is no head '12' in '{MODEL}'; give --head 0 to 11."),
        (("--layer", "0", "--head", "x"), f"There is no head 'x' in '{MODEL}'; give --head 0 to 11."),
        (("--head", "0"), "No layer was named; give --layer 0 to 5."),
        (("--layer", "0"), "No head was named; give --head 0 to 11."),
    ],
)
def test_a_layer_or_head_out_of_range_is_told_the_range(run: Command, options: tuple[str, ...], line: str) -> None:
    assert run(MODEL, TEXT, *options) == Done(2, "", f"{line}\n")


def test_a_model_of_one_layer_has_only_that_one(run: Command, tmp_path: Path) -> None:
    save_tiny("bert", tmp_path, num_hidden_layers=1)
    done = run(str(tmp_path), TEXT, "--layer", "1", "--head", "0")
    assert done.returncode == 2
    assert done.stderr.endswith("; give --layer 0, the only one.\n")


def test_a_family_of_code_of_its_own_has_its_own_maps(run: Command, tmp_path: Path) -> None:
    save_tiny("deberta", tmp_path)
    done = run(str(tmp_path), TEXT, "--layer", str(LAYERS - 1), "--head", str(HEADS - 1), "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["attention_way"]) == (0, "eager")
    np.testing.assert_allclose(np.sum(found["attention"], axis=1), 1, atol=1e-5)


def test_a_family_without_attention_says_why(run: Command, tmp_path: Path) -> None:
    save_tiny("fnet", tmp_path)
    done = run(str(tmp_path), TEXT, "--layer", "0", "--head", "0")
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert "Fourier" in done.stderr
