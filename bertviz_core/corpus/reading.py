"""Survey an input before embedding: rows, types, unsuitable texts, shards."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Int

from bertviz_core.corpus.folder import OWN_COLUMNS, column_kind
from bertviz_core.corpus.results import CorpusColumn, InputRange, InputSurvey, ShardRows
from bertviz_core.errors import CorpusError
from bertviz_core.tables.cells import comma_cell, comma_notice, narrowed, of_type
from bertviz_core.tables.columns import MAX_COLUMNS, MAX_NAME, USUAL_COLUMNS, check_names, listed
from bertviz_core.tables.decoding import zero_cell_message
from bertviz_core.tables.inputs import InputPlace, ending, input_files, place
from bertviz_core.tables.parquet import ParquetFiles
from bertviz_core.tables.results import InputFile
from bertviz_core.tables.text_tables import DELIMITERS, LineFiles
from bertviz_core.text import counted, quoted


class Cut:
    """Cuts rows into shards; a shard ends where another row would exceed the limits.

    The cuts depend only on the rows, not on the chunks in which they arrive.
    """

    def __init__(self, most_rows: int, most_nbytes: int) -> None:
        """Start without rows.

        Args:
            most_rows: maximum number of rows of a shard.
            most_nbytes: maximum size of a shard in bytes; a larger row is a shard of its own.
        """
        self._most_rows, self._most_nbytes = most_rows, most_nbytes
        self._done: list[ShardRows] = []
        self._ranges: list[InputRange] = []
        self._rows = self._nbytes = 0

    def take(self, file: int, positions: Sequence[int], sizes: Int[np.ndarray, " rows"]) -> None:
        """Add consecutive rows.

        Args:
            file: index of their file.
            positions: start of each row, and the end of the last.
            sizes: size of each row in bytes.
        """
        ends, place = np.cumsum(sizes), 0
        while place < len(sizes):
            before = int(ends[place - 1]) if place else 0
            room = self._most_nbytes - self._nbytes
            count = int(np.searchsorted(ends[place:] - before, room, side="right"))
            count = min(count, self._most_rows - self._rows, len(sizes) - place)
            if not count and not self._rows:
                count = 1
            if count:
                self._extend(file, positions[place], positions[place + count])
                self._rows += count
                self._nbytes += int(ends[place + count - 1]) - before
                place += count
            if place < len(sizes):
                self._end()

    def shards(self) -> tuple[ShardRows, ...]:
        """Return all shards, the last with the remaining rows."""
        if self._rows:
            self._end()
        return tuple(self._done)

    def _extend(self, file: int, start: int, stop: int) -> None:
        last = self._ranges[-1] if self._ranges else None
        if last is not None and last.file == file and last.stop == start:
            self._ranges[-1] = InputRange(file, last.start, stop)
        else:
            self._ranges.append(InputRange(file, start, stop))

    def _end(self) -> None:
        self._done.append(ShardRows(len(self._done), tuple(self._ranges), self._rows))
        self._ranges, self._rows, self._nbytes = [], 0, 0


def joined(first: pa.Schema, second: pa.Schema, path: str, as_text: bool) -> pa.Schema:
    """Merge the columns of two schemas, each with a common type.

    Integers and floats become floats, null becomes the other type, and values of different kinds become texts.

    Args:
        first: the columns so far.
        second: the columns of the next part.
        path: path of the next part, for messages.
        as_text: whether every value can be read as a text; in JSON only times can.
    """
    if first.equals(second):
        return first
    types = {field.name: field.type for field in first}
    for field in second:
        known = types.get(field.name, field.type)
        common = known if known == field.type else _common_type(known, field.type, as_text)
        if common is None:
            raise CorpusError(
                f"The column {quoted(field.name)} of {quoted(path)} has values of several kinds ({known} and "
                f"{field.type}); write them in one way, or leave the column out."
            )
        types[field.name] = common
    return pa.schema(list(types.items()))


def narrow(schema: pa.Schema, table: pa.Table, text_column: str | None, decimal_comma: bool) -> pa.Schema:
    """Return the columns with the types that their cells have in every format; the column of texts stays one.

    Args:
        schema: the columns and their types in the file.
        table: rows of those that are texts or floats.
        text_column: the column of the texts; None if it is not known yet.
        decimal_comma: whether cells such as 3,5 are numbers.
    """
    texts_or_floats = {name for name in table.column_names if name != text_column}
    return pa.schema(
        (each.name, narrowed(table.column(each.name), decimal_comma))
        if each.name in texts_or_floats
        else (each.name, each.type)
        for each in schema
    )


def plain(schema: pa.Schema, stored: pa.Schema) -> pa.Schema:
    """Return the columns with their types in a corpus; those without values as stored, or as texts."""
    return pa.schema((each.name, _plain(each.type, stored.field(each.name).type)) for each in schema)


def _plain(dtype: pa.DataType, stored: pa.DataType) -> pa.DataType:
    dtype = stored if pa.types.is_null(dtype) else dtype
    return pa.string() if pa.types.is_null(dtype) else dtype


def _common_type(first: pa.DataType, second: pa.DataType, as_text: bool) -> pa.DataType | None:
    """Return the common type of two; None if there is none."""
    kinds = {column_kind(each) for each in (first, second) if not pa.types.is_null(each)}
    if len(kinds) > 1:
        return pa.string() if kinds == {"text", "time"} or (as_text and "other" not in kinds) else None
    try:
        fields = [pa.schema([("values", each)]) for each in (first, second)]
        return pa.unify_schemas(fields, promote_options="permissive").field(0).type
    except pa.ArrowException:
        return pa.string() if as_text and "other" not in kinds else None


MAX_SHARD_NBYTES = 64 * 1024**2
"""Maximum bytes of a shard's texts (of all columns, unless the input is Parquet), all of them in memory."""
BEYOND_WHOLE = 2.0**63
JSON_ENDINGS = (".jsonl", ".ndjson")
Reader = LineFiles | ParquetFiles


