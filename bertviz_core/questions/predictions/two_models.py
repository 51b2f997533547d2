"""The question what two models predict for one text: classes, tags, answers, masked words, surprise and lens."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from bertviz_core.checkpoints.rounding import COPIES
from bertviz_core.errors import Named, TextError, UnsupportedModelError
from bertviz_core.predictions.answers import MAX_ANSWER_TOKENS, predicted_answers
from bertviz_core.predictions.classes import entities
from bertviz_core.predictions.masks_of_two_models import MaskedPlace, best_words, compared_words, place_text, same_place
from bertviz_core.predictions.probing.comparison import answer_comparison, not_compared
from bertviz_core.predictions.probing.reading import config_classes, example_set, fitting_set
from bertviz_core.predictions.probing.results import AnswerComparison, SlicedAnswers, TextPredictions
from bertviz_core.predictions.probing.table import COLUMN, LENGTH, check_division, sliced_answers, text_predictions
from bertviz_core.predictions.results import PredictionComparison
from bertviz_core.predictions.run import head_lack, stored_task, stored_tasks
from bertviz_core.predictions.two_models import (
    SEARCHED_ANSWERS,
    compared_classes,
    compared_entities,
    compared_lens,
    compared_spans,
    compared_surprise,
    compared_tags,
)
from bertviz_core.questions.models.checkpoints import OTHER, both_models, other_name, second_model
from bertviz_core.questions.opened import Opened, names_of
from bertviz_core.questions.parameters import Options, Param, choice, flag
from bertviz_core.questions.predictions.labelled_texts import PAIRED, text_answers, with_pairs
from bertviz_core.questions.predictions.masked_lm import (
    MASK,
    NO_MASK,
    POSITION,
    lens,
    masked_positions,
    shown_position,
    surprise,
)
from bertviz_core.questions.predictions.predict import JOINED, JOINS, LONGEST, LONGEST_ANSWER, classes, tagged_tokens
from bertviz_core.questions.question import SILENT, Answer, AnswerCost, Job, PartOfJob, after, long_question, question
from bertviz_core.resources import retained_nbytes

VIEWS = ("words", "surprise", "lens", "entities")
VIEW = choice("view", VIEWS, "what to compare for two masked-LM heads, or entities of two heads that tag")
ENTITIES = VIEWS[-1]
TASKS = {
    "masked-lm": "words at masks",
    "sequence-classification": "classes of a text",
    "token-classification": "tags",
    "question-answering": "answers",
    "next-sentence": "whether texts follow each other",
}
"""Task of a head -> what it predicts."""


def compared_task(opened: Opened, second: Opened, options: Options) -> str:
    """The task of both heads: the requested one, or that of the first model."""
    task = options.task or stored_task(opened.source)
    try:
        tasks = stored_tasks(second.source)
    except UnsupportedModelError as error:
        lack = head_lack(second.source)
        what = f"{second.name!r} {lack}, so its predictions are not compared with those of {opened.name!r}"
        raise UnsupportedModelError(f"{what}; {PROBES_OF_BOTH}: ", Named("probabilities_from"), "=probe.") from error
    if task not in tasks:
        heads = " and ".join(TASKS[each] for each in tasks)
        raise UnsupportedModelError(
            f"{second.name!r} predicts {heads} and {opened.name!r} {TASKS.get(task, task)}, so their predictions are "
            "not compared."
        )
    return task


def shared_tasks(opened: Opened, second: Opened) -> tuple[str, ...]:
    """Tasks of the heads that both checkpoints were saved with and whose predictions can be compared."""
    try:
        both = [stored_tasks(each.source) for each in (opened, second)]
    except UnsupportedModelError:
        return ()
    return tuple(task for task in both[0] if task in both[1] and task in TASKS)


def _cost(opened: Opened, options: Options) -> AnswerCost:
    second = second_model(opened, options)
    task = compared_task(opened, second, options)
    for each in (opened, second):
        _ = each.head(task)  # load before the work begins
    if task != "masked-lm" or options.choice(VIEW) != "surprise":
        return AnswerCost(2)
    read = opened.tokens(options.text(), options.pair)
    count = 2 * int((~read.special).sum())
    return AnswerCost(count, read, count)


@long_question(
    _cost, figures=("predictions-compared",), params=(OTHER, VIEW, MASK, POSITION, LONGEST, JOINED), noun="steps"
)
def compared_predictions(
    opened: Opened, options: Options, job: Job[PredictionComparison]
) -> Answer[PredictionComparison]:
    """Predictions of two models for the same text, with what changed from the first to the second."""
    second = second_model(opened, options)
    task = compared_task(opened, second, options)
    single = Options((options.text(),), options.pair, task, options.values)
    compared = BY_TASK[task](opened, second, single, job)
    texts, drawn = (single.text(), single.pair), {"prediction_comparison": compared}
    return Answer(compared, names_of(opened, second), texts, compared.notices, drawn)


def _classes(opened: Opened, second: Opened, options: Options, _: Job[PredictionComparison]) -> PredictionComparison:
    plain = options.only(task=options.task)
    return compared_classes(classes(opened, plain).result, classes(second, plain).result)


def _tags(opened: Opened, second: Opened, options: Options, _: Job[PredictionComparison]) -> PredictionComparison:
    plain = options.only(task=options.task)
    first, other = tagged_tokens(opened, plain).result, tagged_tokens(second, plain).result
    if options.choice(VIEW) != ENTITIES:
        return compared_tags(first, other)
    strategy = options.choice(JOINED, JOINS)
    return compared_entities(
        (first, entities(first, opened.tokenizer, strategy)), (other, entities(other, second.tokenizer, strategy))
    )


def _answers(opened: Opened, second: Opened, options: Options, _: Job[PredictionComparison]) -> PredictionComparison:
    longest = options.whole(LONGEST.key, LONGEST_ANSWER + 1, MAX_ANSWER_TOKENS) or 1
    if options.pair is None:
        raise TextError("Answers need a context; give it as the second text, with ", Named("pair"), ".")
    first, other = (
        predicted_answers(
            each.head(options.task), each.tokenizer, options.text(), options.pair, SEARCHED_ANSWERS, longest
        )
        for each in (opened, second)
    )
    return compared_spans(first, other)


def _words(opened: Opened, second: Opened, options: Options, job: Job[PredictionComparison]) -> PredictionComparison:
    view = options.choice(VIEW)
    if view == ENTITIES:
        raise TextError(
            "Entities are found by heads that tag tokens, and these predict words; choose another ",
            Named(VIEW.key),
            ".",
        )
    if view == "surprise":
        return _surprise(opened, second, options, job)
    first, other, notice = _places(opened, second, options)
    if view == "lens":
        return _lens(opened, second, (first, other), notice)
    heads = opened.head(options.task), second.head(options.task)
    return compared_words(heads, (first, other), notice)


def _surprise(opened: Opened, second: Opened, options: Options, job: Job[PredictionComparison]) -> PredictionComparison:
    plain = options.only(task=options.task)
    half = int((~opened.tokens(options.text(), options.pair).special).sum())
    first = surprise(opened, plain, after(job, 0, 2 * half)).result
    return compared_surprise(first, surprise(second, plain, _Capped(job, half, 2 * half)).result)


class _Capped(PartOfJob):
    """A part of the work whose number of steps is only about known."""

    def __call__(self, done: int, total: int, /) -> None:
        """Report the share that is done as steps of the second half."""
        super().__call__(self._total // 2 * done // max(total, 1), total)


def _lens(opened: Opened, second: Opened, sides: tuple[MaskedPlace, MaskedPlace], notice: str) -> PredictionComparison:
    masks = [",".join(map(str, side.masked)) or NO_MASK for side in sides]
    first, other = (
        lens(each, Options((side.tokens.text,), side.tokens.pair, values={MASK.key: masked})).result
        for each, side, masked in zip((opened, second), sides, masks, strict=True)
    )
    places = (sides[0].position, sides[1].position)
    best = tuple(each.top_ids[:, place, 0].tolist() for each, place in zip((first, other), places, strict=True))
    words = best_words(sides, (best[0], best[1]))
    return compared_lens((first, other), places, words, place_text(sides[0]), [notice] if notice else [])


def _places(opened: Opened, second: Opened, options: Options) -> tuple[MaskedPlace, MaskedPlace, str]:
    """The masks and the position in both models, and a sentence about masks that stand for several tokens."""
    read = opened.tokens(options.text(), options.pair)
    masked = masked_positions(opened, options, read)
    first = MaskedPlace(opened.tokenizer, read, tuple(masked), shown_position(opened, options, read, masked))
    other, notice = same_place(first, second.tokenizer, second.tokens)
    return first, other, notice


BY_TASK: Mapping[str, Callable[[Opened, Opened, Options, Job[PredictionComparison]], PredictionComparison]] = {
    "masked-lm": _words,
    "sequence-classification": _classes,
    "next-sentence": _classes,
    "token-classification": _tags,
    "question-answering": _answers,
}
"""Task of the heads -> the comparison."""
WITH_GOLD = flag("with_gold", "whether each text is followed by its gold label, after its second text if there is one")
SLICES = Param("slices", "text", "how the texts are divided: length, word:WORD, or column for a value after each text")
PARAMS = (OTHER, PAIRED, WITH_GOLD)
CLASS_TASKS = ("sequence-classification", "next-sentence")
"""Tasks whose heads give one class per text."""
PROBES_OF_BOTH = "where texts have labels, calibration compares probes on the vectors of both models"


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
        task: task of both heads; None for those that the checkpoints were saved with.
        slices: how the texts are divided; None for all of them together.
        values: value of each text, for slices by a column.
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
    """Options for answers to texts, each followed by its second text, its gold label and its value."""
    columns = [each for each in (texts, pairs, gold, values) if each is not None]
    present = {PAIRED.key: "true"} if pairs is not None else {}
    present |= {WITH_GOLD.key: "true"} if gold is not None else {}
    return Options(tuple(cell for row in zip(*columns, strict=True) for cell in row), task=task, values=present)


def _compared_answers_cost(opened: Opened, options: Options) -> AnswerCost:
    texts = answered_columns(options, opened.source.config).texts
    _ = opened.head(_task(opened, options))  # load before the work begins
    for second in both_models(opened, options)[1:]:
        _ = second.head(_task(second, options))
    return AnswerCost(2 * len(texts), nbytes=retained_nbytes(options.texts))


@long_question(_compared_answers_cost, figures=("answers-compared",), params=PARAMS, noun="texts")
def compared_answers(opened: Opened, options: Options, job: Job[AnswerComparison]) -> Answer[AnswerComparison]:
    """Answers of two models to the same texts: agreement, and with gold labels the scores and their difference."""
    texts, pairs, gold, _ = answered_columns(options, opened.source.config)
    total, second = 2 * len(texts), both_models(opened, options)[-1]
    first = _compared_answers_answers(opened, options, texts, pairs, after(job, 0, total))
    answers = answers_of_second(opened, options, texts, pairs, after(job, len(texts), total))
    compared = answer_comparison(first, answers, gold)
    return Answer(compared, names_of(opened, second), (), compared.notices, {"answer_comparison": compared})


def answers_of_second(
    opened: Opened, options: Options, texts: Sequence[str], pairs: Sequence[str] | None, job: PartOfJob
) -> TextPredictions:
    """Answers of the other model, or of a rounded copy of the first, to texts."""
    if (other := other_name(options)) in COPIES:
        head = opened.rounded_head(_task(opened, options), COPIES[other])
        return text_predictions(head, opened.tokenizer, texts, pairs, progress=job)
    return _compared_answers_answers(both_models(opened, options)[-1], options, texts, pairs, job)


@question(figures=("scores-compared",), params=PARAMS)
def score_difference(opened: Opened, options: Options) -> Answer[AnswerComparison]:
    """The scores of two models on the same texts, and the intervals of their differences."""
    answer = compared_answers(opened, options, SILENT)
    if answer.result.gold is None:
        raise TextError("Scores need gold labels of the task heads; without them only answers are compared.")
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


def _compared_answers_answers(
    opened: Opened, options: Options, texts: Sequence[str], pairs: Sequence[str] | None, job: PartOfJob
) -> TextPredictions:
    return text_answers(opened, with_pairs(texts, pairs, _task(opened, options)), job).result


def _task(opened: Opened, options: Options) -> str:
    """Task of a head; raises TextError before any run if its answers are no classes."""
    try:
        task = options.task or stored_task(opened.source)
    except UnsupportedModelError as error:
        what = str(error).removesuffix(".")
        raise UnsupportedModelError(f"{what}; {PROBES_OF_BOTH}: ", Named("probabilities_from"), "=probe.") from error
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
    """Texts, second texts, gold labels and values; by default those of the example set that fits the head."""
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
