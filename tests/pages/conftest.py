"""Fixtures of page tests: no Hub, and a temporary models folder."""

from pathlib import Path

import pytest

from tests.helpers.training_runs import save_run
from tests.pages.snippets import save_models


@pytest.fixture(autouse=True)
def models_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The empty models folder of the test's dashboard."""
    folder = tmp_path / "models"
    folder.mkdir()
    monkeypatch.setenv("INSIDE_BERT_MODELS_DIR", str(folder))
    monkeypatch.setenv("INSIDE_BERT_CORPORA_DIR", str(tmp_path / "corpora"))
    monkeypatch.setenv("INSIDE_BERT_ALLOW_HUB", "0")
    monkeypatch.delenv("INSIDE_BERT_ALLOWED_MODELS", raising=False)
    return folder


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
