"""Run the command line in this process, which has imported torch already."""

import subprocess
import sys
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import pytest

from bertviz_core.cli import app, figure
from bertviz_core.figures.base.spec import FigureSpec
from bertviz_core.lazy_imports import import_libraries
from bertviz_core.models.loading import LoadedModel
from bertviz_core.questions.opened import OpenedModel
from bertviz_core.settings import Settings

import_libraries()  # a command that does without torch would keep it out of this process


class Done(NamedTuple):
    """Result of a command."""

    returncode: int
    stdout: str
    stderr: str


Command = Callable[..., Done]


def alone(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run the command line in a new process, like a shell."""
    command = [sys.executable, "-m", "bertviz_core", *arguments]
    environment = {
        "PATH": "/usr/bin:/bin",
        "INSIDE_BERT_ALLOW_HUB": "0",
        "HOME": "/nonexistent",
        "OMP_NUM_THREADS": "1",
    }
    return subprocess.run(command, capture_output=True, encoding="utf-8", env=environment, check=False)


_bundled: dict[tuple[str, Settings], LoadedModel] = {}
"""Bundled models in memory, by name and settings."""


@pytest.fixture
def drawn_figures(monkeypatch: pytest.MonkeyPatch) -> list[FigureSpec]:
    """The figures that the command is about to write; the file has their caption alone."""
    found: list[FigureSpec] = []

    def keep(ending: str, picture: Any, caption: Any, *_: Any) -> bytes:
        found.append(picture)
        return f"<desc>{caption.line}</desc>".encode()

    monkeypatch.setattr(figure, "file_content", keep)
    return found


@pytest.fixture
def bundled_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Load each bundled model once for all commands with the same settings, as the sessions of a dashboard do.

    A load takes half a second, most of it for the digest of the file and the copy of the weights. Rounded copies and
    models in folders are loaded anew.
    """
    load: Callable[[OpenedModel], LoadedModel] = vars(OpenedModel)["loaded"].func

    def loaded(opened: OpenedModel) -> LoadedModel:
        if opened.source.kind != "bundled":
            return load(opened)
        key = opened.source.name, opened.settings
        if key not in _bundled:
            _bundled[key] = load(opened)
        return _bundled[key]

    shared = cached_property(loaded)
    shared.__set_name__(OpenedModel, "loaded")
    monkeypatch.setattr(OpenedModel, "loaded", shared)


@pytest.fixture
def command(
    capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch, bundled_in_memory: None
) -> Command:
    """Run a command, and capture its output."""
    monkeypatch.setenv("INSIDE_BERT_ALLOW_HUB", "0")

    def call(*arguments: str) -> Done:
        capfdbinary.readouterr()  # of what made the command's files, such as transformers' notes on its models
        monkeypatch.setattr(sys, "argv", ["bertviz_core", *arguments])
        with pytest.raises(SystemExit) as end:
            app.main()
        out, err = capfdbinary.readouterr()
        return Done(int(end.value.code or 0), out.decode(), err.decode())

    return call
