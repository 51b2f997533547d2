"""Settings from the environment: every name is read, and invalid values are refused with one message."""

from pathlib import Path

import pytest

from bertviz_core.errors import BertvizError
from bertviz_core.settings import ROWS, Settings, table

DOCUMENT = Path(__file__).parents[1] / "docs" / "configuration.md"
FIELD_VALUES = {
    "INSIDE_BERT_ALLOWED_MODELS": ("allowed_models", "one, two", ("one", "two")),
    "INSIDE_BERT_MAX_QUEUED_RUNS": ("max_queued_runs", "7", 7),
    "INSIDE_BERT_MAX_CACHE_BYTES": ("max_cache_bytes", "12345", 12345),
    "INSIDE_BERT_LOG_FORMAT": ("log_format", " JSON ", "json"),
    "INSIDE_BERT_METRICS_PORT": ("metrics_port", "9100", 9100),
    "INSIDE_BERT_METRICS_ADDRESS": ("metrics_address", "::1", "::1"),
    "INSIDE_BERT_VECTOR_STORE_DIR": ("vector_store_dir", "/a/store", Path("/a/store")),
}


@pytest.mark.parametrize("name", sorted(FIELD_VALUES))
def test_a_setting_is_what_its_variable_says(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    field, text, value = FIELD_VALUES[name]
    monkeypatch.setenv(name, text)
    assert getattr(Settings.from_environment(), field) == value


LIMITS = [name for name in ROWS if Settings.__annotations__[name] in (int, "int")]


def test_the_document_has_the_table_of_the_rows() -> None:
    assert table() in DOCUMENT.read_text(encoding="utf-8"), "python -m bertviz_core.settings prints it"
    assert len(table().splitlines()) == 2 + len(ROWS)


def test_every_limit_is_what_its_variable_says(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(LIMITS) > 10
    for limit in LIMITS:
        monkeypatch.setenv(f"INSIDE_BERT_{limit.upper()}", "3")
        assert getattr(Settings.from_environment(), limit) == 3


def test_a_default_reads_as_what_it_is() -> None:
    """Each default that the table shows as a value is accepted in its variable."""
    for variable, row in ROWS.values():
        if row.shown or not row.kind.blank_is_empty:
            continue
        shown = row.line(variable).split("|")[2].split("`")[1]
        assert row.kind.parse(shown) == row.default


NO_COUNT = ("abc", "0", "-1", "1e9", "1.5", "9" * 30, "\N{SUPERSCRIPT TWO}", "0x10", "1 000", "nan", "x" * 5_000)
COUNTS = [f"INSIDE_BERT_{name.upper()}" for name in LIMITS]
NONSENSE = {
    **dict.fromkeys(COUNTS, (*NO_COUNT, "-" * 3)),
    "INSIDE_BERT_CHILD_SECONDS": (*NO_COUNT, "999999999999"),
    "INSIDE_BERT_MAX_CHILDREN": (*NO_COUNT, "999999999999"),
    "INSIDE_BERT_ALLOW_HUB": ("maybe", "2", "ja", "tru"),
    "INSIDE_BERT_ISOLATE_MODELS": ("maybe", "2", "ja"),
    "INSIDE_BERT_COMPUTE_AHEAD": ("maybe", "2", "later"),
    "INSIDE_BERT_REQUIRE_SIGN_IN": ("maybe", "2", "yes please"),
    "INSIDE_BERT_ALLOWED_MODELS": (",", " ", " , ,, "),
    "INSIDE_BERT_DEVICE": (
        "gpu",
        "cuda:",
        "cuda:x",
        "cuda:1000",
        "cuda 1",
        "cpu:0",
        "mps:1",
        "auto,cpu",
        "cuda:\N{SUPERSCRIPT TWO}",
    ),
    "INSIDE_BERT_ALLOWED_HOSTS": (
        "https://a.example",
        "a.example:80",
        "a/b",
        "*",
        "*.",
        "a b/c",
        "a\r\nx: y",
        "ü.example",
    ),
    "INSIDE_BERT_ALLOWED_ORIGINS": (
        "a.example",
        "*",
        "ftp://a.example",
        "https://a.example/",
        "https://",
        "null",
        "'self'",
    ),
    "INSIDE_BERT_FRAME_ANCESTORS": (
        *("*", "https:", "'none' https://a.example", "'unsafe-inline'", "https://a.example; script-src *"),
        *("https://a.example/x", "javascript:alert(1)", "https://a.example\r\nx:y z:", "'self"),
    ),
    "INSIDE_BERT_LOG_FORMAT": ("xml", "json,text", "1"),
    "INSIDE_BERT_METRICS_PORT": (*NO_COUNT, "65536", "127.0.0.1:9100"),
    "INSIDE_BERT_METRICS_ADDRESS": ("localhost:9100", "bert.example.org", "256.0.0.1", "*"),
    "HF_ENDPOINT": ("abc", "file:///etc/passwd", "https://", "https:///x", "http://a b", "https://a.example?x=y"),
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in NONSENSE.items() for text in texts])
def test_nonsense_is_refused_in_one_sentence(name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, text)
    with pytest.raises(BertvizError, match=rf"(?s)^{name} is set to ['\"].*['\"]; write .*\.$") as refused:
        Settings.from_environment()
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 500


SENSE = {
    "INSIDE_BERT_ALLOWED_HOSTS": (
        "Bert.example, *.inside.example [::1]",
        ("bert.example", "*.inside.example", "[::1]"),
    ),
    "INSIDE_BERT_ALLOWED_ORIGINS": (" https://A.example:8443,http://b ", ("https://a.example:8443", "http://b")),
    "INSIDE_BERT_FRAME_ANCESTORS": ("self https://*.lms.example", ("'self'", "https://*.lms.example")),
}


@pytest.mark.parametrize("name", SENSE)
def test_lists_of_addresses_are_read_as_they_are_meant(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text, value = SENSE[name]
    monkeypatch.setenv(name, text)
    assert getattr(Settings.from_environment(), name.removeprefix("INSIDE_BERT_").lower()) == value


@pytest.mark.parametrize(
    ("text", "value"), [("", "'self'"), ("'none'", "'none'"), ("NONE", "'none'"), ("self", "'self'")]
)
def test_frames_are_the_dashboards_own_unless_said_otherwise(
    text: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INSIDE_BERT_FRAME_ANCESTORS", text)
    assert Settings.from_environment().frame_ancestors == (value,)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", "auto"),
        ("  ", "auto"),
        ("AUTO", "auto"),
        (" Cuda:1 ", "cuda:1"),
        ("cuda", "cuda"),
        ("cpu", "cpu"),
        ("mps", "mps"),
    ],
)
def test_a_device_is_read_as_torch_names_it(text: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSIDE_BERT_DEVICE", text)
    assert Settings.from_environment().device == value


def test_every_setting_is_tried() -> None:
    names = {variable for variable, _ in ROWS.values()}
    places = {name for name in names if name.endswith("_DIR")}  # tests/ui/server/test_start.py
    assert names - places == set(NONSENSE)
