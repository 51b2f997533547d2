"""Format the comparison of two models on the same sentences as JSON, text tables, data frames and one sentence."""

from typing import Any

import numpy as np

from bertviz_core.figures.sentences.two_models import gold_frame, pair_frame, range_frame
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.questions.tables.lines import aligned, number_cell, printable_token
from bertviz_core.sentences.results import CosineRange, DimensionCurve, GoldPairs, SentenceComparison
from bertviz_core.text import counted, decimals, escape_controls

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
    return f"The mean cosine of two sentences of this list {means}; {count} {keeps}."


def where_pairs_lie(compared: SentenceComparison) -> str:
    """How far the cosines of the pairs spread in each model, in one sentence, and whether the two ranges are apart."""
    one, other = compared.first_range, compared.second_range
    apart = ""
    if other.low > one.high:
        apart = ": there nearly every pair is more alike than nearly any pair was"
    elif other.high < one.low:
        apart = ": there nearly every pair is less alike than nearly any pair was"
    return (
        f"The middle 90 % of the pairs lies between {decimals(one.low, 2)} and {decimals(one.high, 2)} in the first "
        f"model and between {decimals(other.low, 2)} and {decimals(other.high, 2)} in the second{apart}."
    )


def sentence_comparison_json(compared: SentenceComparison) -> dict[str, Any]:
    """The JSON object of `similarity --other`; neighbours as indices of `sentences`."""
    return {
        "first": compared.first,
        "second": compared.second,
        "sentences": compared.sentences,
        "first_similarity": compared.first_cosines,
        "second_similarity": compared.second_cosines,
        "difference": compared.difference,
        "first_pairs": _range(compared.first_range),
        "second_pairs": _range(compared.second_range),
        "neighbours": compared.neighbours,
        "shared_neighbours": compared.shared,
        "first_nearest": compared.first_nearest,
        "second_nearest": compared.second_nearest,
        "same_nearest": compared.same_nearest,
        "cka": compared.cka,
        "summary": f"{what_changed(compared)} {where_pairs_lie(compared)}",
        "notices": compared.notices,
    }


def sentence_comparison_lines(compared: SentenceComparison) -> list[str]:
    """The summary, the range of the cosines in each model, the pairs that changed most, and the nearest sentences."""
    pairs = pair_frame(compared)
    changed = pairs.iloc[np.argsort(-pairs["difference"].abs().to_numpy(), kind="stable")[:MAX_PAIRS]]
    ranges = range_frame(compared)
    nearest = neighbour_frame(compared)
    lines = [
        escape_controls(
            f"{compared.first} (first) and {compared.second} (second): {len(compared.sentences)} sentences"
        ),
        f"{what_changed(compared)} {where_pairs_lie(compared)}",
        f"Neighbours kept, of {compared.neighbours} nearest to each: {compared.shared.mean():.0%} on average"
        + ("" if compared.cka is None else f"; CKA {compared.cka:.4f}"),
        "",
        *aligned([tuple(ranges.columns), *_rows(ranges)], "lrrr"),
        "",
        *aligned([tuple(changed.columns[:5]), *_rows(changed.iloc[:, :5])], "rrrrr"),
    ]
    if len(pairs) > MAX_PAIRS:
        lines.append(f"... and {len(pairs) - MAX_PAIRS:,} pairs that changed less; --json prints all")
    return [*lines, "", *aligned([tuple(nearest.columns), *_rows(nearest)], "rlrrrrr")]


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


def gold_json(pairs: GoldPairs) -> dict[str, Any]:
    """The JSON object of `similarity --gold`."""
    models = [
        {
            "model": each.model,
            "spearman": each.spearman,
            "pearson": each.pearson,
            "cosines": each.cosines,
            "rank_errors": each.rank_errors,
        }
        for each in pairs.models
    ]
    texts = {"first_sentences": pairs.first_sentences, "second_sentences": pairs.second_sentences}
    return {"pairs": len(pairs.gold), **texts, "gold": pairs.gold, "models": models, "notices": pairs.notices}


def gold_lines(pairs: GoldPairs) -> list[str]:
    """The correlations of each model, and the pairs with the largest rank errors of the last one."""
    frame = gold_frame(pairs).iloc[:MAX_PAIRS]
    columns = [name for name in frame.columns if "sentence" not in name] + ["first sentence", "second sentence"]
    rows = [(each.model, each.spearman, each.pearson) for each in pairs.models]
    models = pd.DataFrame(rows, columns=["model", "Spearman", "Pearson"])
    return [
        f"cosine and gold similarity of {counted(len(pairs.gold), 'pair')}",
        "",
        *aligned([tuple(models.columns), *_rows(models)], "lrr"),
        "",
        "Pairs with the largest rank errors",
        *aligned([tuple(columns), *_rows(frame[columns])], "r" * (len(columns) - 2) + "ll"),
    ]


def gold_words(pairs: GoldPairs) -> str:
    """The rank correlations of the models, in one sentence."""
    numbers = [decimals(each.spearman, 3) for each in pairs.models]
    which = ("", "") if len(numbers) == 1 else (" in the first model", " in the second")
    sentence = " and ".join(f"{number}{words}" for number, words in zip(numbers, which, strict=False))
    return f"Over {counted(len(pairs.gold), 'pair')} Spearman's correlation with the gold similarity is {sentence}."


def _range(one: CosineRange) -> dict[str, float]:
    return {"mean": one.mean, "percentile_5": one.low, "percentile_95": one.high}


def _rows(frame: "pd.DataFrame") -> list[tuple[str, ...]]:
    return [tuple(map(_cell, row)) for row in frame.itertuples(index=False)]


def _cell(value: str | int | float) -> str:
    if isinstance(value, str):
        return printable_token(value)
    return str(value) if isinstance(value, int) else number_cell(value)


def dimensions_json(curve: DimensionCurve) -> dict[str, Any]:
    """The JSON object of `similarity --dimensions`."""
    return {
        "model": curve.model,
        "sentences": curve.sentences,
        "dimensions": curve.dimensions,
        "neighbours": curve.neighbours,
        "neighbours_kept": curve.shared,
        "spearman": curve.spearman,
        "bytes_per_vector": curve.nbytes,
        "trained": curve.trained,
        "notices": curve.notices,
    }


def dimensions_lines(curve: DimensionCurve) -> list[str]:
    """A table of the curve."""
    rows = [
        (
            f"{count:,}{'*' if count in curve.trained else ''}",
            f"{shared:.1%}",
            number_cell(spearman) if spearman == spearman else "",
            f"{nbytes:,}",
        )
        for count, shared, spearman, nbytes in zip(
            *(each.tolist() for each in (curve.dimensions, curve.shared, curve.spearman, curve.nbytes)), strict=True
        )
    ]
    heads = ("dimensions", "neighbours kept", "Spearman", "bytes per vector")
    first = f"{curve.model}: first dimensions of the vectors of {counted(len(curve.sentences), 'sentence')}"
    near = "nearest sentence" if curve.neighbours == 1 else f"{curve.neighbours} nearest sentences"
    marks = ["", "* trained for"] if curve.trained else []
    sentence = f"{escape_controls(first)}, against the {near} and all cosines of the full ones"
    return [sentence, "", *aligned([heads, *rows], "rrrr"), *marks]
