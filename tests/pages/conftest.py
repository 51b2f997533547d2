"""Fixtures of page tests: no Hub, and a temporary models folder."""

from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tests.helpers.models_folder import use_models_folder
from tests.helpers.training_runs import save_run
from tests.helpers.two_tokenizers import save_byte_head
from tests.pages.labels import save_heads
from tests.pages.snippets import save_models
from ui.cache.jobs import Job
from ui.widgets import run_model as answers

WAIT_S = 60


class Gate:
    """Pauses work at a partial result."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._patch, self._reached, self._go = monkeypatch, Event(), Event()
        self._count = self._at = 0

    def pages(self, at: int, shown: Callable[[], AppTest]) -> tuple[AppTest, AppTest]:
        """The page while the work is paused at its partial result of this number, and at the end."""
        self._at = at
        self._patch.setattr(answers, "PATIENCE_S", 0.0)
        shown()
        assert self._reached.wait(WAIT_S)
        partly = shown()
        self._go.set()
        self._patch.setattr(answers, "PATIENCE_S", 120.0)
        return partly, shown()

    def wait(self) -> None:
        """Count a partial result, and wait where it is the one to pause at."""
        self._count += 1
        if self._count == self._at:
            self._reached.set()
            assert self._go.wait(WAIT_S)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Gate:
    """Pauses work after a number of partial results, until it is released."""
    gate, begin, show = Gate(monkeypatch), Job.start, Job.show
    own: list[Job[Any]] = []  # work that an earlier test left to its thread has partial results, too

    def started(job: Job[Any]) -> None:
        own.append(job)
        begin(job)

    def shown_and_held(job: Job[Any], so_far: Any) -> None:
        show(job, so_far)
        if job in own:
            gate.wait()

    monkeypatch.setattr(Job, "start", started)
    monkeypatch.setattr(Job, "show", shown_and_held)
    return gate


@pytest.fixture(autouse=True)
def models_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The empty models folder of the test's dashboard."""
    return use_models_folder(tmp_path, monkeypatch)


@pytest.fixture(scope="session")
def snippet_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the models for which code is run, and of a training run."""
    folder = save_models(tmp_path_factory.mktemp("models"))
    save_run(folder / "my-run")
    return folder


@pytest.fixture
def saved_models(snippet_folder: Path, models_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same folder as the test's models folder."""
    monkeypatch.setenv("INSIDE_BERT_MODELS_DIR", str(snippet_folder))
    return snippet_folder


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page waits for its answer."""
    monkeypatch.setattr(answers, "PATIENCE_S", 120.0)


@pytest.fixture
def run_folder(models_dir: Path) -> Path:
    """A training run in the models folder."""
    return save_run(models_dir / "my-run")


@pytest.fixture(scope="session")
def head_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a model with each kind of head, and of one with another tokenizer."""
    folder = save_heads(tmp_path_factory.mktemp("heads"))
    save_byte_head("masked-lm", folder / "byte-words")
    return folder


@pytest.fixture
def heads(head_folder: Path, models_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same folder as the test's models folder."""
    monkeypatch.setenv("INSIDE_BERT_MODELS_DIR", str(head_folder))
    return head_folder
