"""Tables of text: CSV, TSV, JSON lines."""

import csv
import io
import json
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import PurePath
from typing import Any

import msgspec
import pyarrow as pa
from pyarrow import csv as arrow_csv
from pyarrow import json as arrow_json

from bertviz_core.errors import CorpusError, TextError
from bertviz_core.tables.cells import Cells, Value
from bertviz_core.tables.columns import ANSWERS, check_columns, namesakes, unique_names
from bertviz_core.tables.decoding import (
    MAX_FILE_NBYTES,
    MAX_MAGIC_NBYTES,
    binary_file_message,
    byte_order_mark,
    shown_encoding,
    zero_byte_message,
)
from bertviz_core.tables.inputs import InputPlace
from bertviz_core.text import counted, first_line, quoted

DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
LINES, ARRAY = (".jsonl", ".ndjson"), ".json"
"""Endings of files with an object a line, and of those that may also be one array of objects."""
JSON = (*LINES, ARRAY)


class DelimitedTable:
    """A table of texts with equally long rows."""

    def __init__(self, name: str, text: str, delimiter: str, check_count: Callable[[int], None]) -> None:
        """Parse the table.

        Args:
            delimiter: the delimiter, unless the first line suggests another.
        """
        self.names: list[str] = []
        self.stored_names: list[str] = []
        self._rows: list[list[str]] = []
        first = text.partition("\n")[0]
        if separator := separator_line(first):
            delimiter, text = separator, text[len(first) + 1 :]
        else:
            delimiter = delimiter_of(first, delimiter)
        self.decimal_comma = delimiter == ";"
        for start, row in _rows(name, text, delimiter, 2 if separator else 1):
            if not self.names:
                check_columns(name, len(row))
                self.names, self.stored_names = unique_names(row), row
            elif row and len(row) != len(self.names):
                raise TextError(
                    f"Line {start:,} of {quoted(name)} has {counted(len(row), 'cell')}, but the first row names "
                    f"{counted(len(self.names), 'column')}; put a cell that holds the delimiter into quotation marks."
                )
            else:
                self._rows.append(row)
            check_count(len(self._rows))

    def reason(self, index: int) -> str:
        """Always "": every column can be read."""
        return ""

    def may_hold_texts(self, index: int) -> bool:
        """Always True."""
        return True

    def declared_nbytes(self, index: int) -> int:
        """Always 0: sizes are not declared."""
        return 0

    def cells(self, index: int) -> Cells:
        """A column; "" in blank lines."""
        return Cells.of(row[index] if row else "" for row in self._rows)


class JsonTable:
    """A table whose rows are JSON objects; a name that an object lacks is an empty cell."""

    decimal_comma = False

    def __init__(self, name: str, text: str, check_count: Callable[[int], None]) -> None:
        """Parse the table; the columns are all names, in the order in which they first come."""
        self._rows: list[dict[str, Any]] = []
        keys: dict[str, None] = {}
        for row in objects(name, text):
            if isinstance(answers := row.get(ANSWERS), dict | list):
                row[ANSWERS] = msgspec.json.encode(answers).decode()
            self._rows.append(row)
            keys.update(dict.fromkeys(row))
            check_columns(name, len(keys))
            check_count(len(self._rows))
        if not keys:
            raise TextError(
                f"{quoted(name)} is empty; write one JSON object with the text and its other values a line."
            )
        self._keys = self.stored_names = list(keys)
        self.names = unique_names(self._keys)

    def reason(self, index: int) -> str:
        """Why a column cannot be read; "" if it can."""
        kinds = self._kinds(index)
        if kinds & {dict, list}:
            return "holds several values in a cell"
        return "" if len(kinds) <= 1 or kinds == {int, float} else "holds values of different kinds"

    def may_hold_texts(self, index: int) -> bool:
        """Whether there is a text in a column."""
        return str in self._kinds(index)

    def declared_nbytes(self, index: int) -> int:
        """Always 0: sizes are not declared."""
        return 0

    def cells(self, index: int) -> Cells:
        """A column that can be read; None in blank lines."""
        key, kinds = self._keys[index], self._kinds(index)
        values: list[Value] = [row.get(key) for row in self._rows]
        if float in kinds:  # without deduplication, since 0.0 equals -0.0
            return Cells([None if each is None else float(each) for each in values], array("i", range(len(values))))
        return Cells.of(values)

    def _kinds(self, index: int) -> set[type]:
        return {type(value) for row in self._rows if (value := row.get(self._keys[index])) is not None}


