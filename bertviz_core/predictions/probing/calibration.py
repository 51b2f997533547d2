"""Calibration: whether what a classifier is so sure of is true that often, on labelled texts."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float, Int

from bertviz_core.errors import CheckpointError, TextError, UnsupportedModelError
from bertviz_core.predictions.probing.gold import (
    AS_CLASSES,
    class_places,
    label_parts,
    label_places,
    label_sets,
    named_labels,
    read_as_places,
)
from bertviz_core.predictions.probing.results import (
    CalibratedLabel,
    Calibration,
    CalibrationBins,
    CalibrationScores,
    TextPredictions,
)
from bertviz_core.predictions.probing.swaps import mean_intervals
from bertviz_core.sentences.analysis.thresholds import wilson_interval
from bertviz_core.text import counted, quoted

LEAST_TEXTS, MOST_TEXTS = 4, 10_000
"""Fewest texts, and most: of a longer list a sample is answered."""
LEAST_BINS, MOST_BINS, BINS = 2, 50, 15
"""Bounds and default of the number of bins; the default is that of Guo et al. 2017."""
NAMED = 5
"""Most labels that a sentence names."""


def calibration(predictions: TextPredictions, gold: Sequence[str], bins: int = BINS, seed: int = 0) -> Calibration:
    """Calibration of a classifier by texts with gold labels; those without one of its labels are left out.

    The probability of the answer is compared with how often it is right (Guo et al. 2017, section 2); of a multi-label
    head, the probability of each label with how often texts have it.
    """
    logits, outputs, several = predictions.logits, predictions.outputs, not predictions.labels
    if logits is None or predictions.probabilities is None:
        raise no_probability(predictions.model)
    if not np.isfinite(logits).all():
        raise CheckpointError(f"{quoted(predictions.model)} gives NaN or infinity; look at its weights on Checkpoint.")
    known = label_sets(gold, outputs) if several else _single(gold, outputs)
    labelled = np.array([at for at, places in enumerate(known) if places is not None], dtype=np.int64)
    notices = _left_out(gold, known, outputs)
    has = np.zeros((len(labelled), len(outputs)), dtype=bool)
    for row, at in enumerate(labelled.tolist()):
        has[row, list(known[at] or ())] = True
    notices += _check_labels(has, outputs, several)
    parts = [part for each in gold for part in label_parts(each)] if several else gold
    if numbered := class_places(parts, outputs):
        notices.append(read_as_places(numbered, outputs))
    wide = logits[labelled].astype(np.float64)
    if several:  # a label or not is a choice of two with the logits z and 0, whose softmax is the sigmoid of z
        labels = [
            _calibrated(
                name, np.stack([wide[:, at], np.zeros(len(wide))], axis=1), np.where(has[:, at], 0, 1), bins, seed
            )
            for at, name in enumerate(outputs)
        ]
    else:
        labels = [_calibrated("", wide, has.argmax(axis=1), bins, seed)]
    every = tuple(dict.fromkeys((*predictions.notices, *notices)))
    return Calibration(predictions.model, outputs, bins, seed, tuple(labels), notices=every)


def no_probability(model: str) -> UnsupportedModelError:
    """The error for a head without classes."""
    return UnsupportedModelError(
        f"The task head of {quoted(model)} gives no probability of a class, so there is nothing to calibrate; choose a "
        "model that classifies texts."
    )


def _single(gold: Sequence[str], outputs: Sequence[str]) -> list[set[int] | None]:
    """The place of the gold label of each text; None for a text without one, or with one that is no label."""
    places = label_places(gold, outputs)
    return [{places[label]} if (label := each.strip()) in places else None for each in gold]


def _left_out(gold: Sequence[str], known: Sequence[set[int] | None], outputs: Sequence[str]) -> list[str]:
    """Sentences on the texts that are left out."""
    blank = sum(not each.strip() for each in gold)
    unknown = dict.fromkeys(
        label for label, places in zip(gold, known, strict=True) if places is None and label.strip()
    )
    names = named_labels(outputs)
    if blank == len(gold):
        raise TextError("No text has a gold label, so nothing says how often an answer is right; label the texts.")
    if all(places is None for places in known):
        raise TextError(
            f"No gold label ({named_labels(list(unknown))}) is a label of the task head; it has {names}. {AS_CLASSES}"
        )
    notices = [f"{counted(blank, 'text')} without a gold label left out."] if blank else []
    if count := sum(places is None for places in known) - blank:
        wrong = named_labels(list(unknown))
        notices.append(f"{counted(count, 'text')} left out whose gold label the task head lacks ({wrong}): {names}.")
    return notices


def _check_labels(has: Bool[np.ndarray, "texts labels"], outputs: Sequence[str], several: bool) -> list[str]:
    """Check that there are texts of two kinds; returns sentences on labels of too few."""
    texts, counts = len(has), has.sum(axis=0)
    if texts < LEAST_TEXTS:
        raise TextError(f"{counted(texts, 'text')} with a gold label of the task head; give at least {LEAST_TEXTS}.")
    if not several and counts.max() == texts:
        only = quoted(outputs[int(counts.argmax())], 40)
        raise TextError(f"All {texts:,} texts have the gold label {only}; give texts of at least two classes.")
    if several and bool((has == has[0]).all()):
        raise TextError(f"All {texts:,} texts have the same gold labels; give texts with others, too.")
    rare = [name for name, count in zip(outputs, counts.tolist(), strict=True) if count == 1]
    absent = [name for name, count in zip(outputs, counts.tolist(), strict=True) if count == 0]
    notices = [f"Only one text has the gold label {named_labels(rare)}, which tells little about it."] if rare else []
    return notices + ([f"No text has the gold label {named_labels(absent)}."] if absent else [])


def _calibrated(
    label: str, logits: Float[np.ndarray, "texts classes"], gold: Int[np.ndarray, " texts"], bins: int, seed: int
) -> CalibratedLabel:
    """Calibration of the answer, or of a label as the first of two classes."""
    probabilities, right = _log_softmax(logits), logits.argmax(axis=1) == gold
    confidence = np.exp(probabilities.max(axis=1))
    event, happened = _event(label, logits, gold)
    steps, order = np.unique(-confidence, return_inverse=True)
    every, hits = (np.bincount(order, weights=of).cumsum().astype(np.int64) for of in (None, right.astype(float)))
    # Guo et al. fit on other texts than they measure on: here on a random half.
    fitted, tried = np.array_split(np.random.default_rng(seed).permutation(len(gold)), 2)
    temperature = fitted_temperature(logits[fitted], gold[fitted])
    before = _scores(label, logits[tried], gold[tried], bins)
    after, change = None, None
    if temperature is not None:
        cooled = logits[tried] / temperature
        after = _scores(label, cooled, gold[tried], bins)
        losses = _log_losses(cooled, gold[tried]) - _log_losses(logits[tried], gold[tried])
        low, high = mean_intervals(losses[None, :, None])[1][:, 0, 0].tolist()
        change = low, high
    return CalibratedLabel(
        label=label,
        scores=_scores(label, logits, gold, bins),
        equal_width=binned(event, happened, bins, by_mass=False),
        equal_mass=binned(event, happened, bins, by_mass=True),
        coverage=every / len(gold),
        covered_accuracy=hits / every,
        covered_interval=wilson_interval(hits, every),
        least_confidence=-steps,
        temperature=temperature,
        before=before,
        after=after,
        change=change,
    )


def _event(
    label: str, logits: Float[np.ndarray, "texts classes"], gold: Int[np.ndarray, " texts"]
) -> tuple[Float[np.ndarray, " texts"], Bool[np.ndarray, " texts"]]:
    """The probability that is judged, and where it came true: that of the answer, or of a label."""
    logs = _log_softmax(logits)
    if label:
        return np.exp(logs[:, 0]), gold == 0
    return np.exp(logs.max(axis=1)), logits.argmax(axis=1) == gold


def _scores(
    label: str, logits: Float[np.ndarray, "texts classes"], gold: Int[np.ndarray, " texts"], bins: int
) -> CalibrationScores:
    """Scores of logits.

    The Brier score is the mean over the texts of Σ (probability − 1 or 0)² over the classes (Brier 1950), the log loss
    that of −log(probability of the gold label), from the logits: it is finite where a probability is rounded to 0.
    """
    logs, rows = _log_softmax(logits), np.arange(len(gold))
    event, happened = _event(label, logits, gold)
    errors = np.exp(logs)
    errors[rows, gold] -= 1
    return CalibrationScores(
        texts=len(gold),
        accuracy=float((logits.argmax(axis=1) == gold).mean()),
        ece=calibration_error(binned(event, happened, bins, by_mass=False)),
        ece_equal_mass=calibration_error(binned(event, happened, bins, by_mass=True)),
        brier=float((errors**2).sum(axis=1).mean()) / (2 if logits.shape[1] == 2 else 1),
        log_loss=float(_log_losses(logits, gold).mean()),
    )


def _log_losses(
    logits: Float[np.ndarray, "texts classes"], gold: Int[np.ndarray, " texts"]
) -> Float[np.ndarray, " texts"]:
    losses: np.ndarray = -_log_softmax(logits)[np.arange(len(gold)), gold]
    return losses


def binned(
    probability: Float[np.ndarray, " texts"], happened: Bool[np.ndarray, " texts"], bins: int, by_mass: bool
) -> CalibrationBins:
    """The bins of a reliability diagram, as `calibration_curve` of scikit-learn cuts them.

    Edges are even from 0 to 1, or quantiles of the probabilities; a probability on an edge is in the lower bin.
    """
    edges = np.linspace(0, 1, bins + 1)
    if by_mass:
        edges = np.quantile(probability, edges)
    places = np.searchsorted(edges[1:-1], probability)
    counts, true, sums = (
        np.bincount(places, weights=weights, minlength=bins) for weights in (None, happened.astype(float), probability)
    )
    used = counts > 0
    counts, true = counts[used].astype(np.int64), true[used].astype(np.int64)
    return CalibrationBins(
        low=edges[:-1][used],
        high=edges[1:][used],
        counts=counts,
        probability=sums[used] / counts,
        share=true / counts,
        interval=wilson_interval(true, counts),
    )


def calibration_error(bins: CalibrationBins) -> float:
    """ECE = Σ texts of the bin / texts · |share − mean probability| (Naeini et al. 2015; Guo et al. 2017, eq. 3)."""
    return float((bins.counts * np.abs(bins.share - bins.probability)).sum() / bins.counts.sum())


def fitted_temperature(logits: Float[np.ndarray, "texts classes"], gold: Int[np.ndarray, " texts"]) -> float | None:
    """T with the least log loss of softmax(logits / T) (Guo et al. 2017, section 4.2); None if no T has the least.

    The log loss is convex in β = 1/T; its slope is the mean of Σ probability · logit − logit of the gold label. It has
    no zero above 0 where all answers are right (T → 0), or where equal probabilities are better (T → ∞).
    """
    from scipy.optimize import brentq

    own = logits[np.arange(len(gold)), gold]

    def slope(beta: float) -> float:
        return float(((np.exp(_log_softmax(beta * logits)) * logits).sum(axis=1) - own).mean())

    if slope(0) >= 0 or bool((logits.max(axis=1) == own).all()):
        return None
    high = 1.0
    while slope(high) < 0:
        high *= 2
    return 1 / float(brentq(slope, 0, high, xtol=1e-12, rtol=1e-12))


def _log_softmax(logits: Float[np.ndarray, "texts classes"]) -> Float[np.ndarray, "texts classes"]:
    shifted: np.ndarray = logits - logits.max(axis=1, keepdims=True)
    logs: np.ndarray = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return logs


def sampled(texts: int, seed: int = 0) -> list[int] | None:
    """Places of a sample of a long list, ascending; None for a list that is answered whole."""
    if texts <= MOST_TEXTS:
        return None
    return sorted(np.random.default_rng(seed).choice(texts, MOST_TEXTS, replace=False).tolist())


def with_other(first: Calibration, other: Calibration | None) -> Calibration:
    """The calibration of a model beside that of another one."""
    if other is None:
        return first
    about = (f"{other.model}: {notice}" for notice in other.notices)
    return replace(first, other=other, notices=tuple(dict.fromkeys((*first.notices, *about))))
