"""Read sentence vectors that another program computed: NPY, Parquet, JSON lines, and the answers of embeddings APIs."""

import base64
import binascii
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

import msgspec
import numpy as np
from jaxtyping import Float

from bertviz_core.errors import TextError
from bertviz_core.tables.columns import USUAL_COLUMNS
from bertviz_core.tables.decoding import MAX_FILE_NBYTES, decoded, file_bytes
from bertviz_core.text import LFS_NBYTES, counted, first_line, pointer_message, quoted

MOST_ROWS = 200
"""Most rows that are compared; of more, evenly spaced ones."""
MOST_DIMENSIONS = 65_536
"""Most numbers of a vector."""
VECTOR_NAMES = ("embedding", "embeddings", "vector", "vectors", "values", "sentence_embedding", "dense", "float")
"""Usual names of the vectors of a file, in order of preference."""
TEXT_NAMES = (*USUAL_COLUMNS, "input", "content", "document")
LIST_NAMES = ("data", "embeddings", "vectors", "items", "results", "predictions")
"""Usual names of the list of an API's answer."""
SUFFIXES = (".npy", ".parquet", ".pq", ".jsonl", ".ndjson", ".json")
FORMS = "an NPY file, or Parquet or JSON lines with a text and a list of numbers in each row, or an API's answer (JSON)"


@dataclass(frozen=True, slots=True, eq=False)
class VectorFile:
    """Vectors from a file with their texts."""

    texts: tuple[str, ...]
    """Text of each vector."""
    vectors: Float[np.ndarray, "texts dimensions"]
    """The vectors, float64."""
    notices: tuple[str, ...]
    """Notices, one sentence each."""


class VectorRequest(msgspec.Struct, frozen=True):
    """A file to read in a child process."""

    name: str
    data: bytes
    texts: list[str]


class VectorAnswer(msgspec.Struct, frozen=True):
    """Its contents."""

    texts: list[str]
    shape: tuple[int, int]
    values: bytes
    """Numbers in float64, row by row."""
    notices: list[str]


def answered(request: bytes) -> bytes:
    """The entry point of a child process: a packed VectorAnswer for a packed VectorRequest."""
    wanted_file = msgspec.msgpack.decode(request, type=VectorRequest)
    file = read_vectors(wanted_file.name, wanted_file.data, wanted_file.texts)
    rows, dimensions = file.vectors.shape
    values = np.ascontiguousarray(file.vectors).tobytes()
    return msgspec.msgpack.encode(VectorAnswer(list(file.texts), (rows, dimensions), values, list(file.notices)))


def unpacked(answer: bytes) -> VectorFile:
    """The file of a packed VectorAnswer."""
    packed = msgspec.msgpack.decode(answer, type=VectorAnswer)
    return VectorFile(tuple(packed.texts), np.frombuffer(packed.values).reshape(packed.shape), tuple(packed.notices))


def read_vectors(name: str, data: bytes | Path, texts: Sequence[str] = ()) -> VectorFile:
    """Read the vectors of a file, of at most MOST_ROWS evenly spaced rows, with their texts.

    Args:
        name: file name, whose suffix selects the format.
        data: content, or the path of the file.
        texts: the texts in the order of the vectors; () where the file has them.
    """
    suffix = PurePath(name).suffix.lower()
    if suffix not in SUFFIXES:
        raise TextError(f"{quoted(name)} is of no kind that holds vectors; give {FORMS}.")
    _check_pointer(name, data)
    try:
        if suffix == ".npy":
            rows, read = _array(name, data)
        elif suffix in (".parquet", ".pq"):
            rows, read = _parquet(name, data)
        else:
            rows, read = _json(name, decoded(name, file_bytes(name, data)), suffix == ".json")
    except MemoryError as error:
        raise TextError(f"{quoted(name)} takes more memory than this machine has; give a part of it.") from error
    _check_rows(name, rows, texts)
    places = np.linspace(0, rows - 1, min(rows, MOST_ROWS)).astype(int).tolist()
    own_texts, vectors, notices = read(places)
    chosen = [texts[place] for place in places] if texts else own_texts
    blank = next((place for place, text in zip(places, chosen or (), strict=False) if not text.strip()), None)
    if chosen is None or blank is not None:
        where = "has vectors without their texts" if blank is None else f"has no text for vector {blank + 1:,}"
        raise TextError(
            f"{quoted(name)} {where}; give one for each vector, in the file or in one of its own in the same order."
        )
    if rows > len(places):
        notices = [*notices, f"{len(places):,} of the {rows:,} vectors are compared, evenly spaced in the file."]
    return VectorFile(tuple(chosen), vectors.astype(np.float64), tuple(notices))


