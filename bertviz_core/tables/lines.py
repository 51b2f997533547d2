"""Read CSV, TSV and JSON lines in parts: the positions of records, and the records between two positions."""

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyarrow import csv as arrow_csv
from pyarrow import json as arrow_json

from bertviz_core.errors import CorpusError
from bertviz_core.tables.columns import check_columns, namesakes, unique_names
from bertviz_core.tables.decoding import byte_order_mark, shown_encoding, zero_byte_message
from bertviz_core.tables.inputs import InputPlace
from bertviz_core.tables.text_tables import delimiter_of, separator_line
from bertviz_core.text import first_line, quoted

UTF8 = "utf-8"
MAX_MARK_NBYTES = 4
LINE_PART = 1024**2
"""Maximum length of a part of a line that is read at once: a file may have carriage returns alone as line ends."""
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
        self.notices: tuple[str, ...] = ()
        """Notices about the names of the columns that were read."""

    def positions(self, file: InputPlace, most: int) -> Iterator[list[int]]:
        """Byte offsets of the records, in lists of at most `most` records, followed by the end of the last one."""
        with file.opened() as handle:
            start, encoding = self._first(file, handle)
            starts = [start]
            for stop, blank in self._records(file, handle, start, encoding):
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
        """The column names in the first row, each once; None for JSON lines.

        Raises:
            CorpusError: the row cannot be read, or has too many columns.
        """
        with file.opened() as handle:
            return self._header(file, handle)[1]

    def table(self, file: InputPlace, start: int, stop: int, schema: pa.Schema | None = None) -> pa.Table:
        """The records between two positions; types are inferred without a schema.

        Raises:
            CorpusError: they cannot be read.
        """
        with file.opened() as handle:
            encoding, names, delimiter = self._header(file, handle)
            handle.seek(start)
            raw = handle.read(stop - start)
        raw = _in_utf8(file, raw, start, encoding)
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

    def decimal_comma(self, file: InputPlace) -> bool:
        """Whether cells such as 3,5 are numbers: beside semicolons.

        Raises:
            CorpusError: the first row cannot be read.
        """
        with file.opened() as handle:
            return self._header(file, handle)[2] == ";"

    def _csv(self, raw: bytes, names: Sequence[str], delimiter: str, schema: pa.Schema | None) -> pa.Table:
        """A table of texts, and of bytes where a column is not in UTF-8; in the types of a schema, if there is one."""
        table = arrow_csv.read_csv(
            io.BytesIO(raw),
            arrow_csv.ReadOptions(column_names=list(names), block_size=len(raw) + 1),
            arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            arrow_csv.ConvertOptions(column_types={name: pa.binary() for name in names}, strings_can_be_null=False),
        )
        for place, name in enumerate(names):
            try:
                column = table.column(place).cast(pa.string())
            except pa.ArrowInvalid:
                if name == self.text_column:
                    raise
                continue
            table = table.set_column(place, name, column)
        return table if schema is None else table.select([name for name in schema.names if name in names])

    def _records(self, file: InputPlace, handle: Any, start: int, encoding: str) -> Iterator[tuple[int, bool]]:
        """The end of every record from a position on, and whether it is blank."""
        begin = place = start
        marks = 0
        blank = True
        for line, nbytes in _lines(file, handle, start, encoding):
            place += nbytes
            blank = blank and not line.strip(b"\r\n" if self._delimiter else None)
            if place - begin > MAX_RECORD_NBYTES:
                raise CorpusError(
                    f"The record of {quoted(file.path)} that begins at byte {begin:,} has more than "
                    f"{MAX_RECORD_NBYTES // 1024**2} MiB; close its quotation marks, or cut it into parts."
                )
            if self._delimiter is not None:
                marks += line.count(b'"')  # escaped marks are doubled, so that a record has an even count
            if marks % 2 == 0 and line.endswith((b"\r", b"\n")):
                yield place, blank
                begin, marks, blank = place, 0, True
        if marks % 2:
            raise CorpusError(
                f"A quotation mark of {quoted(file.path)} is never closed, in the record that begins at byte {begin:,}."
            )
        if place > begin:
            yield place, blank

    def _first(self, file: InputPlace, handle: Any) -> tuple[int, str]:
        """Position of the first record, after a byte-order mark and the row of names, and the encoding of the file."""
        handle.seek(0)
        mark, encoding = byte_order_mark(handle.read(MAX_MARK_NBYTES))
        start = len(mark)
        if self._delimiter is None:
            return start, encoding
        for stop, blank in self._records(file, handle, start, encoding):
            if not blank:
                handle.seek(start)
                line = handle.read(stop - start).decode(encoding, "replace")
                start = stop
                if not separator_line(line.strip("\r\n")):
                    break
        return start, encoding

    def _header(self, file: InputPlace, handle: Any) -> tuple[str, list[str] | None, str | None]:
        """The encoding, the column names and the delimiter; names and delimiter are None for JSON lines."""
        stop, encoding = self._first(file, handle)
        if self._delimiter is None:
            return encoding, None, None
        handle.seek(0)
        raw = handle.read(stop)
        try:
            text = _in_utf8(file, raw, 0, encoding).decode(UTF8).removeprefix("\ufeff").strip("\r\n")
            first, _, rest = text.partition("\n")
            separator = separator_line(first)
            text = rest.strip("\r\n") if separator else text
            delimiter = separator or delimiter_of(text.partition("\n")[0], self._delimiter)
            cells = next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True), [])
        except (UnicodeDecodeError, csv.Error) as error:
            raise CorpusError(f"The first row of {quoted(file.path)} cannot be read ({error}).") from error
        check_columns(file.path, len(cells))
        names = unique_names(cells)
        self.notices = tuple(dict.fromkeys([*self.notices, *namesakes(cells, names)]))
        return encoding, names, delimiter


def _in_utf8(file: InputPlace, raw: bytes, start: int, encoding: str) -> bytes:
    """The part of a file that begins at a position, in UTF-8 and without zero bytes."""
    try:
        raw = raw if encoding == UTF8 else raw.decode(encoding).encode(UTF8)
    except UnicodeDecodeError as error:
        raise CorpusError(_not_in(encoding, file, error)) from error
    zero = raw.find(b"\0")
    if zero >= 0:
        before = zero if encoding == UTF8 else len(raw[:zero].decode(UTF8).encode(encoding))
        raise CorpusError(zero_byte_message(file.path, start + before))
    return raw


def _not_in(encoding: str, file: InputPlace, error: UnicodeDecodeError) -> str:
    return f"{quoted(file.path)} is not {shown_encoding(encoding)} ({error.reason}). Save the file as UTF-8."


def _lines(file: InputPlace, handle: Any, start: int, encoding: str) -> Iterator[tuple[bytes, int]]:
    """The lines from a position on in UTF-8, or parts of very long ones, with the bytes that each takes in the file."""
    handle.seek(start)
    if encoding == UTF8:
        while part := handle.readline(LINE_PART):
            for line in part.splitlines(keepends=True):
                yield line, len(line)
        return
    text = io.TextIOWrapper(handle, encoding, newline="")
    try:
        while decoded := text.readline(LINE_PART):
            yield decoded.encode(UTF8), len(decoded.encode(encoding))
    except UnicodeDecodeError as error:
        raise CorpusError(_not_in(encoding, file, error)) from error
    finally:
        text.detach()  # the file stays open
