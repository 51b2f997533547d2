"""The view Another model of the page Corpus: which rows change their nearest rows."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from bertviz_core.corpus.analysis.neighbours import LEAST_ROWS
from bertviz_core.corpus.analysis.results import NeighbourChanges
from bertviz_core.figures.corpus import neighbours_figure
from bertviz_core.questions import corpora
from bertviz_core.questions.opened import CorpusSubject
from bertviz_core.questions.parameters import Options, Param
from bertviz_core.questions.report.library_lines import explained
from bertviz_core.questions.tables.corpora import change_words, changes_frame, neighbours_frame
from bertviz_core.questions.view import Ask, Figure, Notices, Part, Section, Table, TableFiles, Text, View
from bertviz_core.text import escape_markdown

CHANGED_ROW = Param(
    "changed_row", "position", "the open row of those that changed most, from 1", label="Open row of the list"
)
MOST_LISTED = 100
"""Most rows that are listed."""
LISTED = ("row", "kept", "text", "text before", "text now")
"""Columns of the list; the files have more."""
COMPUTED = (
    "The texts of the rows are run through the other model by the recipe of its own folder. Each row's nearest rows "
    "are those with the largest cosines: once of the vectors that the corpus keeps, once of the new ones. Cosines of "
    "two models have different scales, so that only their order is compared. A row that is as near as another, up to "
    "rounding, counts as kept. Of a large corpus some rows, evenly spaced, are compared with each other only: in the "
    "whole corpus other rows may be nearer. Changed neighbours are not worse ones; what they are, the texts say. If "
    "many change, a corpus must be embedded anew, and vectors of both models must never be mixed."
)


def neighbours_view(opened: CorpusSubject, ask: Ask, options: Options) -> Iterator[Part]:
    """How many nearest rows are kept, and the rows that changed most, with their neighbours before and now."""
    chosen = options.only(corpora.NEIGHBOUR_MODEL, corpora.NEIGHBOUR_COUNT, corpora.NEIGHBOUR_ROWS)
    if opened.corpus.manifest.text_column is None:
        yield Text("This corpus keeps no texts (--no-text), so no other model can read them.", "notice")
        return
    if opened.corpus.rows < LEAST_ROWS:
        yield Text(f"Neighbours are compared on at least {LEAST_ROWS} rows.", "notice")
        return
    answer = ask(corpora.neighbour_changes, chosen)
    changes = answer.result
    yield Figure.of(
        neighbours_figure,
        answer,
        f"corpus neighbours {opened.name} {changes.first} {changes.second}",
        formats={"share": "percent"},
        below=[Text(escape_markdown(change_words(changes))), Notices(changes.notices, "caption")],
        **explained(COMPUTED, corpora.neighbour_changes, opened, chosen),
    )
    if changes.changed:
        yield Text("**The rows that changed most**")
        listed = changes_frame(changes)[list(LISTED)].head(min(changes.changed, MOST_LISTED))
        yield Table(listed, "The rows that changed most, with their nearest row before and now", 240)
        yield TableFiles(
            partial(changes_frame, changes), "corpus_neighbours_rows", f"corpus neighbours of rows {opened.name}"
        )
        bounds = 1, len(listed), 1
        yield Section((replace(CHANGED_ROW, bounds=lambda *_: bounds),), partial(_row, changes))


def _row(changes: NeighbourChanges, _: CorpusSubject, __: Ask, options: Options) -> Iterator[Part]:
    """A row with its text, and its nearest rows before and now."""
    number = int(options.get(CHANGED_ROW.key))
    place = int(changes.most_changed[number - 1])
    row = int(changes.rows[place])
    yield Text(f"Row {row:,}: {escape_markdown(changes.texts[place])}")
    yield Table(neighbours_frame(changes, place), f"The nearest rows of row {row:,} before and now", "auto")


VIEW = View(
    "Another model", (corpora.NEIGHBOUR_MODEL, corpora.NEIGHBOUR_COUNT, corpora.NEIGHBOUR_ROWS), neighbours_view
)
