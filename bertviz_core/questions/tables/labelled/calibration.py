"""How the calibration of a classifier is shown."""

from typing import Any

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
from bertviz_core.predictions.probing.results import Calibration
from bertviz_core.questions.tables.lines import Faces, fields, records, table
from bertviz_core.text import escape_controls

MOST_LABELS = 10
"""Most labels of a multi-label head that are printed."""


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
        lines += [scores_words(one), *map(temperature_words, one.labels[:MOST_LABELS]), ""]
    scores, bins = scores_frame(calibration), bins_frame(calibration, EQUAL_WIDTH)
    known = scores["T"].astype(object).where(scores["T"].notna(), None)
    lines = [*map(escape_controls, lines), *table(scores.assign(T=known).head(3 * MOST_LABELS))]
    if (more := len(scores) - 3 * MOST_LABELS) > 0:
        lines.append(f"... and {more:,} more rows; --json prints all")
    return lines if "label" in bins else [*lines, "", "Bins of equal width", *table(bins)]


CALIBRATION: Faces[Calibration] = Faces(keys=_keys, frame=scores_frame, lines=_lines)
