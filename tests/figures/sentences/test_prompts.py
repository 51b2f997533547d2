"""Figures of prompts: every mark is a number of the result, at every width and in every theme; tables have all facts.

Covers `bertviz_core/figures/sentences/prompts.py`, `bertviz_core/questions/tables/prompts.py`.
"""

import numpy as np
import pytest
from scipy.stats import rankdata

from bertviz_core.figures.base.style import DARK, LIGHT, PRINT, WIDTHS, theme_named
from bertviz_core.figures.sentences.prompts import (
    MEASURES,
    comparison_words,
    moved_documents_frame,
    moved_pairs_frame,
    pair_words,
    prompt_ranks_figure,
    prompts_figure,
    ranking_words,
)
from bertviz_core.sentences.analysis.prompts import (
    judged,
    list_arrangements,
    prompt_comparison,
    prompt_ranking,
    prompts_of,
    search_arrangements,
)
from bertviz_core.sentences.analysis.results import PromptComparison, PromptRanking
from bertviz_core.sentences.results import PromptPair

PAIR = PromptPair("typed", "<b>q</b>: ", "d: ")


def vectors(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(0.4, 1, (count, 7)).astype(np.float32)


def compared(count: int, pair: PromptPair = PAIR) -> PromptComparison:
    arrangements = list_arrangements(pair, {"<i>other</i> of many letters": "o: "})
    made = {prompt: vectors(count, seed) for seed, prompt in enumerate(prompts_of(arrangements))}
    return prompt_comparison("a-model", pair, [f"Sentence {place} <b>" for place in range(count)], arrangements, made)


def ranked() -> PromptRanking:
    rows = judged([f"q{place % 4}" for place in range(12)], [f"d{place}" for place in range(12)], [1.0] * 12)
    arrangements = search_arrangements(PAIR)
    queries, documents = (
        {prompt: vectors(size, start + seed) for seed, prompt in enumerate(prompts_of(arrangements))}
        for size, start in ((4, 0), (12, 9))
    )
    return prompt_ranking("a-model", PAIR, rows, arrangements, queries, documents)


@pytest.mark.parametrize("pixels", WIDTHS)
@pytest.mark.parametrize("count", [2, 30])
def test_dots_and_bars_are_mean_and_percentiles(pixels: int, count: int) -> None:
    result = compared(count)
    figure = prompts_figure(result).drawn(theme_named("light", pixels))
    (dots,) = figure.data
    for place, each in enumerate(result.prompted):
        pairs = each.cosines[~np.eye(count, dtype=bool)].astype(np.float64)
        assert dots.x[place] == pytest.approx(pairs.mean())
        assert dots.x[place] + dots.error_x.array[place] == pytest.approx(max(np.percentile(pairs, 95), pairs.mean()))
        assert dots.x[place] - dots.error_x.arrayminus[place] == pytest.approx(
            min(np.percentile(pairs, 5), pairs.mean())
        )
    assert figure.layout.xaxis.range[0] < min(dots.x)
    names = figure.layout.yaxis.ticktext
    assert len(names) == len(result.prompted) == 6
    assert not any("<i>" in each or "<b>" in each for each in names)


@pytest.mark.parametrize("theme", [LIGHT, DARK, PRINT], ids=lambda theme: theme.name)
def test_marks_are_the_measures(theme: object) -> None:
    result = ranked()
    figure = prompt_ranks_figure(result).drawn(theme)
    assert [trace.name for trace in figure.data] == list(MEASURES)
    for trace, field in zip(figure.data, MEASURES.values(), strict=True):
        assert list(trace.x) == pytest.approx([getattr(each, field) for each in result.prompted])
    assert len({trace.marker.symbol for trace in figure.data}) == len(MEASURES)


def test_pairs_are_listed_once_where_both_have_one_prompt() -> None:
    result = compared(5)
    assert len(moved_pairs_frame(result)) == 20
    frame = moved_pairs_frame(result, result.prompted[3])
    assert len(frame) == 10
    cosines = result.prompted[3].cosines[frame["one"] - 1, frame["other"] - 1]
    assert frame["rank with"].tolist() == rankdata(-cosines, "min").tolist()
    assert frame["moved"].tolist() == (frame["rank without"] - frame["rank with"]).tolist()


def test_documents_are_listed_by_how_far_they_moved() -> None:
    result = ranked()
    frame = moved_documents_frame(result)
    assert len(frame) == 12
    assert frame["moved"].abs().is_monotonic_decreasing
    row = frame.iloc[0]
    place = [*zip(result.query, result.document, strict=True)].index(
        (result.queries.index(row["query"]), result.documents.index(row["document"]))
    )
    assert (row["rank without"], row["rank with"]) == tuple(each.ranks[place] for each in result.prompted[:2])


def test_words_are_of_the_numbers() -> None:
    result, ranking = compared(9), ranked()
    bare, prompted = result.prompted[:2]
    assert f"from {bare.range.mean:.2f} to {prompted.range.mean:.2f}" in comparison_words(result)
    assert f"{prompted.same_nearest} of 9" in comparison_words(result)
    first = ranking.prompted[0].reciprocal, ranking.prompted[1].reciprocal
    assert f"{(first[1] > first[0]).sum()} have the first relevant" in ranking_words(ranking)
    assert pair_words(PromptPair("x", "q: ", "", "the card")) == (
        "'q: ' in front of queries and nothing in front of documents, as the card says"
    )
