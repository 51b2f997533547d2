"""Bound the memory of a Parquet file's pages by their headers.

The footer of a hostile file may contradict its pages, and Parquet readers allocate the size in the header of each page
without a comparison. A header is a struct in Thrift's compact protocol (https://github.com/apache/parquet-format).
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyarrow.parquet import ColumnChunkMetaData

FIRST_NBYTES, MOST_NBYTES = 2_048, 64 * 1024
"""Bytes read first for a header, and its maximum size; Arrow writes 10 kB at most."""
MOST_PAGES, MOST_DEPTH = 10_000, 8
"""Maximum number of pages of a column in a row group, usually of a megabyte each; nesting depth of structs in a
header."""
UNPACKED, PACKED, DATA, DICTIONARY, DATA_V2 = 2, 3, 5, 7, 8
"""Field ids of a header: bytes of the page in memory and in the file, and the structs of each kind of page."""
VALUES = 1
"""Field of each kind of page with its number of values."""
STOP, TRUE, FALSE, BYTE, SHORT, INT, LONG, DOUBLE, TEXT, LIST, SET, MAP, STRUCT = (
    0,
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    9,
    10,
    11,
    12,
)


@dataclass(frozen=True, slots=True)
class PageSizes:
    """Sizes in memory of the pages of one column of one row group."""

    nbytes: int
    """Size of all pages in memory in bytes."""
    values: int
    """Number of decoded values; those of a dictionary page are not counted."""
    dictionary_nbytes: int
    """Size of the dictionary page in bytes; 0 if there is none."""
    dictionary_values: int
    """Number of values of the dictionary."""


def page_sizes(descriptor: int, column: "ColumnChunkMetaData") -> PageSizes:
    """Return the sizes stated by the headers of a column's pages.

    Args:
        descriptor: file descriptor of the open file.
        column: metadata of the column in the footer.

    Raises:
        OSError: the file cannot be read.
        ValueError: there are no valid pages.
    """
    at = column.data_page_offset
    if column.has_dictionary_page and 0 < column.dictionary_page_offset < at:
        at = column.dictionary_page_offset
    nbytes = values = dictionary_nbytes = dictionary_values = 0
    for header in _headers(descriptor, at, at + column.total_compressed_size):
        nbytes += header[UNPACKED]
        if isinstance(header.get(DICTIONARY), dict):
            dictionary_nbytes += header[UNPACKED]
            dictionary_values += _count(header[DICTIONARY])
        values += sum(_count(header[kind]) for kind in (DATA, DATA_V2) if isinstance(header.get(kind), dict))
    return PageSizes(nbytes, values, dictionary_nbytes, dictionary_values)


def _count(page: dict[int, Any]) -> int:
    """Return the number of values that a page states."""
    count = page.get(VALUES)
    if not isinstance(count, int) or not 0 <= count < 2**31:
        raise ValueError("one of its pages has no count of values")
    return count


def _headers(descriptor: int, at: int, end: int) -> Iterator[dict[int, Any]]:
    """Yield the headers of consecutive pages."""
    count = 0
    while at < end:
        if (count := count + 1) > MOST_PAGES:
            raise ValueError(f"a column has more than {MOST_PAGES:,} pages")
        header, length = _header(descriptor, at)
        sizes = (header.get(UNPACKED), header.get(PACKED))
        if not all(isinstance(size, int) and 0 <= size < 2**31 for size in sizes):
            raise ValueError("one of its pages has no size")
        yield header
        at += length + header[PACKED]


def _header(descriptor: int, at: int) -> tuple[dict[int, Any], int]:
    """Return the header at an offset of the file, and its length."""
    length = FIRST_NBYTES
    while True:
        raw = os.pread(descriptor, length, at)
        try:
            reader = _Compact(raw)
            return reader.struct(), reader.at
        except IndexError as error:  # the bytes read end inside the header
            if len(raw) < length or length >= MOST_NBYTES:
                raise ValueError("the header of a page is cut off") from error
            length = min(16 * length, MOST_NBYTES)


class _Compact:
    """Reader of Thrift's compact protocol; reads numbers and structs, skips everything else."""

    def __init__(self, raw: bytes) -> None:
        self.raw, self.at = raw, 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Read the numbers and structs of a struct by field id.

        Raises:
            IndexError: the bytes end inside the struct.
            ValueError: the struct is invalid.
        """
        if depth > MOST_DEPTH:
            raise ValueError("the header of a page is none")
        fields: dict[int, Any] = {}
        number = 0
        while (sign := self._byte()) & 15 != STOP:
            number = number + (sign >> 4) if sign >> 4 else self._number()
            kind = sign & 15
            fields[number] = kind == TRUE if kind in (TRUE, FALSE) else self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        """Read a value that is not part of its field header."""
        if kind in (SHORT, INT, LONG):
            return self._number()
        if kind == STRUCT:
            return self.struct(depth + 1)
        if kind in (BYTE, TRUE, FALSE, DOUBLE):
            self._pass(8 if kind == DOUBLE else 1)
        elif kind == TEXT:
            self._pass(self._varint())
        elif kind in (LIST, SET):
            self._list(depth)
        elif kind == MAP:
            self._map(depth)
        else:
            raise ValueError("the header of a page is none")
        return None

    def _list(self, depth: int) -> None:
        sign = self._byte()
        count = sign >> 4 if sign >> 4 < 15 else self._varint()
        self._check(count, depth)
        for _ in range(count):
            self._value(sign & 15, depth + 1)

    def _map(self, depth: int) -> None:
        count = self._varint()
        self._check(count, depth)
        kinds = self._byte() if count else 0
        for _ in range(count):
            self._value(kinds >> 4, depth + 1)
            self._value(kinds & 15, depth + 1)

    def _check(self, count: int, depth: int) -> None:
        """Reject deep nesting, and lists longer than the remaining bytes."""
        if depth > MOST_DEPTH:
            raise ValueError("the header of a page is none")
        if count > len(self.raw) - self.at:
            raise IndexError("cut off")

    def _number(self) -> int:
        """Read a zigzag-encoded number."""
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
            if shift > 63:
                raise ValueError("the header of a page is none")

    def _byte(self) -> int:
        self.at += 1
        return self.raw[self.at - 1]

    def _pass(self, count: int) -> None:
        self.at += count
        if self.at > len(self.raw):
            raise IndexError("cut off")
