"""Compare the answers of two models to the same texts: agreement, and scores where gold labels are known."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float, Int

from bertviz_core.errors import TextError
from bertviz_core.predictions.probing.gold import MAX_CONFUSED, class_places, gold_scores
from bertviz_core.predictions.probing.results import (
    AnswerComparison,
    GoldComparison,
    GoldScores,
    ScorePair,
    TextPredictions,
)
from bertviz_core.text import counted, escape_controls, quoted, shortened

RESAMPLES = 5_000
COVERED = 95
"""Percent of the bootstrap samples that an interval covers."""
BLOCK_CELLS = 2**22
"""Counts of bootstrap samples in memory at once: 32 MiB."""
NAMED, MOST_NAMED = 5, 40
"""Maximum number of labels named in a notice, and of characters of a name."""


def answer_comparison(
    first: TextPredictions, second: TextPredictions, gold: Sequence[str] | None = None, seed: int = 0
) -> AnswerComparison:
    """Compare two models by their answers to the same texts.

    Labels are matched by name, regardless of case where that is unambiguous. Texts without a gold label only count for
    the agreement.

    Args:
        gold: gold label of each text, "" for none; None to compare only the answers with each other.
    """
    if first.texts != second.texts:
        raise ValueError("the two models answered different texts")
    for predictions in (first, second):
        if not predictions.labels:
            raise not_compared(predictions.model, predictions.task)
    spelling = label_spelling(first.labels, second.labels)
    labels = tuple(dict.fromkeys((*first.labels, *spelling.values())))
    if len(labels) > MAX_CONFUSED:
        raise TextError(f"The two task heads have {len(labels):,} labels; at most {MAX_CONFUSED} are compared.")
    one = replace(first, labels=labels, probabilities=None)
    answers = tuple(spelling[answer] for answer in second.answers)
    other = replace(second, labels=labels, answers=answers, probabilities=None)
    place = {label: index for index, label in enumerate(labels)}
    cells = np.array([[place[label] for label in each.answers] for each in (one, other)], dtype=np.int64)
    confusion = np.zeros((len(labels), len(labels)), dtype=np.int64)
    np.add.at(confusion, tuple(cells), 1)
    notices = ["The same model twice: every difference is exactly 0."] if first.model == second.model else []
    notices += unmatched_labels((first.model, second.model), first.labels, tuple(spelling.values()))
    compared, common = None, len({*first.labels} & {*spelling.values()})
    if gold is not None and not common:
        notices.append("No label is one of both heads, so only the answers are compared, and not with gold labels.")
    elif gold is not None:
        _check_numbers(first.labels, tuple(spelling[label] for label in second.labels), gold)
        compared, about_gold = _gold_comparison(one, other, gold, seed)
        notices += about_gold
    notices += [*first.notices, *second.notices]
    return AnswerComparison(
        first=first.model,
        second=second.model,
        texts=first.texts,
        pairs=first.pairs,
        labels=labels,
        answers=(one.answers, other.answers),
        probabilities=np.stack((first.scores, second.scores)),
        confusion=confusion,
        changed=np.flatnonzero(cells[0] != cells[1]),
        common=common,
        gold=compared,
        notices=tuple(dict.fromkeys(notices)),
    )


def not_compared(model: str, task: str) -> TextError:
    """The error for a head whose answers are not classes: words, tags, spans, numbers or sets of classes."""
    named = shortened(escape_controls(task), MOST_NAMED)
    return TextError(
        f"Answers are compared where a task head gives one class per text; that of {model!r} ({named}) gives none, so "
        "its answers are not compared."
    )


def mcnemar_p(mended: int, broken: int) -> float:
    """Two-sided p-value of McNemar's exact test (McNemar 1947): the binomial test of mended against broken texts.

    1 if the two numbers are equal, also if both are 0.
    """
    total, fewer = mended + broken, min(mended, broken)
    steps = np.arange(1, fewer + 1)
    logs = np.concatenate(([0.0], np.cumsum(np.log((total - steps + 1) / steps)))) - total * np.log(2)
    return min(1.0, 2 * float(np.exp(logs).sum()))


def _gold_comparison(
    first: TextPredictions, second: TextPredictions, gold: Sequence[str], seed: int
) -> tuple[GoldComparison | None, tuple[str, ...]]:
    """The scores of both models; None, and a notice, if no gold label is a label of theirs."""
    scores = gold_scores(first, gold), gold_scores(second, gold)
    compared = scores[0].compared
    if not any(scores[0].gold[at] in first.labels for at in compared.tolist()):
        named = ", ".join(quoted(each, MOST_NAMED) for each in list(dict.fromkeys(gold))[:NAMED] if each)
        return None, (f"No gold label ({named}) is a label of these task heads, so no answer is right or wrong.",)
    right = [
        np.array([each.answers[at] == scores[0].gold[at] for at in compared.tolist()], dtype=bool)
        for each in (first, second)
    ]
    mended = _confident(compared[~right[0] & right[1]], second)
    broken = _confident(compared[right[0] & ~right[1]], second)
    (low, high), (low_f1, high_f1) = _intervals(scores, _cells(first, second, scores[0]), seed)
    accuracy = ScorePair(scores[0].accuracy, scores[1].accuracy, low, high)
    macro_f1 = ScorePair(scores[0].macro_f1, scores[1].macro_f1, low_f1, high_f1)
    notices = tuple(dict.fromkeys((*scores[0].notices, *scores[1].notices)))
    p_value = mcnemar_p(len(mended), len(broken))
    return GoldComparison(*scores, accuracy, macro_f1, p_value, mended, broken, RESAMPLES, seed), notices


def _confident(places: Int[np.ndarray, " places"], answers: TextPredictions) -> Int[np.ndarray, " places"]:
    """Indices of texts, the most confident answer first."""
    return places[np.argsort(-np.nan_to_num(answers.scores[places], nan=-1.0), kind="stable")]


def _cells(first: TextPredictions, second: TextPredictions, scores: GoldScores) -> Int[np.ndarray, "3 compared"]:
    """Classes of each compared text: gold label, and answers of both models, as indices."""
    place = {label: index for index, label in enumerate(scores.classes)}
    named = (scores.gold, first.answers, second.answers)
    return np.array([[place[each[at]] for at in scores.compared.tolist()] for each in named], dtype=np.int64)


def _intervals(
    scores: tuple[GoldScores, GoldScores], cells: Int[np.ndarray, "3 compared"], seed: int
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Percentile intervals of the differences of accuracy and macro-F1, from a paired bootstrap over the texts.

    A sample draws as many texts as there are, with replacement, and keeps both answers of a text together (Efron &
    Tibshirani 1993, chapter 13). Texts with equal labels and answers are interchangeable, so their numbers are drawn.
    """
    kinds, counts = np.unique(cells, axis=1, return_counts=True)
    classes, total = len(scores[0].classes), cells.shape[1]
    gold, *answers = (np.eye(classes)[row] for row in kinds)
    differences: list[Float[np.ndarray, "2 samples"]] = []
    for drawn in _samples(counts, total, seed):
        both = []
        for answered in answers:
            hits = drawn @ (gold * answered)
            sizes = drawn @ gold + drawn @ answered
            occurring = sizes > 0
            f1 = np.divide(2 * hits, sizes, out=np.zeros_like(hits), where=occurring)
            both.append((hits.sum(axis=1) / total, f1.sum(axis=1) / occurring.sum(axis=1)))
        differences.append(np.stack([other - one for one, other in zip(*both, strict=True)]))
    outside = (100 - COVERED) / 2
    low, high = np.percentile(np.concatenate(differences, axis=1), (outside, 100 - outside), axis=1).tolist()
    return (low[0], high[0]), (low[1], high[1])


