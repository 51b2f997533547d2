"""Labels that are likely wrong: confident learning (Northcutt et al. 2021), equal to cleanlab's."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Int

from bertviz_core.errors import Named, TextError
from bertviz_core.hidden_states.geometry import unit
from bertviz_core.predictions.probing.gold import class_places, classes_by_name, named_labels
from bertviz_core.predictions.probing.results import ConfidentJoint, LabelledTexts
from bertviz_core.predictions.probing.table import are_numbered
from bertviz_core.text import quoted

CONFIDENT, NOISE_RATE, BOTH, OTHER_CLASS = FOUND_BY = ("confident learning", "noise rate", "both", "another class")
"""What makes a label suspect: that the text is confidently counted in another class; that it is among as many texts as
the joint estimates of its given and another class; that it also has one of the least probabilities of its class; that
another class is the most probable one, however little."""
SELF_CONFIDENCE, MARGIN = RANKED_BY = ("self-confidence", "normalized margin")
NEIGHBOURS = 3
"""Nearest texts of each label that are named beside a suspect."""
ROUNDING, NEVER, BLOCK = 1e-6, 2.0, 512
"""Slack of a comparison of probabilities; threshold that none reaches; suspects whose cosines are computed at once."""


def confident_joint(
    probabilities: Float[np.ndarray, "texts classes"], gold: Int[np.ndarray, " texts"]
) -> ConfidentJoint:
    """The texts by given label and by the class that they are confidently counted in (section 3.1 of the paper).

    The threshold of a class is the mean probability of it over its own texts. As in cleanlab, a text that reaches
    several is counted in the most probable class of all, and every class has at least one text on the diagonal.
    """
    count = probabilities.shape[1]
    sizes = np.bincount(gold, minlength=count)
    own = np.bincount(gold, quality(probabilities, gold, SELF_CONFIDENCE), minlength=count)
    thresholds = np.where(sizes > 0, np.maximum(own / np.maximum(sizes, 1), 2 * ROUNDING), NEVER)
    reached = probabilities >= thresholds - ROUNDING
    certain = reached.any(axis=1)
    counted_in = np.where(reached.sum(axis=1) > 1, probabilities.argmax(axis=1), reached.argmax(axis=1))
    counts = np.zeros((count, count), dtype=np.int64, order="F")  # summed as in cleanlab: halves are rounded alike
    np.add.at(counts, (gold[certain], counted_in[certain]), 1)
    np.fill_diagonal(counts, np.maximum(counts.diagonal(), 1))
    scaled = (counts.T / counts.sum(axis=1) * sizes).T
    scaled = scaled / scaled.sum() * len(gold)
    return ConfidentJoint(thresholds, counts, rounded_rows(scaled), np.where(certain, counted_in, -1))


def rounded_rows(values: Float[np.ndarray, "rows columns"]) -> Int[np.ndarray, "rows columns"]:
    """Whole numbers whose rows have the rounded sums of these: what is rounded most is changed by one first."""
    whole = values.round()
    for row, exact in zip(whole, values, strict=True):
        while missing := int(exact.sum().round() - row.sum()):
            order = np.argsort(exact - row)[:: -1 if missing > 0 else 1]
            row[order[: abs(missing)]] += np.sign(missing)
    return whole.astype(np.int64)


def quality(
    probabilities: Float[np.ndarray, "texts classes"], gold: Int[np.ndarray, " texts"], ranked_by: str
) -> Float[np.ndarray, " texts"]:
    """How likely each label is right, 0 to 1: p(given), or (p(given) - the largest of the others + 1) / 2."""
    rows = np.arange(len(gold))
    confidence: np.ndarray = probabilities[rows, gold]
    if ranked_by == SELF_CONFIDENCE:
        return confidence
    others = probabilities.copy()
    others[rows, gold] = -np.inf
    margin: np.ndarray = (confidence - others.max(axis=1) + 1) / 2
    return margin


def suspects(
    probabilities: Float[np.ndarray, "texts classes"],
    gold: Int[np.ndarray, " texts"],
    joint: ConfidentJoint,
    found_by: str,
    ranked_by: str,
) -> Int[np.ndarray, " suspects"]:
    """Indices of the texts whose label is likely wrong, the least likely right first.

    A text whose given label is the most probable class is none of them.
    """
    if found_by == CONFIDENT:
        suspect = (joint.counted_in >= 0) & (joint.counted_in != gold)
    elif found_by == OTHER_CLASS:
        suspect = np.ones(len(gold), dtype=bool)
    else:
        suspect = _by_noise_rate(probabilities, gold, joint.calibrated)
        if found_by == BOTH:
            suspect &= _by_class(probabilities, gold, joint.calibrated)
    favoured = probabilities.copy()
    favoured[np.arange(len(gold)), gold] += ROUNDING
    places = np.flatnonzero(suspect & (favoured.argmax(axis=1) != gold))
    order: np.ndarray = places[np.argsort(quality(probabilities, gold, ranked_by)[places], kind="stable")]
    return order


def _by_noise_rate(probabilities: np.ndarray, gold: np.ndarray, calibrated: np.ndarray) -> Bool[np.ndarray, " texts"]:
    """Of each given label and other class as many texts as the joint has, those with the largest difference of p."""
    suspect = np.zeros(len(gold), dtype=bool)
    counts = _with_one_kept(calibrated)
    for label, other in zip(*np.nonzero(counts), strict=True):
        places = np.flatnonzero(gold == label)
        if label != other and len(places) > 1:
            difference = probabilities[places, other] - probabilities[places, label]
            suspect[places[np.argsort(-difference, kind="stable")[: counts[label, other]]]] = True
    return suspect


def _by_class(probabilities: np.ndarray, gold: np.ndarray, calibrated: np.ndarray) -> Bool[np.ndarray, " texts"]:
    """Of each given label as many texts as the joint has in other classes, those with the least p(given)."""
    suspect = np.zeros(len(gold), dtype=bool)
    counts = _with_one_kept(calibrated)
    for label in np.unique(gold):
        places = np.flatnonzero(gold == label)
        wrong = len(places) - counts[label, label]
        if len(places) > 1 and wrong > 0:
            suspect[places[np.argsort(probabilities[places, label], kind="stable")[:wrong]]] = True
    return suspect


def _with_one_kept(calibrated: Int[np.ndarray, "classes classes"]) -> Int[np.ndarray, "classes classes"]:
    """The joint with at least one text on the diagonal, which its row's other cells make room for evenly."""
    diagonal = np.maximum(calibrated.diagonal(), 1)
    added = diagonal - calibrated.diagonal()
    cells = np.maximum(np.count_nonzero(calibrated, axis=1) - 1.0, 1.0)
    lowered = np.maximum(calibrated - (added / cells)[:, None], 0)
    np.fill_diagonal(lowered, diagonal)
    whole: np.ndarray = lowered.astype(np.int64)
    return whole


