"""Read CSV and TSV files."""

import csv
import io
from collections.abc import Callable, Iterator

from bertviz_core.errors import TextError
from bertviz_core.tables.cells import Cells
from bertviz_core.tables.columns import check_columns, unique_names
from bertviz_core.tables.decoding import MAX_FILE_NBYTES
from bertviz_core.text import counted, quoted

DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}


class DelimitedTable:
    """A table of texts with equally long rows."""

    def __init__(self, name: str, text: str, delimiter: str, check_count: Callable[[int], None]) -> None:
        """Parse the table.

        Args:
            name: name of the file.
            text: its content.
            delimiter: the delimiter, unless the first line suggests another.
            check_count: called with the number of rows; may raise to stop.

        Raises:
            TextError: rows differ in length, a quotation mark is not closed, or there are too many columns.
        """
        self.names: list[str] = []
        self._rows: list[list[str]] = []
        for first_line, row in _rows(name, text, delimiter):
            if not self.names:
                check_columns(name, len(row))
                self.names = unique_names(row)
            elif row and len(row) != len(self.names):
                raise TextError(
                    f"Line {first_line:,} of {quoted(name)} has {counted(len(row), 'cell')}, but the first row names "
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


def _rows(name: str, text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Rows with the numbers of their first lines."""
    first = text.partition("\n")[0]
    if delimiter == "," and "," not in first:
        # Spreadsheets use ";" where the comma separates decimals, and tabs for "Unicode text".
        delimiter = next((other for other in (";", "\t") if other in first), delimiter)
    csv.field_size_limit(MAX_FILE_NBYTES)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    first_line = 1
    try:
        for row in reader:
            yield first_line, row
            first_line = reader.line_num + 1
    except csv.Error as error:
        raise TextError(
            f"{quoted(name)} is broken in the row that begins in line {first_line:,}: {error}. Close its quotation "
            "marks."
        ) from error
