"""The installed command outside the source tree: help, numbers, a figure; tests/browser tests its dashboard."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from huggingface_hub.cli.extensions import EXTENSIONS_ROOT, ExtensionManifest

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


@pytest.mark.slow
def test_hugging_faces_command_line_has_it_as_an_extension(environment: Path, tmp_path: Path) -> None:
    """What `hf extensions install OWNER/hf-inside` leaves behind, without its download from GitHub."""
    manifest = ExtensionManifest(
        owner="owner",
        repo="hf-inside",
        repo_id="owner/hf-inside",
        short_name="inside",
        executable_path=str(environment / "bin" / "hf-inside"),
        type="python",
        installed_at=datetime(2026, 11, 29, tzinfo=UTC),
    )
    manifest.save(tmp_path / EXTENSIONS_ROOT.relative_to("~") / "hf-inside")
    hf = ["env", "HF_HUB_DISABLE_UPDATE_CHECK=1", Path(sys.executable).with_name("hf")]
    assert "hf inside" in ran([*hf, "extensions", "list"], tmp_path).stdout
    counted = json.loads(ran([*hf, "inside", "parameters", "bert-base-uncased", "--json"], tmp_path).stdout)
    assert counted["total"] == 109_482_240
    for words in ([], ["--help"], ["parameters", "--help"]):
        name = " ".join(["hf inside", *words[:-1]])  # each with exit code 0
        assert f"Usage: {name} [OPTIONS]" in ran([*hf, "inside", *words], tmp_path).stdout
    refused = subprocess.run(
        [*hf, "inside", "serve", "--no-such"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "HOME": str(tmp_path)},
    )
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