def likely_labels(
    probabilities: Float[np.ndarray, "texts classes"], gold: Int[np.ndarray, " texts"], joint: ConfidentJoint
) -> Int[np.ndarray, " texts"]:
    """Class of each text: that which it is confidently counted in if it is another than given, else the likeliest."""
    other = (joint.counted_in >= 0) & (joint.counted_in != gold)
    return np.where(other, joint.counted_in, probabilities.argmax(axis=1))


def label_neighbours(
    vectors: Float[np.ndarray, "texts dimensions"],
    gold: Int[np.ndarray, " texts"],
    places: Int[np.ndarray, " suspects"],
    labels: Int[np.ndarray, "suspects 2"],
) -> tuple[Int[np.ndarray, "suspects 2 nearest"], Float[np.ndarray, "suspects 2 nearest"]]:
    """For each suspect the nearest other texts with the one and with the other label, and their cosines.

    Where a label has fewer texts, the last indices are -1 and their cosines NaN.
    """
    units = unit(vectors)
    nearest = np.full((len(places), 2, NEIGHBOURS), -1, dtype=np.int64)
    cosines = np.full(nearest.shape, np.nan, dtype=np.float32)
    for start in range(0, len(places), BLOCK):
        block = np.clip(units[places[start : start + BLOCK]] @ units.T, -1, 1)
        for at, row in enumerate(block, start):
            row[places[at]] = -np.inf
            for side, label in enumerate(labels[at]):
                among = np.flatnonzero((gold == label) & np.isfinite(row))
                chosen = among[np.argsort(-row[among], kind="stable")[:NEIGHBOURS]]
                nearest[at, side, : len(chosen)], cosines[at, side, : len(chosen)] = chosen, row[chosen]
    return nearest, cosines


def head_places(labelled: LabelledTexts, classes: Sequence[str], name: str) -> Int[np.ndarray, " texts"]:
    """Place of each label among the classes of a head: by its name regardless of case, or all by their number."""
    by_name = classes_by_name(classes)
    places = class_places(labelled.labels, classes)
    if not places:
        order = {label: place for place, label in enumerate(classes)}
        known = {label: by_name.get(label, by_name.get(label.casefold())) for label in labelled.classes}
        unknown = [label for label, spelled in known.items() if spelled is None]
        if unknown:
            more = f" and {len(unknown) - 1:,} more of the labels" if unknown[1:] else ""
            raise TextError(
                f"The task head of {quoted(name)} has no class {quoted(unknown[0], 60)}{more}; its classes are "
                f"{named_labels(classes, 8)}. Take the probabilities of a probe, which learns the texts' labels (",
                Named("probabilities_from"),
                "=probe)",
                *((", or name the classes (", Named("class_names"), ").") if are_numbered(classes) else (".",)),
            )
        places = {label: order[spelled] for label, spelled in known.items() if spelled is not None}
    return np.array([places[label] for label in labelled.labels])
