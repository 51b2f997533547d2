"""What the view Label errors shows: given against likely labels, the suspects, and one of them with its neighbours."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from bertviz_core.figures.predictions.probes import label_errors_figure
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.predictions.probing.calibration import NAMED
from bertviz_core.predictions.probing.label_errors import head_places
from bertviz_core.predictions.probing.results import LabelErrors, LabelledTexts
from bertviz_core.predictions.probing.table import are_numbered
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options, Param
from bertviz_core.questions.predictions.label_errors import (
    HEAD,
    has_head,
    head_classes,
    label_errors,
    label_probabilities,
    named_classes,
    offered_sources,
    probability_options,
)
from bertviz_core.questions.question import Answer
from bertviz_core.questions.report.library_lines import explained
from bertviz_core.questions.tables.labelled.label_errors import estimate_words, nearest_rows
from bertviz_core.questions.view import Ask, Cell, Figure, Link, Notices, Part, Section, Table, Text
from bertviz_core.questions.views.answered import LONGEST_NAME, open_text
from bertviz_core.questions.views.texts.predictions import LABEL_ERRORS
from bertviz_core.text import all_of, decimals, escape_markdown, quoted

TITLE = "Label errors"
SUSPECT = Param("suspect_opened", "position", "the open suspect of the list, from 1", label="Open suspect")
SUSPECTS_SHOWN = Param("suspects_shown", "text", "the part of the suspects that is shown", label="Suspects shown")
"""It is in no address, since it means nothing without the list."""
ALL = "all"
NONE_SUSPECT = "No label is suspect. Where another class is more probable, it does not reach its threshold."


def found_errors(opened: Opened, ask: Ask, options: Options) -> Answer[LabelErrors]:
    """The suspects; the model runs once for all choices of how they are found and ranked."""
    ask(label_probabilities, probability_options(options))
    return ask(label_errors, options)


def joint_parts(opened: Opened, answer: Answer[LabelErrors], options: Options) -> Iterator[Part]:
    """How many labels are wrong, and the given against the likely labels."""
    result = answer.result
    parts = suspects_by_cell(result)
    click = Cell(
        "predictions_label_errors",
        param=SUSPECTS_SHOWN,
        value=lambda row, column: name if (name := f"{row}.{column}") in parts else ALL,
    )
    yield Figure.of(
        label_errors_figure,
        answer,
        f"label errors {result.source} {opened.name}",
        **explained(LABEL_ERRORS, label_errors, opened, options),
        below=[click, Text(escape_markdown(estimate_words(result))), Notices(answer.notices, "caption")],
    )
    if not len(result.suspects):
        yield Text(NONE_SUSPECT, "caption")
    if has_head(opened) and HEAD not in offered_sources(opened, options) and head_classes(opened)[1:]:
        names = ", ".join(quoted(name, LONGEST_NAME) for name in head_classes(opened)[:NAMED])
        words = f"{opened.name} has a task head of its own, with other classes than these texts: {names}"
        numbered = are_numbered(head_classes(opened)) and len(result.classes) <= len(head_classes(opened))
        way = "Say under Name the classes which is which" if numbered else "Bring texts with its labels"
        yield Text(escape_markdown(f"{words}. {way} to use its probabilities."), "caption")


def suspects_by_cell(result: LabelErrors) -> dict[str, list[int]]:
    """Name of a part of the suspects -> their places: all, then those of a given and a suggested label, ROW.COLUMN."""
    cells: dict[str, list[int]] = {}
    pairs = zip(result.gold[result.suspects].tolist(), result.suggested.tolist(), strict=True)
    for at, (label, likely) in enumerate(pairs):
        cells.setdefault(f"{label}.{likely}", []).append(at)
    return {ALL: list(range(len(result.suspects))), **dict(sorted(cells.items(), key=lambda cell: -len(cell[1])))}


def part_words(part: str, count: int, classes: Sequence[str]) -> str:
    """What a part of the suspects is."""
    if part == ALL:
        return all_of(count, "suspect")
    label, likely = (quoted(classes[int(place)], LONGEST_NAME) for place in part.split("."))
    return f"{count:,}: given {label}, likely {likely}"


def suspect_parts(result: LabelErrors, shown: Sequence[int], listed: Options) -> Iterator[Part]:
    """One of the shown suspects, which is chosen by its place in the list."""
    if count := len(shown):
        several = len(result.suspects) > 1  # the same for every part, or the page would jump
        opened = replace(SUSPECT, bounds=lambda *_: (1, count, 1), applies=lambda *_: several)
        yield Section((opened,), partial(_suspect, result, shown, listed))


def _suspect(
    result: LabelErrors, shown: Sequence[int], listed: Options, opened: Opened, _: Any, options: Options
) -> Iterator[Part]:
    """A suspect with its probabilities, its nearest texts of either label, and links where the model has the class."""
    at = shown[int(options.get(SUSPECT.key)) - 1 if shown[1:] else 0]
    place, suggested = int(result.suspects[at]), int(result.suggested[at])
    text, (own, likely) = result.texts[place], (result.classes[each] for each in (result.gold[place], suggested))
    words = ", ".join(
        f"{what} **{escape_markdown(label)}** ({decimals(result.probabilities[place, column], 3)})"
        for what, label, column in (("given", own, result.gold[place]), ("suggested", likely, suggested))
    )
    links = []
    if HEAD in offered_sources(opened, listed):
        one = LabelledTexts("", (text,), (likely,))
        own = head_classes(opened)[int(head_places(one, named_classes(opened, listed), opened.name)[0])]
        read = {"model": opened.name, "text": text}
        links = [
            Link.to(
                "Words that speak for the suggested label", "words", {**read, "target": "class", "target_class": own}
            ),
            Link.to("Open in Classes", "predictions", {**read, "view": "Classes"}),
        ]
    yield from open_text(text, "", f"row {result.rows[place]:,}: {words}", "predictions_label_errors_open", links)
    yield Table(pd.DataFrame(nearest_rows(result, at)), "The nearest texts with the given and the suggested label")
