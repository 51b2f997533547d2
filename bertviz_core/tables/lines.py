"""CSV, TSV and JSON lines: where each record begins, and the records between two places as a table."""

import csv
import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from bertviz_core.errors import CorpusError
from bertviz_core.tables.columns import check_columns, unique_names
from bertviz_core.tables.decoding import BYTE_ORDER_MARKS, BYTE_ORDER_MARKS_UTF32
from bertviz_core.tables.inputs import InputPlace
from bertviz_core.text import first_line, quoted

if TYPE_CHECKING:
    import pyarrow as pa

UTF8_MARK = BYTE_ORDER_MARKS[0][0]
MAX_RECORD_NBYTES = 64 * 1024**2
"""Bytes of one record; a quotation mark that is never closed would otherwise take the rest of the file."""
BATCH_RECORDS, BATCH_NBYTES = 4096, 16 * 1024**2
"""Most records and bytes that are parsed together."""


class LineFiles:
    """Files of one record a line, or of cells in quotation marks that may have line breaks."""

    def __init__(self, delimiter: str | None, text_column: str | None = None) -> None:
        """A reader.

        Args:
            delimiter: what parts the cells; None for JSON lines.
            text_column: a column that is always read as text.
        """
        self._delimiter, self.text_column = delimiter, text_column

    def positions(self, file: InputPlace, most: int) -> Iterator[list[int]]:
        """Where records begin in bytes, in lists of at most so many, each with the end of its last one behind."""
        with file.opened() as handle:
            begun = [self._first(file, handle)]
            handle.seek(begun[0])
            for stop, blank in self._records(file, handle, begun[0]):
                if blank and len(begun) == 1:
                    begun = [stop]
                elif blank:
                    begun[-1] = stop
                else:
                    begun.append(stop)
                if len(begun) > min(most, BATCH_RECORDS) or stop - begun[0] > BATCH_NBYTES:
                    yield begun
                    begun = [stop]
            if len(begun) > 1:
                yield begun

    def names(self, file: InputPlace) -> list[str] | None:
        """The columns that a file's first row names; None for JSON lines.

        Raises:
            CorpusError: there is no row, or it has too many columns.
        """
        with file.opened() as handle:
            return self._header(file, handle)[0]

    def table(self, file: InputPlace, start: int, stop: int, schema: "pa.Schema | None" = None) -> "pa.Table":
        """The records between two places; with types found out where no schema is given.

        Raises:
            CorpusError: they cannot be read.
        """
        import pyarrow as pa
        from pyarrow import json as arrow_json

        with file.opened() as handle:
            names, delimiter = self._header(file, handle)
            handle.seek(start)
            raw = handle.read(stop - start)
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

    def _csv(self, raw: bytes, names: Sequence[str], delimiter: str, schema: "pa.Schema | None") -> "pa.Table":
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        types = schema or ({self.text_column: pa.string()} if self.text_column else None)
        return arrow_csv.read_csv(
            io.BytesIO(raw),
            arrow_csv.ReadOptions(column_names=list(names), block_size=len(raw) + 1),
            arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            arrow_csv.ConvertOptions(column_types=types),
        )

    def _records(self, file: InputPlace, handle: Any, start: int) -> Iterator[tuple[int, bool]]:
        """The end of every record, and whether nothing stands in it."""
        begun = place = start
        marks = 0
        while line := handle.readline(MAX_RECORD_NBYTES + 1):
            place += len(line)
            if place - begun > MAX_RECORD_NBYTES:
                raise CorpusError(
                    f"The record of {quoted(file.path)} that begins at byte {begun:,} has more than "
                    f"{MAX_RECORD_NBYTES // 1024**2} MiB; close its quotation marks, or cut it into parts."
                )
            if self._delimiter is not None:
                marks += line.count(b'"')  # one inside a cell is doubled, so that an even count ends the record
            if marks % 2 == 0:
                yield place, place - begun == len(line) and not line.strip(b"\r\n" if self._delimiter else None)
                begun, marks = place, 0
        if marks % 2:
            raise CorpusError(
                f"A quotation mark of {quoted(file.path)} is never closed, in the record that begins at byte {begun:,}."
            )

    def _first(self, file: InputPlace, handle: Any) -> int:
        """Where the first record begins: behind a byte-order mark, and behind the row of names."""
        start = len(UTF8_MARK) if handle.read(len(UTF8_MARK)) == UTF8_MARK else 0
        handle.seek(start)
        if self._delimiter is None:
            return start
        return next((stop for stop, blank in self._records(file, handle, start) if not blank), start)

    def _header(self, file: InputPlace, handle: Any) -> tuple[list[str] | None, str | None]:
        """Names of the columns, and what parts the cells; None and None for JSON lines."""
        mark = handle.read(4)
        if mark[:2] in (each for each, _ in BYTE_ORDER_MARKS[1:]) or mark in BYTE_ORDER_MARKS_UTF32:
            raise CorpusError(f"{quoted(file.path)} is not in UTF-8; save it so.")
        handle.seek(0)
        if self._delimiter is None:
            return None, None
        stop = self._first(file, handle)
        handle.seek(0)
        try:
            text = handle.read(stop).decode("utf-8-sig").strip("\r\n")
            delimiter = self._delimiter
            if delimiter == "," and "," not in text:  # as spreadsheets write it where the comma separates decimals
                delimiter = next((other for other in (";", "\t") if other in text), delimiter)
            cells = next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True), [])
        except (UnicodeDecodeError, csv.Error) as error:
            raise CorpusError(f"The first row of {quoted(file.path)} cannot be read ({error}).") from error
        check_columns(file.path, len(cells))
        return unique_names(cells), delimiter
