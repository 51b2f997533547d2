"""Shared results are counted in bytes, in one place."""

import re
from pathlib import Path

UI = Path(__file__).parents[3] / "ui"
COUNTED_BY_ENTRIES = re.compile(r"cache_data|lru_cache|max_entries=(?!1\b)")


def entry_counts(root: Path) -> list[str]:
    """Modules with a cache that counts entries, of any size."""
    return [path.name for path in root.rglob("*.py") if COUNTED_BY_ENTRIES.search(path.read_text(encoding="utf-8"))]


def test_no_cache_counts_entries(tmp_path: Path) -> None:
    assert entry_counts(UI) == []
    (tmp_path / "other.py").write_text("@st.cache_resource(max_entries=12)\ndef make(): ...\n")
    assert entry_counts(tmp_path) == ["other.py"]