def _check_rows(name: str, rows: int, texts: Sequence[str]) -> None:
    if not rows:
        raise TextError(f"{quoted(name)} has no vector; give {FORMS}.")
    if texts and len(texts) != rows:
        raise TextError(
            f"{quoted(name)} has {counted(rows, 'vector')}, and there are {counted(len(texts), 'text')}; give one text "
            "for each vector, in the same order."
        )


Read = tuple[list[str] | None, np.ndarray, list[str]]


def _check_pointer(name: str, data: bytes | Path) -> None:
    try:
        beginning = data[:LFS_NBYTES] if isinstance(data, bytes) else _beginning(data)
    except OSError as error:
        raise TextError(f"{quoted(name)} cannot be read ({error.strerror}); check that it is there.") from error
    if message := pointer_message(name, beginning):
        raise TextError(message)


def _beginning(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(LFS_NBYTES)


def _array(name: str, data: bytes | Path) -> "tuple[int, Any]":
    """Number of rows of an NPY file, and what reads some of them."""
    try:
        # A path is mapped, so that only the rows that are compared are read; pickled objects are refused.
        array = np.load(data, mmap_mode="r") if isinstance(data, Path) else np.load(io.BytesIO(data))
    except (ValueError, OSError, EOFError, SyntaxError, TypeError, OverflowError) as error:
        raise TextError(f"{quoted(name)} is no NPY file of numbers: {first_line(error)[:200]}.") from error
    if not isinstance(array, np.ndarray) or array.ndim != 2 or array.dtype.kind not in "fiu":
        what = f"the shape {array.shape} and the type {array.dtype}" if isinstance(array, np.ndarray) else "no array"
        raise TextError(f"{quoted(name)} has {what}; give an array of numbers with one row for each text.")
    _check_dimensions(name, array.shape[1])
    return len(array), lambda places: (None, np.array(array[places]), [])


def _check_dimensions(name: str, dimensions: int) -> None:
    if dimensions > MOST_DIMENSIONS:
        raise TextError(f"A vector of {quoted(name)} has {dimensions:,} numbers; at most {MOST_DIMENSIONS:,} are read.")


def _parquet(name: str, data: bytes | Path) -> "tuple[int, Any]":
    """Number of rows of a Parquet file, and what reads some of them."""
    import pyarrow as pa
    from pyarrow import parquet

    from bertviz_core.tables.parquet import check_counts, take_rows

    refused = (pa.ArrowException, OSError, ValueError, KeyError)
    try:
        file = parquet.ParquetFile(data if isinstance(data, Path) else pa.BufferReader(data), pre_buffer=False)
        check_counts(file.metadata)
    except refused as error:
        raise TextError(f"{quoted(name)} is no Parquet file that can be read: {first_line(error)[:200]}.") from error
    schema = file.schema_arrow
    lists = [field.name for field in schema if pa.types.is_list(field.type) or pa.types.is_large_list(field.type)
             or pa.types.is_fixed_size_list(field.type)]  # fmt: skip
    strings = [field.name for field in schema if pa.types.is_string(field.type) or pa.types.is_large_string(field.type)]
    vector, text = _usual(lists, VECTOR_NAMES), _usual(strings, TEXT_NAMES)
    if vector is None:
        raise TextError(f"{quoted(name)} has no column with a list of numbers in each row; give {FORMS}.")
    unpacked_nbytes = sum(
        file.metadata.row_group(group).column(column).total_uncompressed_size
        for group in range(min(1, file.metadata.num_row_groups))
        for column in range(file.metadata.num_columns)
    )
    if unpacked_nbytes > 2 * MAX_FILE_NBYTES:
        raise TextError(
            f"A row group of {quoted(name)} unpacks to {unpacked_nbytes / 1024**2:,.0f} MiB; write smaller."
        )

    def read(places: list[int]) -> Read:
        try:
            table = take_rows(file, [vector, *([text] if text else [])], np.array(places))
            rows = table.column(vector).to_pylist()
            texts = None if text is None else ["" if each is None else each for each in table.column(text).to_pylist()]
        except refused as error:
            raise TextError(f"{quoted(name)} cannot be read: {first_line(error)[:200]}.") from error
        return texts, _matrix(name, rows, places), []

    return file.metadata.num_rows, read


def _usual(names: Sequence[str], usual: Sequence[str]) -> str | None:
    """The first of the usual names, otherwise the first name."""
    return next((name for each in usual for name in names if name.lower() == each), next(iter(names), None))


def _json(name: str, text: str, whole: bool) -> "tuple[int, Any]":
    """Number of rows of JSON lines or of one JSON value, and what reads some of them."""
    notices: list[str] = []
    lines = [line for line in text.split("\n") if line.strip()]
    if whole:
        items, texts = _items(name, _value(name, text), notices)
    else:
        items, texts = [*lines], None

    def read(places: list[int]) -> Read:
        chosen = [items[place] if whole else _value(name, items[place]) for place in places]
        vectors = [_numbers(name, row, place) for row, place in zip(chosen, places, strict=True)]
        own = [_text_of(row) for row in chosen] if texts is None else [texts[place] for place in places]
        complete = [each for each in own if each is not None]
        return complete if len(complete) == len(own) else None, _matrix(name, vectors, places), notices

    return len(items), read


def _value(name: str, text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise TextError(f"{quoted(name)} is no JSON that can be read: {first_line(error)[:200]}.") from error


def _items(name: str, value: Any, notices: list[str]) -> tuple[list[Any], list[str] | None]:
    """The rows of an answer in their order, and its texts if it has them in a list of their own."""
    texts: list[str] | None = None
    while isinstance(value, Mapping):
        for key in ("texts", "sentences", "input"):
            listed = value.get(key)
            if isinstance(listed, list) and listed and all(isinstance(each, str) for each in listed):
                texts = listed
        place = next((key for key in (*LIST_NAMES, "float") if isinstance(value.get(key), (list, Mapping))), None)
        if place is None:
            known = ", ".join(quoted(str(each), 20) for each in list(value)[:8]) or "none"
            raise TextError(f"{quoted(name)} has no list of vectors; its keys are {known}; give {FORMS}.")
        value = value[place]
    if not isinstance(value, list):
        raise TextError(f"{quoted(name)} is no list of vectors; give {FORMS}.")
    if value and all(isinstance(each, Mapping) and isinstance(each.get("index"), int) for each in value):
        ordered = sorted(value, key=lambda each: each["index"])
        if ordered != value:
            notices.append("The rows of the answer are put in the order of their index.")
        value = ordered
    return value, texts if texts is not None and len(texts) == len(value) else None


def _numbers(name: str, row: Any, place: int) -> Any:
    """The numbers of a row: a list, one by its usual name, or base64 of float32."""
    if isinstance(row, Mapping):
        key = _usual([key for key, value in row.items() if isinstance(value, list)], VECTOR_NAMES)
        encoded = next((row[key] for key in VECTOR_NAMES if isinstance(row.get(key), str)), None)
        row = row[key] if key is not None else encoded
    if isinstance(row, str):
        try:
            return np.frombuffer(base64.b64decode(row, validate=True), dtype="<f4").tolist()
        except (binascii.Error, ValueError) as error:
            raise TextError(
                f"Row {place + 1:,} of {quoted(name)} has a text for its vector that is no base64 of float32 numbers; "
                "give a list of numbers."
            ) from error
    if isinstance(row, list) and len(row) == 1 and isinstance(row[0], list):
        return row[0]
    return row


def _text_of(row: Any) -> str | None:
    if not isinstance(row, Mapping):
        return None
    name = _usual([str(key) for key, value in row.items() if isinstance(value, str)], TEXT_NAMES)
    return None if name is None or name.lower() in VECTOR_NAMES else row[name]


def _matrix(name: str, rows: Sequence[Any], places: Sequence[int]) -> np.ndarray:
    """Rows of numbers of one length."""
    width = len(rows[0]) if isinstance(rows[0], (list, np.ndarray)) else 0
    _check_dimensions(name, width)
    for place, row in zip(places, rows, strict=True):
        if not isinstance(row, list) or not all(type(each) in (int, float) for each in row):
            raise TextError(f"Row {place + 1:,} of {quoted(name)} has no list of numbers; give {FORMS}.")
        if len(row) != width:
            raise TextError(
                f"Row {place + 1:,} of {quoted(name)} has {counted(len(row), 'number')}, the first one {width:,}; "
                "vectors of one model have the same length."
            )
    try:
        return np.array(rows, dtype=np.float64)
    except OverflowError as error:
        raise TextError(f"A number of {quoted(name)} is too large for a vector.") from error
