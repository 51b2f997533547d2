"""An opened corpus returns what was written to it; a damaged one is refused with one message.

Covers `bertviz_core/corpus/folder.py`.
"""

import gc
import weakref
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bertviz_core.corpus import folder, writing
from bertviz_core.corpus.folder import VECTORS_FILE, column_kind, matching, open_corpus, plain_values, shard_path
from bertviz_core.corpus.manifest import write_manifest
from bertviz_core.corpus.writing import write_table
from bertviz_core.errors import CorpusError
from tests.helpers.made_corpora import DIMENSIONS, MANIFEST, ROWS, made_columns, made_corpus


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_vectors_are_those_of_the_shards(tmp_path: Path, dtype: str) -> None:
    corpus = made_corpus(tmp_path, vector_dtype=dtype)
    expected = made_columns(corpus.manifest)["vector"]
    vectors = corpus.vectors()
    assert vectors.dtype == dtype
    np.testing.assert_array_equal(np.asarray(vectors, dtype=np.float32), expected)
    blocks = list(corpus.blocks(500))
    assert [start for start, _ in blocks] == [0, 500, 1000]
    np.testing.assert_array_equal(np.concatenate([block for _, block in blocks]), expected)


def test_the_file_of_vectors_is_made_again(tmp_path: Path) -> None:
    corpus = made_corpus(tmp_path)
    first = np.array(corpus.vectors())
    for raw in (None, b"", (tmp_path / VECTORS_FILE).read_bytes()[:-2]):
        (tmp_path / VECTORS_FILE).unlink()
        if raw is not None:
            (tmp_path / VECTORS_FILE).write_bytes(raw)
        np.testing.assert_array_equal(open_corpus(tmp_path).vectors(), first)
    np.save(tmp_path / VECTORS_FILE, first[:-1])
    assert open_corpus(tmp_path).vectors().shape == (ROWS, DIMENSIONS)


def test_columns_and_rows_come_in_their_order(tmp_path: Path) -> None:
    corpus, expected = made_corpus(tmp_path), made_columns()
    assert dict(corpus.columns) == {
        "kind": "text", "year": "number", "text": "text", "tokens": "number", "truncated": "boolean",
    }  # fmt: skip
    for name in corpus.columns:
        assert corpus.column(name).to_pylist() == expected[name]
    rows = [1_300, 0, 599, 600, 511, 512, 600, 1_111]
    table = corpus.read(rows, ["text", "vector", "kind"])
    assert table.column_names == ["text", "vector", "kind"]
    assert table["kind"].to_pylist() == [expected["kind"][row] for row in rows]
    np.testing.assert_array_equal(np.array(table["vector"].to_pylist(), dtype=np.float32), expected["vector"][rows])
    assert corpus.read([], ["text"]).num_rows == 0
    with pytest.raises(IndexError):
        corpus.read([ROWS], ["text"])


def test_only_the_row_groups_wanted_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow.parquet

    corpus, read = made_corpus(tmp_path), []

    class Noting(pyarrow.parquet.ParquetFile):
        def read_row_groups(self, row_groups: Any, *arguments: Any) -> Any:
            read.extend(row_groups)
            return super().read_row_groups(row_groups, *arguments)

    monkeypatch.setattr(pyarrow.parquet, "ParquetFile", Noting)
    corpus.read([3, 5, 599], ["text"])
    assert read == [0, 1]


@pytest.mark.parametrize(
    ("where", "holds"),
    [
        ("kind=a", lambda row: row["kind"] == "a"),
        ("kind=null", lambda row: row["kind"] is None),
        ('kind="null"', lambda row: row["kind"] == "null"),
        (" year = 2003", lambda row: row["year"] == 2003),
        ("year=2003.0", lambda row: row["year"] == 2003),
        ("year=2003.5", lambda row: False),
        ("year=NULL", lambda row: row["year"] is None),
        ("truncated=True", lambda row: row["truncated"]),
        ("text=Row 7 of the corpus.", lambda row: row["text"] == "Row 7 of the corpus."),
        ("text=a=b", lambda row: False),
    ],
)
def test_a_filter_marks_the_rows_that_hold_the_value(
    tmp_path: Path, where: str, holds: Callable[[dict[str, Any]], bool]
) -> None:
    corpus, columns = made_corpus(tmp_path), made_columns()
    expected = [holds({name: columns[name][row] for name in corpus.columns}) for row in range(ROWS)]
    assert corpus.mask(where).tolist() == expected


