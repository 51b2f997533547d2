"""`python -m bertviz_core late-interaction`: the score, and refusals that name no option that it does not have."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Command
from tests.helpers.tiny_models import PAIR, TEXT, save_tiny


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """A tiny encoder."""
    return str(save_tiny("bert", tmp_path / "tiny"))


def test_the_score_is_the_sum_of_the_largest_cosines(command: Command, folder: str) -> None:
    found = json.loads(command("late-interaction", folder, TEXT, PAIR, "--json").stdout)
    assert found["score"] == pytest.approx(np.array(found["cosines"]).max(axis=1).sum(), abs=1e-5)


@pytest.mark.parametrize("texts", [("", TEXT), (TEXT, " ")])
def test_a_blank_text_is_one_line_without_an_option(command: Command, folder: str, texts: tuple[str, str]) -> None:
    done = command("late-interaction", folder, *texts)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "--" not in done.stderr
