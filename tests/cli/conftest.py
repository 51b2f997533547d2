"""The command line in this process, which has torch already."""

import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest

from bertviz_core import cli


class Done(NamedTuple):
    """What a command left behind."""

    returncode: int
    stdout: str
    stderr: str


Command = Callable[..., Done]


@pytest.fixture
def command(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run a command; everything written is caught."""
    monkeypatch.setenv("INSIDE_BERT_ALLOW_HUB", "0")

    def call(*arguments: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["bertviz_core", *arguments])
        with pytest.raises(SystemExit) as end:
            cli.main()
        out, err = capfdbinary.readouterr()
        return Done(int(end.value.code or 0), out.decode(), err.decode())

    return call
