"""Fixtures of the installed package: a wheel, and an environment with the wheel and without the source tree."""

import os
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def ran(command: Sequence[str | Path], cwd: Path) -> "subprocess.CompletedProcess[str]":
    """Run a command outside the source tree and without the tests' environment variables; fails if it fails."""
    variables = {key: value for key, value in os.environ.items() if not key.startswith(("INSIDE_BERT_", "PYTHON"))}
    environment = {**variables, "HOME": str(cwd), "INSIDE_BERT_ALLOW_HUB": "0"}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel built from the source tree."""
    place = tmp_path_factory.mktemp("wheel")
    ran([sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", place, ROOT], place)
    return next(place.glob("*.whl"))


@pytest.fixture(scope="session")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new virtual environment with the wheel; its dependencies come from the tests' environment by a .pth file."""
    place = tmp_path_factory.mktemp("environment")
    ran([sys.executable, "-m", "venv", "--without-pip", place], place)
    python = place / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python, "install"]
    ran([*pip, "--no-deps", "--no-index", wheel], place)
    packages(place).joinpath("tests.pth").write_text(sysconfig.get_path("purelib"))
    return place


def packages(environment: Path) -> Path:
    """The folder of an environment's packages."""
    return next(environment.glob("lib/python3*/site-packages"))
