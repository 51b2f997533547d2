"""Two sentence models: similarities and gold values."""

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from bertviz_core.errors import CheckpointError, TextError
from bertviz_core.hidden_states.geometry import unit
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.sentences.results import CosineRange, GoldCosines, SentenceComparison, SentenceTable, off_diagonal
from bertviz_core.sentences.similarity import similarity_matrix
from bertviz_core.text import counted, quoted

LEAST_SENTENCES = 3
"""Minimum number of sentences; of two, each is always nearest to the other."""
MOST_SENTENCES = 150
"""Maximum number of sentences, so that every pair can be drawn."""
PERCENTILES = (5, 95)


def sentence_comparison(
    names: tuple[str, str],
    sentences: Sequence[str],
    first: Float[np.ndarray, "sentences first_dimensions"],
    second: Float[np.ndarray, "sentences second_dimensions"],
    neighbours: int,
    cka: float | None = None,
    notices: Sequence[str] = (),
) -> SentenceComparison:
    """Compare two models by their vectors of the same sentences."""
    if len(sentences) < LEAST_SENTENCES:
        raise TextError(
            f"Two models are compared on at least {LEAST_SENTENCES} sentences, and {len(sentences) or 'none'} came."
        )
    for name, vectors in zip(names, (first, second), strict=True):
        require_finite(name, vectors)
    cosines = similarity_matrix(first), similarity_matrix(second)
    nearest = [nearest_others(each, neighbours) for each in cosines]
    return SentenceComparison(
        first=names[0],
        second=names[1],
        sentences=tuple(sentences),
        first_cosines=cosines[0],
        second_cosines=cosines[1],
        first_range=_range(cosines[0]),
        second_range=_range(cosines[1]),
        neighbours=neighbours,
        shared=shared_neighbours(nearest[0], nearest[1]),
        first_nearest=nearest[0][:, 0],
        second_nearest=nearest[1][:, 0],
        cka=cka,
        notices=tuple(notices),
    )


def require_finite(model: str, vectors: Float[np.ndarray, "sentences dimensions"]) -> None:
    """Check the vectors of a model."""
    broken = int((~np.isfinite(vectors)).any(axis=1).sum())
    if broken:
        raise CheckpointError(
            f"{quoted(model)} gives NaN or infinity for {broken:,} of {counted(len(vectors), 'sentence')}, so their "
            "cosines cannot be compared; look at its weights on the page Checkpoint."
        )


def evenly_chosen(count: int, most: int = MOST_SENTENCES) -> list[int]:
    """Indices of at most this many sentences, spread evenly over the list; all of a short one."""
    chosen = min(count, most)
    return [place * count // chosen for place in range(chosen)] if count else []


def _range(cosines: Float[np.ndarray, "sentences sentences"]) -> CosineRange:
    pairs = off_diagonal(cosines).astype(np.float64)
    low, high = np.percentile(pairs, PERCENTILES).tolist()
    return CosineRange(float(pairs.mean()), low, high)


def nearest_others(
    cosines: Float[np.ndarray, "sentences sentences"], count: int
) -> Int[np.ndarray, "sentences neighbours"]:
    """Indices of the sentences with the largest cosine to each, itself left out; ties by index."""
    others = cosines.astype(np.float64)
    np.fill_diagonal(others, -np.inf)
    return np.argsort(-others, axis=1, kind="stable")[:, :count]


def shared_neighbours(
    first: Int[np.ndarray, "sentences neighbours"], second: Int[np.ndarray, "sentences neighbours"]
) -> Float[np.ndarray, " sentences"]:
    """Share of the nearest sentences of each that are the same in both, 0 to 1."""
    same = (first[:, :, None] == second[:, None, :]).any(axis=2)
    return np.asarray(same.mean(axis=1))


LEAST_PAIRS = 3
"""Minimum number of pairs; any two points lie on a line."""
MOST_PAIRS = 5_000
"""Maximum number of pairs."""
EQUAL = 1e-6
"""Cosines of float32 vectors that differ by less are equal."""
SECOND_COLUMNS = ("sentence2", "sentence_2", "text2", "hypothesis", "second")
SCORE_COLUMNS = ("score", "gold", "similarity", "label", "similarity_score", "labels")
"""Usual names of the columns of the second sentences and of the gold similarities, in order of preference."""


def gold_cosines(
    model: str,
    first: Float[np.ndarray, "pairs dimensions"],
    second: Float[np.ndarray, "pairs dimensions"],
    gold: Float[np.ndarray, " pairs"],
) -> GoldCosines:
    """Correlate the cosines of pairs with gold similarities."""
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
    """Check that gold similarities can be correlated with something."""
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
        second: name of the column of the second sentences.
        score: name of the column of the gold similarities.
    """
    for column in (second, score):
        if column not in table.frame.columns:
            known = ", ".join(quoted(str(name), 40) for name in list(table.frame.columns)[:12]) or "none"
            raise TextError(
                f"{quoted(table.name)} has no column {quoted(column, 60)} beside its texts; it has: {known}."
            )
    numbers = [number_of(each) for each in table.frame[score].tolist()]
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
    """First and second sentences and gold similarities of lines with two tabs each."""
    pairs = []
    for number, line in zip(lines.rows.tolist(), lines.sentences, strict=True):
        cells = [cell.strip() for cell in line.split("\t")]
        if len(cells) != 3 or not all(cells) or not math.isfinite(number_of(cells[2])):
            raise TextError(
                f"Line {number} is no pair with its similarity: {quoted(line, 60)}. Write the first sentence, a "
                "tab, the second sentence, a tab, and a number."
            )
        pairs.append((cells[0], cells[1], number_of(cells[2])))
    firsts, seconds, gold = zip(*pairs, strict=True)
    return firsts, seconds, gold


def usual_column(names: Sequence[str], usual: Sequence[str]) -> str:
    """The first of the usual names that a table has, regardless of case; "" if it has none."""
    return next((name for usual_name in usual for name in names if name.lower() == usual_name), "")


def number_of(value: object) -> float:
    """The number in a cell; NaN for anything else."""
    if isinstance(value, bool):
        return float(value)
    try:
        return float(str(value).strip())
    except ValueError:
        return math.nan


def pearson(one: Float[np.ndarray, " pairs"], other: Float[np.ndarray, " pairs"]) -> float:
    """Pearson's correlation; NaN if all numbers of a side are equal."""
    one, other = one - one.mean(), other - other.mean()
    scale = math.sqrt(float(one @ one) * float(other @ other))
    return float(one @ other) / scale if scale else math.nan
