"""Read lists of sentences: pasted text, CSV, TSV, Parquet; notices say what was left out or changed."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pandas as pd

from bertviz_core.errors import TextError
from bertviz_core.isolation.run import ChildError, Limits, run_limited
from bertviz_core.sentences.results import SentenceTable
from bertviz_core.settings import Settings
from bertviz_core.tables.decoding import file_bytes
from bertviz_core.tables.reading import ReadColumn, ReadLimits, ReadRequest, ReadTable, read_table
from bertviz_core.text import quoted

TASK = "bertviz_core.tables.reading.answered"
MAX_PACKED_NBYTES = 1024**2
"""What a packed answer has beside its texts and columns, at most: names and notices."""


def read_sentences(name: str, data: bytes | str | Path, settings: Settings, column: str | None = None) -> SentenceTable:
    """The sentences of one's own file or of a pasted text: one per line, or those of a column of a table.

    The kind goes by the ending of the name: .csv, .tsv and .parquet are tables whose first row names the columns,
    everything else is text. Blank lines are dropped, duplicates kept, cells above the limit of characters cut; notices
    count all of it.

    Args:
        name: name of the file, or what stands for it ("Pasted text").
        data: its bytes, its text, or where it is.
        settings: limits of sentences and characters.
        column: the column of a table; None for one called sentence or text, else the first that holds text.

    Raises:
        TextError: the file cannot be read, is too large, has a broken row or no such column, or no sentence.
    """
    raw = file_bytes(name, data)
    try:
        return _table(name, read_table(name, raw, _limits(settings), column))
    except MemoryError as error:
        raise TextError(f"{quoted(name)} takes more memory than this machine has. Give a part of it.") from error


def read_upload(
    name: str, data: bytes, settings: Settings, column: str | None, still_wanted: Callable[[], bool] | None = None
) -> SentenceTable:
    """Read an uploaded file as `read_sentences` does, in a process of its own, under limits.

    Args:
        name: name of the file.
        data: its bytes.
        settings: limits of the list and of the process.
        column: as read_sentences.
        still_wanted: asked many times a second; the reading ends where it answers no or raises.

    Raises:
        TextError: as read_sentences; or the reading takes more time or memory than is given to it.
        BusyError: too many files are being read.
        SupersededError: the table is no longer wanted.
    """
    request = msgspec.msgpack.encode(ReadRequest(name, data, _limits(settings), column))
    try:
        answer = run_limited(
            TASK, request, Limits.of(settings, settings.max_table_bytes + MAX_PACKED_NBYTES), still_wanted
        )
        del request
        return _table(name, msgspec.msgpack.decode(answer, type=ReadTable))
    except ChildError as error:
        raise TextError(f"{quoted(name)} could not be read: {error}. Give a part of it, or another format.") from error
    except (msgspec.MsgspecError, ValueError) as error:
        raise TextError(f"{quoted(name)} could not be read: its reader broke off. Give another format.") from error


def _limits(settings: Settings) -> ReadLimits:
    return ReadLimits(settings.max_sentences, settings.max_characters, settings.max_table_bytes)


def _table(name: str, contents: ReadTable) -> SentenceTable:
    """The table of what was read."""
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


def _series(column: ReadColumn, count: int) -> pd.Series:
    """A column; numbers as numbers where none is missing, a text that many rows repeat in memory once."""
    kinds = {type(value) for value in column.values}
    dtype = next((kind for kind in (bool, int, float) if kinds == {kind}), object)
    if dtype is int and any(abs(value) >= 2**63 for value in column.values if isinstance(value, int)):
        dtype = object  # NumPy's whole numbers end there
    values = np.array(column.values, dtype=dtype)
    return pd.Series(_expanded(values, np.frombuffer(column.codes, np.int32), count), dtype=dtype)


def _expanded(values: np.ndarray, codes: np.ndarray, count: int) -> np.ndarray:
    """The value of every row."""
    if len(codes) != count or (count and not 0 <= int(codes.min()) <= int(codes.max()) < len(values)):
        raise ValueError("codes that name no value")
    expanded: np.ndarray = values[codes]
    return expanded
