"""The question what a model answers when a word of a text is exchanged."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bertviz_core.errors import BertvizError, Named, TextError, UnsupportedModelError
from bertviz_core.hidden_states.geometry import cosine
from bertviz_core.predictions.probing.results import WordSwaps
from bertviz_core.predictions.probing.swaps import (
    CLASSES,
    COMPARED_BY,
    COSINE,
    SETS,
    SURPRISE,
    SURPRISES,
    Swaps,
    SwapValues,
    check_class,
    check_finite,
    check_read,
    check_single,
    checked_swaps,
    class_values,
    mean_intervals,
    surprise_values,
)
from bertviz_core.predictions.run import stored_tasks
from bertviz_core.questions.opened import Opened, answered
from bertviz_core.questions.parameters import Options, Param, choice
from bertviz_core.questions.predictions.two_models import CLASS_TASKS
from bertviz_core.questions.question import Answer, AnswerCost, Job, after, long_question
from bertviz_core.questions.texts.sentences import check_dense, encoded_by, own_plan
from bertviz_core.resources import retained_nbytes
from bertviz_core.sentences.encoding import sentence_tokens
from bertviz_core.sentences.results import SPARSE_POOLINGS
from bertviz_core.text import quoted
from bertviz_core.trace.results import Tokens

WORDS_TASK = "masked-lm"
MADE_BY_READER = TYPED, FILE = ("typed", "file")
SWAP_SET = choice("swap_set", (*SETS, *MADE_BY_READER), "the pairs and templates of this project", "Texts")
WORD_PAIRS = Param("word_pairs", "text", "pairs of words such as he / she, one on each line", label="Pairs of words")
TEMPLATES = Param(
    "swap_templates", "text", "templates with {} in place of the word, one on each line", label="Templates"
)
OUTPUT = Param(
    "swap_output",
    "text",
    "the class or number that is compared alone, all by default, of which the first is drawn",
    label="Drawn",
)


def offered_ways(opened: Opened, options: Options) -> Sequence[str]:
    """What can be compared: answers of the heads of a model, and the cosine of its vectors."""
    try:
        tasks = stored_tasks(opened.source)
    except BertvizError:
        tasks = ()
    is_dense = own_plan(opened).pooling not in SPARSE_POOLINGS
    has = {CLASSES: set(tasks).intersection(CLASS_TASKS), SURPRISE: WORDS_TASK in tasks, COSINE: is_dense}
    offered = [way for way in COMPARED_BY if has[way]] or [COSINE]
    if "sequence-classification" not in tasks:  # a next-sentence head needs second texts
        offered.sort(key=lambda way: way == CLASSES)
    return offered


COMPARED = Param(
    "swaps_by",
    "choice",
    "what is compared: probabilities of classes, the surprise of a masked-LM head, or the cosine of both texts; by "
    "default the first that the model has",
    COMPARED_BY,
    "Compared by",
    offered_ways,
    control="few",
)


def swap_options(
    pairs: Sequence[str] | None, templates: Sequence[str] | None, task: str | None = None, **values: str
) -> Options:
    """Options for lines of pairs and templates, None for those of a set; values by their keys, "" for the default."""
    for name, lines in (("pair of words", pairs), ("template", templates)):
        if lines is not None and not any(line.strip() for line in lines):
            raise TextError(f"There is no {name}; give at least one, or leave the list out for the set's own.")
    values = {**values, WORD_PAIRS.key: "\n".join(pairs or ())}
    return Options(tuple(templates or ()), task=task, values={key: value for key, value in values.items() if value})


def _swaps(options: Options) -> Swaps:
    """The pairs and templates, those of a set where none are given."""
    usual = SETS[options.choice(SWAP_SET, tuple(SETS))]
    if options.pair is not None:
        raise TextError("A template has its second text after a tab; leave out ", Named("pair"), ".")
    pairs = options.get(WORD_PAIRS.key).splitlines() if WORD_PAIRS.key in options.values else usual.pairs
    return checked_swaps([line for line in pairs if line.strip()], options.texts or usual.templates)


def _way(opened: Opened, options: Options) -> str:
    if COMPARED.key not in options.values and options.task in CLASS_TASKS:
        return CLASSES
    offered = tuple(offered_ways(opened, options))
    way = options.choice(COMPARED, COMPARED_BY) if COMPARED.key in options.values else offered[0]
    if way not in offered:
        lacks = {CLASSES: "head with classes", SURPRISE: "masked-LM head", COSINE: "vectors with a cosine"}
        raise UnsupportedModelError(
            f"{quoted(opened.name)} has no {lacks[way]}, so nothing is compared by it; take ",
            Named(COMPARED.key),
            f"={' or '.join(offered)}.",
        )
    return way


def _task(opened: Opened, options: Options) -> str:
    """Task of the head with classes."""
    tasks = (options.task,) if options.task in CLASS_TASKS else stored_tasks(opened.source)
    return next(str(task) for task in tasks if task in CLASS_TASKS)


def _rows(opened: Opened, swaps: Swaps, way: str) -> list[Tokens]:
    """Tokens of the texts, as the model reads them."""
    if way == COSINE:
        check_single(swaps)
        check_dense(plan := own_plan(opened), "Cosines")
        return [sentence_tokens(opened.tokenizer, text, plan) for text, _ in swaps.texts()]
    return [opened.tokens(*text) for text in swaps.texts()]


def _cost(opened: Opened, options: Options) -> AnswerCost:
    swaps, way, output = _swaps(options), _way(opened, options), options.get(OUTPUT.key)
    if way == CLASSES:
        check_class(opened.head(_task(opened, options)), output)
    elif output and output not in (SURPRISES if way == SURPRISE else (COSINE,)):
        numbers = ", ".join(SURPRISES) if way == SURPRISE else COSINE
        raise TextError("There is no ", Named(OUTPUT.key), f"={output[:40]} of {way}; choose {numbers}.")
    rows = _rows(opened, swaps, way)
    check_read(swaps, rows)
    if way == SURPRISE:
        steps = _masked(list({each.identity: each for each in rows}.values()))
        return AnswerCost(steps, max(rows, key=len), steps)
    return AnswerCost(len(set(swaps.texts())), nbytes=retained_nbytes(swaps.texts()))


def _masked(rows: Sequence[Tokens]) -> int:
    return sum(int((~each.special).sum()) for each in rows)


def _values(opened: Opened, options: Options, way: str, rows: Sequence[Tokens], job: Job[Any]) -> SwapValues:
    """Numbers of different texts, each of which runs once."""
    if way == CLASSES:
        return class_values(opened.head(_task(opened, options)), rows, job)
    total = _masked(rows)
    return surprise_values(opened.head(WORDS_TASK), opened.tokenizer, rows, lambda done: after(job, done, total))


def _cosines(opened: Opened, swaps: Swaps, job: Job[Any]) -> SwapValues:
    """The cosine of the two texts of each pair and template."""
    texts = [text for text, _ in swaps.texts()]
    places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    answer = encoded_by(opened, own_plan(opened), tuple(places), "float32", job, opened.vector_store)
    vectors = answer.result.vectors[[places[text] for text in texts]].astype(np.float64)
    check_finite(vectors, opened.name)
    return SwapValues((COSINE,), COSINE, cosine(vectors[::2], vectors[1::2])[:, None], answer.notices)


@long_question(_cost, figures=("word-swaps",), params=(SWAP_SET, WORD_PAIRS, COMPARED, OUTPUT), noun="runs")
def word_swaps(opened: Opened, options: Options, job: Job[WordSwaps]) -> Answer[WordSwaps]:
    """What a model answers to templates with the one and the other word of each pair, and the difference."""
    swaps, way = _swaps(options), _way(opened, options)
    _cost(opened, options)
    rows = _rows(opened, swaps, way)
    alike = check_read(swaps, rows)
    if way == COSINE:
        made = _cosines(opened, swaps, job)
        values = made.values
    else:
        different = {each.identity: each for each in rows}
        made = _values(opened, options, way, list(different.values()), job)
        places = {key: place for place, key in enumerate(different)}
        values = made.values[[places[each.identity] for each in rows]]
    check_finite(values, opened.name)
    values = values.reshape(len(swaps.pairs), len(swaps.templates), -1, len(made.outputs))
    if output := options.get(OUTPUT.key):
        place = made.outputs.index(output)
        made, values = made._replace(outputs=(output,)), values[..., place : place + 1]
    numbers = values[:, :, 0] if way == COSINE else values[:, :, -1] - values[:, :, 0]
    mean, interval = mean_intervals(numbers)
    notices = tuple(dict.fromkeys((*alike, *made.notices)))
    result = WordSwaps(
        model=opened.source.name,
        pairs=swaps.pairs,
        templates=swaps.templates,
        texts=swaps.texts(),
        compared_by=way,
        outputs=made.outputs,
        unit=made.unit,
        values=values,
        mean=mean,
        interval=interval,
        notices=notices,
    )
    return answered(opened, result, notices, word_swaps=result, swap_output=made.outputs[0])
