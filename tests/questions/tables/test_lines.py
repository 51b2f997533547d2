"""A table of rows of any kind: titles, formats by type, numbers at the right; and a result that says how it is shown.

Covers `bertviz_core/questions/tables/lines.py`.
"""

from typing import Any, NamedTuple

import pandas as pd
import pytest

from bertviz_core.questions.tables.lines import Faces, table

ROWS = [("one", 1_000, -0.5), ("a\x1btwo", 2, 0.25)]
NAMES = ("name", "count", "share")


class Row(NamedTuple):
    """A row as an object."""

    name: str
    count: int
    share: float


@pytest.mark.parametrize(
    "rows",
    [ROWS, pd.DataFrame(ROWS, columns=NAMES), [Row(*row) for row in ROWS], [Row(*row)._asdict() for row in ROWS]],
)
def test_rows_of_any_kind_are_the_same_table(rows: Any) -> None:
    name, *rest = table(rows, NAMES)
    assert name.split() == list(NAMES)
    assert [line.split()[1:] for line in rest] == [["1,000", "−0.5000"], ["2", "0.2500"]]
    assert "\x1b" not in rest[1]
    assert len({len(line) for line in (name, *rest)}) == 1


def test_a_cell_is_a_field_a_format_or_a_function() -> None:
    columns = {"": lambda row: row.name[0], "share": ("share", ".1%"), "n": ("count", lambda count: f"{count}x")}
    assert table([Row(*ROWS[0])], columns) == ["    share      n", "o  -50.0%  1000x"]


def test_a_result_is_shown_by_its_faces() -> None:
    faces: Faces[Row] = Faces(
        keys="title=name twice rows",
        made={"twice": lambda row: 2 * row.count, "rows": lambda row: [{"n": n} for n in range(row.count)]},
        rows="rows",
        columns=("n",),
        above=lambda row: [row.name],
        most=1,
        rest="rows",
    )
    row = Row("one", 3, 0.5)
    assert faces.to_json(row) == {"title": "one", "twice": 6, "rows": [{"n": 0}, {"n": 1}, {"n": 2}]}
    assert faces.to_pandas(row)["n"].tolist() == [0, 1, 2]
    assert faces.to_lines(row) == ["one", "", "n", "0", "... and 2 rows"]
