"""What readers share is counted in bytes, in one place."""

import re
from pathlib import Path

from bertviz_core.attention.results import MapOptions
from bertviz_core.questions.byte_cache import held_nbytes
from tests.helpers.made_traces import random_trace
from ui.cache import decorator
from ui.views.attention import cache as attention_cache

UI = Path(__file__).parents[3] / "ui"
COUNTED_BY_ENTRIES = re.compile(r"cache_data|lru_cache|max_entries=(?!1\b)")


def entry_counts(root: Path) -> list[str]:
    """Modules with a cache that counts entries: many, of any size."""
    return [path.name for path in root.rglob("*.py") if COUNTED_BY_ENTRIES.search(path.read_text(encoding="utf-8"))]


def test_no_cache_counts_entries(tmp_path: Path) -> None:
    assert entry_counts(UI) == []
    (tmp_path / "other.py").write_text("@st.cache_resource(max_entries=12)\ndef make(): ...\n")
    assert entry_counts(tmp_path) == ["other.py"]


def test_an_atlas_is_made_once_and_counted() -> None:
    decorator.results.clear()
    trace, told = random_trace(heads=3, seq=7), []
    atlas = attention_cache.atlas(trace, MapOptions(), lambda done, total: told.append(done))
    heads = list(told)
    assert heads
    assert attention_cache.atlas(trace, MapOptions(), lambda done, total: told.append(done)) is atlas
    assert told == heads
    assert decorator.results().nbytes >= held_nbytes(atlas)
    assert attention_cache.atlas(trace, MapOptions(hide_special=True)) is not atlas
