"""An empty models folder for the dashboard under test."""

from pathlib import Path

import pytest


def use_models_folder(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make an empty folder the dashboard's models folder, without the Hub, and with an empty folder for corpora.

    Args:
        place: where the folders are.
        monkeypatch: sets the environment for the time of a test.
    """
    folder = place / "models"
    folder.mkdir()
    monkeypatch.setenv("INSIDE_BERT_MODELS_DIR", str(folder))
    monkeypatch.setenv("INSIDE_BERT_CORPORA_DIR", str(place / "corpora"))
    monkeypatch.setenv("INSIDE_BERT_ALLOW_HUB", "0")
    monkeypatch.delenv("INSIDE_BERT_ALLOWED_MODELS", raising=False)
    return folder