@pytest.mark.parametrize("value", ["3", "3.0", "2.5", "-3", "1000000000000000003"])
@pytest.mark.parametrize(
    "cells",
    [
        pa.array([10**18 + row for row in range(9)]),
        pa.array([2**63 + row for row in range(9)], pa.uint64()),
        pa.array(np.arange(9, dtype=np.float16)),
        pa.array([2**63, 3, None], pa.uint64()).dictionary_encode(),
    ],
    ids=["ids", "large", "float16", "dictionary"],
)
def test_a_filter_of_numbers_is_exact_whatever_their_type(cells: pa.Array, value: str) -> None:
    number = int(value) if "." not in value else float(value)
    expected = [cell is not None and cell == number for cell in cells.to_pylist()]
    assert matching(pa.chunked_array([cells]), "number", value).tolist() == expected


def test_a_filter_compares_texts_however_they_are_stored() -> None:
    cells = pa.chunked_array([pa.array(["a", None, "b"], pa.string_view())])
    assert matching(cells, "kind", "b").tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("kind", "no equals sign"),
        ("colour=red", "no column 'colour'; it has 'kind', 'year'"),
        ("vector=1", "no column 'vector'"),
        ("year=old", "holds no 'old'; write a number"),
        ("year=" + "9" * 400, "write a number"),
        ("truncated=maybe", "true or false"),
    ],
)
def test_a_wrong_filter_is_refused(tmp_path: Path, where: str, words: str) -> None:
    with pytest.raises(CorpusError, match=words):
        made_corpus(tmp_path).mask(where)


def test_days_are_compared_and_lists_are_not() -> None:
    days = pa.chunked_array([pa.array(["2026-11-22", None, "2025-01-01"]).cast(pa.date32())])
    assert matching(days, "day", "2026-11-22").tolist() == [True, False, False]
    assert matching(days, "day", "null").tolist() == [False, True, False]
    with pytest.raises(CorpusError, match="a day such as"):
        matching(days, "day", "yesterday")
    with pytest.raises(CorpusError, match="cannot be compared"):
        matching(pa.chunked_array([[[1, 2]]]), "list", "1")
    assert column_kind(pa.dictionary(pa.int8(), pa.large_string())) == "text"
    assert column_kind(pa.list_(pa.int8())) == "other"


def test_a_filter_reads_a_column_that_is_too_large_for_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = made_corpus(tmp_path)
    monkeypatch.setattr(folder, "MAX_NBYTES", corpus.column("year").nbytes - 1)
    with pytest.raises(CorpusError, match="is not read whole"):
        corpus.column("year")
    assert corpus.mask("year=2003").tolist() == [year == 2003 for year in made_columns()["year"]]


