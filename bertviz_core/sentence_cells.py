"""The cells of a table's column as texts: numbers as they are written, nothing where nothing stands."""

from typing import Any

import pandas as pd

from bertviz_core.errors import TextError
from bertviz_core.safetensors_header import shown
from bertviz_core.tokenization import counted


def holds_texts(cells: Any) -> bool:
    """Whether a column holds texts, none of them a number."""
    texts = [value for value in cells.tolist() if isinstance(value, str) and value.strip()]
    return bool(texts) and not _numbers(texts)


def cell_texts(cells: Any, column: str, notices: list[str]) -> list[str]:
    """The cells of a column as texts; a notice counts those that are numbers.

    Raises:
        TextError: a cell holds several values, or bytes that are no text.
    """
    kept: dict[str, str] = {}  # one text for all rows that repeat it
    read = (_text(value, row, column) for row, value in enumerate(cells.tolist(), 1))
    texts = [kept.setdefault(text, text) for text in read]
    if count := _numbers([text for text in texts if text.strip()]):
        cells_counted = counted(count, "cell")
        notices.append(f"Numbers in {cells_counted} of the column {shown(column)} are read as they are written.")
    return texts


def _numbers(texts: list[str]) -> int:
    """How many of the texts are numbers; a long one is none."""
    short = [text for text in texts if len(text) < 100]
    return int(pd.to_numeric(pd.Series(short, dtype=object), errors="coerce").notna().sum())


def _text(value: Any, row: int, column: str) -> str:
    if isinstance(value, str):
        return value
    if not pd.api.types.is_scalar(value):
        raise TextError(f"Row {row:,} of the column {shown(column)} holds several values; choose a column of texts.")
    if not isinstance(value, bytes):
        return "" if pd.isna(value) else str(value)
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TextError(
            f"Row {row:,} of the column {shown(column)} holds bytes that are no UTF-8; write the column as texts."
        ) from error
