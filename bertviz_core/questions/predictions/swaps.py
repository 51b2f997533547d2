"""The question what a model answers when a word of a text is exchanged."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bertviz_core.errors import BertvizError, CheckpointError, Named, TextError, UnsupportedModelError
from bertviz_core.hidden_states.geometry import cosine
from bertviz_core.predictions.classes import class_place, output_names
from bertviz_core.predictions.probing.results import WordSwaps, compared
from bertviz_core.predictions.probing.swaps import (
    CLASSES,
    COMPARED_BY,
    COSINE,
    SETS,
    SURPRISE,
    SURPRISES,
    Swaps,
    SwapValues,
    check_read,
    checked_swaps,
    class_values,
    masked_count,
    mean_intervals,
    surprise_values,
)
from bertviz_core.predictions.run import HeadModel, stored_tasks
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


def _way(opened: Opened, options: Options) -> str:
    """What is compared; of a model that was opened with a head for classes, these by default."""
    offered = offered_ways(opened, options)
    usual = CLASSES if options.task in CLASS_TASKS else offered[0]
    way = options.choice(COMPARED) if COMPARED.key in options.values else usual
    if way not in (*offered, usual):
        lacks = {CLASSES: "task head with classes", SURPRISE: "masked-LM head", COSINE: "vectors with a cosine"}
        raise UnsupportedModelError(
            f"{quoted(opened.name)} has no {lacks[way]}, so nothing is compared by it; take ",
            Named(COMPARED.key),
            f"={' or '.join(offered)}.",
        )
    return way


def _classifier(opened: Opened, options: Options) -> HeadModel:
    tasks = (options.task,) if options.task in CLASS_TASKS else stored_tasks(opened.source)
    return opened.head(next(task for task in tasks if task in CLASS_TASKS))


def _read(opened: Opened, options: Options) -> tuple[Swaps, str, list[Tokens], tuple[str, ...]]:
    """The pairs and templates, those of a set where none are given; what is compared; tokens of all texts; notices."""
    usual = SETS[options.choice(SWAP_SET, tuple(SETS))]
    if options.pair is not None:
        raise TextError("A template has its second text after a tab; leave out ", Named("pair"), ".")
    lines = options.get(WORD_PAIRS.key).splitlines() if WORD_PAIRS.key in options.values else usual.pairs
    swaps = checked_swaps([line for line in lines if line.strip()], options.texts or usual.templates)
    way, output = _way(opened, options), options.get(OUTPUT.key)
    if way == COSINE:
        if swaps.templates[0][1] is not None:
            raise TextError("A vector is made of one text; leave out the second texts, or compare classes.")
        check_dense(plan := own_plan(opened), "Cosines")
        rows = [sentence_tokens(opened.tokenizer, text, plan) for text, _ in swaps.texts()]
    else:
        rows = [opened.tokens(*text) for text in swaps.texts()]
    if output and way == CLASSES:
        head = _classifier(opened, options)
        class_place(output_names(head, int(head.model.config.num_labels))[0], output, head.name)
    elif output and output not in (known := SURPRISES if way == SURPRISE else (COSINE,)):
        raise TextError("There is no ", Named(OUTPUT.key), f"={output[:40]} of {way}; choose {', '.join(known)}.")
    return swaps, way, rows, check_read(swaps, rows)


def _different(rows: Sequence[Tokens]) -> list[Tokens]:
    """The texts without repetitions, each of which runs once."""
    return list({each.identity: each for each in rows}.values())


def _cost(opened: Opened, options: Options) -> AnswerCost:
    swaps, way, rows, _ = _read(opened, options)
    if way == SURPRISE:
        steps = masked_count(_different(rows))
        return AnswerCost(steps, max(rows, key=len), steps)
    return AnswerCost(len(_different(rows)), nbytes=retained_nbytes(swaps.texts()))


def _numbers(
    opened: Opened, options: Options, way: str, rows: Sequence[Tokens], texts: Sequence[str], job: Job[Any]
) -> SwapValues:
    """Numbers of different texts by their tokens; for a cosine their vectors."""
    if way == CLASSES:
        return class_values(_classifier(opened, options), rows, job)
    if way == SURPRISE:
        total = masked_count(rows)
        return surprise_values(opened.head(WORDS_TASK), opened.tokenizer, rows, lambda done: after(job, done, total))
    answer = encoded_by(opened, own_plan(opened), texts, "float32", job, opened.vector_store)
    return SwapValues((COSINE,), COSINE, answer.result.vectors.astype(np.float64), answer.notices)


@long_question(_cost, figures=("word-swaps",), params=(SWAP_SET, WORD_PAIRS, COMPARED, OUTPUT), noun="runs")
def word_swaps(opened: Opened, options: Options, job: Job[WordSwaps]) -> Answer[WordSwaps]:
    """What a model answers to templates with the one and the other word of each pair, and the difference."""
    swaps, way, rows, alike = _read(opened, options)
    different = _different(rows)
    texts = {each.identity: text for each, (text, _) in zip(rows, swaps.texts(), strict=True)}
    made = _numbers(opened, options, way, different, tuple(texts.values()), job)
    if not np.isfinite(made.values).all():
        raise CheckpointError(f"{quoted(opened.name)} gives NaN or infinity; look at its weights on Checkpoint.")
    places = {each.identity: place for place, each in enumerate(different)}
    values = made.values[[places[each.identity] for each in rows]]
    if way == COSINE:
        values = cosine(values[::2], values[1::2])[:, None]
    values = values.reshape(len(swaps.pairs), len(swaps.templates), -1, len(made.outputs))
    chosen = [place for place, name in enumerate(made.outputs) if name == options.get(OUTPUT.key, name)]
    values, outputs = values[..., chosen], tuple(made.outputs[place] for place in chosen)
    mean, interval = mean_intervals(compared(values))
    result = WordSwaps(
        model=opened.source.name,
        pairs=swaps.pairs,
        templates=swaps.templates,
        texts=swaps.texts(),
        compared_by=way,
        outputs=outputs,
        unit=made.unit,
        values=values,
        mean=mean,
        interval=interval,
        notices=tuple(dict.fromkeys((*alike, *made.notices))),
    )
    return answered(opened, result, result.notices, word_swaps=result, swap_output=outputs[0])
