"""How texts with labels that are likely wrong, and scores of gold tags, are shown."""

from typing import Any

import numpy as np

from bertviz_core.figures.predictions.gold_tags import errors_table, labels_table, scores_table, scores_words
from bertviz_core.predictions.probing.label_errors import OTHER_CLASS, suspects
from bertviz_core.predictions.probing.results import LabelErrors, TagScores, TokenLabels
from bertviz_core.predictions.tables import decision_table
from bertviz_core.questions.tables.lines import Faces, printable_name, records, table
from bertviz_core.text import counted, escape_controls, quoted

MOST = 20
"""Most suspects that are printed."""
OPINIONS = {
    "probe": "The likely label of a text is by a probe that was fitted without it, not by a task head of the model.",
    "head": "The likely label of a text is by the probabilities of the model's own task head.",
}
"""Where the probabilities come from -> whose opinion the likely labels are."""


def estimate_words(result: LabelErrors) -> str:
    """How many labels are suspect and how many are likely wrong, and whose opinion that is, in a few sentences."""
    count, source = len(result.texts), quoted(result.source, 60)
    judge = {"probe": "probe", "head": "task head"}[result.probabilities_from]
    suspect, answers = "is" if len(result.suspects) == 1 else "are", result.probabilities.argmax(axis=1)
    sentence = (
        f"{len(result.suspects):,} of {counted(count, 'label')} of {source} {suspect} suspect; by the {judge}, "
        f"confident learning estimates {result.estimated:,} ({result.estimated / count:.1%}) as wrong: the cells off "
        f"the diagonal, scaled to all texts in whole numbers. {OPINIONS[result.probabilities_from]}"
    )
    others = suspects(result.probabilities, result.gold, result.joint, OTHER_CLASS, result.ranked_by)
    if more := len(set(others.tolist()) - set(result.suspects.tolist())):
        further = counted(more, "further text" if len(result.suspects) else "text")
        sentence += (
            f" For {further} another class is the most probable one, but not by enough to be suspect; to list "
            f"these, too, choose suspects by {OTHER_CLASS!r}."
        )
    if result.probabilities_from == "head":
        same = float((answers == result.gold).mean())
        sentence += (
            f" Its answers, the most probable classes, agree with {same:.1%} of the labels; the lower that is, the "
            "more suspects are its own mistakes."
        )
    other = (result.joint.counted_in >= 0) & (result.joint.counted_in != answers)
    if other.any():
        spared = int((other & (answers == result.gold)).sum())
        sentence += (
            " The cells count a text in the class whose threshold it reaches, the mean probability of the class over "
            f"the texts with its label. For {counted(int(other.sum()), 'text')} this is not the most probable class."
        )
        if spared:
            who = "It is" if other.sum() == 1 else f"{spared:,} of them {'is' if spared == 1 else 'are'}"
            sentence += (
                f" {who} counted off the diagonal although the label is the most probable class, so not suspect."
            )
    if left := result.uncounted:
        sentence += f" The cells leave out {counted(left, 'text')} below the threshold of every class."
    return sentence


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


def _tag_lines(result: TagScores) -> list[str]:
    """The scores by type, and the errors."""
    errors = errors_table(result).drop(columns="text")
    more = [f"... and {len(errors) - MOST:,} more; --json has all"] if len(errors) > MOST else []
    listed = ["", counted(len(errors), "error"), *table(errors.head(MOST)), *more] if len(errors) else []
    return [escape_controls(scores_words(result)), "", *table(scores_table(result)), *listed]


GOLD_TAGS: Faces[TagScores] = Faces(
    keys="model mode sentences words accuracy precision recall f1 macro_precision macro_recall macro_f1 types errors "
    "notices",
    made={
        "sentences": lambda result: len(result.words),
        "words": lambda result: sum(map(len, result.words)),
        "precision": lambda result: float(result.scores[-2, 0]),
        "recall": lambda result: float(result.scores[-2, 1]),
        "f1": lambda result: float(result.scores[-2, 2]),
        "macro_precision": lambda result: float(result.scores[-1, 0]),
        "macro_recall": lambda result: float(result.scores[-1, 1]),
        "macro_f1": lambda result: float(result.scores[-1, 2]),
        "types": lambda result: records(scores_table(result).iloc[:-2]),
        "errors": lambda result: records(errors_table(result)),
    },
    frame=scores_table,
    lines=_tag_lines,
)
GOLD_LABELS: Faces[TokenLabels] = Faces(
    keys="model sentence aligned tokens words labels predicted notices",
    made={
        "sentence": lambda result: result.sentence + 1,
        "predicted": lambda result: labels_table(result)["predicted"].tolist(),
    },
    frame=labels_table,
    above=lambda result: [f"{printable_name(result.model)}: sentence {result.sentence + 1:,}, {result.aligned}"],
)
