"""Predictions and scores of probes and of questions as rows and data frames."""

from typing import Any

import numpy as np
from jaxtyping import Float

from bertviz_core.hidden_states.results import state_name
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.predictions.probing.results import LabelErrors, ProbeScores
from bertviz_core.predictions.results import NO_ANSWER, AnswerList, AnswerPrediction

ACCURACIES = ("accuracy", "spread", "macro-F1", "control task", "selectivity")
"""Columns of the scores of probes."""
ROUNDING = 1e-12
"""Means of scores that are nearer than this are equal."""


def accuracy_table(probe_scores: ProbeScores) -> "pd.DataFrame":
    """Tabulate accuracy, macro-F1, control task and selectivity per hidden state, averaged over the folds."""
    return pd.DataFrame(
        {
            "hidden state": [state_name(layer) for layer in probe_scores.layers],
            "accuracy": probe_scores.accuracy.mean(axis=1).astype(float),
            "spread": probe_scores.accuracy.std(axis=1).astype(float),
            "macro-F1": probe_scores.macro_f1.mean(axis=1).astype(float),
            "control task": probe_scores.control_accuracy.mean(axis=1).astype(float),
            "selectivity": np.asarray(probe_scores.selectivity, dtype=float),
        }
    )


def answer_rows(prediction: AnswerPrediction) -> list[dict[str, Any]]:
    """The spans and, by its logit among them, the answer that there is none, which has no place."""
    names = ("text", "start", "end", "score", "logit", "window")
    rows = [{"label": "answer", **{name: getattr(each, name) for name in names}} for each in prediction.answers]
    null = prediction.null_logit
    if null is not None:
        before = sum(each.logit >= null for each in prediction.answers)
        none = {"label": NO_ANSWER, "text": "", "start": None, "end": None, "score": prediction.null_score}
        rows.insert(before, {**none, "logit": null, "window": None})
    return rows


def joint_table(label_errors: LabelErrors) -> "pd.DataFrame":
    """The numbers of texts by given label (row) and the class that they are confidently counted in."""
    names = list(label_errors.classes)
    counts, calibrated = label_errors.joint.counts, label_errors.joint.calibrated
    scaled = {f"{name}, calibrated": calibrated[:, place] for place, name in enumerate(names)}
    columns = {name: counts[:, place] for place, name in enumerate(names)}
    return pd.DataFrame({"given label": names, **columns, **scaled})


def decision_table(label_errors: LabelErrors) -> "pd.DataFrame":
    """The suspects with their given and suggested label, for a reader who decides to keep, change or drop each."""
    places, suggested = label_errors.suspects, label_errors.suggested
    gold, names = label_errors.gold[places], np.array(label_errors.classes, dtype=object)
    return pd.DataFrame(
        {
            "row": label_errors.rows[places],
            "text": [label_errors.texts[place] for place in places.tolist()],
            "given": names[gold],
            "suggested": names[suggested],
            "decision": [""] * len(places),
            "p(given)": label_errors.probabilities[places, gold],
            "p(suggested)": label_errors.probabilities[places, suggested],
            label_errors.ranked_by: label_errors.quality[places],
        }
    )


def squad_scores(result: AnswerList) -> dict[str, float | int | None]:
    """Scores under the names of the script of SQuAD 2, as shares; {} without gold answers.

    A best threshold is None where no question is to be answered.
    """
    if result.exact is None or result.f1 is None or result.has_answer is None:
        return {}
    has, answered = result.has_answer, result.answered
    scores: dict[str, float | int | None] = {}
    for prefix, chosen in (("", np.ones_like(has)), ("HasAns_", has), ("NoAns_", ~has)):
        if chosen.any():
            for name, of in (("exact", result.exact), ("f1", result.f1)):
                scores[f"{prefix}{name}"] = float(np.where(answered, of, ~has)[chosen].mean())
            scores[f"{prefix}total"] = int(chosen.sum())
    if result.curve is not None:
        for name, values in (("exact", result.curve.exact), ("f1", result.curve.f1)):
            place = best_place(values)
            scores[f"best_{name}"] = float(values[place])
            scores[f"best_{name}_thresh"] = float(result.curve.thresholds[place]) if place else None
    return scores


def best_place(values: Float[np.ndarray, " thresholds"]) -> int:
    """Index of the largest score of a curve; the lowest threshold of several, as in the script."""
    return int(np.flatnonzero(values >= values.max() - ROUNDING)[0])
