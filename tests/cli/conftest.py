"""The command line in this process, which has torch already."""

import subprocess
import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest

from bertviz_core.cli import app


class Done(NamedTuple):
    """What a command left behind."""

    returncode: int
    stdout: str
    stderr: str


Command = Callable[..., Done]


def alone(*arguments: str | bytes) -> "subprocess.CompletedProcess[str]":
    """The command line as a shell runs it, in a process of its own."""
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
    """Run a command; everything written is caught."""
    monkeypatch.setenv("INSIDE_BERT_ALLOW_HUB", "0")

    def call(*arguments: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["bertviz_core", *arguments])
        with pytest.raises(SystemExit) as end:
            app.main()
        out, err = capfdbinary.readouterr()
        return Done(int(end.value.code or 0), out.decode(), err.decode())

    return call
