"""Lists of sentences as people have them: pasted text, CSV, TSV, Parquet; what was left out or changed is told."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path, PurePath

import numpy as np
import pandas as pd

from bertviz_core.errors import TextError
from bertviz_core.results.sentences import SentenceTable
from bertviz_core.safetensors_header import shown
from bertviz_core.sentence_cells import cell_texts, holds_texts
from bertviz_core.sentence_decoding import MAX_FILE_BYTES, decoded, file_bytes
from bertviz_core.sentence_parquet import parquet_frame
from bertviz_core.settings import Settings
from bertviz_core.tokenization import counted

DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
PARQUET = (".parquet", ".pq")
USUAL_COLUMNS = ("sentence", "sentences", "text", "texts")
"""Columns taken where none is named, in this order."""


def read_sentences(name: str, data: bytes | str | Path, settings: Settings, column: str | None = None) -> SentenceTable:
    """The sentences of a file or of a pasted text: one per line, or those of a column of a table.

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
    ending = PurePath(name).suffix.lower()
    notices: list[str] = []
    if ending in PARQUET:
        frame = parquet_frame(name, raw, lambda rows: _check_count(name, rows, 2 * settings.max_sentences, settings))
        frame.columns = pd.Index(_unique(frame.columns.tolist()))
    elif ending in DELIMITERS:
        frame = _delimited(name, decoded(name, raw), DELIMITERS[ending], settings)
    else:
        # Not splitlines: it also breaks at characters that stand inside sentences, such as U+2028.
        lines = decoded(name, raw).replace("\r\n", "\n").replace("\r", "\n").split("\n")
        return _table(name, lines, None, pd.DataFrame(index=range(len(lines))), settings, notices)
    chosen = _column(name, frame, column, notices)
    return _table(name, cell_texts(frame[chosen], chosen, notices), chosen, frame, settings, notices)


def _delimited(name: str, text: str, delimiter: str, settings: Settings) -> pd.DataFrame:
    """A table of texts; every row as many cells as the first.

    Raises:
        TextError: a row has more or fewer, or a quotation mark is never closed.
    """
    first = text.partition("\n")[0]
    if delimiter == "," and "," not in first:
        # Spreadsheets write the first where the comma separates decimals, and the second as "Unicode text".
        delimiter = next((other for other in (";", "\t") if other in first), delimiter)
    csv.field_size_limit(MAX_FILE_BYTES)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: list[list[str]] = []
    header: list[str] = []
    begun = 1
    try:
        for row in reader:
            if not header:
                header = _unique(row)
            elif row and len(row) != len(header):
                raise TextError(
                    f"Line {begun:,} of {shown(name)} has {counted(len(row), 'cell')}, but the first row names "
                    f"{counted(len(header), 'column')}; put a cell that holds the delimiter into quotation marks."
                )
            else:
                rows.append(row or [""] * len(header))
            begun = reader.line_num + 1
            _check_count(name, len(rows), 2 * settings.max_sentences, settings)
    except csv.Error as error:
        raise TextError(
            f"{shown(name)} is broken in the row that begins in line {begun:,}: {error}. Close its quotation marks."
        ) from error
    return pd.DataFrame(rows, columns=header, dtype=object)


def _unique(names: Sequence[str]) -> list[str]:
    """The columns' names, none empty and none twice."""
    found: list[str] = []
    for place, given in enumerate(names):
        name = plain = given.strip() or f"column {place + 1}"
        number = 2
        while name in found:
            name, number = f"{plain} ({number})", number + 1
        found.append(name)
    return found


def _column(name: str, frame: pd.DataFrame, column: str | None, notices: list[str]) -> str:
    columns = [str(each) for each in frame.columns]
    if not columns:
        raise TextError(f"{shown(name)} is empty; its first row must name the columns.")
    if column is not None:
        if column not in columns:
            raise TextError(f"{shown(name)} has no column {shown(column)}; it has {', '.join(map(shown, columns))}.")
        return column
    if len(columns) == 1:
        return columns[0]
    usual = [each for wanted in USUAL_COLUMNS for each in columns if each.lower() == wanted]
    text = (each for each in columns if holds_texts(frame[each]))
    chosen = usual[0] if usual else next(text, columns[0])
    notices.append(f"The sentences are those of the column {shown(chosen)}, since no other was named.")
    return chosen


def _table(
    name: str, texts: list[str], column: str | None, frame: pd.DataFrame, settings: Settings, notices: list[str]
) -> SentenceTable:
    """The sentences without the blank ones, counted."""
    rows = [place for place, text in enumerate(texts) if text.strip()]
    _check_count(name, len(rows), settings.max_sentences, settings)
    if not rows:
        raise TextError(f"{shown(name)} has no sentence: every line is blank. Write one sentence per line.")
    # What ends a text that a program wrote is no line left blank by someone.
    blank = len(texts) - len(rows) - (column is None and not texts[-1].strip())
    most = settings.max_characters
    beginnings = {text: text[:most] for text in set(texts) if len(text) > most}  # one for all rows that repeat it
    sentences = [beginnings.get(texts[place], texts[place]) for place in rows]
    cut = sum(len(texts[place]) > most for place in rows)
    duplicates = len(sentences) - len(set(sentences))
    if blank:
        notices.append(f"{counted(blank, 'blank line' if column is None else 'blank cell')} left out.")
    if duplicates:
        notices.append(f"{counted(duplicates, 'duplicate')} of earlier sentences kept.")
    if cut:
        notices.append(f"{counted(cut, 'sentence')} cut to the first {most:,} characters (INSIDE_BERT_MAX_CHARACTERS).")
    return SentenceTable(
        name=name,
        sentences=tuple(sentences),
        column=column,
        columns=tuple(map(str, frame.columns)),
        rows=np.array(rows, dtype=np.int64) + 1,
        frame=frame.iloc[rows].reset_index(drop=True),
        blank=blank,
        duplicates=duplicates,
        cut=cut,
        notices=tuple(notices),
    )


def _check_count(name: str, count: int, most: int, settings: Settings) -> None:
    if count > most:
        raise TextError(
            f"{shown(name)} has {counted(count, 'row')} or more; this instance takes at most "
            f"{settings.max_sentences:,} sentences (INSIDE_BERT_MAX_SENTENCES). Give a part of it."
        )
