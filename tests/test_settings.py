"""Settings from the environment: every name counts, former names too, and nonsense is refused in one sentence."""

from dataclasses import fields
from pathlib import Path

import pytest

from bertviz_core.errors import BertvizError
from bertviz_core.settings import FORMER_NAMES, Settings

README = Path(__file__).parents[1] / "README.md"
FIELD_VALUES = {
    "INSIDE_BERT_ALLOWED_MODELS": ("allowed_models", "one, two", ("one", "two")),
    "INSIDE_BERT_MAX_QUEUED_RUNS": ("max_queued_runs", "7", 7),
    "INSIDE_BERT_MAX_CACHE_BYTES": ("max_cache_bytes", "12345", 12345),
    "INSIDE_BERT_VECTOR_STORE_DIR": ("vector_store_dir", "/a/store", Path("/a/store")),
}


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*FORMER_NAMES, *FORMER_NAMES.values()):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("name", sorted(FORMER_NAMES))
def test_a_former_name_counts_until_the_new_one_is_set(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    field, text, value = FIELD_VALUES[name]
    monkeypatch.setenv(FORMER_NAMES[name], text)
    assert getattr(Settings.from_environment(), field) == value
    monkeypatch.setenv(FORMER_NAMES[name], "9")
    monkeypatch.setenv(name, text)
    assert getattr(Settings.from_environment(), field) == value


def test_every_name_is_documented(monkeypatch: pytest.MonkeyPatch) -> None:
    documented = README.read_text(encoding="utf-8")
    for name in (*FORMER_NAMES, *FORMER_NAMES.values()):
        assert f"`{name}`" in documented
    limits = [field.name for field in fields(Settings) if field.type in (int, "int")]
    assert len(limits) > 10
    for limit in limits:
        name = f"INSIDE_BERT_{limit.upper()}"
        assert f"`{name}`" in documented
        monkeypatch.setenv(name, "3")
        assert getattr(Settings.from_environment(), limit) == 3


@pytest.mark.parametrize("text", ["abc", "0", "-1", "1e9", "9" * 30])
def test_nonsense_is_refused_in_one_sentence(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSIDE_BERT_MAX_QUEUED_RUNS", text)
    with pytest.raises(BertvizError, match="INSIDE_BERT_MAX_QUEUED_RUNS is set to .*whole number above 0"):
        Settings.from_environment()
