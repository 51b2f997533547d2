"""How the rows of a corpus that change their neighbours are shown."""

from typing import Any

from bertviz_core.corpus.analysis.results import NeighbourChanges
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.questions.tables.lines import Faces, table
from bertviz_core.tables.typeset import plain_cell
from bertviz_core.text import counted, escape_controls, quoted

MOST_LISTED, LONGEST_TEXT = 10, 48
"""Rows that are printed, and characters of their texts."""


def change_words(changes: NeighbourChanges) -> str:
    """How many rows have other nearest rows, in one sentence."""
    return (
        f"{changes.changed:,} of {counted(len(changes.rows), 'row')} have other nearest rows by {changes.second} than "
        f"by {changes.first}; of {changes.neighbours:,} they keep {changes.same.mean():.1f} on average."
    )


def changes_frame(changes: NeighbourChanges) -> "pd.DataFrame":
    """One row per compared row, those that keep the fewest neighbours first: its neighbours before and now."""
    order = changes.same.argsort(kind="stable")
    rows, texts = changes.rows, changes.texts
    near = changes.first_nearest[order, 0], changes.second_nearest[order, 0]
    return pd.DataFrame(
        {
            "row": rows[order],
            "kept": changes.same[order],
            "text": [plain_cell(texts[place]) for place in order.tolist()],
            "nearest before": rows[near[0]],
            "cosine before": changes.first_cosines[order, 0],
            "text before": [plain_cell(texts[place]) for place in near[0].tolist()],
            "nearest now": rows[near[1]],
            "cosine now": changes.second_cosines[order, 0],
            "text now": [plain_cell(texts[place]) for place in near[1].tolist()],
        }
    )


def neighbours_frame(changes: NeighbourChanges, place: int) -> "pd.DataFrame":
    """The nearest rows of one row, before and now, side by side."""
    first, second = changes.first_nearest[place], changes.second_nearest[place]
    return pd.DataFrame(
        {
            "place": range(1, changes.neighbours + 1),
            "row before": changes.rows[first],
            "cosine before": changes.first_cosines[place],
            "text before": [plain_cell(changes.texts[each]) for each in first.tolist()],
            "row now": changes.rows[second],
            "cosine now": changes.second_cosines[place],
            "text now": [plain_cell(changes.texts[each]) for each in second.tolist()],
        }
    )


def _rows(changes: NeighbourChanges) -> list[dict[str, Any]]:
    """The rows that changed, fewest kept first."""
    return [
        {
            "row": int(changes.rows[place]),
            "kept": int(changes.same[place]),
            "text": changes.texts[place],
            "before": changes.rows[changes.first_nearest[place]],
            "cosines_before": changes.first_cosines[place],
            "now": changes.rows[changes.second_nearest[place]],
            "cosines_now": changes.second_cosines[place],
        }
        for place in changes.most_changed.tolist()
    ]


def _lines(changes: NeighbourChanges) -> list[str]:
    listed = changes.most_changed.tolist()
    rows = [
        (
            int(changes.rows[place]),
            int(changes.same[place]),
            *(
                quoted(changes.texts[each], LONGEST_TEXT)
                for each in (place, changes.first_nearest[place, 0], changes.second_nearest[place, 0])
            ),
        )
        for place in listed[:MOST_LISTED]
    ]
    more = len(listed) - MOST_LISTED
    titles = ("row", "kept", "text", "nearest before", "nearest now")
    return [
        escape_controls(change_words(changes)),
        "",
        *table(enumerate(changes.counts.tolist()), ("kept", "rows"), "rr"),
        *(["", *table(rows, titles, "rrlll", str)] if rows else []),
        *([f"... and {more:,} more rows"] if more > 0 else []),
    ]


CHANGES: Faces[NeighbourChanges] = Faces(
    keys="corpus first second total compared neighbours changed summary counts rows notices",
    made={"compared": lambda changes: len(changes.rows), "summary": change_words, "rows": _rows},
    frame=changes_frame,
    lines=_lines,
)
