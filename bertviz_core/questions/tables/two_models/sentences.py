"""How the comparison of two models on the same sentences is shown."""

import numpy as np

from bertviz_core.figures.sentences.similarity import dimensions_frame
from bertviz_core.figures.sentences.two_models import gold_frame, pair_frame, range_frame
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.questions.tables.lines import Faces, every, fields, number_cell, table
from bertviz_core.sentences.results import DimensionCurve, GoldPairs, SentenceComparison
from bertviz_core.text import counted, decimals, escape_controls

RANGE = "mean percentile_5=low percentile_95=high"
MAX_PAIRS = 30
"""Maximum number of pairs in a terminal."""


def what_changed(compared: SentenceComparison) -> str:
    """What the comparison shows, in one plain sentence: the mean cosines, and how many nearest sentences are kept."""
    before, after = compared.first_range.mean, compared.second_range.mean
    first, second = decimals(before, 2), decimals(after, 2)
    means = f"{'rose' if after > before else 'fell'} from {first} to {second}"
    if first == second:
        means = f"stayed at about {first}"
    keeps = "keeps its nearest neighbour" if compared.same_nearest == 1 else "keep their nearest neighbour"
    count = f"{compared.same_nearest} of {len(compared.sentences)}"
    return (
        f"From the first model to the second, the mean cosine of two sentences of this list {means}; {count} {keeps}."
    )


def where_pairs_lie(compared: SentenceComparison) -> str:
    """How far the cosines of the pairs spread in each model, in one sentence, and whether the two ranges are apart."""
    one, other = compared.first_range, compared.second_range
    apart = ""
    if other.low > one.high:
        apart = ": there nearly every pair is more alike than nearly any pair was"
    elif other.high < one.low:
        apart = ": there nearly every pair is less alike than nearly any pair was"
    return (
        f"The middle 90% of the pairs lies between {decimals(one.low, 2)} and {decimals(one.high, 2)} in the first "
        f"model and between {decimals(other.low, 2)} and {decimals(other.high, 2)} in the second{apart}."
    )


def _compared_lines(compared: SentenceComparison) -> list[str]:
    """The summary, the range of the cosines in each model, the pairs that changed most, and the nearest sentences."""
    pairs = pair_frame(compared)
    changed = pairs.iloc[np.argsort(-pairs["difference"].abs().to_numpy(), kind="stable")[:MAX_PAIRS]]
    more = len(pairs) - MAX_PAIRS
    return [
        escape_controls(
            f"{compared.first} (first) and {compared.second} (second): {len(compared.sentences)} sentences"
        ),
        f"{what_changed(compared)} {where_pairs_lie(compared)}",
        f"Neighbours kept, of {compared.neighbours} nearest to each: {compared.shared.mean():.0%} on average"
        + ("" if compared.cka is None else f"; CKA {compared.cka:.4f}"),
        "",
        *table(range_frame(compared)),
        "",
        *table(changed.iloc[:, :5]),
        *([f"... and {more:,} pairs that changed less; --json prints all"] if more > 0 else []),
        "",
        *table(neighbour_frame(compared)),
    ]


COMPARED_SENTENCES: Faces[SentenceComparison] = Faces(
    keys="first second sentences first_similarity=first_cosines second_similarity=second_cosines difference "
    "first_pairs second_pairs neighbours shared_neighbours=shared first_nearest second_nearest same_nearest "
    "nearest_kept=same_nearest cka summary notices",
    made={
        "first_pairs": lambda compared: fields(compared.first_range, RANGE),
        "second_pairs": lambda compared: fields(compared.second_range, RANGE),
        "summary": lambda compared: f"{what_changed(compared)} {where_pairs_lie(compared)}",
    },
    lines=_compared_lines,
)


def neighbour_frame(compared: SentenceComparison) -> "pd.DataFrame":
    """One row per sentence: the number of its nearest sentence in each model with its cosine, and the share kept."""
    places = np.arange(len(compared.sentences))
    first, second = compared.first_nearest, compared.second_nearest
    return pd.DataFrame(
        {
            "number": places + 1,
            "sentence": compared.sentences,
            "nearest in first": first + 1,
            "cosine in first": compared.first_cosines[places, first],
            "nearest in second": second + 1,
            "cosine in second": compared.second_cosines[places, second],
            "neighbours kept": compared.shared,
        }
    )


def _gold_lines(pairs: GoldPairs) -> list[str]:
    """The correlations of each model, and the pairs with the largest rank errors of the last one."""
    return [
        f"cosine and gold similarity of {counted(len(pairs.gold), 'pair')}",
        "",
        *table(pairs.models, {"model": "model", "Spearman": "spearman", "Pearson": "pearson"}),
        "",
        "Pairs with the largest rank errors",
        *table(gold_frame(pairs).iloc[:MAX_PAIRS]),
    ]


GOLD: Faces[GoldPairs] = Faces(
    keys="pairs first_sentences second_sentences gold models notices",
    made={
        "pairs": lambda pairs: len(pairs.gold),
        "models": lambda pairs: every(pairs.models, "model spearman pearson cosines rank_errors"),
    },
    lines=_gold_lines,
)


def gold_words(pairs: GoldPairs) -> str:
    """The rank correlations of the models, in one sentence."""
    numbers = [decimals(each.spearman, 3) for each in pairs.models]
    which = ("", "") if len(numbers) == 1 else (" in the first model", " in the second")
    sentence = " and ".join(f"{number}{words}" for number, words in zip(numbers, which, strict=False))
    return f"Over {counted(len(pairs.gold), 'pair')} Spearman's correlation with the gold similarity is {sentence}."


def _dimensions_above(curve: DimensionCurve) -> list[str]:
    first = f"{curve.model}: first dimensions of the vectors of {counted(len(curve.sentences), 'sentence')}"
    near = "nearest sentence" if curve.neighbours == 1 else f"{curve.neighbours} nearest sentences"
    return [f"{escape_controls(first)}, against the {near} and all cosines of the full ones"]


DIMENSIONS: Faces[DimensionCurve] = Faces(
    keys="model sentences dimensions neighbours neighbours_kept=shared spearman bytes_per_vector=nbytes trained",
    frame=dimensions_frame,
    above=_dimensions_above,
    columns={
        "dimensions": lambda row: f"{row['dimensions']:,}{'*' if row['trained'] else ''}",
        "neighbours kept": ("neighbours kept", ".1%"),
        "Spearman": ("Spearman", lambda value: number_cell(value) if value == value else ""),
        "bytes per vector": "bytes per vector",
    },
    align="rrrr",
    below=lambda curve: ["", "* trained for"] if curve.trained else [],
)
