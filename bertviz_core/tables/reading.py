"""Read the sentences and other columns of a file, as plain values that can be sent between processes."""

from array import array
from collections.abc import Sequence
from pathlib import PurePath

import msgspec

from bertviz_core.errors import TextError
from bertviz_core.tables.cells import Cells, cell_texts, comma_notice, decimal_commas, typed_cells
from bertviz_core.tables.columns import Columns, check_names, listed, namesakes, sentence_column
from bertviz_core.tables.decoding import decoded, zero_cell_message
from bertviz_core.tables.parquet import ENDINGS, ParquetTable
from bertviz_core.tables.text_tables import DELIMITERS, JSON, DelimitedTable, JsonTable
from bertviz_core.text import LFS_NBYTES, counted, pointer_message, quoted


class ReadLimits(msgspec.Struct, frozen=True):
    """Limits for a list of sentences."""

    sentences: int
    """Maximum number of sentences."""
    characters: int
    """Characters of a sentence; the rest is cut off."""
    table_nbytes: int
    """Memory limit for the other columns in bytes."""


class ReadRequest(msgspec.Struct, frozen=True):
    """A file to read."""

    name: str
    data: bytes
    limits: ReadLimits
    column: str | None


class ReadColumn(msgspec.Struct, frozen=True):
    """A further column."""

    name: str
    values: list[str | int | float | bool | None]
    """Distinct values."""
    codes: bytes
    """Index of the value of every sentence, int32."""


class ReadTable(msgspec.Struct, frozen=True):
    """The result, with the fields of bertviz_core.sentences.results.SentenceTable."""

    texts: list[str]
    """Distinct sentences."""
    codes: bytes
    """Index of the text of every sentence, int32."""
    rows: bytes
    """Its one-based line or row, int32."""
    column: str | None
    columns: list[str]
    other_columns: list[ReadColumn]
    blank: int
    duplicates: int
    cut: int
    notices: list[str]


def answered(request: bytes) -> bytes:
    """The entry point of a child process: a packed ReadTable for a packed ReadRequest."""
    decoded_request = msgspec.msgpack.decode(request, type=ReadRequest)
    return msgspec.msgpack.encode(
        read_table(decoded_request.name, decoded_request.data, decoded_request.limits, decoded_request.column)
    )


