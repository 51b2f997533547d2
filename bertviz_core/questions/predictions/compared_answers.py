"""The question how two models answer the same texts, and which answers better where gold labels are known."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from bertviz_core.checkpoints.rounding import COPIES
from bertviz_core.errors import TextError
from bertviz_core.predictions.probing.comparison import answer_comparison, not_compared
from bertviz_core.predictions.probing.reading import config_classes, example_set, fitting_set
from bertviz_core.predictions.probing.results import AnswerComparison, SlicedAnswers, TextPredictions
from bertviz_core.predictions.probing.table import COLUMN, LENGTH, check_division, sliced_answers, text_predictions
from bertviz_core.predictions.run import stored_task
from bertviz_core.questions.models.checkpoints import OTHER, other_name
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options, Param, flag
from bertviz_core.questions.predictions.labelled_texts import PAIRED, text_answers, with_pairs
from bertviz_core.questions.question import (
    SILENT,
    Answer,
    AnswerCost,
    AnswerJob,
    PartOfJob,
    after,
    long_question,
    question,
)
from bertviz_core.resources import retained_nbytes

WITH_GOLD = flag("with_gold", "whether each text is followed by its gold label, after its second text if there is one")
SLICES = Param("slices", "text", "how the texts are divided: length, word:WORD, or column for a value after each text")
PARAMS = (OTHER, PAIRED, WITH_GOLD)
CLASS_TASKS = ("sequence-classification", "next-sentence")
"""Tasks whose heads give one class per text."""


def compared_options(
    other: str,
    texts: Sequence[str],
    gold: Sequence[str] | None = None,
    pairs: Sequence[str] | None = None,
    task: str | None = None,
    slices: str | None = None,
    values: Sequence[str] | None = None,
) -> Options:
    """Options for the comparison of two models.

    Args:
        other: name of the second model, or of a rounded copy of the first.
        texts: the texts.
        gold: gold label of each, "" for none; None without labels.
        pairs: second text of each; None for single texts.
        task: task of both heads; None for those that the checkpoints were saved with.
        slices: how the texts are divided; None for all of them together.
        values: value of each text, for slices by a column.

    Raises:
        TextError: texts cannot be divided so.
    """
    if slices is not None:
        check_division(slices, len(texts), values)
    labelled = labelled_columns(texts, gold, pairs, task, values)
    divided = {} if slices is None else {SLICES.key: slices}
    return replace(labelled, values={OTHER.key: other, **labelled.values, **divided})


def labelled_columns(
    texts: Sequence[str],
    gold: Sequence[str] | None = None,
    pairs: Sequence[str] | None = None,
    task: str | None = None,
    values: Sequence[str] | None = None,
) -> Options:
    """Options for answers to texts, each followed by its second text, its gold label and its value.

    Args:
        texts: the texts.
        gold: gold label of each, "" for none; None without labels.
        pairs: second text of each; None for single texts.
        task: task of the head; None for that of the checkpoint.
        values: value of each, for slices by a column; None without.
    """
    columns = [each for each in (texts, pairs, gold, values) if each is not None]
    present = {PAIRED.key: "true"} if pairs is not None else {}
    present |= {WITH_GOLD.key: "true"} if gold is not None else {}
    return Options(tuple(cell for row in zip(*columns, strict=True) for cell in row), task=task, values=present)


def _cost(opened: Opened, options: Options) -> AnswerCost:
    texts, other = answered_columns(options, opened.source.config).texts, other_name(options)
    _ = opened.head(_task(opened, options))  # load before the work begins
    if other not in COPIES:
        second = opened.other(other)
        _ = second.head(_task(second, options))
    return AnswerCost(2 * len(texts), nbytes=retained_nbytes(options.texts))


@long_question(_cost, figures=("answers-compared",), params=PARAMS, noun="texts")
def compared_answers(
    opened: Opened, options: Options, job: AnswerJob[Answer[AnswerComparison]]
) -> Answer[AnswerComparison]:
    """Answers of two models to the same texts: agreement, and with gold labels the scores and their difference."""
    texts, pairs, gold, _ = answered_columns(options, opened.source.config)
    other, total = other_name(options), 2 * len(texts)
    second = opened if other in COPIES else opened.other(other)
    first = _answers(opened, options, texts, pairs, after(job, 0, total))
    done = after(job, len(texts), total)
    if other in COPIES:
        head = opened.rounded_head(_task(opened, options), COPIES[other])
        answers = text_predictions(head, opened.tokenizer, texts, pairs, progress=done)
    else:
        answers = _answers(second, options, texts, pairs, done)
    compared = answer_comparison(first, answers, gold)
    models = tuple(dict.fromkeys((each.source.name, each.source.revision) for each in (opened, second)))
    return Answer(compared, models, (), compared.notices, {"answer_comparison": compared})


@question(figures=("scores-compared",), params=PARAMS)
def score_difference(opened: Opened, options: Options) -> Answer[AnswerComparison]:
    """The scores of two models on the same texts, and the intervals of their differences."""
    answer = compared_answers(opened, options, SILENT)
    if answer.result.gold is None:
        raise TextError("Scores need gold labels that are labels of the heads; without them only answers are compared.")
    return answer


@question(figures=("slices-compared",), params=(*PARAMS, SLICES))
def answers_by_slice(opened: Opened, options: Options) -> Answer[SlicedAnswers]:
    """The agreement, or with gold labels the accuracies, of two models on parts of the texts."""
    rows = answered_columns(options, opened.source.config)
    if options.texts:
        whole = compared_options(other_name(options), rows.texts, rows.gold, rows.pairs, options.task)
    else:
        whole = compared_options(other_name(options), (), task=options.task)
    answer = compared_answers(opened, whole, SILENT)
    sliced = sliced_answers(answer.result, options.get(SLICES.key, LENGTH), rows.values)
    return Answer(sliced, answer.models, answer.texts, answer.notices, {"sliced_answers": sliced})


def _answers(
    opened: Opened, options: Options, texts: Sequence[str], pairs: Sequence[str] | None, job: PartOfJob
) -> TextPredictions:
    return text_answers(opened, with_pairs(texts, pairs, _task(opened, options)), job).result


def _task(opened: Opened, options: Options) -> str:
    """Task of a head; raises TextError before any run if its answers are no classes."""
    task = options.task or stored_task(opened.source)
    if task not in CLASS_TASKS:
        raise not_compared(opened.source.name, task)
    return task


class TextColumns(NamedTuple):
    """The columns of a table of texts; those that it lacks are None."""

    texts: tuple[str, ...]
    pairs: tuple[str, ...] | None
    gold: tuple[str, ...] | None
    values: tuple[str, ...] | None


def answered_columns(options: Options, config: Mapping[str, Any]) -> TextColumns:
    """Texts, second texts, gold labels and values; by default those of the example set that fits the head.

    Args:
        options: the texts.
        config: config of the model with the head.
    """
    if not options.texts:
        examples = fitting_set(config_classes(config)) or example_set()
        return TextColumns(examples.texts, None, examples.labels, None)
    present = (True, options.flag(PAIRED), options.flag(WITH_GOLD), options.get(SLICES.key) == COLUMN)
    step = sum(present)
    if len(options.texts) % step:
        named = zip(("text", "second text", "gold label", "value"), present, strict=True)
        cells = ", ".join(name for name, there in named if there)
        raise TextError(f"{len(options.texts):,} texts came, and each row needs {step}: {cells}.")
    second, gold, value = (
        options.texts[sum(present[:place]) :: step] if present[place] else None for place in range(1, len(present))
    )
    texts = options.texts[::step]
    if second is None and options.pair is not None:
        second = (options.pair,) * len(texts)
    return TextColumns(texts, second, gold, value)
