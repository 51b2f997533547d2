"""Run the command line in this process, which has imported torch already."""

import subprocess
import sys
from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Any, NamedTuple

import pytest

from bertviz_core.cli import app, figure
from bertviz_core.figures.base.spec import FigureSpec
from bertviz_core.lazy_imports import import_libraries
from bertviz_core.questions.opened import OpenedModel

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


_loaded: dict[Hashable, Any] = {}
"""Models, tokenizers and heads in memory, by name, state of the files and settings; the latest last."""
MOST_LOADED = 40


@pytest.fixture
def drawn_figures(monkeypatch: pytest.MonkeyPatch) -> list[FigureSpec]:
    """The figures that the command is about to write; the file has their caption alone."""
    found: list[FigureSpec] = []

    def keep(ending: str, picture: Any, caption: Any, *_: Any) -> bytes:
        found.append(picture)
        return f"<desc>{caption.line}</desc>".encode()

    monkeypatch.setattr(figure, "figure_file", keep)
    return found


@pytest.fixture
def models_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Load each model once for all commands with the same settings and files, as the sessions of a dashboard do.

    A load takes half a second, most of it for the digest of the file and the copy of the weights. Rounded copies and
    adapters are loaded anew.
    """

    def loaded_once(load: Callable[..., Any]) -> Callable[..., Any]:
        def loaded(opened: OpenedModel, *more: Any) -> Any:
            source = opened.source
            if source.adapter is not None:
                return load(opened, *more)
            key = load, source.name, source.folder, source.revision, opened.task, opened.settings, *more
            if key not in _loaded:
                _loaded[key] = load(opened, *more)
                for old in list(_loaded)[:-MOST_LOADED]:
                    del _loaded[old]
            return _loaded[key]

        return loaded

    for name in ("loaded", "tokenizer"):
        shared = cached_property(loaded_once(vars(OpenedModel)[name].func))
        shared.__set_name__(OpenedModel, name)
        monkeypatch.setattr(OpenedModel, name, shared)
    monkeypatch.setattr(OpenedModel, "head", loaded_once(OpenedModel.head))


@pytest.fixture
def command(
    capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch, models_in_memory: None
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
