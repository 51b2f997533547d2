"""A models folder of its own for each test, without the Hub."""

from pathlib import Path

import pytest


@pytest.fixture
def models_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The models folder of the test's dashboard."""
    monkeypatch.setenv("INSIDE_BERT_MODELS_DIR", str(tmp_path))
    monkeypatch.setenv("INSIDE_BERT_ALLOW_HUB", "0")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return tmp_path
