"""Read CSV, TSV and JSON lines in parts: the positions of records, and the records between two positions."""

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyarrow import csv as arrow_csv
from pyarrow import json as arrow_json

from bertviz_core.errors import CorpusError
from bertviz_core.tables.columns import check_columns, unique_names
from bertviz_core.tables.decoding import BYTE_ORDER_MARKS, BYTE_ORDER_MARKS_UTF32, zero_byte_message
from bertviz_core.tables.inputs import InputPlace
from bertviz_core.text import first_line, quoted

UTF8_MARK = BYTE_ORDER_MARKS[0][0]
MAX_RECORD_NBYTES = 64 * 1024**2
"""Maximum size of a record in bytes; an unclosed quotation mark would otherwise extend to the end of the file."""
BATCH_RECORDS, BATCH_NBYTES = 4096, 16 * 1024**2
"""Maximum records and bytes that are parsed together."""


class LineFiles:
    """Reader of files with a record per line, or with quoted cells that may contain line breaks."""

    def __init__(self, delimiter: str | None, text_column: str | None = None) -> None:
        """Create a reader.

        Args:
            delimiter: separates the cells; None for JSON lines.
            text_column: a column that is always read as text.
        """
        self._delimiter, self.text_column = delimiter, text_column

    def positions(self, file: InputPlace, most: int) -> Iterator[list[int]]:
        """Byte offsets of the records, in lists of at most `most` records, followed by the end of the last one."""
        with file.opened() as handle:
            starts = [self._first(file, handle)]
            handle.seek(starts[0])
            for stop, blank in self._records(file, handle, starts[0]):
                if blank and len(starts) == 1:
                    starts = [stop]
                elif blank:
                    starts[-1] = stop
                else:
                    starts.append(stop)
                if len(starts) > min(most, BATCH_RECORDS) or stop - starts[0] > BATCH_NBYTES:
                    yield starts
                    starts = [stop]
            if len(starts) > 1:
                yield starts

    def names(self, file: InputPlace) -> list[str] | None:
        """The column names in the first row; None for JSON lines.

        Raises:
            CorpusError: the row cannot be read, or has too many columns.
        """
        with file.opened() as handle:
            return self._header(file, handle)[0]

    def table(self, file: InputPlace, start: int, stop: int, schema: pa.Schema | None = None) -> pa.Table:
        """The records between two positions; types are inferred without a schema.

        Raises:
            CorpusError: they cannot be read.
        """
        with file.opened() as handle:
            names, delimiter = self._header(file, handle)
            handle.seek(start)
            raw = handle.read(stop - start)
        if delimiter is not None and (zero := raw.find(b"\0")) >= 0:
            raise CorpusError(zero_byte_message(file.path, start + zero))
        try:
            if delimiter is not None and names is not None:
                return self._csv(raw, names, delimiter, schema)
            fields = schema or pa.schema([(self.text_column, pa.string())] if self.text_column else [])
            return arrow_json.read_json(
                io.BytesIO(raw),
                arrow_json.ReadOptions(block_size=len(raw) + 1),
                arrow_json.ParseOptions(fields, unexpected_field_behavior="ignore" if schema else "infer"),
            )
        except pa.ArrowException as error:
            raise CorpusError(
                f"{quoted(file.path)} cannot be read between its bytes {start:,} and {stop:,}: {first_line(error)}."
            ) from error

    def _csv(self, raw: bytes, names: Sequence[str], delimiter: str, schema: pa.Schema | None) -> pa.Table:
        types = schema or ({self.text_column: pa.string()} if self.text_column else None)
        return arrow_csv.read_csv(
            io.BytesIO(raw),
            arrow_csv.ReadOptions(column_names=list(names), block_size=len(raw) + 1),
            arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            arrow_csv.ConvertOptions(column_types=types),
        )

    def _records(self, file: InputPlace, handle: Any, start: int) -> Iterator[tuple[int, bool]]:
        """The end of every record, and whether it is blank."""
        begin = place = start
        marks = 0
        while line := handle.readline(MAX_RECORD_NBYTES + 1):
            place += len(line)
            if place - begin > MAX_RECORD_NBYTES:
                raise CorpusError(
                    f"The record of {quoted(file.path)} that begins at byte {begin:,} has more than "
                    f"{MAX_RECORD_NBYTES // 1024**2} MiB; close its quotation marks, or cut it into parts."
                )
            if self._delimiter is not None:
                marks += line.count(b'"')  # escaped marks are doubled, so that a record has an even count
            if marks % 2 == 0:
                yield place, place - begin == len(line) and not line.strip(b"\r\n" if self._delimiter else None)
                begin, marks = place, 0
        if marks % 2:
            raise CorpusError(
                f"A quotation mark of {quoted(file.path)} is never closed, in the record that begins at byte {begin:,}."
            )

    def _first(self, file: InputPlace, handle: Any) -> int:
        """Offset of the first record, after a byte-order mark and the row of names."""
        start = len(UTF8_MARK) if handle.read(len(UTF8_MARK)) == UTF8_MARK else 0
        handle.seek(start)
        if self._delimiter is None:
            return start
        return next((stop for stop, blank in self._records(file, handle, start) if not blank), start)

    def _header(self, file: InputPlace, handle: Any) -> tuple[list[str] | None, str | None]:
        """Column names and delimiter; None and None for JSON lines."""
        mark = handle.read(4)
        if mark[:2] in (each for each, _ in BYTE_ORDER_MARKS[1:]) or mark in BYTE_ORDER_MARKS_UTF32:
            raise CorpusError(f"{quoted(file.path)} is not in UTF-8; save it so.")
        handle.seek(0)
        if self._delimiter is None:
            return None, None
        stop = self._first(file, handle)
        handle.seek(0)
        raw = handle.read(stop)
        if (zero := raw.find(b"\0")) >= 0:
            raise CorpusError(zero_byte_message(file.path, zero))
        try:
            text = raw.decode("utf-8-sig").strip("\r\n")
            delimiter = self._delimiter
            if delimiter == "," and "," not in text:  # spreadsheets do this where the comma is the decimal separator
                delimiter = next((other for other in (";", "\t") if other in text), delimiter)
            cells = next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True), [])
        except (UnicodeDecodeError, csv.Error) as error:
            raise CorpusError(f"The first row of {quoted(file.path)} cannot be read ({error}).") from error
        check_columns(file.path, len(cells))
        return unique_names(cells), delimiter
