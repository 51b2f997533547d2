"""What the view Gold tags shows: scores of entities, every error, and the labels of the tokens of a sentence."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from bertviz_core.figures.predictions.gold_tags import errors_table, gold_labels_figure, gold_tags_figure, scores_words
from bertviz_core.predictions.probing.results import TagScores
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options
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
from bertviz_core.questions.report.library_lines import explained
from bertviz_core.questions.view import Ask, Figure, Notices, Part, Section, Table, TableFiles, Text
from bertviz_core.questions.views.texts.predictions import GOLD_LABELS, GOLD_TAGS, NO_EXAMPLE
from bertviz_core.tables.columns import listed
from bertviz_core.tables.tagged_words import TaggedWords
from bertviz_core.text import counted, escape_markdown

RATIOS = dict.fromkeys(("precision", "recall", "F1", "probability"), "%.3f")


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
        yield Table(frame, "Errors of the entities")
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
