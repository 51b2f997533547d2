"""Shared results are counted in bytes, in one place; computations are logged by name, seconds and outcome."""

import contextlib
import logging
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from streamlit.runtime.scriptrunner_utils.exceptions import StopException

from bertviz_core.errors import BusyError, SupersededError, TextError
from ui.cache.figures import ACTIVITY, logged, note

UI = Path(__file__).parents[3] / "ui"
COUNTED_BY_ENTRIES = re.compile(r"cache_data|lru_cache|max_entries=(?!1\b)")


def entry_counts(root: Path) -> list[str]:
    """Modules with a cache that counts entries, of any size."""
    return [path.name for path in root.rglob("*.py") if COUNTED_BY_ENTRIES.search(path.read_text(encoding="utf-8"))]


def test_no_cache_counts_entries(tmp_path: Path) -> None:
    assert entry_counts(UI) == []
    (tmp_path / "other.py").write_text("@st.cache_resource(max_entries=12)\ndef make(): ...\n")
    assert entry_counts(tmp_path) == ["other.py"]


@pytest.fixture
def lines() -> Iterator[list[dict[str, object]]]:
    """The fields of all records of computations."""
    recorded: list[dict[str, object]] = []

    class Seen(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            recorded.append(vars(record)["fields"])

    handler, before = Seen(), ACTIVITY.level
    ACTIVITY.addHandler(handler)
    ACTIVITY.setLevel(logging.INFO)
    yield recorded
    ACTIVITY.removeHandler(handler)
    ACTIVITY.setLevel(before)


def stop_after(error: Exception) -> None:
    """End as a page does that has shown an error."""
    try:
        raise error
    except type(error):
        raise StopException from None  # as st.stop() does


@pytest.mark.parametrize(
    ("end", "outcome", "named"),
    [
        (lambda: None, "done", None),
        (lambda: stop_after(TextError("quokka")), "refused", "TextError"),
        (lambda: stop_after(MemoryError("quokka")), "failed", "out of memory"),
    ],
)
def test_a_line_says_how_a_computation_ended(
    lines: list[dict[str, object]], end: Callable[[], None], outcome: str, named: str | None
) -> None:
    with contextlib.suppress(StopException), logged("page", "words", lambda: {"model": "m"}):
        note(view="Words")
        end()
    (line,) = lines
    assert (line["outcome"], line.get("error")) == (outcome, named)
    assert (line["event"], line["name"], line["model"], line["view"]) == ("page", "words", "m", "Words")
    assert "quokka" not in str(line)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (StopException(), "stopped"),
        (SupersededError(), "stopped"),
        (BusyError("x"), "refused"),
        (KeyError("x"), "failed"),
    ],
)
def test_an_exception_is_propagated(lines: list[dict[str, object]], error: BaseException, outcome: str) -> None:
    with pytest.raises(type(error)), logged("run", "trace"):
        raise error
    assert [line["outcome"] for line in lines] == [outcome]


def test_a_part_is_noted_on_the_line_of_the_part(lines: list[dict[str, object]]) -> None:
    with logged("page", "words"):
        with logged("question", "shares", if_done=False):
            note(view="inner")
        note(view="outer")
    note(view="nowhere")
    assert [line["view"] for line in lines] == ["outer"]


def test_nothing_is_logged_unless_it_is_asked_for() -> None:
    def never() -> dict[str, object]:
        raise AssertionError

    assert not ACTIVITY.isEnabledFor(logging.INFO)
    with logged("page", "words", never):
        note(view="Words")
