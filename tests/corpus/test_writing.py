"""Shards with false sizes are refused before they are read, and a text shared by many rows is in memory once."""

import os
from base64 import b64encode
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bertviz_core.corpus import writing as files
from bertviz_core.corpus.folder import VECTORS_FILE, open_corpus, shard_path
from bertviz_core.corpus.manifest import FILE, write_manifest
from bertviz_core.corpus.writing import read_footer, read_shard, stored_nbytes, unpacked
from bertviz_core.errors import CorpusError
from bertviz_core.sentences.store.vectors import VectorFile
from bertviz_core.tables.parquet import row_group_rows
from tests.helpers.made_corpora import DIMENSIONS, MANIFEST, made_columns, made_corpus

LONG = "a text of a hundred kilobytes " * 3_400
GROUPS, GROUP_ROWS = 80, 500


@pytest.fixture(scope="module")
def swollen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """40,000 rows of one text of 100 kB: 4 GB in memory, some kilobytes in the file."""
    path = tmp_path_factory.mktemp("swollen") / "shards" / "part-00000.parquet"
    path.parent.mkdir()
    group = pa.table({"text": pa.DictionaryArray.from_arrays(pa.array([0] * GROUP_ROWS, pa.int32()), [LONG])})
    with pq.ParquetWriter(path, group.schema, compression="zstd", store_schema=False) as file:
        for _ in range(GROUPS):
            file.write_table(group)
    return path


def test_a_text_that_many_rows_share_is_in_memory_once_for_a_row_group(swollen: Path) -> None:
    assert row_group_rows(read_footer(swollen)) == [GROUP_ROWS] * GROUPS
    table = read_shard(swollen, ["text"])
    assert table.num_rows == GROUPS * GROUP_ROWS
    assert table.nbytes < 2 * GROUPS * len(LONG)
    assert unpacked(table.slice(7, 2)).column("text").to_pylist() == [LONG, LONG]


def test_cells_that_fill_the_memory_are_not_unpacked(swollen: Path) -> None:
    with pytest.raises(CorpusError, match="take 3,891 MiB; at most 512 are read at once. Ask for fewer rows"):
        unpacked(read_shard(swollen, ["text"]))


def test_what_a_footer_declares_is_compared_with_the_file(tmp_path: Path) -> None:
    """Runs of one letter, all texts different: a dictionary saves nothing, and the file is a thousandth of the size."""
    path = tmp_path / "shards" / "part-00000.parquet"
    path.parent.mkdir()
    runs = pa.table({"text": ["a" * (100_000 + row) for row in range(900)], "n": range(900)})
    pq.write_table(runs, path, compression="zstd", use_dictionary=False)
    with pytest.raises(CorpusError, match=r"unpacks to 8\d MiB; at most 6\d are read of a shard of its size"):
        read_shard(path, ["text"])
    assert read_shard(path, ["n"]).num_rows == 900


def shard_of(folder: Path, table: pa.Table, **options: Any) -> Path:
    """A shard of one table."""
    path = folder / "shards" / "part-00000.parquet"
    path.parent.mkdir()
    pq.write_table(table, path, compression="zstd", **options)
    return path


def varint(number: int, length: int = 0) -> bytes:
    """Encode a number as in Thrift's compact protocol, with at least this many bytes."""
    value, digits = number << 1, bytearray()
    while value >> 7 or len(digits) < length - 1:
        digits.append(value & 127 | 128)
        value >>= 7
    return bytes((*digits, value))


def test_what_a_footer_declares_is_compared_with_its_pages(tmp_path: Path) -> None:
    """The footer states 1,000 bytes, and the page's header the real size."""
    runs = pa.table({"a.text": ["a" * 1_000_000] * 300})
    path = shard_of(tmp_path, runs, use_dictionary=False, data_page_size=2**30)
    footer = read_footer(path)
    declared = varint(footer.row_group(0).column(0).total_uncompressed_size)
    raw = path.read_bytes()
    begin = len(raw) - 8 - int.from_bytes(raw[-8:-4], "little")
    assert declared in raw[begin:]
    path.write_bytes(raw[:begin] + raw[begin:].replace(declared, varint(1_000, len(declared))))
    assert read_footer(path).row_group(0).column(0).total_uncompressed_size == 1_000
    with pytest.raises(CorpusError, match=r"unpacks to 286 MiB; at most 6\d are read of a shard of its size"):
        read_shard(path, ["a.text"])


