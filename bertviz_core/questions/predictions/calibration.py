"""The question whether what a classifier is so sure of is true that often."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bertviz_core.errors import Named, TextError
from bertviz_core.figures.predictions.calibration import BINNED_BY
from bertviz_core.predictions.classes import is_number, output_names, output_scoring
from bertviz_core.predictions.probing.calibration import (
    BINS,
    LEAST_BINS,
    MOST_BINS,
    MOST_TEXTS,
    no_probability,
    sampled,
    with_other,
)
from bertviz_core.predictions.probing.calibration import calibration as calibrated
from bertviz_core.predictions.probing.reading import checked_rows
from bertviz_core.predictions.probing.results import Calibration, TextPredictions
from bertviz_core.predictions.probing.scores import FOLDS
from bertviz_core.predictions.probing.table import are_numbered, with_class_names
from bertviz_core.predictions.run import stored_task
from bertviz_core.questions.models.checkpoints import OTHER, second_model
from bertviz_core.questions.opened import Opened, names_of
from bertviz_core.questions.parameters import Options, Param, choice
from bertviz_core.questions.predictions.label_errors import (
    HEAD,
    PROBABILITIES_FROM,
    PROBE,
    has_head,
    label_options,
    label_probabilities,
)
from bertviz_core.questions.predictions.labelled_texts import CLASS_NAMES, PAIRED, SEED, text_answers, with_pairs
from bertviz_core.questions.predictions.two_models import (
    CLASS_TASKS,
    WITH_GOLD,
    TextColumns,
    answered_columns,
    answers_of_second,
    labelled_columns,
)
from bertviz_core.questions.question import Answer, AnswerCost, Job, PartOfJob, after, long_question
from bertviz_core.questions.texts.sentences import POOLING, STATE
from bertviz_core.resources import retained_nbytes
from bertviz_core.text import counted, quoted

BINS_COUNT = Param(
    "bins",
    "whole",
    f"number of bins of the texts by their probability, {BINS} by default",
    label="Bins",
    bounds=lambda *_: (LEAST_BINS, MOST_BINS, BINS),
)
BINNED = replace(
    choice("binned_by", BINNED_BY, "whether the bins have equal widths, or about as many texts each", "Bins of"),
    control="few",
)
HEAD_FIRST = (HEAD, PROBE)
"""Where the probabilities may come from, the default first."""
PROBED = (POOLING, STATE, SEED)
"""Parameters of the probes, as label errors have them."""


def _task(opened: Opened, options: Options) -> str:
    """Task of a head with classes; raises UnsupportedModelError for any other, a regression among them."""
    task = options.task or stored_task(opened.source)
    if task not in CLASS_TASKS or is_number(opened.head(task)):
        raise no_probability(opened.name)
    return task


def drawn_labels(opened: Opened, options: Options) -> Sequence[str]:
    """The labels of a multi-label head, each of which is drawn alone."""
    head = opened.head(_task(opened, options))
    several = output_scoring(head) == "sigmoid"
    return options.names(CLASS_NAMES.key) or output_names(head, head.model.config.num_labels)[0] if several else ()


LABEL = Param("calibrated_label", "text", "the label of a multi-label head that is drawn", (), "Label", drawn_labels)
SHOWN = (LABEL, BINNED, BINS_COUNT)
"""Parameters of the figures, as a page has them."""


def calibration_options(
    texts: Sequence[str],
    gold: Sequence[str],
    pairs: Sequence[str] | None = None,
    task: str | None = None,
    **values: str,
) -> Options:
    """Options for texts with their gold labels; further values by the keys of their parameters, "" for the default."""
    options = labelled_columns(texts, gold, pairs, task)
    return replace(options, values={**options.values, **{key: value for key, value in values.items() if value}})


def _columns(opened: Opened, options: Options) -> tuple[TextColumns, tuple[str, ...]]:
    """The texts with second texts and gold labels, of a long list a sample, and a sentence on it."""
    rows = answered_columns(options, opened.source.config)
    if rows.gold is None:
        raise TextError("Calibration compares answers with gold labels; give each text with its own.")
    blank = next((place for place, text in enumerate(rows.texts, start=1) if not text.strip()), 0)
    if blank:
        raise TextError(f"Text {blank:,} is blank; leave it out, or write what is classified.")
    places = sampled(len(rows.texts))
    if places is None:
        return rows, ()
    texts, gold = (tuple(column[at] for at in places) for column in (rows.texts, rows.gold))
    pairs = None if rows.pairs is None else tuple(rows.pairs[at] for at in places)
    notice = f"A random sample of {MOST_TEXTS:,} of {counted(len(rows.texts), 'text')} is answered (seed 0)."
    return TextColumns(texts, pairs, gold, None), (notice,)


def _bins(options: Options) -> int:
    typed = options.get(BINS_COUNT.key, str(BINS))
    if typed not in map(str, range(LEAST_BINS, MOST_BINS + 1)):
        what = f"={quoted(typed, 20)} here; give {LEAST_BINS} to {MOST_BINS}."
        raise TextError("There is no ", Named(BINS_COUNT.key), what)
    return int(typed)


def _cost(opened: Opened, options: Options) -> AnswerCost:
    rows, _ = _columns(opened, options)
    _bins(options)
    models = [opened, *([second_model(opened, options)] if options.get(OTHER.key) else [])]
    if options.choice(PROBABILITIES_FROM, HEAD_FIRST) == PROBE:
        if rows.pairs is not None:
            what = "A probe reads single texts; leave out the second texts, or measure the head ("
            raise TextError(what, Named(PROBABILITIES_FROM.key), f"={HEAD}).")
        return AnswerCost(len(models) * (len(rows.texts) + FOLDS), nbytes=retained_nbytes(options.texts))
    for each in models:
        _task(each, options)  # load before the work begins
    return AnswerCost(len(models) * len(rows.texts), nbytes=retained_nbytes(options.texts))


def _probed(
    opened: Opened, options: Options, rows: TextColumns, job: PartOfJob
) -> tuple[TextPredictions, tuple[str, ...]]:
    """Answers of probes to texts that they were not fitted on, and the gold label of each."""
    labelled = checked_rows("The list", rows.texts, rows.gold or ())
    values = {param.key: options.get(param.key) for param in (*PROBED, CLASS_NAMES)}
    known = label_probabilities(opened, label_options(labelled, values), job)
    probabilities, classes = known.result.probabilities, known.result.classes
    predictions = TextPredictions(
        model=f"{opened.name} + probe",
        task=PROBE,
        texts=labelled.texts,
        pairs=None,
        answers=tuple(classes[place] for place in probabilities.argmax(axis=1).tolist()),
        scores=probabilities.max(axis=1),
        labels=classes,
        probabilities=probabilities,
        logits=np.log(np.maximum(probabilities, np.finfo(np.float64).tiny)),
        outputs=classes,
        notices=known.notices,
    )
    return predictions, labelled.labels


@long_question(
    _cost,
    figures=("calibration", "coverage"),
    params=(OTHER, PAIRED, WITH_GOLD, PROBABILITIES_FROM, *PROBED, CLASS_NAMES, *SHOWN),
    noun="texts",
)
def calibration(opened: Opened, options: Options, job: Job[Calibration]) -> Answer[Calibration]:
    """Calibration of a classifier or of probes, and of those of a second model, by texts with gold labels."""
    rows, sample = _columns(opened, options)
    cost, bins, measured = _cost(opened, options), _bins(options), []
    models = [opened, *([second_model(opened, options)] if options.get(OTHER.key) else [])]
    for place, model in enumerate(models):
        done = after(job, place * cost.steps // len(models), cost.steps)
        if options.choice(PROBABILITIES_FROM, HEAD_FIRST) == PROBE:
            probed = calibrated(*_probed(model, options, rows, done), bins)
            measured.append(replace(probed, in_place_of_head=has_head(model)))
        else:
            predictions = (
                answers_of_second(opened, options, rows.texts, rows.pairs, done)
                if place
                else text_answers(opened, with_pairs(rows.texts, rows.pairs, _task(opened, options)), done).result
            )
            if not place or are_numbered(predictions.outputs):  # a second model may have names of its own
                predictions = with_class_names(predictions, options.names(CLASS_NAMES.key))
            measured.append(calibrated(predictions, rows.gold or (), bins))
    first, other = measured[0], next(iter(measured[1:]), None)
    names = [each.label for each in first.labels]
    label = options.get(LABEL.key, names[0])
    if label not in names:
        has = ", ".join(names) if names != [""] else "none, since its classes exclude each other"
        raise TextError("There is no ", Named(LABEL.key), f"={label[:40]}; the labels of the head: {has}.")
    result = with_other(replace(first, notices=(*sample, *first.notices)), other)
    drawn = {"calibration": result, "calibrated_label": label, "binned_by": options.choice(BINNED)}
    return Answer(result, names_of(*models), (), result.notices, drawn)
