"""Fixtures of the tests of `ui`: a temporary models folder, for the tests that ask for it."""

from pathlib import Path

import pytest

from tests.helpers.models_folder import use_models_folder


@pytest.fixture
def models_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The empty models folder of the test's dashboard."""
    return use_models_folder(tmp_path, monkeypatch)