def survey(address: str, column: str | None, rows_per_shard: int, max_characters: int) -> InputSurvey:
    """Survey an input and cut it into shards, in memory that does not grow with the rows.

    Args:
        address: a path, a folder, a glob pattern, or an fsspec URL.
        column: column of the texts; None for the default name, or the first column of texts.
        rows_per_shard: maximum number of rows of a shard.
        max_characters: maximum length of a text in characters.
    """
    files = input_files(address)
    reader = reader_for(files)
    places = [place(file.path) for file in files]
    first = _first_schema(reader, places)
    notices: list[str] = []
    text_column = _text_column(first, column, files[0].path, notices)
    reader.text_column = text_column
    as_text = not files[0].path.lower().endswith(JSON_ENDINGS)
    cut, stored, schema = Cut(rows_per_shard, MAX_SHARD_NBYTES), None, None
    comma_cells: dict[str, str | None] = {}
    rounded: dict[str, float] = {}
    for index, (file, where) in enumerate(zip(files, places, strict=True)):
        rows, commas = 0, isinstance(reader, LineFiles) and reader.decimal_comma(where)
        for positions, table, types in _batches(reader, where, rows_per_shard):
            _check_zeros(table, file.path, rows)
            _check_texts(table, text_column, file.path, rows, max_characters)
            stored = joined(stored or types, types, file.path, as_text)
            _take_commas(table, text_column, comma_cells)
            if not as_text:
                _take_rounded(table, rounded)
            found = narrow(types, table, text_column, commas)
            schema = joined(schema or found, found, file.path, as_text=True)
            cut.take(index, positions, _sizes(reader, positions, table, text_column))
            rows += table.num_rows
    if stored is None or schema is None:
        raise CorpusError(f"The input {quoted(address)} has no row; there is nothing to embed.")
    plain_schema = plain(schema, stored)
    notices.extend(_comma_notices(plain_schema, comma_cells))
    if rounded:
        name = next(iter(rounded))
        notices.append(
            f"Numbers of {listed(list(rounded))} beyond 64 bits are kept with 17 digits at most (such as "
            f"{rounded[name]!r} in {quoted(name)}); write them as texts to keep every digit."
        )
    if isinstance(reader, LineFiles):
        notices.extend(reader.notices)
    columns, shards = _columns(plain_schema, text_column, notices), cut.shards()
    return InputSurvey(
        files,
        plain_schema,
        plain(stored, stored),
        text_column,
        columns,
        shards,
        sum(shard.rows for shard in shards),
        tuple(notices),
    )


def reader_for(files: tuple[InputFile, ...]) -> Reader:
    """Return the reader for files of this suffix."""
    kind = ending(files)
    return ParquetFiles() if kind == ".parquet" else LineFiles(DELIMITERS.get(kind))