@pytest.mark.parametrize(
    "cells",
    [pa.array([[7] * 1_000_000], pa.list_(pa.int8())), pa.array([["a" * 20_000] * 200])],
    ids=["numbers", "texts"],
)
def test_what_the_cells_of_a_list_become_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cells: pa.Array
) -> None:
    """Equal cells take no space in the file, but each its own in memory."""
    path = shard_of(tmp_path, pa.table({"n": cells}))
    assert path.stat().st_size < 50_000
    assert read_shard(path, ["n"]).nbytes >= 1_000_000
    monkeypatch.setattr(files, "MAX_NBYTES", 1024**2)
    with pytest.raises(CorpusError, match=r"unpacks to 4 MiB; at most 1 are read"):
        read_shard(path, ["n"])


def test_texts_that_are_no_utf_8_are_refused_before_anybody_asks_for_them(tmp_path: Path) -> None:
    broken = pa.array([b"\xff\xfe", b"a"]).view(pa.string())
    path = shard_of(tmp_path, pa.table({"text": broken}))
    with pytest.raises(CorpusError, match=r"is cut off or damaged \(.*UTF.?8"):
        read_shard(path, ["text"])


def test_bytes_that_were_never_written_are_not_read(tmp_path: Path) -> None:
    """The footer counts a hole among the bytes of its only column."""
    path = shard_of(tmp_path, pa.table({"text": ["a"]}), use_dictionary=False)
    raw, hole = path.read_bytes(), 2 * 10**9
    begin = len(raw) - 8 - int.from_bytes(raw[-8:-4], "little")
    packed = read_footer(path).row_group(0).column(0).total_compressed_size
    footer = raw[begin:-8].replace(varint(packed), varint(hole))
    with path.open("r+b") as file:
        file.seek(hole + 1_000)
        file.write(footer + len(footer).to_bytes(4, "little") + b"PAR1")
    with pytest.raises(CorpusError, match="its footer announces 2,000,000,000 bytes, and "):
        read_shard(path, ["text"])


def test_a_footer_without_end_is_refused_before_it_is_read(tmp_path: Path) -> None:
    """A hole takes no space on the disk, but all of its length in memory."""
    path = shard_of(tmp_path, pa.table({"text": ["a"]}))
    length = 3_000_000_000
    with path.open("r+b") as file:
        file.seek(length + 100)
        file.write(length.to_bytes(4, "little") + b"PAR1")
    with pytest.raises(CorpusError, match="it announces a footer of 3,000,000,000 bytes"):
        read_footer(path)


def test_the_header_of_vectors_without_end_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / VECTORS_FILE
    path.write_bytes(b"\x93NUMPY\x02\x00" + (2 * 10**9).to_bytes(4, "little") + b"{")
    os.truncate(path, 2 * 10**9 + 100)
    with pytest.raises(ValueError, match="its header is too long"):
        VectorFile(path)


def test_a_hole_in_a_shard_counts_for_nothing(tmp_path: Path) -> None:
    path = tmp_path / "part"
    path.write_bytes(b"a" * 50_000)
    assert stored_nbytes(path) == 50_000
    os.truncate(path, 50_000_000)
    assert 50_000 <= stored_nbytes(path) < 200_000


def test_a_shard_of_too_many_columns_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "shards" / "part-00000.parquet"
    path.parent.mkdir()
    pq.write_table(pa.table({f"c{place}": [1] for place in range(2_005)}), path)
    with pytest.raises(CorpusError, match="it declares 2,005 columns"):
        read_footer(path)


@pytest.mark.parametrize("name", [FILE, "shards/part-00001.parquet"])
def test_a_pipe_in_the_place_of_a_file_is_refused_at_once(tmp_path: Path, name: str) -> None:
    made_corpus(tmp_path)
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    with pytest.raises(CorpusError, match=r"cannot be read \(it is not an ordinary file\)"):
        open_corpus(tmp_path)