def test_opening_keeps_no_footers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A footer takes 50 kB, so that those of 100,000 shards would fill the memory."""
    shards, opened, alive = 60, [], []

    def read_footer(path: Path) -> Any:
        footer = writing.read_footer(path)
        opened.append(weakref.ref(footer))
        if len(opened) == shards:
            gc.collect()  # a footer and its schema name each other
            alive.extend(each for each in opened if each() is not None)
        return footer

    monkeypatch.setattr(folder, "read_footer", read_footer)
    corpus = made_corpus(tmp_path, rows=2 * shards, rows_per_shard=2, shards=shards)
    assert len(opened) == shards + 1  # the first says which columns there are
    assert 1 <= len(alive) <= folder.FOOTER_READERS
    assert corpus.starts.tolist() == list(range(0, 2 * shards + 1, 2))


def emptied(folder: Path) -> None:
    (folder / "manifest.json").unlink()


def unfinished(folder: Path) -> None:
    shard_path(folder, 2).unlink()
    write_manifest(folder, replace(MANIFEST, complete=False))


def older(folder: Path) -> None:
    write_manifest(folder, replace(MANIFEST, format_version=7))


def missing(folder: Path) -> None:
    shard_path(folder, 1).unlink()


def cut(folder: Path) -> None:
    path = shard_path(folder, 1)
    path.write_bytes(path.read_bytes()[:-1000])


def garbled(folder: Path) -> None:
    shard_path(folder, 0).write_bytes(b"PAR1" + bytes(500) + b"PAR1")


def other_dimensions(folder: Path) -> None:
    write_manifest(folder, replace(MANIFEST, dimensions=8))


def other_dtype(folder: Path) -> None:
    write_manifest(folder, replace(MANIFEST, vector_dtype="float32"))


def other_columns(folder: Path) -> None:
    write_manifest(folder, replace(MANIFEST, columns=MANIFEST.columns[:1]))


def other_types(folder: Path) -> None:
    table = pq.read_table(shard_path(folder, 1))
    column = table.schema.get_field_index("year")
    write_table(shard_path(folder, 1), table.set_column(column, "year", table["year"].cast(pa.float64())))


def fewer_rows(folder: Path) -> None:
    write_table(shard_path(folder, 2), pq.read_table(shard_path(folder, 2)).slice(1))


@pytest.mark.sample(10)
@pytest.mark.parametrize(
    ("breaking", "words"),
    [
        (emptied, "is no corpus folder: it has no manifest.json"),
        (unfinished, "is not finished: 2 of its 3 shards are there"),
        (older, "format version 7, and this version of Inside BERT reads 1"),
        (missing, "'part-00001.parquet' of '.+' is missing"),
        (cut, "'part-00001.parquet' of '.+' is cut off or damaged"),
        (garbled, "'part-00000.parquet' of '.+' is cut off or damaged"),
        (other_dimensions, "vectors of 7 numbers, and the manifest says 8"),
        (other_dtype, "vectors that are not in float32"),
        (other_columns, "has other columns than the manifest says"),
        (other_types, "'part-00001.parquet' of '.+' has columns of other types"),
        (fewer_rows, "have 1,300 rows, and its manifest says 1,301"),
    ],
)
def test_a_corpus_that_is_not_whole_is_refused(tmp_path: Path, breaking: Callable[[Path], None], words: str) -> None:
    made_corpus(tmp_path)
    breaking(tmp_path)
    with pytest.raises(CorpusError, match=words) as refused:
        open_corpus(tmp_path)
    assert "\n" not in str(refused.value)


def test_no_folder_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "gone", tmp_path):
        with pytest.raises(CorpusError, match="is no corpus folder"):
            open_corpus(path)


def test_a_shard_that_goes_while_the_corpus_is_open_is_told(tmp_path: Path) -> None:
    corpus = made_corpus(tmp_path)
    shard_path(tmp_path, 1).unlink()
    for look in (lambda: corpus.column("text"), lambda: corpus.read([700], ["text"]), corpus.vectors):
        with pytest.raises(CorpusError, match="part-00001.parquet"):
            look()


def test_the_fingerprint_changes_with_the_corpus(tmp_path: Path) -> None:
    first = made_corpus(tmp_path)
    assert open_corpus(tmp_path).fingerprint == first.fingerprint
    write_table(shard_path(tmp_path, 0), pq.read_table(shard_path(tmp_path, 0)))
    assert open_corpus(tmp_path).fingerprint != first.fingerprint


@pytest.mark.parametrize(
    ("cells", "shown"),
    [
        (pa.array([1, None], pa.date32()), ["1970-01-02", "None"]),
        (pa.array([2**31 - 1, None], pa.int32()).view(pa.date32()), ["<value out of range: 2147483647>", "None"]),
        (pa.array([2**62, None], pa.timestamp("us")), [f"<value out of range: {2**62}>", "None"]),
        (pa.array([2**62], pa.duration("s")), [str(2**62)]),
        (
            pa.array([0, None], pa.timestamp("us", "No/Where")),
            ["(timestamp[us, tz=No/Where] that cannot be shown)", "None"],
        ),
        (
            pa.array([[2**31 - 1], None], pa.list_(pa.date32())),
            ["(list<item: date32[day]> that cannot be shown)", "None"],
        ),
    ],
    ids=["a day", "a day too far", "a time too far", "too long", "in no time zone", "days too far"],
)
def test_a_cell_that_is_no_value_of_python_is_a_text(cells: pa.Array, shown: list[str]) -> None:
    assert [str(value) for value in plain_values(cells)] == shown
