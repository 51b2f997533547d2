"""Divide compared texts by length, by a word or by the values of a column, and score each slice."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from jaxtyping import Int

from bertviz_core.errors import Named, TextError
from bertviz_core.predictions.probing.comparison import COVERED, RESAMPLES
from bertviz_core.predictions.probing.results import (
    LEAST,
    AnswerComparison,
    ScorePair,
    SlicedAnswers,
    TextSlice,
)
from bertviz_core.text import escape_controls, quoted

LENGTH, WORD, COLUMN = "length", "word:", "column"
"""Ways to divide the texts: by the number of words, by a word (`word:not`), or by a value given for each text."""
LONGEST = (5, 10, 20, 40)
"""Largest number of words of each slice by length but the last."""
MOST_SLICES, MOST_NAMED = 20, 60
"""Maximum number of values with a slice of their own, and of characters of a word in a name."""
EMPTY, OTHERS = "(empty)", "other values"


def sliced_answers(
    compared: AnswerComparison, by: str, values: Sequence[str] | None = None, seed: int = 0
) -> SlicedAnswers:
    """Score the answers of two models on parts of the texts.

    Args:
        compared: the answers, with or without gold labels.
        by: "length" for the number of words (of both texts of a pair), "word:" with a word that texts contain or not,
            or "column".
        values: the value of each text, for "column".
        seed: seed of the bootstrap samples.

    Raises:
        TextError: there is no such division, the word is missing, or a value is missing.
    """
    check_division(by, len(compared.texts), values)
    if values is not None:
        names, order = _by_value(values)
    elif by == LENGTH:
        names, order = _by_length(_whole_texts(compared))
    else:
        names, order = _by_word(_whole_texts(compared), by.removeprefix(WORD).strip())
    places = {name: np.flatnonzero([each == name for each in names]) for name in order}
    slices = tuple(_scored(compared, name, at, seed) for name, at in places.items() if len(at))
    return SlicedAnswers(compared, by, slices)


def check_division(by: str, count: int, values: Sequence[str] | None) -> None:
    """Check a division of texts before they are answered.

    Args:
        by: as in `sliced_answers`.
        count: number of texts.
        values: the value of each text, for "column".

    Raises:
        TextError: there is no such division, the word is missing, or the number of values is not that of the texts.
    """
    if by.startswith(WORD) and not by.removeprefix(WORD).strip():
        raise TextError("A word is missing; give ", Named("slices"), "=word:not, with the word that you look for.")
    if (by == COLUMN) != (values is not None) or not (by in (LENGTH, COLUMN) or by.startswith(WORD)):
        raise TextError(
            "Texts are divided by their length, by a word, or by a column with one value for each text; give ",
            Named("slices"),
            "=length, word:not (with the word that you look for) or column.",
        )
    if values is not None and len(values) != count:
        raise TextError(f"{len(values):,} values came for {count:,} texts; give one for each.")


def _whole_texts(compared: AnswerComparison) -> list[str]:
    """Each text, followed by its second text if there is one."""
    if compared.pairs is None:
        return list(compared.texts)
    return [f"{text} {second}" for text, second in zip(compared.texts, compared.pairs, strict=True)]


def _by_length(texts: Sequence[str]) -> tuple[list[str], list[str]]:
    """Slice of each text, and all slices in order."""
    between = [f"{low + 1}–{high} words" for low, high in pairwise(LONGEST)]
    order = [f"up to {LONGEST[0]} words", *between, f"over {LONGEST[-1]} words"]
    return [order[bisect_left(LONGEST, len(text.split()))] for text in texts], order


def _by_word(texts: Sequence[str], word: str) -> tuple[list[str], list[str]]:
    pattern = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)
    name = quoted(word, MOST_NAMED)
    order = [f"with {name}", f"without {name}"]
    return [order[pattern.search(text) is None] for text in texts], order


def _by_value(values: Sequence[str]) -> tuple[list[str], list[str]]:
    """As `_by_length`; the values in the order in which they first occur, rare ones of a large number as one slice."""
    names = [escape_controls(value.strip()) or EMPTY for value in values]
    frequent = {name for name, _ in Counter(names).most_common(MOST_SLICES)}
    order = [name for name in dict.fromkeys(names) if name in frequent]
    return [name if name in frequent else OTHERS for name in names], [*order, OTHERS]


def _scored(compared: AnswerComparison, name: str, places: Int[np.ndarray, " places"], seed: int) -> TextSlice:
    agreement, gold = 1 - float(np.isin(places, compared.changed).mean()), compared.gold
    labelled = np.intersect1d(places, gold.first.compared) if gold is not None else places[:0]
    if gold is None or not len(labelled):
        return TextSlice(name, places, agreement, None, 0, 0, 0)
    total = len(labelled)
    mended, broken = (int(np.isin(each, labelled).sum()) for each in (gold.mended, gold.broken))
    first, second = (1 - int(np.isin(each.mistakes, labelled).sum()) / total for each in (gold.first, gold.second))
    interval = accuracy_interval(mended, broken, total, seed) if total >= LEAST else (np.nan, np.nan)
    accuracy = ScorePair(first, second, *interval)
    return TextSlice(name, places, agreement, accuracy, total, mended, broken)


def accuracy_interval(mended: int, broken: int, total: int, seed: int) -> tuple[float, float]:
    """Percentile interval of a difference of accuracies, from a paired bootstrap over the texts.

    A sample draws as many texts as there are, with replacement (Efron & Tibshirani 1993, chapter 13); only the numbers
    of mended and broken texts in it matter.
    """
    shares = np.array([mended, broken, total - mended - broken]) / total
    drawn = np.random.default_rng(seed).multinomial(total, shares, size=RESAMPLES)
    outside = (100 - COVERED) / 2
    low, high = np.percentile((drawn[:, 0] - drawn[:, 1]) / total, (outside, 100 - outside)).tolist()
    return low, high