def test_vectors_in_a_pipe_are_made_again_from_the_shards(tmp_path: Path) -> None:
    corpus = made_corpus(tmp_path)
    expected = np.array(corpus.vectors())
    (tmp_path / VECTORS_FILE).unlink()
    os.mkfifo(tmp_path / VECTORS_FILE)
    np.testing.assert_array_equal(corpus.vectors(), expected)


@pytest.mark.parametrize("shape", [b"(1301, 7 ", b"'1301, 7'", b"('1301, 7", b"(-301, 7)", b"(True, 7)"])
def test_vectors_whose_header_lies_are_made_again_from_the_shards(tmp_path: Path, shape: bytes) -> None:
    corpus = made_corpus(tmp_path)
    expected = np.array(corpus.vectors())
    path = tmp_path / VECTORS_FILE
    path.write_bytes(path.read_bytes().replace(b"(1301, 7)", shape))
    np.testing.assert_array_equal(corpus.vectors(), expected)


@pytest.mark.parametrize("whole", [True, False], ids=["a vector", "its numbers"])
def test_rows_without_a_vector_are_refused(tmp_path: Path, whole: bool) -> None:
    made_corpus(tmp_path)
    path = shard_path(tmp_path, 0)
    table = pq.read_table(path)
    rows = table.column("vector").to_pylist()
    rows[3] = None if whole else [None] * DIMENSIONS
    lists = pa.array(rows, pa.list_(pa.float16()))  # pyarrow 21 writes no null in a column of fixed lists
    changed = table.set_column(table.schema.names.index("vector"), "vector", lists)
    with pq.ParquetWriter(path, changed.schema, store_schema=False) as writer:
        writer.write_table(changed)
        writer.add_key_value_metadata({"ARROW:schema": b64encode(table.schema.serialize())})
    refusals = "has rows without a whole vector|is cut off or damaged .Expected all lists to be of size"  # pyarrow 21
    with pytest.raises(CorpusError, match=f"'part-00000.parquet' of .* ({refusals}).*; embed"):
        open_corpus(tmp_path).vectors()


def test_shards_smaller_than_their_vectors_are_refused(tmp_path: Path) -> None:
    """Equal vectors as a dictionary: the map of all of them would be many times the size of the folder."""
    made_corpus(tmp_path)
    manifest = replace(MANIFEST, rows=200_000, rows_per_shard=200_000, shards=1)
    part = {name: values[:1] * manifest.rows for name, values in made_columns().items() if name != "vector"}
    flat = pa.array(np.zeros(manifest.rows * DIMENSIONS, dtype=np.float16))
    table = pq.read_table(shard_path(tmp_path, 0)).schema
    pq.write_table(
        pa.table({**part, "vector": pa.FixedSizeListArray.from_arrays(flat, DIMENSIONS)}).cast(table),
        shard_path(tmp_path, 0), compression="zstd",
    )  # fmt: skip
    write_manifest(tmp_path, manifest)
    with pytest.raises(CorpusError, match="and its 200,000 vectors alone take 2,800,000"):
        open_corpus(tmp_path)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"shards": 1_000_000, "rows": 10**9, "rows_per_shard": 1_000}, "1,000,000,000 rows in 1,000,000 shards"),
        ({"shards": 100_000, "rows": 10**8, "rows_per_shard": 1_000}, "3 of its 100,000 shards are there"),
        ({"prompt": "p" * 10_001}, "a prompt of 10,001 characters"),
    ],
)
def test_counts_are_compared_before_anything_is_done(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    made_corpus(tmp_path)
    write_manifest(tmp_path, replace(MANIFEST, **changes))
    with pytest.raises(CorpusError, match=words):
        open_corpus(tmp_path)


def test_a_column_that_fills_the_memory_is_not_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bertviz_core.corpus.folder.MAX_NBYTES", 5_000)
    with pytest.raises(CorpusError, match="The column 'text' .* is not read whole"):
        made_corpus(tmp_path).column("text")
    assert files.MAX_NBYTES == 512 * 1024**2
