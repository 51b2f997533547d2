"""The question which labels of a list of labelled texts are wrong."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from bertviz_core.errors import BertvizError, TextError, UnsupportedModelError
from bertviz_core.predictions.probing.gold import class_places, read_as_places
from bertviz_core.predictions.probing.label_errors import (
    FOUND_BY,
    RANKED_BY,
    confident_joint,
    head_places,
    label_neighbours,
    likely_labels,
    quality,
    suspects,
)
from bertviz_core.predictions.probing.reading import checked_rows, config_classes, example_set, typed_labels
from bertviz_core.predictions.probing.results import LabelErrors, LabelledTexts
from bertviz_core.predictions.probing.scores import fold_count, out_of_fold
from bertviz_core.predictions.probing.table import text_predictions, with_class_names
from bertviz_core.predictions.run import stored_tasks
from bertviz_core.questions.opened import Opened, answered
from bertviz_core.questions.parameters import Options, Param, joined_names
from bertviz_core.questions.predictions.labelled_texts import CLASS_NAMES, MOST_SEEDS, SEED, SET
from bertviz_core.questions.question import Answer, AnswerCost, Job, after, long_question, question
from bertviz_core.questions.texts.sentences import POOLING, STATE, check_dense, encoded_sentences, sentence_plan
from bertviz_core.resources import retained_nbytes
from bertviz_core.sentences.lists import read_sentences
from bertviz_core.text import quoted, repair_surrogates

TASK = "sequence-classification"
SOURCES = PROBE, HEAD = ("probe", "head")
IN_SAMPLE = (
    "The probabilities are those of the model's own task head: where it was trained on these texts, it has learned "
    "their labels, too, and finds fewer of the wrong ones than a probe that has not seen them."
)
NOT_OF_PROBE = "The classes of a probe are the labels of its texts; the class names are those of the model's own head."
OF_NEAREST = "The nearest texts are by sentence vectors, which the head does not read."


def offered_sources(opened: Opened, options: Options) -> Sequence[str]:
    """Where the probabilities may come from: probes, and the head of a model that has all these classes."""
    try:
        head_places(_labelled(opened, options), named_classes(opened, options), opened.name)
    except BertvizError:
        return (PROBE,)
    return SOURCES if has_head(opened) else (PROBE,)


def head_classes(opened: Opened) -> tuple[str, ...]:
    """Classes of the model's head for texts; those that transformers takes for granted where the config names none."""
    return config_classes(opened.source.config) or (("LABEL_0", "LABEL_1") if has_head(opened) else ())


def named_classes(opened: Opened, options: Options) -> Sequence[str]:
    """The same by the names that a reader gave them."""
    return options.names(CLASS_NAMES.key) or head_classes(opened)


def has_head(opened: Opened) -> bool:
    """Whether the model has a head that classifies texts."""
    try:
        return TASK in stored_tasks(opened.source)
    except BertvizError:
        return False


PROBABILITIES_FROM = Param(
    "probabilities_from",
    "choice",
    "where the probabilities come from: probes fitted without the text, or the model's own task head",
    SOURCES,
    "Probabilities of",
    offered_sources,
    control="few",
)
SUSPECTS_BY = Param(
    "suspects_by",
    "choice",
    "what makes a label suspect: a text that is confidently counted in another class, the estimated number of texts "
    "with the largest difference of probabilities, both this and the least probability of the label, or that another "
    "class is the most probable one",
    FOUND_BY,
    "Suspects by",
    lambda *_: FOUND_BY,
)
SUSPECTS_ORDER = Param(
    "suspects_order",
    "choice",
    "what ranks the suspects: the probability of the given label, or its margin over the others",
    RANKED_BY,
    "Ranked by",
    lambda *_: RANKED_BY,
)
PROBABILITIES = (PROBABILITIES_FROM, POOLING, STATE, SEED, CLASS_NAMES)
LABELLED_LIST = replace(SET, help="name of a set of texts, each followed by its label and its row, and what to know")


@dataclass(frozen=True, slots=True, eq=False)
class LabelProbabilities:
    """Labelled texts with the probabilities of their classes and their vectors."""

    labelled: LabelledTexts
    classes: tuple[str, ...]
    gold: Int[np.ndarray, " texts"]
    """Place of each label among the classes."""
    probabilities: Float[np.ndarray, "texts classes"]
    vectors: Float[np.ndarray, "texts dimensions"]


def label_options(labelled: LabelledTexts, values: Mapping[str, str]) -> Options:
    """Options for labelled texts that are checked already; values are as in `Options`, "" for the default."""
    values = {key: value for key, value in values.items() if value}
    if labelled == example_set():
        return Options(values=values)
    rows = zip(labelled.texts, labelled.labels, labelled.rows, strict=True)
    cells = tuple(cell for text, label, row in rows for cell in (text, label, str(row)))
    return Options(cells, values={**values, SET.key: joined_names((labelled.name, *labelled.notices))})


def typed_rows(texts: Sequence[str], labels: Sequence[str]) -> LabelledTexts:
    """The labelled texts of a program of the reader's."""
    if len(texts) != len(labels):
        raise TextError(f"texts has {len(texts):,} entries and labels {len(labels):,}; give a label for each text.")
    return checked_rows("The list", list(map(repair_surrogates, texts)), list(map(repair_surrogates, labels)))