def shard_table(survey: InputSurvey, shard: ShardRows) -> pa.Table:
    """Read the rows of a shard with the input's columns, in the survey's types."""
    reader, schema, stored = reader_for(survey.files), survey.schema, survey.stored_schema
    reader.text_column = survey.text_column
    parts = []
    for part in shard.ranges:
        path = survey.files[part.file].path
        table = reader.table(place(path), part.start, part.stop, stored)
        for field in stored:
            if field.name not in table.column_names:
                table = table.append_column(field, pa.nulls(table.num_rows, field.type))
        try:
            columns = [of_type(table.column(field.name), field.type) for field in schema]
            parts.append(pa.table(columns, schema=schema))
        except pa.ArrowException as error:
            raise CorpusError(f"{quoted(path)} has changed since it was looked at.") from error
    whole = pa.concat_tables(parts)
    if whole.num_rows != shard.rows:
        raise CorpusError(f"{quoted(survey.files[shard.ranges[0].file].path)} has changed since it was looked at.")
    return whole


def _first_schema(reader: Reader, places: Sequence[InputPlace]) -> pa.Schema:
    """Return the columns of the first file with a row, or of the first file."""
    if isinstance(reader, ParquetFiles):
        return reader.schema(places[0])
    for where in places:
        for positions in reader.positions(where, 4096):
            table = reader.table(where, positions[0], positions[-1])
            return narrow(table.schema, table, None, reader.decimal_comma(where))
    return pa.schema([(name, pa.string()) for name in reader.names(places[0]) or []])


def _text_column(schema: pa.Schema, requested: str | None, path: str, notices: list[str]) -> str:
    names, texts = list(schema.names), [field.name for field in schema if column_kind(field.type) == "text"]
    if not names:
        raise CorpusError(f"{quoted(path)} has no row; there is nothing to embed.")
    if requested is not None and requested not in names:
        raise CorpusError(f"{quoted(path)} has no column {quoted(requested)}; it has {listed(names)}.")
    if requested is not None:
        return requested
    usual = [name for known in USUAL_COLUMNS for name in texts if name.lower() == known]
    if not usual and not texts:
        undecoded = [field.name for field in schema if pa.types.is_binary(field.type)]
        if undecoded:
            raise CorpusError(
                f"{quoted(path)} has no column of texts: the bytes of {listed(undecoded)} are not read as UTF-8. Save "
                "the file in UTF-8, in Parquet with the column as texts."
            )
        raise CorpusError(f"{quoted(path)} has no column of texts; it has {listed(names)}.")
    chosen = (usual or texts)[0]
    if len(names) > 1:
        notices.append(f"Texts are read from the column {quoted(chosen)}.")
    return str(chosen)


def _batches(reader: Reader, where: InputPlace, most: int) -> "Iterator[tuple[list[int], pa.Table, pa.Schema]]":
    """Yield positions of rows, a table of them (of Parquet its texts and floats), and the types of all columns."""
    if isinstance(reader, LineFiles):
        for positions in reader.positions(where, most):
            table = reader.table(where, positions[0], positions[-1])
            if table.num_rows != len(positions) - 1:
                raise CorpusError(
                    f"{quoted(where.path)} has {counted(len(positions) - 1, 'record')} between its bytes "
                    f"{positions[0]:,} and {positions[-1]:,}, and {table.num_rows:,} were read; check its quotation "
                    "marks and line ends."
                )
            _check_names(table.schema, where.path)
            yield positions, table, table.schema
        return
    schema, name = reader.schema(where), str(reader.text_column)
    _check_names(schema, where.path)
    if name not in schema.names:
        raise CorpusError(f"{quoted(where.path)} has no column {quoted(name)}; it has {listed(schema.names)}.")
    read = (field for field in schema if column_kind(field.type) == "text" or pa.types.is_floating(field.type))
    names = [name, *(field.name for field in read if field.name != name)]
    for positions, texts in zip(reader.positions(where, most), reader.texts(where, names, most), strict=True):
        yield positions, texts, schema


def _check_names(schema: pa.Schema, path: str) -> None:
    """Check that every column has a name of its own, without zero characters."""
    check_names(path, schema.names)
    names = Counter(schema.names)
    if names.total() > len(names):
        name, count = names.most_common(1)[0]
        raise CorpusError(f"{quoted(path)} has {counted(count, 'column')} of the name {quoted(name)}; rename them.")


