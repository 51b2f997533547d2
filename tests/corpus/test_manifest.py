"""A manifest is read as it was written; an inconsistent one is refused with one message."""

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bertviz_core.corpus.manifest import CHANGES, FILE, difference, parsed, read_manifest, write_manifest
from bertviz_core.corpus.results import CorpusColumn, Manifest
from bertviz_core.errors import CorpusError
from tests.helpers.made_corpora import MANIFEST

RAW = msgspec.json.encode(MANIFEST)


def test_a_manifest_comes_back(tmp_path: Path) -> None:
    write_manifest(tmp_path, MANIFEST)
    assert read_manifest(tmp_path) == MANIFEST
    assert [path.name for path in tmp_path.iterdir()] == [FILE]
    write_manifest(tmp_path, replace(MANIFEST, complete=False))
    assert not read_manifest(tmp_path).complete


def test_every_difference_but_completeness_has_its_words() -> None:
    assert {*CHANGES, "complete", "format_version", "int8"} == {field.name for field in fields(Manifest)}
    assert difference(MANIFEST, replace(MANIFEST, complete=False)) == ""
    assert difference(MANIFEST, replace(MANIFEST, prompt="query: ", rows=7)) == CHANGES["prompt"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"format_version": 2}, "format version 2"),
        ({"weights_sha256": "abc"}, "no SHA-256"),
        ({"dimensions": 0}, "vectors of 0 numbers"),
        ({"rows": 0}, "0 rows in 3 shards"),
        ({"rows": 10**13}, "rows in 3 shards"),
        ({"shards": 2}, "1,301 rows in 2 shards of at most 600"),
        ({"shards": 10**9}, "rows in 1,000,000,000 shards"),
        ({"text_column": "vector"}, "text_column"),
        ({"run_dtype": "int8"}, "text_column, layer or int8"),
        ({"model": "m" * 100_000}, "a name of the model"),
        ({"revision": "r" * 100_000}, "a name of the model, its revision or the like"),
        ({"columns": (CorpusColumn("vector", "vector", "other"),)}, "two columns of one name"),
    ],
)
def test_a_manifest_that_cannot_be_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(CorpusError, match=words):
        parsed("mine", msgspec.json.encode(replace(MANIFEST, **changes)))


@pytest.mark.parametrize(
    "raw",
    [
        b"", b"{", b"[]", b"null", b'{"format_version": "1"}', b"[" * 100_000,
        RAW.replace(b'"mean"', b'"median"'), RAW.replace(b"1301", b'"many"'), RAW.replace(b'"rows":', b'"lines":'),
        RAW.replace(b"true", b"1"), b"\xff" + RAW, RAW.replace(b'"rows":', b'"r\x90ws":'),
    ],
)  # fmt: skip
def test_a_damaged_manifest_is_refused(raw: bytes) -> None:
    with pytest.raises(CorpusError, match="is damaged") as refused:
        parsed("mine", raw)
    assert "\n" not in str(refused.value)
