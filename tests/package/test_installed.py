"""The installed command outside the source tree: help, numbers, a figure; tests/browser tests its dashboard."""

import json
from pathlib import Path

import pytest

from tests.package.conftest import ran


@pytest.fixture(scope="session")
def command(environment: Path) -> Path:
    return environment / "bin" / "inside-bert"


@pytest.mark.slow
def test_help_lists_the_commands(command: Path, tmp_path: Path) -> None:
    message = ran([command, "--help"], tmp_path).stdout
    assert "inside-bert" in message
    assert all(f" {name} " in message for name in ("serve", "parameters", "figure", "corpus"))


@pytest.mark.slow
def test_it_runs_what_is_installed_and_counts(command: Path, environment: Path, tmp_path: Path) -> None:
    where = "import bertviz_core; print(bertviz_core.__file__)"
    place = ran([environment / "bin" / "python", "-c", where], tmp_path).stdout
    assert place.startswith(str(environment))
    counted = json.loads(ran([command, "parameters", "bert-base-uncased", "--json"], tmp_path).stdout)
    assert counted["total"] == 109_482_240


@pytest.mark.slow
def test_it_draws(command: Path, tmp_path: Path) -> None:
    file = tmp_path / "attention.html"
    ran([command, "figure", "attention", "all-MiniLM-L6-v2", "A bank.", "-o", file], tmp_path)
    assert "plotly" in file.read_text(encoding="utf-8")
