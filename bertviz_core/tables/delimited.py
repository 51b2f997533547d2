"""Tables as CSV and TSV: every cell a text."""

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
    """A table of texts; every row as many cells as the first."""

    def __init__(self, name: str, text: str, delimiter: str, check_count: Callable[[int], None]) -> None:
        """Reads all of it.

        Args:
            name: name of the file.
            text: what stands in it.
            delimiter: what separates its cells, if its first line does not say otherwise.
            check_count: told the count of rows; may raise to stop the reading.

        Raises:
            TextError: a row has more or fewer cells than the first, a quotation mark is never closed, or the columns
                are too many.
        """
        self.names: list[str] = []
        self._rows: list[list[str]] = []
        for begun, row in _rows(name, text, delimiter):
            if not self.names:
                check_columns(name, len(row))
                self.names = unique_names(row)
            elif row and len(row) != len(self.names):
                raise TextError(
                    f"Line {begun:,} of {quoted(name)} has {counted(len(row), 'cell')}, but the first row names "
                    f"{counted(len(self.names), 'column')}; put a cell that holds the delimiter into quotation marks."
                )
            else:
                self._rows.append(row)
            check_count(len(self._rows))

    def reason(self, index: int) -> str:
        """Nothing: every column can be read."""
        return ""

    def may_hold_texts(self, index: int) -> bool:
        """True: every cell is a text."""
        return True

    def declared_nbytes(self, index: int) -> int:
        """0: a text declares nothing."""
        return 0

    def cells(self, index: int) -> Cells:
        """A column, "" in lines where nothing stands."""
        return Cells.of(row[index] if row else "" for row in self._rows)


def _rows(name: str, text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Every row with the line in which it begins."""
    first = text.partition("\n")[0]
    if delimiter == "," and "," not in first:
        # Spreadsheets write the first where the comma separates decimals, and the second as "Unicode text".
        delimiter = next((other for other in (";", "\t") if other in first), delimiter)
    csv.field_size_limit(MAX_FILE_NBYTES)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    begun = 1
    try:
        for row in reader:
            yield begun, row
            begun = reader.line_num + 1
    except csv.Error as error:
        raise TextError(
            f"{quoted(name)} is broken in the row that begins in line {begun:,}: {error}. Close its quotation marks."
        ) from error
