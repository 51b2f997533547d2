"""How the thresholds of labelled pairs are shown."""

from typing import Any

from bertviz_core.figures.sentences.thresholds import (
    best_words,
    pair_frame,
    reaching_words,
    sampled_words,
    threshold_frame,
)
from bertviz_core.questions.tables.lines import Faces, fields, records, table
from bertviz_core.sentences.analysis.results import PairThresholds, Threshold
from bertviz_core.text import counted, decimals, escape_controls, shortened

MOST_MISTAKES, LONGEST = 20, 60
"""Most pairs that are printed, and most characters of a text."""
THRESHOLD = (
    "threshold above precision precision_interval recall recall_interval f1 true_positives false_positives "
    "false_negatives true_negatives"
)


def _threshold(threshold: Threshold | None) -> dict[str, Any] | None:
    return None if threshold is None else fields(threshold, THRESHOLD)


def _cell(value: Any) -> str:
    return shortened(escape_controls(value), LONGEST) if isinstance(value, str) else decimals(value)


def _lines(result: PairThresholds) -> list[str]:
    """What to take, in sentences, and the pairs on the wrong side of the best threshold."""
    best, curve = result.best, result.curve
    wrong = best.false_positives + best.false_negatives
    rows = pair_frame(result).iloc[: min(wrong, MOST_MISTAKES)]
    names = [name for name in ("score", "logit", "gold", "mistake", "first text", "second text") if name in rows]
    about = f"{result.positives:,} positive, {result.negatives:,} negative"
    return [
        escape_controls(f"{result.model}: {counted(len(result.labels), 'pair')}, {about}"),
        *map(escape_controls, (best_words(result), reaching_words(result), sampled_words(result))),
        f"Average precision {decimals(curve.average_precision, 4)}; intervals: Wilson, 95%.",
        *(["", f"Pairs on the wrong side of the threshold with the largest F1 ({wrong:,})"] if wrong else []),
        *(table(rows[names], cell=_cell) if wrong else []),
        *([f"... and {wrong - MOST_MISTAKES:,} more; --json prints all"] if wrong > MOST_MISTAKES else []),
    ]


THRESHOLDS: Faces[PairThresholds] = Faces(
    keys="model score_name label cut target positives negatives average_precision=curve.average_precision best "
    "resampled resamples seed reaching thresholds pairs summary notices",
    made={
        "label": lambda result: result.label or None,
        "best": lambda result: _threshold(result.best),
        "reaching": lambda result: _threshold(result.reaching),
        "thresholds": lambda result: records(threshold_frame(result)),
        "pairs": lambda result: records(pair_frame(result)),
        "summary": lambda result: f"{best_words(result)} {reaching_words(result)}",
    },
    frame=threshold_frame,
    lines=_lines,
)