def read_table(name: str, raw: bytes, limits: ReadLimits, column: str | None) -> ReadTable:
    """Read the sentences and other columns of a file."""
    if message := pointer_message(name, raw[:LFS_NBYTES]):
        raise TextError(message)
    notices: list[str] = []
    ending = PurePath(name).suffix.lower()
    if ending not in (*ENDINGS, *DELIMITERS, *JSON):
        text = decoded(name, raw)
        if column is not None:
            has = "is read line by line, so it has no columns; give a table with them (CSV, TSV, JSON lines or Parquet)"
            raise TextError(f"{quoted(name)} {has}, or leave out the column {quoted(column)}.")
        # splitlines would also split at characters that may be part of a sentence, such as U+2028.
        lines = Cells.of(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
        return _sentence_table(name, cell_texts(lines, None, notices), None, None, limits, notices)

    def check_count(rows: int) -> None:
        _check_count(name, rows, 2 * limits.sentences, limits)

    table: Columns
    if ending in ENDINGS:
        table = ParquetTable(name, raw, check_count)
    elif ending in JSON:
        table = JsonTable(name, decoded(name, raw), check_count)
    else:
        table = DelimitedTable(name, decoded(name, raw), DELIMITERS[ending], check_count)
    check_names(name, table.names)
    notices.extend(namesakes(table.stored_names, table.names))
    column_index, cells = sentence_column(name, table, column, notices)
    texts = cell_texts(cells, table.names[column_index], notices)
    _check_zeros(name, table.names[column_index], texts)
    return _sentence_table(name, texts, column_index, table, limits, notices)


def _sentence_table(
    name: str, cells: Cells, column_index: int | None, table: Columns | None, limits: ReadLimits, notices: list[str]
) -> ReadTable:
    """The sentences without blank ones."""
    texts = [str(text) for text in cells.values]
    blanks = [not text.strip() for text in texts]
    beginnings = [text[: limits.characters] for text in texts]
    rows = [row for row, code in enumerate(cells.codes) if not blanks[code]]
    _check_count(name, len(rows), limits.sentences, limits)
    if not len(cells.codes) and table is not None:
        raise TextError(f"{quoted(name)} has no rows below its header, so there is no text to read.")
    if not rows:
        raise TextError(f"{quoted(name)} has no sentence: every line is blank. Write one sentence per line.")
    # The empty line after a final line break does not count.
    blank = len(cells.codes) - len(rows) - (table is None and blanks[cells.codes[-1]])
    max_characters = limits.characters
    cut = sum(len(texts[cells.codes[row]]) > max_characters for row in rows)
    # Only texts that occur in a row: a dictionary may contain unused ones.
    sentences = Cells.of(beginnings[cells.codes[row]] for row in rows)
    duplicates = len(rows) - len(sentences.values)
    if blank:
        notices.append(f"{counted(blank, 'blank line' if table is None else 'blank cell')} left out.")
    if duplicates:
        notices.append(f"{counted(duplicates, 'duplicate')} of earlier sentences kept.")
    if cut:
        notices.append(
            f"{counted(cut, 'sentence')} cut to the first {max_characters:,} characters (INSIDE_BERT_MAX_CHARACTERS)."
        )
    return ReadTable(
        texts=[str(text) for text in sentences.values],
        codes=sentences.codes.tobytes(),
        rows=array("i", (row + 1 for row in rows)).tobytes(),
        column=None if table is None or column_index is None else table.names[column_index],
        columns=[]
        if table is None
        else [column_name for index, column_name in enumerate(table.names) if not table.reason(index)],
        other_columns=[]
        if table is None
        else _other_columns(name, table, column_index, rows, limits.table_nbytes, notices),
        blank=blank,
        duplicates=duplicates,
        cut=cut,
        notices=notices,
    )


def _other_columns(
    file: str, table: Columns, chosen: int | None, rows: Sequence[int], remaining_nbytes: int, notices: list[str]
) -> list[ReadColumn]:
    """The other columns that are readable and fit into memory; a notice lists the rest."""
    columns: list[ReadColumn] = []
    left_out: dict[str, list[str]] = {}
    commas: dict[str, str] = {}
    for index, name in enumerate(table.names):
        if index == chosen:
            continue
        reason, column = table.reason(index), None
        if not reason and table.declared_nbytes(index) <= remaining_nbytes:
            reason, column = _column(file, table, index, rows, remaining_nbytes, commas)
        if column is not None:
            columns.append(column[0])
            remaining_nbytes -= column[1]
        else:
            left_out.setdefault(reason or "would take too much memory beside the others", []).append(name)
    if commas:
        notices.append(comma_notice(list(commas), next(iter(commas.values())), table.decimal_comma))
    notices.extend(
        f"{counted(len(names), 'column')} left out of the table: {listed(names)} {reason}."
        for reason, names in left_out.items()
    )
    return columns


def _column(
    file: str, table: Columns, index: int, rows: Sequence[int], max_nbytes: int, commas: dict[str, str]
) -> tuple[str, tuple[ReadColumn, int] | None]:
    """A column and its size in bytes, or why it is left out; `commas` gets a cell of one with decimal commas."""
    try:
        cells = table.cells(index)
        holds_bytes = any(isinstance(value, bytes) for value in cells.values)
        cells = cell_texts(cells, None, []) if holds_bytes else cells
    except TextError:
        return "cannot be read", None
    if holds_bytes and _row_with_zero(cells):
        return "holds zero bytes", None
    _check_zeros(file, table.names[index], cells)
    cells = cells.at(rows)
    if cell := decimal_commas(cells):
        commas[table.names[index]] = cell
    cells = typed_cells(cells, table.decimal_comma)
    if cells.nbytes > max_nbytes:
        return "", None
    values = [value for value in cells.values if not isinstance(value, bytes)]
    return "", (ReadColumn(table.names[index], values, cells.codes.tobytes()), cells.nbytes)


def _check_zeros(name: str, column: str, cells: Cells) -> None:
    if row := _row_with_zero(cells):
        raise TextError(zero_cell_message(name, column, row))


def _row_with_zero(cells: Cells) -> int:
    """The first row whose text has a zero character; 0 if there is none."""
    zeros = {code for code, value in enumerate(cells.values) if isinstance(value, str) and "\0" in value}
    return next((row for row, code in enumerate(cells.codes, start=1) if code in zeros), 0) if zeros else 0


def _check_count(name: str, count: int, max_count: int, limits: ReadLimits) -> None:
    if count > max_count:
        raise TextError(
            f"{quoted(name)} has {counted(count, 'row')} or more; this instance takes at most "
            f"{limits.sentences:,} sentences (INSIDE_BERT_MAX_SENTENCES). Give a part of it."
        )