def separator_line(first: str) -> str:
    """The delimiter that a first line of Excel such as sep=; names; "" if it is no such line."""
    match = re.fullmatch(r'"?sep=([^\w"\r\n])"?\r?', first, re.IGNORECASE)
    return match[1] if match else ""


def delimiter_of(first: str, usual: str) -> str:
    """The delimiter of a table, by its first line.

    Spreadsheets use semicolons where the comma separates decimals, and tabs for "Unicode text".

    Args:
        first: the line with the names.
        usual: the delimiter of files with this ending.
    """
    counts = Counter(re.sub('"[^"]*"', "", first))
    others = [other for other in (usual, ",", ";", "\t") if counts[other]]
    if usual != "," and counts[usual]:
        return usual
    return max(others, key=lambda other: counts[other], default=usual)


def _rows(name: str, text: str, delimiter: str, first_line: int) -> Iterator[tuple[int, list[str]]]:
    """Rows with the numbers of their first lines."""
    csv.field_size_limit(MAX_FILE_NBYTES)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    before = first_line
    try:
        for row in reader:
            yield first_line, row
            first_line = reader.line_num + before
    except csv.Error as error:
        raise TextError(
            f"{quoted(name)} is broken in the row that begins in line {first_line:,}: {error}. Close its quotation "
            "marks."
        ) from error


def objects(name: str, text: str) -> Iterator[dict[str, Any]]:
    """The objects, an empty one for a blank line; the questions of a file that has the form of SQuAD."""
    if PurePath(name).suffix.lower() == ARRAY and (squad := _squad(text)):
        for part in (part for article in squad.data for part in article.paragraphs):
            for each in part.qas:
                answers = [answer.text for answer in each.answers]
                yield {"question": each.question, "context": part.context, ANSWERS: answers}
        return
    if PurePath(name).suffix.lower() == ARRAY and text.lstrip().startswith("["):
        for place, row in enumerate(_decoded(name, "", text)):
            yield _object(name, f"Record {place + 1:,} of ", row)
        return
    lines = text.replace("\r\n", "\n").replace("\r", "\n")  # a string in JSON has line breaks as escapes alone
    for place, line in enumerate(lines.removesuffix("\n").split("\n")):
        where = f"Line {place + 1:,} of "
        yield _object(name, where, _decoded(name, where, line)) if line.strip() else {}


class _Answer(msgspec.Struct):
    text: str


class _Question(msgspec.Struct):
    question: str
    answers: list[_Answer] = []


class _Paragraph(msgspec.Struct):
    context: str
    qas: list[_Question]


class _Article(msgspec.Struct):
    paragraphs: list[_Paragraph]


class _Squad(msgspec.Struct):
    """A file of SQuAD: articles of paragraphs, each with its questions."""

    data: list[_Article]


def _squad(text: str) -> _Squad | None:
    """The articles of a file that has the form of SQuAD; None for any other."""
    try:
        return msgspec.json.decode(text, type=_Squad)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None


def _decoded(name: str, where: str, text: str) -> Any:
    try:
        value = msgspec.json.decode(text)
        rows = value if isinstance(value, list) else [value]
        names = Counter(key for row in rows if isinstance(row, dict) for key in row)
        if any(text.count(f'"{key}"') > count for key, count in names.items()):  # of a name twice msgspec has the last
            json.loads(text, object_pairs_hook=partial(_check_pairs, name, where))
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)[:200]
        raise TextError(f"{where}{quoted(name)} cannot be read as JSON: {reason}.") from error
    return value


def _check_pairs(name: str, where: str, pairs: list[tuple[str, Any]]) -> None:
    """Refuse an object with several values of one name."""
    key, count = Counter(key for key, _ in pairs).most_common(1)[0] if pairs else ("", 0)
    if count > 1:
        raise TextError(
            f"{where or 'A record of '}{quoted(name)} has {counted(count, 'value')} of the name {quoted(key)}; rename "
            "them."
        )


def _object(name: str, where: str, row: object) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise TextError(
            f"{where}{quoted(name)} is no JSON object; write objects with named values, or name a file whose lines "
            "are sentences .txt."
        )
    return row


UTF8 = "utf-8"
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
        """The column names in the first row, each once; None for JSON lines."""
        with file.opened() as handle:
            return self._header(file, handle)[1]

    def table(self, file: InputPlace, start: int, stop: int, schema: pa.Schema | None = None) -> pa.Table:
        """The records between two positions; types are inferred without a schema."""
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
        """Whether cells such as 3,5 are numbers: beside semicolons."""
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
        beginning = handle.read(MAX_MAGIC_NBYTES)
        if message := binary_file_message(file.path, beginning):
            raise CorpusError(message)
        mark, encoding = byte_order_mark(beginning)
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
