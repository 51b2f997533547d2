"""Decode files as UTF-8, or according to a byte-order mark; encodings are never guessed."""

import codecs
from pathlib import Path

from bertviz_core.errors import TextError
from bertviz_core.text import quoted

BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (codecs.BOM_UTF8, "utf-8"),
)
"""Byte-order marks and their encodings; one of UTF-32 starts like one of UTF-16, and so is looked for first."""


ZIP = b"PK\x03\x04"
BINARY_BEGINNINGS = (ZIP, b"%PDF-", b"\x89PNG", b"\xd0\xcf\x11\xe0")
"""Beginnings of formats that are no text: ZIP (docx, xlsx, odt), PDF, PNG, old formats of Microsoft Office."""
CONTROL_BYTES = bytes({*range(1, 32)} - {*b"\t\n\f\r\v\x1b"})
"""Control characters with which no text begins."""
MAX_MAGIC_NBYTES = 16
MAX_FILE_NBYTES = 200 * 1024**2
"""Maximum size of a file in bytes."""


def file_bytes(name: str, data: bytes | str | Path) -> bytes:
    """The bytes of a file, or of a text in UTF-8."""
    if isinstance(data, str):
        data = data.encode("utf-8", "replace")
    try:
        size = data.stat().st_size if isinstance(data, Path) else len(data)
        if size <= MAX_FILE_NBYTES and isinstance(data, Path):
            with data.open("rb") as file:  # the size of a device or pipe is unknown
                data = file.read(MAX_FILE_NBYTES + 1)
                size = len(data)
    except OSError as error:
        raise TextError(f"{quoted(name)} cannot be read ({error.strerror}); check that it is there.") from error
    if isinstance(data, Path) or size > MAX_FILE_NBYTES:
        size_text = (
            f"more than {MAX_FILE_NBYTES // 1024**2:,}" if size == MAX_FILE_NBYTES + 1 else f"{size / 1024**2:,.0f}"
        )
        raise TextError(
            f"{quoted(name)} has {size_text} MiB; at most {MAX_FILE_NBYTES // 1024**2} MiB are read. "
            "Give a part of it, or only the column with the sentences."
        )
    return data


def byte_order_mark(beginning: bytes) -> tuple[bytes, str]:
    """The byte-order mark at the beginning of a file and the encoding of the rest; without a mark b"" and UTF-8."""
    return next((each for each in BYTE_ORDER_MARKS if beginning.startswith(each[0])), (b"", "utf-8"))


def shown_encoding(encoding: str) -> str:
    """Name of an encoding without its byte order, such as UTF-16."""
    return encoding.upper().removesuffix("-LE").removesuffix("-BE")


def binary_file_message(name: str, beginning: bytes) -> str:
    """Why a file with such a beginning is no text, and what to do; "" if it may be one."""
    mark, _ = byte_order_mark(beginning)
    start = b"" if mark else beginning.partition(b"\0")[0]  # a zero byte may be of UTF-16 without a mark
    if not start.startswith(BINARY_BEGINNINGS) and start == start.translate(None, CONTROL_BYTES):
        return ""
    office = ", such as a document or spreadsheet of an office program" if start.startswith(ZIP) else ""
    return f"{quoted(name)} is a binary file{office}, not a text; save what is in it as CSV or as plain text in UTF-8."


def decoded(name: str, raw: bytes) -> str:
    """Decode a file and remove its byte-order mark."""
    if message := binary_file_message(name, raw[:MAX_MAGIC_NBYTES]):
        raise TextError(message)
    _, encoding = byte_order_mark(raw)
    try:
        text = raw.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise TextError(
            f"{quoted(name)} is not {shown_encoding(encoding)}: the byte 0x{raw[error.start]:02X} at "
            f"position {error.start:,} (line {line:,}) does not belong there. Save the file as UTF-8."
        ) from error
    zero = text.find("\0")
    if zero >= 0:
        raise TextError(zero_byte_message(name, zero))
    return text


def zero_byte_message(name: str, position: int) -> str:
    """Why a file with a zero byte is not read, and what to do."""
    return (
        f"{quoted(name)} holds a zero byte at position {position:,}, so it is no text in UTF-8 (perhaps UTF-16 without "
        "a byte-order mark, or a spreadsheet's own format). Save it as UTF-8, or as CSV."
    )


def zero_cell_message(name: str, column: str, row: int) -> str:
    """Why a table with a zero character in a cell is not read, and what to do."""
    return (
        f"Row {row:,} of the column {quoted(column)} of {quoted(name)} holds a zero character (U+0000), which no text "
        "has; take it out."
    )
