"""How the calibration of a classifier is shown."""

from typing import Any

import numpy as np

from bertviz_core.figures.predictions.calibration import (
    EQUAL_MASS,
    EQUAL_WIDTH,
    SCORE_COLUMNS,
    bins_frame,
    coverage_frame,
    scores_frame,
    scores_words,
    temperature_words,
)
from bertviz_core.predictions.probing.results import CalibratedLabel, Calibration
from bertviz_core.questions.tables.lines import Faces, fields, records, table
from bertviz_core.sentences.analysis.thresholds import wilson_interval
from bertviz_core.text import counted, decimals, escape_controls

MOST_LABELS = 10
"""Most labels of a multi-label head that are printed."""


def sure_words(calibration: Calibration) -> str:
    """Whether the answers are too sure: their mean probability beside how many are right; "" for several labels."""
    if len(calibration.labels) > 1:
        return ""
    bins, scores = calibration.labels[0].equal_width, calibration.scores
    mean = float(np.average(bins.probability, weights=bins.counts))
    low, high = wilson_interval(np.array([round(scores.accuracy * scores.texts)]), scores.texts)[:, 0].tolist()
    apart = f"{'too sure' if mean > high else 'not sure enough'} by {decimals(abs(mean - scores.accuracy), 3)}"
    equal = f"as sure as it is right, as far as {counted(scores.texts, 'text')} can tell"
    right = f"{decimals(scores.accuracy, 3)} of the answers are right"
    instead = " (not the model's head)" if calibration.in_place_of_head else ""
    return (
        f"{calibration.model}{instead} is {equal if low <= mean <= high else apart}: the mean probability of its "
        f"answers is {decimals(mean, 3)}, and {right} "
        f"(95% interval {decimals(low, 3)} to {decimals(high, 3)}){_right_and_wrong(calibration.labels[0])}."
    )


def _right_and_wrong(label: CalibratedLabel) -> str:
    """How sure the right answers are and how sure the wrong ones, as the end of a sentence; "" without both."""
    every = label.coverage * label.scores.texts
    hits = np.diff(label.covered_accuracy * every, prepend=0).round()
    misses = np.diff(every, prepend=0).round() - hits
    if label.label or not hits.any() or not misses.any():
        return ""
    right, wrong = (float(np.average(label.least_confidence, weights=weights)) for weights in (hits, misses))
    return (
        f"; the {int(misses.sum()):,} wrong answers have {decimals(wrong, 3)} on average, the {int(hits.sum()):,} "
        f"right ones {decimals(right, 3)}"
    )


def _keys(calibration: Calibration) -> dict[str, Any]:
    alone = [
        {
            "model": one.model,
            "classes": one.classes,
            **fields(one.scores, "texts accuracy ece ece_equal_mass brier log_loss"),
            "temperature": one.labels[0].temperature if len(one.labels) == 1 else None,
        }
        for one in calibration.both
    ]
    return {
        **alone[0],
        "bins": calibration.bins,
        "seed": calibration.seed,
        "other": alone[1] if calibration.other else None,
        "scores": records(scores_frame(calibration).rename(columns={**SCORE_COLUMNS, "T": "temperature"})),
        "equal_width": records(bins_frame(calibration, EQUAL_WIDTH)),
        "equal_mass": records(bins_frame(calibration, EQUAL_MASS)),
        "coverage": records(coverage_frame(calibration)),
        "notices": calibration.notices,
    }


def _lines(calibration: Calibration) -> list[str]:
    """The scores in sentences and as a table, and the bins of a model whose classes exclude each other."""
    lines = []
    for one in calibration.both:
        words = [sure_words(one), scores_words(one), *map(temperature_words, one.labels[:MOST_LABELS])]
        lines += [*filter(None, words), ""]
    scores, bins = scores_frame(calibration), bins_frame(calibration, EQUAL_WIDTH)
    known = scores["T"].astype(object).where(scores["T"].notna(), None)
    lines = [*map(escape_controls, lines), *table(scores.assign(T=known).head(3 * MOST_LABELS))]
    if (more := len(scores) - 3 * MOST_LABELS) > 0:
        lines.append(f"... and {more:,} more rows; --json prints all")
    return lines if "label" in bins else [*lines, "", "Bins of equal width", *table(bins)]


CALIBRATION: Faces[Calibration] = Faces(keys=_keys, frame=scores_frame, lines=_lines)
