"""The folders follow the rules, and each check detects violations."""

from pathlib import Path

import pytest

from tests.house import layout

ROOT = Path(__file__).parents[2]


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    """A tree that violates every rule."""
    for source in (*layout.SOURCES, "benchmarks"):
        (tmp_path / source).mkdir()
    crowded = tmp_path / "ui" / "heads"
    crowded.mkdir()
    for number in range(21):
        (crowded / f"head_{number}.py").write_text("class Place: ...\n")
    (crowded / "__pycache__").mkdir()
    for number in range(21):
        (crowded / "__pycache__" / f"head_{number}.pyc").touch()
    (tmp_path / "pages" / "long.py").write_text("\n" * 101)
    (tmp_path / "bertviz_core" / "long.py").write_text("\n" * 601)
    (tmp_path / "bertviz_core" / "late.py").write_text(
        "def late():\n    from ui.heads import head_1\n\n\ndef later(found):\n    import ui.heads\n    found = 1\n\n\n"
        "def _asked():\n    KEPT = 1\n\n\n" * 3
    )
    return tmp_path


def test_no_folder_is_crowded(wrong: Path) -> None:
    assert layout.crowded_folders(ROOT) == []
    assert layout.crowded_folders(wrong) == ["ui/heads has 21 entries"]


def test_no_file_is_long(wrong: Path) -> None:
    assert layout.long_files(ROOT) == []
    assert len(layout.long_files(wrong)) == 2


@pytest.mark.slow
def test_imports_stand_at_the_top(wrong: Path) -> None:
    assert len(layout.inner_imports(ROOT)) <= layout.MOST_INNER_IMPORTS, layout.inner_imports(ROOT)
    assert len(layout.inner_imports(wrong)) == 6


@pytest.mark.slow
@pytest.mark.parametrize("word", layout.VAGUE_NAMES)
def test_vague_words_are_seldom_names(word: str) -> None:
    places = layout.vague_names(ROOT)[word]
    assert len(places) <= layout.VAGUE_NAMES[word], places


def test_variables_parameters_and_functions_are_counted(wrong: Path) -> None:
    places = {word: len(lines) for word, lines in layout.vague_names(wrong).items() if lines}
    assert places == {"found": 6, "asked": 3, "kept": 3}