def _check_zeros(table: pa.Table, path: str, before: int) -> None:
    """Check that no text has a zero character; the error names the row."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        if column_kind(column.type) == "text":
            found = pc.fill_null(pc.match_substring(column.cast(pa.large_string()), "\0"), False).to_numpy()
            if found.any():
                raise CorpusError(zero_cell_message(path, name, before + int(found.argmax()) + 1))


def _check_texts(table: pa.Table, name: str, path: str, before: int, most: int) -> None:
    """Check that all texts can be embedded; the error names the row."""
    if name not in table.column_names:
        raise CorpusError(f"Row {before + 1:,} of {quoted(path)} has no column {quoted(name)}.")
    column = table.column(name)
    if column_kind(column.type) != "text":
        raise CorpusError(f"The column {quoted(name)} of {quoted(path)} holds {column.type}; choose a column of texts.")
    try:
        column.validate(full=True)
    except pa.ArrowException as error:
        raise CorpusError(f"The column {quoted(name)} of {quoted(path)} holds bytes that are no UTF-8.") from error
    column = column.cast(pa.large_string())
    blank = pc.fill_null(pc.equal(pc.utf8_trim_whitespace(column), ""), True).to_numpy()
    if blank.any():
        raise CorpusError(
            f"Row {before + int(blank.argmax()) + 1:,} of {quoted(path)} has nothing in the column {quoted(name)}; "
            "a vector needs a text. Leave such rows out, or put something there."
        )
    lengths = pc.utf8_length(column).to_numpy()
    if lengths.max(initial=0) > most:
        raise CorpusError(
            f"Row {before + int(lengths.argmax()) + 1:,} of {quoted(path)} has a text of {lengths.max():,} characters; "
            f"at most {most:,} are read. Cut it into parts (or raise INSIDE_BERT_MAX_CHARACTERS)."
        )


def _sizes(reader: Reader, positions: Sequence[int], table: pa.Table, name: str) -> np.ndarray:
    """Return the bytes of every row: of all its columns, or of its text in a Parquet file."""
    if isinstance(reader, LineFiles):
        return np.diff(np.asarray(positions, dtype=np.int64))
    return np.asarray(pc.binary_length(table.column(name)).to_numpy(), dtype=np.int64)


def _take_commas(table: pa.Table, text_column: str, cells: dict[str, str | None]) -> None:
    """Add a cell with a decimal comma of each column of numbers written as texts, and None for other texts."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        if name != text_column and pa.types.is_string(column.type) and cells.get(name, "") is not None:
            cell = comma_cell(column)
            cells[name] = cell if cell is None else cells.get(name) or cell


def _take_rounded(table: pa.Table, cells: dict[str, float]) -> None:
    """Add a number of each column of JSON whose whole numbers have no type of their own in Arrow."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_floating(column.type) and name not in cells:
            largest = pc.max(pc.abs(column)).as_py()
            if largest is not None and largest >= BEYOND_WHOLE:
                cells[name] = largest


def _comma_notices(schema: pa.Schema, cells: Mapping[str, str | None]) -> Iterator[str]:
    """Yield notices about columns of decimal commas: those that are read as numbers, and those that stay texts."""
    of_commas = {name: cell for name, cell in cells.items() if cell}
    for is_text in (False, True):
        names = [name for name in of_commas if (column_kind(schema.field(name).type) == "text") == is_text]
        if names:
            yield comma_notice(names, of_commas[names[0]], not is_text)


def _columns(schema: pa.Schema, text_column: str, notices: list[str]) -> tuple[CorpusColumn, ...]:
    """Return the columns besides the texts; one with a reserved name is renamed, with a notice."""
    others = [field for field in schema if field.name != text_column]
    if len(others) > MAX_COLUMNS:
        raise CorpusError(
            f"The input has {len(others):,} columns beside the texts; at most {MAX_COLUMNS:,} are kept. Give an input "
            "with those that you need."
        )
    if any(len(field.name) > MAX_NAME - len("_input") for field in others):
        raise CorpusError(f"A column of the input has a name of more than {MAX_NAME:,} characters; rename it.")
    names = {field.name for field in others}
    columns = []
    for field in others:
        name = field.name
        while name in OWN_COLUMNS or (name != field.name and name in names):
            name = f"{name}_input"
        if name != field.name:
            notices.append(f"The column {quoted(field.name)} is kept as {quoted(name)}; a corpus has one of that name.")
        columns.append(CorpusColumn(name, field.name, column_kind(field.type)))
        names.add(name)
    return tuple(columns)
