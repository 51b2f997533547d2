"""Every module has its tests in the expected place, and each check detects violations.

Covers `tests/house/mirror.py`.
"""

from pathlib import Path

import pytest

from tests.house import mirror

ROOT = Path(__file__).parents[2]


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    """A tree with a module without tests, a test of a missing module, and a folder of tests of nothing."""
    for folder in ("bertviz_core/heads", "ui", "pages", "tests/heads", "tests/corridor"):
        (tmp_path / folder).mkdir(parents=True)
    for module in ("weights", "products", "forgotten", "results", "__init__"):
        (tmp_path / "bertviz_core" / "heads" / f"{module}.py").touch()
    (tmp_path / "pages" / "heads.py").touch()
    text = '"""Heads.\n\nCovers `bertviz_core/heads/prod*.py`, `ui/gone.py`."""\n'
    (tmp_path / "tests" / "heads" / "test_weights.py").write_text(text)
    (tmp_path / "tests" / "corridor" / "test_heads.py").touch()
    return tmp_path


def test_every_module_has_a_test_file(wrong: Path) -> None:
    assert mirror.uncovered(ROOT) == []
    assert mirror.uncovered(wrong) == ["bertviz_core/heads/forgotten.py", "pages/heads.py"]


def test_no_test_file_names_a_module_that_is_gone(wrong: Path) -> None:
    assert mirror.gone(ROOT) == []
    assert mirror.gone(wrong) == ["ui/gone.py in tests/heads/test_weights.py"]


def test_tests_have_the_folders_of_the_sources(wrong: Path) -> None:
    assert mirror.strays(ROOT) == []
    assert mirror.strays(wrong) == ["corridor"]
