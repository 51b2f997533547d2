"""Hostile files below the upload limit that could exhaust a server: hand-made or from the library's own writer."""

import gzip
import io
import struct
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

UPLOAD_NBYTES = 5 * 1024**2


def written(table: pa.Table, **more: Any) -> bytes:
    """Write a table as Parquet."""
    target = io.BytesIO()
    pq.write_table(table, target, **{"compression": "zstd", **more})
    return target.getvalue()


def wide_cells() -> bytes:
    """Identical cells of a great fixed width, which compress to few bytes."""
    return written(pa.table({"text": ["a", "b", "c"], "wide": pa.array([bytes(2**23)] * 3, pa.binary(2**23))}))


def absurd_width(sentences: bool = False) -> bytes:
    """A column with the widest cells of the format, and no bytes in them."""
    columns = {"wide": pa.nulls(1000, pa.binary(1003))} | ({} if sentences else {"text": pa.array(["a"] * 1000)})
    return patched(written(pa.table(columns), store_schema=False), varint(1003), varint(2**31 - 1))


def absurd_sentences() -> bytes:
    """The same as the only column, that of the sentences."""
    return absurd_width(sentences=True)


def lists_of_texts() -> bytes:
    """Many texts in every cell."""
    return written(pa.table({"text": ["a", "b"], "lists": [["x" * 1000] * 5_000, ["y"]]}))


def only_lists() -> bytes:
    """The same as the only column."""
    return written(pa.table({"lists": [["x" * 1000] * 5_000, ["y"]]}))


def nested() -> bytes:
    """Nested structures, maps and lists."""
    kind = pa.map_(pa.string(), pa.list_(pa.struct([("a", pa.list_(pa.string()))])))
    cell = [("k", [{"a": ["x" * 100] * 1000}] * 100)]
    return written(pa.table({"text": ["a b", "c d"], "nested": pa.array([cell, cell], kind)}))


def deep_schema(depth: int = 300) -> bytes:
    """A structure nested `depth` times."""
    kind: pa.DataType = pa.string()
    for _ in range(depth):
        kind = pa.struct([("s", kind)])
    array: pa.Array = pa.array(["x", "y"])
    for _ in range(depth):
        array = pa.StructArray.from_arrays([array], ["s"])
    return written(pa.table({"text": ["a", "b"], "deep": array}), store_schema=False)


def dictionary_bomb() -> bytes:
    """A dictionary with one huge text that every row repeats."""
    return written(pa.table({"text": pa.DictionaryArray.from_arrays(pa.array([0] * 1000, pa.int32()), ["x" * 2**18])}))


def many_huge_texts() -> bytes:
    """Different texts of many characters, which compress well."""
    return written(pa.table({"text": [f"{row}" + "x" * 2**20 for row in range(40)]}), use_dictionary=False)


def huge_texts_beside() -> bytes:
    """The same next to a column of sentences."""
    texts = [f"{row}" + "x" * 2**20 for row in range(40)]
    return written(pa.table({"text": [f"t {row}" for row in range(40)], "beside": texts}), use_dictionary=False)


def many_columns(columns: int = 8_000) -> bytes:
    """8,000 columns of numbers; small, since dictionaries are off."""
    return written(
        pa.table({f"c{place}": [1] for place in range(columns)}), use_dictionary=False, write_statistics=False
    )


def equal_names(columns: int = 5_000) -> bytes:
    """Columns with the same name."""
    arrays = [pa.array(["a"])] * columns
    return written(pa.Table.from_arrays(arrays, ["text"] * columns), use_dictionary=False, write_statistics=False)


def many_rows() -> bytes:
    """A million identical numbers."""
    return written(pa.table({"text": pa.array([7] * 1_000_000, pa.int8())}))


