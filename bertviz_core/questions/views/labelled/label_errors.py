"""What the views Label errors and Gold tags show.

Given against likely labels, the suspects, and one of them with its neighbours; scores of entities, every error, and the
labels of the tokens of a sentence.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from bertviz_core.figures.predictions.gold_tags import (
    errors_table,
    gold_labels_figure,
    gold_tags_figure,
    scores_words,
)
from bertviz_core.figures.predictions.probes import label_errors_figure
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.predictions.probing.calibration import NAMED
from bertviz_core.predictions.probing.label_errors import head_places
from bertviz_core.predictions.probing.reading import config_classes
from bertviz_core.predictions.probing.results import LabelErrors, LabelledTexts, TagScores
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options, Param
from bertviz_core.questions.predictions.gold_tags import (
    ALIGNED,
    MODE,
    NOTED,
    SENTENCE,
    SPACE,
    TASK,
    gold_labels,
    gold_tags,
    tag_options,
    word_tags,
)
from bertviz_core.questions.predictions.label_errors import (
    HEAD,
    has_head,
    label_errors,
    label_probabilities,
    offered_sources,
    probability_options,
)
from bertviz_core.questions.question import Answer
from bertviz_core.questions.report.library_lines import explained
from bertviz_core.questions.tables.label_errors import estimate_words, nearest_rows
from bertviz_core.questions.view import Ask, Cell, Figure, Link, Notices, Part, Section, Table, TableFiles, Text
from bertviz_core.questions.views.answered import LONGEST_NAME, open_text
from bertviz_core.questions.views.texts.predictions import GOLD_LABELS, GOLD_TAGS, LABEL_ERRORS, NO_EXAMPLE
from bertviz_core.tables.columns import listed
from bertviz_core.tables.tagged_words import TaggedWords
from bertviz_core.text import counted, decimals, escape_markdown, quoted

TITLE = "Label errors"
SUSPECT = Param("suspect_opened", "position", "the open suspect of the list, from 1", label="Open suspect")
SUSPECTS_SHOWN = Param("suspects_shown", "text", "the part of the suspects that is shown", label="Suspects shown")
"""It is in no address, since it means nothing without the list."""
ALL = "all"
NONE_SUSPECT = "No label is suspect: where another class is more probable, it does not reach its threshold."


def found_errors(opened: Opened, ask: Ask, options: Options) -> Answer[LabelErrors]:
    """The suspects; the model runs once for all choices of how they are found and ranked."""
    ask(label_probabilities, probability_options(options))
    return ask(label_errors, options)


def joint_parts(opened: Opened, answer: Answer[LabelErrors], options: Options) -> Iterator[Part]:
    """How many labels are wrong, and the given against the likely labels."""
    result = answer.result
    yield Figure.of(
        label_errors_figure,
        answer,
        f"label errors {result.source} {opened.name}",
        **explained(LABEL_ERRORS, label_errors, opened, options),
        below=[Text(escape_markdown(estimate_words(result))), Notices(answer.notices, "caption")],
    )
    if not len(result.suspects):
        yield Text(NONE_SUSPECT, "caption")
    if has_head(opened) and HEAD not in offered_sources(opened, options):
        names = ", ".join(quoted(name, LONGEST_NAME) for name in config_classes(opened.source.config)[:NAMED])
        words = f"{opened.name} has a head of its own, with other classes than these texts: {names}"
        yield Text(escape_markdown(f"{words}. Bring texts with its labels to use its probabilities."), "caption")
    parts = suspects_by_cell(result)
    yield Cell(
        "predictions_label_errors",
        param=SUSPECTS_SHOWN,
        value=lambda row, column: name if (name := f"{row}.{column}") in parts else ALL,
    )


def suspects_by_cell(result: LabelErrors) -> dict[str, list[int]]:
    """Name of a part of the suspects -> their places: all, then those of a given and a suggested label, ROW.COLUMN."""
    cells: dict[str, list[int]] = {}
    pairs = zip(result.gold[result.suspects].tolist(), result.suggested.tolist(), strict=True)
    for at, (given, likely) in enumerate(pairs):
        cells.setdefault(f"{given}.{likely}", []).append(at)
    return {ALL: list(range(len(result.suspects))), **dict(sorted(cells.items(), key=lambda cell: -len(cell[1])))}


def part_words(part: str, count: int, classes: Sequence[str]) -> str:
    """What a part of the suspects is."""
    if part == ALL:
        return f"all {counted(count, 'suspect')}"
    given, likely = (quoted(classes[int(place)], LONGEST_NAME) for place in part.split("."))
    return f"{count:,}: given {given}, likely {likely}"


def suspect_parts(result: LabelErrors, shown: Sequence[int], listed: Options) -> Iterator[Part]:
    """One of the shown suspects, which is chosen by its place in the list."""
    if count := len(shown):
        yield Section((replace(SUSPECT, bounds=lambda *_: (1, count, 1)),), partial(_suspect, result, shown, listed))


def _suspect(
    result: LabelErrors, shown: Sequence[int], listed: Options, opened: Opened, _: Any, options: Options
) -> Iterator[Part]:
    """A suspect with its probabilities, its nearest texts of either label, and links where the model has the class."""
    at = shown[int(options.get(SUSPECT.key)) - 1]
    place, suggested = int(result.suspects[at]), int(result.suggested[at])
    text, (own, likely) = result.texts[place], (result.classes[each] for each in (result.gold[place], suggested))
    words = ", ".join(
        f"{what} **{escape_markdown(label)}** ({decimals(result.probabilities[place, column], 3)})"
        for what, label, column in (("given", own, result.gold[place]), ("suggested", likely, suggested))
    )
    links = []
    if HEAD in offered_sources(opened, listed):
        classes = config_classes(opened.source.config)
        own = classes[int(head_places(LabelledTexts("", (text,), (likely,)), classes, opened.name)[0])]
        read = {"model": opened.name, "text": text}
        links = [
            Link.to(
                "Words that speak for the suggested label", "words", {**read, "target": "class", "target_class": own}
            ),
            Link.to("Open in Classes", "predictions", {**read, "view": "Classes"}),
        ]
    yield from open_text(text, "", f"row {result.rows[place]:,}: {words}", "predictions_label_errors_open", links)
    yield Table(pd.DataFrame(nearest_rows(result, at)), "The nearest texts with the given and the suggested label")


RATIOS = dict.fromkeys(("precision", "recall", "F1", "probability"), "%.3f")
HEIGHT = 320


def nothing_yet(opened: Opened, source: str) -> Part:
    """What to bring where there is no sentence."""
    labels = list(map(str, (opened.head(TASK).model.config.id2label or {}).values()))
    words = NO_EXAMPLE.format(escape_markdown(listed(labels[:4])))
    return Text(words if source == "example" else "Type a word and its tag on each line under **Sentences**.", "notice")


def gold_tag_parts(tagged: TaggedWords, opened: Opened, ask: Ask) -> Iterator[Part]:
    """The scores with their controls, the errors, and below them a sentence."""
    yield Section((MODE, SPACE), partial(_scored, tag_options(tagged)))


def _scored(of: Options, opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    of = replace(of, values={**of.values, **options.only(MODE, SPACE).values})
    ask(word_tags, of.only(SPACE, NOTED))
    answer = ask(gold_tags, of)
    result, frame = answer.result, errors_table(answer.result)
    yield Text(escape_markdown(scores_words(result)))
    yield Figure.of(
        gold_tags_figure,
        answer,
        f"gold tags {opened.name}",
        formats=RATIOS,
        **explained(GOLD_TAGS, gold_tags, opened, of),
        below=[Notices([each for each in answer.notices if each not in opened.head(TASK).notices])],
    )
    if not len(frame):
        yield Text("Every entity is found with its words and its type.", "success")
    else:
        yield Text(f"**{counted(len(frame), 'error')}**")
        yield Table(frame, "Errors of the entities", HEIGHT if len(frame) > 8 else "auto")
        yield TableFiles(lambda: frame, "predictions_gold_errors", f"errors {opened.name}")
    yield _sentences(of, result)


def _sentences(of: Options, result: TagScores) -> Part:
    first = result.errors[0].sentence + 1 if result.errors else 1
    place = replace(SENTENCE, bounds=lambda *_: (1, len(result.words), first))
    return Section((place, ALIGNED), partial(_sentence, of))


def _sentence(of: Options, opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The labels of the tokens of one sentence, and the predicted ones."""
    of = replace(of, values={**of.only(SPACE, NOTED).values, **options.only(SENTENCE, ALIGNED).values})
    answer = ask(gold_labels, of)
    yield Figure.of(
        gold_labels_figure,
        answer,
        f"gold labels {opened.name} {answer.result.sentence + 1}",
        formats=RATIOS,
        **explained(GOLD_LABELS, gold_labels, opened, of),
        scrolled=True,
    )
