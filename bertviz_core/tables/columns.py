"""Select the columns of a table: their names, the column of sentences, and why a column is left out."""

from collections.abc import Sequence
from itertools import islice
from typing import Protocol, runtime_checkable

from bertviz_core.errors import TextError
from bertviz_core.tables.cells import Cells, holds_texts
from bertviz_core.text import counted, quoted, shortened

USUAL_COLUMNS = ("sentence", "sentences", "text", "texts", "sentence1", "sentence_1", "text1", "premise", "question")
"""Default names of the column of sentences, in order of preference."""
ANSWERS = "answers"
"""Column of the gold answers to a question, of which a cell may hold several; it is read as JSON."""
MAX_COLUMNS = 2_000
"""Maximum number of columns."""
MAX_NAME = 1_000
"""Maximum length of a column name."""
MAX_LISTED_NAMES = 12
"""Maximum number of names listed in a message."""


@runtime_checkable
class Columns(Protocol):
    """A table whose columns are read one by one."""

    names: list[str]
    """Unique names of all columns."""
    stored_names: list[str]
    """Their names in the file."""
    decimal_comma: bool
    """Whether cells such as 3,5 are numbers."""

    def reason(self, index: int) -> str:
        """Why a column cannot be read; "" if it can."""

    def may_hold_texts(self, index: int) -> bool:
        """Whether the declared type of a column permits texts."""

    def declared_nbytes(self, index: int) -> int:
        """Declared size of a column in bytes; 0 if unknown."""

    def cells(self, index: int) -> Cells:
        """Read a column; raises TextError if that fails."""


def check_columns(name: str, count: int) -> None:
    """Refuse a table with too many columns."""
    if count > MAX_COLUMNS:
        raise TextError(
            f"{quoted(name)} has {counted(count, 'column')}; at most {MAX_COLUMNS:,} are read. Give only those that "
            "you need, or the one with the sentences."
        )


def check_names(name: str, columns: Sequence[str]) -> None:
    """Refuse a table with a zero character in the name of a column, as one in a cell is refused."""
    column = next((column for column in columns if "\0" in column), None)
    if column is not None:
        raise TextError(
            f"The column {quoted(column)} of {quoted(name)} has a zero character (U+0000) in its name; rename it."
        )


def unique_names(names: Sequence[str]) -> list[str]:
    """Make column names unique and not empty."""
    used: set[str] = set()
    numbers: dict[str, int] = {}
    unique: list[str] = []
    for index, header in enumerate(names):
        name = plain = shortened(header.strip(), MAX_NAME) or f"column {index + 1}"
        number = numbers.get(plain, 2)
        while name in used:
            name, number = f"{plain} ({number})", number + 1
        numbers[plain] = number
        used.add(name)
        unique.append(name)
    return unique


def namesakes(stored_names: Sequence[str], names: Sequence[str]) -> list[str]:
    """Notices about columns of one name: which has it."""
    alike: dict[str, list[str]] = {}
    for stored, name in zip(stored_names, names, strict=True):
        alike.setdefault(stored.strip(), []).append(name)
    repeated = {name: others for name, (_, *others) in alike.items() if name and others}
    notices = [
        f"There are {counted(len(others) + 1, 'column')} of the name {quoted(name)}: the first has it, and the "
        f"{'other is' if len(others) == 1 else 'others are'} called {listed(others)}."
        for name, others in islice(repeated.items(), MAX_LISTED_NAMES)
    ]
    if more := len(repeated) - len(notices):
        notices.append(f"Of {counted(more, 'further name')} there are also several columns, which got numbers.")
    return notices


def sentence_column(name: str, columns: Columns, requested: str | None, notices: list[str]) -> tuple[int, Cells]:
    """Index and cells of the column of sentences."""
    names = columns.names
    if not names:
        raise TextError(f"{quoted(name)} is empty; its first row must name the columns.")
    if requested is not None and requested not in names:
        raise TextError(f"{quoted(name)} has no column {quoted(requested)}; it has {listed(names)}.")
    if requested is not None or len(names) == 1:
        index = names.index(requested) if requested is not None else 0
        return index, _read(name, columns, index)
    readable = [index for index in range(len(names)) if not columns.reason(index)]
    if not readable:
        raise TextError(f"{quoted(name)} has no column that can be read: {quoted(names[0])} {columns.reason(0)}.")
    usual = [index for usual_name in USUAL_COLUMNS for index in readable if names[index].lower() == usual_name]
    chosen = _first_of_texts(columns, readable) if not usual else (usual[0], columns.cells(usual[0]))
    notices.append(f"Texts are read from the column {quoted(names[chosen[0]])}.")
    return chosen


def listed(names: Sequence[str]) -> str:
    """The first names, quoted, and the number of others."""
    words = ", ".join(map(quoted, names[:MAX_LISTED_NAMES]))
    return words if len(names) <= MAX_LISTED_NAMES else f"{words} and {len(names) - MAX_LISTED_NAMES:,} more"


def _first_of_texts(columns: Columns, readable: Sequence[int]) -> tuple[int, Cells]:
    for index in readable:
        if columns.may_hold_texts(index) and holds_texts(cells := columns.cells(index)):
            return index, cells
    return readable[0], columns.cells(readable[0])


def _read(name: str, columns: Columns, index: int) -> Cells:
    if reason := columns.reason(index):
        raise TextError(
            f"The column {quoted(columns.names[index])} of {quoted(name)} {reason}; choose a column of texts."
        )
    return columns.cells(index)
