"""Run the command line in this process, which has imported torch already."""

import subprocess
import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest

from bertviz_core.cli import app


class Done(NamedTuple):
    """Result of a command."""

    returncode: int
    stdout: str
    stderr: str


Command = Callable[..., Done]


def alone(*arguments: str | bytes) -> "subprocess.CompletedProcess[str]":
    """Run the command line in a new process, like a shell."""
    command = [sys.executable, "-m", "bertviz_core", *arguments]
    environment = {
        "PATH": "/usr/bin:/bin",
        "INSIDE_BERT_ALLOW_HUB": "0",
        "HOME": "/nonexistent",
        "OMP_NUM_THREADS": "1",
    }
    return subprocess.run(command, capture_output=True, encoding="utf-8", env=environment, check=False)


@pytest.fixture
def command(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run a command, and capture its output."""
    monkeypatch.setenv("INSIDE_BERT_ALLOW_HUB", "0")

    def call(*arguments: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["bertviz_core", *arguments])
        with pytest.raises(SystemExit) as end:
            app.main()
        out, err = capfdbinary.readouterr()
        return Done(int(end.value.code or 0), out.decode(), err.decode())

    return call
