"""How texts with labels that are likely wrong are shown."""

from typing import Any

import numpy as np

from bertviz_core.predictions.probing.results import LabelErrors
from bertviz_core.predictions.tables import decision_table
from bertviz_core.questions.tables.lines import Faces, printable_name, records
from bertviz_core.text import counted, escape_controls, quoted

MOST = 20
"""Most suspects that are printed."""


def estimate_words(result: LabelErrors) -> str:
    """How many labels are suspect and how many are likely wrong, in a sentence."""
    count, source = len(result.texts), quoted(result.source, 60)
    return (
        f"{len(result.suspects):,} of {counted(count, 'label')} of {source} are suspect; an estimated "
        f"{result.estimated:,} ({result.estimated / count:.1%}) are wrong."
    )


def nearest_rows(result: LabelErrors, at: int) -> list[dict[str, Any]]:
    """The nearest texts of a suspect, with the given label and with the suggested one: label, cosine, row, text."""
    labels = (result.gold[result.suspects[at]], result.suggested[at])
    return [
        {
            "label": result.classes[label],
            "cosine": float(cosine),
            "row": int(result.rows[place]),
            "text": result.texts[place],
        }
        for label, places, cosines in zip(labels, result.neighbours[at], result.cosines[at], strict=True)
        for place, cosine in zip(places.tolist(), cosines, strict=True)
        if place >= 0
    ]


def _suspects(result: LabelErrors) -> list[dict[str, Any]]:
    frame = decision_table(result).drop(columns=["decision", result.ranked_by])
    frame["quality"] = result.quality[result.suspects]
    renamed = records(frame.rename(columns={"p(given)": "p_given", "p(suggested)": "p_suggested"}))
    probabilities = result.probabilities[result.suspects]
    return [
        {**row, "probabilities": probabilities[at], "neighbours": nearest_rows(result, at)}
        for at, row in enumerate(renamed)
    ]


LABEL_ERRORS: Faces[LabelErrors] = Faces(
    keys="model source texts probabilities_from found_by ranked_by classes labels thresholds=joint.thresholds "
    "counts=joint.counts calibrated=joint.calibrated estimated suspects notices",
    made={
        "texts": lambda result: len(result.texts),
        "labels": lambda result: np.bincount(result.gold, minlength=len(result.classes)),
        "suspects": _suspects,
    },
    frame=decision_table,
    above=lambda result: [
        f"{printable_name(result.model)}: {escape_controls(estimate_words(result))}",
        f"Found by {result.found_by}, ranked by {result.ranked_by}, with the probabilities of a "
        f"{result.probabilities_from}.",
    ],
    rows=lambda result: decision_table(result).drop(columns="decision"),
    most=MOST,
    rest="suspects; --json and -o FILE have all",
)