def _labelled(opened: Opened, options: Options) -> LabelledTexts:
    if not options.texts:
        return example_set()
    if SET.key not in options.values:
        lines = read_sentences("The list", "\n".join(options.texts), opened.settings)
        return typed_labels(lines, checked_rows)
    name, *notices = options.names(SET.key)
    texts, labels, rows = (options.texts[start::3] for start in range(3))
    if len(options.texts) % 3 or not all(row.isascii() and row.isdigit() for row in rows):
        raise TextError("Labelled texts are given as text, label, row, one after the other; the row is a whole number.")
    return checked_rows(name, texts, labels, notices, list(map(int, rows)))


def _cost(opened: Opened, options: Options) -> AnswerCost:
    labelled = _labelled(opened, options)
    check_dense(sentence_plan(opened, options), "Label errors")
    runs = len(labelled.texts) * (2 if options.choice(PROBABILITIES_FROM) == HEAD else 1)
    return AnswerCost(runs + fold_count(labelled), nbytes=retained_nbytes(options.texts))


@long_question(_cost, params=(*PROBABILITIES, LABELLED_LIST), noun="texts")
def label_probabilities(opened: Opened, options: Options, job: Job[LabelProbabilities]) -> Answer[LabelProbabilities]:
    """Probabilities of the classes of labelled texts: of probes fitted without the text, or of the model's own head."""
    labelled, source = _labelled(opened, options), options.choice(PROBABILITIES_FROM)
    seed, texts = options.whole(SEED.key, MOST_SEEDS, 0), labelled.texts
    check_dense(sentence_plan(opened, options), "Label errors")
    total = 2 * len(texts) if source == HEAD else len(texts) + fold_count(labelled)
    known = encoded_sentences(opened, options, texts, "float32", after(job, 0, total), opened.vector_store)
    vectors, rest = known.result.vectors, after(job, len(texts), total)
    if not np.isfinite(vectors).all():
        raise UnsupportedModelError(
            f"Some vectors of {quoted(opened.name)} are NaN or infinite, so they are of no use."
        )
    if source == HEAD:
        answers = text_predictions(opened.head(TASK), opened.tokenizer, texts, progress=rest)
        predictions = with_class_names(answers, options.names(CLASS_NAMES.key))
        if predictions.probabilities is None or not predictions.labels:
            raise UnsupportedModelError(
                f"The task head of {quoted(opened.name)} gives no probabilities of classes that exclude each other; "
                "take those of a probe."
            )
        classes = predictions.labels
        numbered = class_places(labelled.labels, classes)
        notices = (IN_SAMPLE, *([read_as_places(numbered, classes)] if numbered else ()), *predictions.notices)
        gold = head_places(labelled, classes, opened.name)
        probabilities = np.asarray(predictions.probabilities, dtype=np.float64)
    else:
        classes, places = labelled.classes, {label: place for place, label in enumerate(labelled.classes)}
        gold = np.array([places[label] for label in labelled.labels])
        probabilities, notices = out_of_fold(labelled, vectors, seed, rest)
        notices += (NOT_OF_PROBE,) if options.names(CLASS_NAMES.key) else ()
    result = LabelProbabilities(labelled, classes, gold, probabilities, vectors)
    return known.of(result, (*labelled.notices, *notices))


@question(figures=("label-errors",), params=(SUSPECTS_BY, SUSPECTS_ORDER, *PROBABILITIES, LABELLED_LIST))
def label_errors(opened: Opened, options: Options) -> Answer[LabelErrors]:
    """Texts whose label is likely wrong, by confident learning; of the example set by default."""
    found_by, ranked_by = options.choice(SUSPECTS_BY), options.choice(SUSPECTS_ORDER)
    known = label_probabilities(opened, probability_options(options))
    labelled, gold, probabilities = known.result.labelled, known.result.gold, known.result.probabilities
    joint = confident_joint(probabilities, gold)
    places = suspects(probabilities, gold, joint, found_by, ranked_by)
    suggested = likely_labels(probabilities, gold, joint)[places]
    both = np.stack([gold[places], suggested], axis=1)
    neighbours, cosines = label_neighbours(known.result.vectors, gold, places, both)
    of_nearest = (OF_NEAREST,) if options.choice(PROBABILITIES_FROM) == HEAD and len(places) else ()
    result = LabelErrors(
        model=opened.source.name,
        source=labelled.name,
        texts=labelled.texts,
        rows=np.array(labelled.rows or range(1, len(gold) + 1), dtype=np.int64),
        classes=known.result.classes,
        gold=gold,
        probabilities_from=options.choice(PROBABILITIES_FROM),
        probabilities=probabilities,
        joint=joint,
        found_by=found_by,
        ranked_by=ranked_by,
        quality=quality(probabilities, gold, ranked_by),
        suspects=places,
        suggested=suggested,
        neighbours=neighbours,
        cosines=cosines,
        notices=(*of_nearest, *known.notices),
    )
    return replace(answered(opened, result, result.notices, label_errors=result), texts=labelled.texts)


def probability_options(options: Options) -> Options:
    """Of these options those of the probabilities, whose answer is kept for every choice of suspects and order."""
    return replace(options.only(*PROBABILITIES, LABELLED_LIST), pair=None)
