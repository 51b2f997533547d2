"""A threshold of a score from labelled pairs: precision, recall and F1 of each one, and which to take."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from bertviz_core.errors import CheckpointError, Named, TextError
from bertviz_core.sentences.analysis.results import Threshold, ThresholdCurve
from bertviz_core.text import counted, digits, quoted

LEAST_PAIRS, MOST_PAIRS = 4, 10_000
"""Minimum and maximum number of pairs."""
QUANTILE = 1.959963984540054
"""The normal distribution has 95% of its mass within this many standard deviations of its mean."""
RESAMPLES, SEED, COVERED = 1_000, 0, (2.5, 97.5)
"""Bootstrap samples, their seed, and the percentiles of an interval."""
BLOCK = 4_000_000
"""Most counts of bootstrap samples in memory at once."""
ALL_TRUE = 1 - 1e-12
"""A share above this is 1."""


def wilson_interval(
    successes: Int[np.ndarray, " shares"], trials: Int[np.ndarray, " shares"] | int
) -> Float[np.ndarray, "2 shares"]:
    """95% interval of shares (Wilson 1927): lower and upper ends."""
    count = np.asarray(trials, dtype=np.float64)
    share, square = successes / count, QUANTILE**2
    middle = (share + square / (2 * count)) / (1 + square / count)
    half = QUANTILE / (1 + square / count) * np.sqrt(share * (1 - share) / count + square / (4 * count**2))
    return np.clip(np.stack([middle - half, middle + half]), 0, 1)


def threshold_curve(scores: Float[np.ndarray, " pairs"], labels: Bool[np.ndarray, " pairs"]) -> ThresholdCurve:
    """Precision, recall and F1 of every threshold that divides the pairs otherwise than its neighbours."""
    thresholds, places = np.unique(scores, return_inverse=True)
    positive, every = (
        np.bincount(places, weights=weights, minlength=len(thresholds))[::-1].cumsum()[::-1].astype(np.int64)
        for weights in (labels.astype(np.float64), None)
    )
    positives = int(labels.sum())
    precision, recall = positive / every, positive / positives
    rises = recall - np.append(recall[1:], 0.0)
    return ThresholdCurve(
        thresholds=thresholds.astype(np.float64),
        true_positives=positive,
        false_positives=every - positive,
        precision=precision,
        recall=recall,
        f1=2 * positive / (every + positives),
        precision_interval=wilson_interval(positive, every),
        recall_interval=wilson_interval(positive, positives),
        average_precision=float(rises @ precision),
    )


def best_place(curve: ThresholdCurve) -> int:
    """Index of the threshold with the largest F1; the highest of several."""
    return int(np.flatnonzero(curve.f1 == curve.f1.max())[-1])


def reaching_place(curve: ThresholdCurve, precision: float) -> int | None:
    """Index of the lowest threshold whose precision is at least this; None if there is none."""
    places = np.flatnonzero(curve.precision >= precision - (1 - ALL_TRUE))
    return int(places[0]) if len(places) else None


def threshold_at(curve: ThresholdCurve, place: int, pairs: int) -> Threshold:
    """One threshold of a curve of so many pairs."""
    true, false = int(curve.true_positives[place]), int(curve.false_positives[place])
    positives = int(curve.true_positives[0])
    low, high = curve.precision_interval[:, place].tolist()
    recall_low, recall_high = curve.recall_interval[:, place].tolist()
    return Threshold(
        threshold=float(curve.thresholds[place]),
        above=float(curve.thresholds[place - 1]) if place else None,
        precision=float(curve.precision[place]),
        precision_interval=(low, high),
        recall=float(curve.recall[place]),
        recall_interval=(recall_low, recall_high),
        f1=float(curve.f1[place]),
        true_positives=true,
        false_positives=false,
        false_negatives=positives - true,
        true_negatives=pairs - positives - false,
    )


class Resampled(NamedTuple):
    """The threshold with the largest F1 in bootstrap samples."""

    interval: tuple[float, float]
    """Its interval for 95% of them."""
    samples: int
    """Number of samples that have both labels."""


def resampled_threshold(
    scores: Float[np.ndarray, " pairs"], labels: Bool[np.ndarray, " pairs"], seed: int = SEED
) -> Resampled:
    """Interval of the threshold with the largest F1 from a bootstrap: as many pairs drawn with replacement.

    Samples without a positive or without a negative pair are left out.
    """
    order = np.argsort(-scores, kind="stable")
    ordered, positive, count = scores[order], labels[order], len(scores)
    ends = np.append(ordered[1:] != ordered[:-1], True)  # the last pair of each score
    generator, shares = np.random.default_rng(seed), np.full(count, 1 / count)
    block, best = max(1, BLOCK // count), []
    for start in range(0, RESAMPLES, block):
        drawn = generator.multinomial(count, shares, size=min(block, RESAMPLES - start))
        every = drawn.cumsum(axis=1)
        true = (drawn * positive).cumsum(axis=1)
        positives = true[:, -1:]
        both = (positives[:, 0] > 0) & (positives[:, 0] < count)
        f1 = np.where(ends & (every > 0), 2 * true / np.maximum(every + positives, 1), -1.0)[both]
        # A score of no pair of the sample divides it as the next higher one does, which comes first.
        best.append(ordered[f1.argmax(axis=1)])
    chosen = np.concatenate(best)
    low, high = np.percentile(chosen, COVERED, method="nearest").tolist() if len(chosen) else (math.nan, math.nan)
    return Resampled((low, high), len(chosen))


class GoldLabels(NamedTuple):
    """Which pairs are positive."""

    cut: float
    """Least gold similarity of a positive pair."""
    labels: Bool[np.ndarray, " pairs"]
    notices: tuple[str, ...]


def gold_labels(gold: Float[np.ndarray, " pairs"], cut: float | None = None) -> GoldLabels:
    """Tell positive pairs from others: labels of 1, or gold similarities of at least a number.

    Args:
        gold: label or gold similarity of each pair.
        cut: the least gold similarity of a positive pair; None for 1 where all are 0 or 1, else for the middle between
            the lowest and the highest.
    """
    check_count(len(gold))
    if not np.isfinite(gold).all():
        raise TextError("A label is NaN or infinite; give each pair 0 or 1, or a similarity.")
    low, high = float(gold.min()), float(gold.max())
    notices: tuple[str, ...] = ()
    if cut is None:
        words = set(gold.tolist()) <= {0.0, 1.0}
        cut = 1.0 if words else (low + high) / 2
        if not words and low < high:
            notices = (
                f"The gold similarities go from {digits(low)} to {digits(high)}; pairs with {digits(cut)} or more "
                "count as positive.",
            )
    labels = gold >= cut
    if labels.all() or not labels.any():
        every = f"All {counted(len(gold), 'pair')}"
        if low == high:
            raise TextError(
                f"{every} have the label {digits(low)}, and a threshold divides two kinds; add pairs of the other kind."
            )
        kind = "positive" if labels.all() else "negative"
        between = f"={digits(cut)}; give a number above {digits(low)}, up to {digits(high)}."
        raise TextError(f"{every} are {kind} with ", Named("cut"), between)
    return GoldLabels(cut, labels, notices)


def check_count(count: int) -> None:
    """Check the number of pairs."""
    if count < LEAST_PAIRS:
        raise TextError(f"A threshold needs at least {LEAST_PAIRS} labelled pairs, and {count or 'none'} came.")
    if count > MOST_PAIRS:
        raise TextError(f"There are {count:,} pairs; at most {MOST_PAIRS:,} are scored. Give a part of them.")


def check_scores(model: str, scores: Float[np.ndarray, " pairs"]) -> None:
    """Check the scores of a model."""
    broken = int((~np.isfinite(scores)).sum())
    if broken:
        raise CheckpointError(
            f"{quoted(model)} gives NaN or infinity for {broken:,} of {counted(len(scores), 'pair')}, which no "
            "threshold divides; look at its weights on the page Checkpoint."
        )


def check_pairs(firsts: Sequence[str], seconds: Sequence[str]) -> None:
    """Check that no text of a pair is blank."""
    for number, texts in enumerate(zip(firsts, seconds, strict=True), start=1):
        if not all(text.strip() for text in texts):
            raise TextError(f"Pair {number:,} has a blank text; leave it out, or write what is compared.")
