"""Read lists of sentences from pasted text, CSV, TSV, JSON and Parquet; notices report omissions and changes."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np

from bertviz_core.errors import TextError
from bertviz_core.isolation.run import ChildError, Limits, run_limited
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.sentences.results import SentenceTable
from bertviz_core.settings import Settings
from bertviz_core.tables.decoding import file_bytes
from bertviz_core.tables.reading import ReadColumn, ReadLimits, ReadRequest, ReadTable, read_table
from bertviz_core.tables.tagged_words import TaggedWords, TagRequest
from bertviz_core.tables.vectors import VectorFile, VectorRequest, unpacked
from bertviz_core.text import quoted

TASK, VECTORS_TASK = "bertviz_core.tables.reading.answered", "bertviz_core.tables.vectors.answered"
T = TypeVar("T")
TAGGED_TASK = "bertviz_core.tables.tagged_words.answered"
MAX_PACKED_NBYTES = 1024**2
"""Maximum size of names and notices in a packed answer."""


def read_sentences(name: str, data: bytes | str | Path, settings: Settings, column: str | None = None) -> SentenceTable:
    """Read the sentences of a file or of pasted text: one per line, or the column of a table.

    The suffix of the name selects the format: .csv, .tsv and .parquet are tables with column names in the first row,
    .jsonl has an object with named values a line, .json may also be an array of them, everything else is text. Blank
    lines are dropped, duplicates kept, cells above the limit of characters cut; notices count them.

    Args:
        column: the column of a table; None for one called sentence or text, else the first column of text.
    """
    raw = file_bytes(name, data)
    try:
        return _table(name, read_table(name, raw, _limits(settings), column))
    except MemoryError as error:
        raise TextError(f"{quoted(name)} takes more memory than this machine has. Give a part of it.") from error


def read_upload(
    name: str, data: bytes, settings: Settings, column: str | None, is_needed: Callable[[], bool] | None = None
) -> SentenceTable:
    """Read an uploaded file like `read_sentences`, in a separate process under limits.

    Args:
        is_needed: polled many times a second; reading is cancelled when it returns False or raises.
    """
    request = msgspec.msgpack.encode(ReadRequest(name, data, _limits(settings), column))

    def unpack(answer: bytes) -> SentenceTable:
        return _table(name, msgspec.msgpack.decode(answer, type=ReadTable))

    return _of_child(TASK, name, request, settings, unpack, is_needed)


def read_vectors_upload(
    name: str, data: bytes, settings: Settings, texts: Sequence[str], is_needed: Callable[[], bool] | None = None
) -> VectorFile:
    """Read vectors from an uploaded file like `read_vectors`, in a separate process under limits.

    Args:
        texts: the texts of the vectors where the file has none; () for none.
        is_needed: as in `read_upload`.
    """
    request = msgspec.msgpack.encode(VectorRequest(name, data, list(texts)))
    return _of_child(VECTORS_TASK, name, request, settings, unpacked, is_needed)


def read_tagged_upload(name: str, data: bytes, settings: Settings) -> TaggedWords:
    """Read words with tags from an uploaded file like `read_tagged`, in a separate process under limits."""
    request = msgspec.msgpack.encode(TagRequest(name, data))
    return _of_child(TAGGED_TASK, name, request, settings, msgspec.msgpack.Decoder(TaggedWords).decode)


def _of_child(
    task: str,
    name: str,
    request: bytes,
    settings: Settings,
    unpack: Callable[[bytes], T],
    is_needed: Callable[[], bool] | None = None,
) -> T:
    """What a child process makes of a file."""
    try:
        limits = Limits.of(settings, settings.max_table_bytes + MAX_PACKED_NBYTES)
        answer = run_limited(task, request, limits, is_needed)
        del request
        return unpack(answer)
    except ChildError as error:
        raise TextError(f"{quoted(name)} could not be read: {error}. Give a part of it, or another format.") from error
    except (msgspec.MsgspecError, ValueError) as error:
        raise TextError(f"{quoted(name)} could not be read: its reader broke off. Give another format.") from error


def _limits(settings: Settings) -> ReadLimits:
    return ReadLimits(settings.max_sentences, settings.max_characters, settings.max_table_bytes)


def _table(name: str, contents: ReadTable) -> SentenceTable:
    codes, rows = np.frombuffer(contents.codes, np.int32), np.frombuffer(contents.rows, np.int32).astype(np.int64)
    texts = _expanded(np.array(contents.texts, dtype=object), codes, len(rows))
    rows.setflags(write=False)
    columns = {column.name: _series(column, len(rows)) for column in contents.other_columns}
    return SentenceTable(
        name=name,
        sentences=tuple(texts.tolist()),
        column=contents.column,
        columns=tuple(contents.columns),
        rows=rows,
        frame=pd.DataFrame(columns, index=range(len(rows))),
        blank=contents.blank,
        duplicates=contents.duplicates,
        cut=contents.cut,
        notices=tuple(contents.notices),
    )


def _series(column: ReadColumn, count: int) -> "pd.Series":
    """Build a column; numbers stay numbers if none is missing, repeated texts share memory."""
    kinds = {type(value) for value in column.values}
    dtype = next((kind for kind in (bool, int, float) if kinds == {kind}), object)
    if dtype is int and any(abs(value) >= 2**63 for value in column.values if isinstance(value, int)):
        dtype = object  # beyond the range of NumPy's integers
    values = np.array(column.values, dtype=dtype)
    return pd.Series(_expanded(values, np.frombuffer(column.codes, np.int32), count), dtype=dtype)


def _expanded(values: np.ndarray, codes: np.ndarray, count: int) -> np.ndarray:
    if len(codes) != count or (count and not 0 <= int(codes.min()) <= int(codes.max()) < len(values)):
        raise ValueError("codes that name no value")
    expanded: np.ndarray = values[codes]
    return expanded
