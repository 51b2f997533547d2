"""Sizes in page headers agree with Arrow's for the same file, and invalid headers are refused."""

import os
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bertviz_core.sentences.store.shards import page_sizes

ROWS, DIMENSIONS = 3_001, 5
TABLE = pa.table(
    {
        "text": [f"Row {row % 700} of many." for row in range(ROWS)],
        "number": pa.array([None if row % 7 == 0 else row for row in range(ROWS)], pa.int64()),
        "list": [[row] * (row % 4) for row in range(ROWS)],
        "vector": pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(ROWS * DIMENSIONS, np.float16)), DIMENSIONS),
    }
)


@pytest.mark.sample(6)
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("dictionary", [True, False])
@pytest.mark.parametrize("size", [500, 2**20], ids=["many pages", "one page"])
def test_the_sizes_of_pages_are_those_of_the_footer(tmp_path: Path, version: str, dictionary: bool, size: int) -> None:
    """Arrow includes the headers: their size is the same compressed and uncompressed."""
    path = tmp_path / "file.parquet"
    pq.write_table(
        TABLE, path, row_group_size=1_000, use_dictionary=dictionary, data_page_version=version, data_page_size=size,
        compression="zstd", write_page_checksum=True, write_batch_size=64,
    )  # fmt: skip
    footer = pq.read_metadata(path)
    with path.open("rb") as file:
        for group in range(footer.num_row_groups):
            for place in range(footer.num_columns):
                column = footer.row_group(group).column(place)
                sizes = page_sizes(file.fileno(), column)
                assert sizes.values == column.num_values
                assert 0 < sizes.nbytes < column.total_uncompressed_size
                assert column.has_dictionary_page or not sizes.dictionary_nbytes
                assert sizes.dictionary_nbytes <= sizes.nbytes


def test_without_compression_pages_and_headers_are_the_file(tmp_path: Path) -> None:
    path = tmp_path / "file.parquet"
    pq.write_table(TABLE.select(["number"]), path, compression="none", use_dictionary=False)
    column = pq.read_metadata(path).row_group(0).column(0)
    with path.open("rb") as file:
        sizes = page_sizes(file.fileno(), column)
    present = sum(value is not None for value in TABLE.column("number").to_pylist())
    assert 8 * present < sizes.nbytes < column.total_compressed_size < 8 * present + 2_000


@pytest.mark.slow
def test_pages_and_headers_without_end_are_refused(tmp_path: Path) -> None:
    """An empty page has seven bytes; a list of zeros in an unknown field has its stated length."""
    path = tmp_path / "file.parquet"
    empty = bytes((0x15, 0, 0x15, 0, 0x15, 0, 0))  # type, bytes in memory and in the file, all 0; no more fields
    listed = bytes((0x19, 0xF3, 0xFF, 0xFF, 0x7F))  # field 1: a list of 2,097,151 bytes
    for wrong, words in ((empty * 40_000, "more than 10,000 pages"), (listed + bytes(2**22), "is cut off")):
        path.write_bytes(wrong)
        with path.open("rb") as file, pytest.raises(ValueError, match=words):
            page_sizes(file.fileno(), Chunk(0, len(wrong)))


class Chunk(NamedTuple):
    """Position of a column's pages according to a footer."""

    data_page_offset: int
    total_compressed_size: int
    has_dictionary_page: bool = False


def test_nonsense_in_the_place_of_pages_is_refused_or_read_in_time(tmp_path: Path) -> None:
    path = tmp_path / "file.parquet"
    pq.write_table(TABLE, path, row_group_size=1_000)
    column, raw, rng = pq.read_metadata(path).row_group(1).column(0), path.read_bytes(), Random(0)
    with path.open("r+b") as file:
        for _ in range(300):
            begin = column.dictionary_page_offset
            wrong = bytearray(raw[begin : begin + column.total_compressed_size])
            for _ in range(rng.randint(1, 40)):
                wrong[rng.randrange(min(len(wrong), 60))] = rng.randrange(256)
            os.pwrite(file.fileno(), wrong, begin)
            try:
                sizes = page_sizes(file.fileno(), column)
            except ValueError:
                continue
            assert sizes.nbytes >= 0