def _samples(counts: Int[np.ndarray, " kinds"], total: int, seed: int) -> Iterator[Float[np.ndarray, "samples kinds"]]:
    """Numbers of texts of each kind in the bootstrap samples, in blocks."""
    generator, step = np.random.default_rng(seed), max(1, BLOCK_CELLS // len(counts))
    for start in range(0, RESAMPLES, step):
        size = min(step, RESAMPLES - start)
        yield generator.multinomial(total, counts / total, size=size).astype(np.float64)


def label_spelling(first: Sequence[str], second: Sequence[str]) -> dict[str, str]:
    """Label of the second model -> the same label in the spelling of the first, or itself.

    Labels match regardless of case where that is unambiguous.
    """
    folded = [Counter(label.casefold() for label in labels) for labels in (first, second)]
    by_name = {label.casefold(): label for label in first}

    def spelled(label: str) -> str:
        name = label.casefold()
        is_match = label not in first and all(counts[name] == 1 for counts in folded)
        return by_name[name] if is_match else label

    return {label: spelled(label) for label in second}


def unmatched_labels(models: tuple[str, str], first: Sequence[str], second: Sequence[str]) -> list[str]:
    """Notices on labels that only one of two models has.

    Args:
        second: labels of the second in the spelling of the first.
    """
    notices = []
    sides = (sorted(set(first) - set(second)), sorted(set(second) - set(first)))
    for model, only in zip(models, sides, strict=True):
        if only:
            more = ", ..." if len(only) > NAMED else ""
            named = ", ".join(quoted(label, MOST_NAMED) for label in only[:NAMED]) + more
            notices.append(f"{counted(len(only), 'label')} only of {model}: {named}.")
    return notices


def _check_numbers(first: Sequence[str], second: Sequence[str], gold: Sequence[str]) -> None:
    """Raise TextError if gold labels are numbers of classes and the two models number their classes differently."""
    if tuple(first) != tuple(second) and (class_places(gold, first) or class_places(gold, second)):
        raise TextError(
            "The gold labels are numbers, and the two models number their classes differently; give a column with "
            "the names of the classes."
        )
