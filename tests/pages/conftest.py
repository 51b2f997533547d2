"""Fixtures of page tests: no Hub, and a temporary models folder."""

from pathlib import Path

import pytest

from tests.helpers.models_folder import use_models_folder
from tests.helpers.training_runs import save_run
from tests.helpers.two_tokenizers import save_byte_head
from tests.pages.labels import save_heads
from tests.pages.snippets import save_models
from ui.widgets.lists import progress


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
    monkeypatch.setattr(progress, "PATIENCE_S", 120.0)


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
