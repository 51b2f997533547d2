"""Every page test runs without the Hub and with a models folder of its own."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def models_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The empty models folder of the test's dashboard."""
    folder = tmp_path / "models"
    folder.mkdir()
    monkeypatch.setenv("INSIDE_BERT_MODELS_DIR", str(folder))
    monkeypatch.setenv("INSIDE_BERT_ALLOW_HUB", "0")
    monkeypatch.delenv("INSIDE_BERT_ALLOWED_MODELS", raising=False)
    return folder
