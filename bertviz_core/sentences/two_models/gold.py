"""Correlate the cosines of pairs of sentences with gold similarities."""

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from bertviz_core.errors import TextError
from bertviz_core.hidden_states.geometry import unit
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.sentences.results import SentenceTable
from bertviz_core.sentences.two_models.comparison import require_finite
from bertviz_core.sentences.two_models.results import GoldCosines
from bertviz_core.text import counted, quoted

LEAST_PAIRS = 3
"""Minimum number of pairs; any two points lie on a line."""
MOST_PAIRS = 5_000
"""Maximum number of pairs."""
EQUAL = 1e-6
"""Cosines of float32 vectors that differ by less are equal."""
SECOND_COLUMNS = ("sentence2", "sentence_2", "text2", "second")
SCORE_COLUMNS = ("score", "gold", "similarity", "label", "similarity_score", "labels")
"""Usual names of the columns of the second sentences and of the gold similarities, in order of preference."""


def gold_cosines(
    model: str,
    first: Float[np.ndarray, "pairs dimensions"],
    second: Float[np.ndarray, "pairs dimensions"],
    gold: Float[np.ndarray, " pairs"],
) -> GoldCosines:
    """Correlate the cosines of pairs with gold similarities.

    Args:
        model: name of the model.
        first: vectors of the first sentences.
        second: vectors of the second sentences.
        gold: gold similarity of each pair.

    Raises:
        TextError: there are too few pairs, or all have the same gold similarity.
        CheckpointError: a vector has NaN or infinity.
    """
    check_gold(gold)
    for vectors in (first, second):
        require_finite(model, vectors)
    cosines = np.clip(np.einsum("pd,pd->p", unit(first), unit(second), dtype=np.float64), -1, 1)
    if np.ptp(cosines) < EQUAL:
        cosines = np.full_like(cosines, cosines.mean())  # what differs is rounding
    ranks, gold_ranks = average_ranks(cosines), average_ranks(gold)
    errors = (ranks - gold_ranks) / (len(gold) - 1)
    return GoldCosines(model, cosines, errors, pearson(cosines, gold), pearson(ranks, gold_ranks))


def check_gold(gold: Float[np.ndarray, " pairs"]) -> None:
    """Check that gold similarities can be correlated with something.

    Raises:
        TextError: there are too few or too many pairs, or all have the same gold similarity.
    """
    if len(gold) < LEAST_PAIRS:
        raise TextError(f"A correlation needs at least {LEAST_PAIRS} pairs, and {len(gold)} came.")
    if len(gold) > MOST_PAIRS:
        raise TextError(f"There are {len(gold):,} pairs; at most {MOST_PAIRS:,} are compared. Give a part of them.")
    if not np.ptp(gold) > 0:
        raise TextError("All pairs have the same gold similarity, so nothing can be correlated with it.")


def average_ranks(values: Float[np.ndarray, " values"]) -> Float[np.ndarray, " values"]:
    """Ranks from 1 in ascending order; equal values share the mean of their ranks."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts - 1) / 2)[places])


def table_pairs(
    table: SentenceTable, second: str, score: str
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[float, ...], tuple[str, ...]]:
    """First and second sentences, gold similarities, and notices of a table; incomplete rows are left out.

    Args:
        table: table whose column of texts holds the first sentences.
        second: name of the column of the second sentences.
        score: name of the column of the gold similarities.

    Raises:
        TextError: there is no such column, or no row with a second sentence and a number.
    """
    for column in (second, score):
        if column not in table.frame.columns:
            known = ", ".join(quoted(str(name), 40) for name in list(table.frame.columns)[:12]) or "none"
            raise TextError(
                f"{quoted(table.name)} has no column {quoted(column, 60)} beside its texts; it has: {known}."
            )
    numbers = [_number(each) for each in table.frame[score].tolist()]
    others = ["" if pd.isna(each) else str(each).strip() for each in table.frame[second].tolist()]
    rows = zip(table.sentences, others, numbers, strict=True)
    whole = [(one, other, number) for one, other, number in rows if other and math.isfinite(number)]
    if not whole:
        raise TextError(
            f"No row of {quoted(table.name)} has a text in {quoted(second, 60)} and a number in {quoted(score, 60)}."
        )
    left_out, notices = len(numbers) - len(whole), table.notices
    if left_out:
        notices = (*notices, f"{counted(left_out, 'row')} without a second sentence or a number left out.")
    firsts, seconds, gold = zip(*whole, strict=True)
    return firsts, seconds, gold, notices


def typed_pairs(lines: SentenceTable) -> tuple[tuple[str, ...], tuple[str, ...], tuple[float, ...]]:
    """First and second sentences and gold similarities of lines with two tabs each.

    Raises:
        TextError: a line is not sentence, tab, sentence, tab, number.
    """
    pairs = []
    for number, line in zip(lines.rows.tolist(), lines.sentences, strict=True):
        cells = [cell.strip() for cell in line.split("\t")]
        if len(cells) != 3 or not all(cells) or not math.isfinite(_number(cells[2])):
            raise TextError(
                f"Line {number} is no pair with its similarity: {quoted(line, 60)}. Write the first sentence, a "
                "tab, the second sentence, a tab, and a number."
            )
        pairs.append((cells[0], cells[1], _number(cells[2])))
    firsts, seconds, gold = zip(*pairs, strict=True)
    return firsts, seconds, gold


def usual_column(names: Sequence[str], usual: Sequence[str]) -> str:
    """The first of the usual names that a table has, regardless of case; "" if it has none."""
    return next((name for usual_name in usual for name in names if name.lower() == usual_name), "")


def _number(value: object) -> float:
    try:
        return float(str(value).strip())
    except ValueError:
        return math.nan


def pearson(one: Float[np.ndarray, " pairs"], other: Float[np.ndarray, " pairs"]) -> float:
    """Pearson's correlation; NaN if all numbers of a side are equal."""
    one, other = one - one.mean(), other - other.mean()
    scale = math.sqrt(float(one @ one) * float(other @ other))
    return float(one @ other) / scale if scale else math.nan