def patched(raw: bytes, *numbers: bytes) -> bytes:
    """A file with replaced numbers in its footer: pairs of an old and a new one."""
    start = len(raw) - 8 - struct.unpack("<I", raw[-8:-4])[0]
    footer = raw[start:-8]
    for old, new in zip(numbers[::2], numbers[1::2], strict=True):
        assert old in footer
        footer = footer.replace(old, new)
    return raw[:start] + footer + struct.pack("<I", len(footer)) + b"PAR1"


def lying(old: bytes, new: bytes) -> bytes:
    """A thousand rows with one number of the footer replaced."""
    return patched(written(pa.table({"text": [f"row {row}" for row in range(1000)]}), compression="none"), old, new)


def varint(number: int) -> bytes:
    """Encode a number as in Thrift's compact protocol: zigzag, seven bits per byte."""
    number = number * 2 if number >= 0 else -number * 2 - 1
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def lying_rows() -> bytes:
    """A footer that claims 2**40 rows."""
    return lying(varint(1000), varint(2**40))


def lying_few_rows() -> bytes:
    """A footer that claims fewer rows than the pages have."""
    return lying(varint(1000), varint(10))


def lying_sizes(packed: str = "zstd", size: int = 2**25) -> bytes:
    """Pages that decompress to much more than the footer claims: its sizes are reduced."""
    texts = [f"{row}" + "x" * (size // 4) for row in range(4)]
    raw = written(pa.table({"text": texts}), compression=packed, use_dictionary=False)
    group = pq.read_metadata(io.BytesIO(raw)).row_group(0)
    sizes = {group.column(0).total_uncompressed_size, group.total_byte_size}
    return patched(raw, *(number for each in sizes for number in (varint(each), varint(100))))


def lying_sizes_snappy() -> bytes:
    """The same with snappy compression, within what fits into an upload."""
    return lying_sizes("snappy")


def noise() -> bytes:
    """A file with the first and last bytes of a Parquet file."""
    return b"PAR1" + gzip.compress(b"x" * 1000) * 100 + struct.pack("<I", 2000) + b"PAR1"


def quotes() -> bytes:
    """A million quotation marks."""
    return b"text\n" + b'"' * 1_000_001


PARQUET: dict[str, Callable[[], bytes]] = {
    made.__name__: made
    for made in (
        wide_cells, absurd_width, absurd_sentences, lists_of_texts, only_lists, nested, deep_schema, dictionary_bomb,
        many_huge_texts, huge_texts_beside, many_columns, equal_names, many_rows, lying_rows, lying_few_rows,
        lying_sizes, lying_sizes_snappy, noise,
    )
}  # fmt: skip
"""Hostile Parquet files by name."""
DELIMITED: dict[str, Callable[[], bytes]] = {
    "equal_names": lambda: b",".join([b"a"] * 3_000) + b"\n" + b",".join([b"x"] * 3_000),
    "200,000 names": lambda: ",".join(f"c{place}" for place in range(200_000)).encode(),
    "1,000,000 names": lambda: ",".join(f"{place:x}" for place in range(800_000)).encode(),
    "empty names": lambda: b"," * (UPLOAD_NBYTES - 1),
    "one cell": lambda: b"text\n" + b"x" * (UPLOAD_NBYTES - 10),
    "one row of a cell": lambda: b"text\nx" + b'\n"' + b"," * 4_000_000 + b'"',
    "quotes": quotes,
    "open quote": lambda: b'text\n"' + b"x\n" * 2_000_000,
    "short rows": lambda: b"text\n" + b"x\n" * 2_000_000,
    "blank rows": lambda: b"text\n" + b"\n" * 4_000_000,
    "names with numbers": lambda: (
        ",".join(["a", *(f"a ({place})" for place in range(2, 1000)), *["a"] * 900]).encode() + b"\n"
    ),
    "UTF-16": lambda: b"\xff\xfe" + "text\n".encode("utf-16-le") + "\u4e00".encode("utf-16-le") * 2_500_000,
    "UTF-16 cut": lambda: b"\xff\xfe" + b"\x00\xd8" * 2_500_000,
}
"""Hostile CSV files by name."""
