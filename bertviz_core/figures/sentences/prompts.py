"""What prompts change: the cosines of a list by arrangement, and the measures of a ranking."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from bertviz_core.figures.base.marks import add_points, row_axis
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import Theme, escape, layout
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.sentences.analysis.results import PromptComparison, PromptedCosines, PromptRanking
from bertviz_core.sentences.results import PromptPair
from bertviz_core.text import counted, decimals, quoted

ROW = 46
"""Pixels of a row."""
MEASURES = {"MRR": "mrr", "nDCG@10": "ndcg", "recall@10": "recall"}
SYMBOLS = ("circle", "diamond", "square-open")


def pair_words(pair: PromptPair) -> str:
    """Both prompts, where they stand, and who says so."""
    sides = ((pair.query, "queries"), (pair.document, "documents"))
    words = [f"{quoted(prompt) if prompt else 'nothing'} in front of {side}" for prompt, side in sides]
    return f"{' and '.join(words)}{f', as {pair.source} says' if pair.source else ''}"


def comparison_words(comparison: PromptComparison) -> str:
    """What the pair of prompts changes in a list, in one sentence."""
    bare, prompted = comparison.prompted[:2]
    before, after = decimals(bare.range.mean, 2), decimals(prompted.range.mean, 2)
    change = f"stays at about {before}" if before == after else (
        f"{'rises' if prompted.range.mean > bare.range.mean else 'falls'} from {before} to {after}"
    )  # fmt: skip
    count, keeps = len(comparison.sentences), prompted.same_nearest
    keep = "keeps its nearest sentence" if keeps == 1 else "keep their nearest sentence"
    return f"With the prompts the mean cosine {change}; {keeps} of {count} {keep}."


def ranking_words(ranking: PromptRanking) -> str:
    """What the pair of prompts changes in a ranking, in one sentence."""
    bare, prompted = ranking.prompted[:2]
    better = int((prompted.reciprocal > bare.reciprocal).sum())
    worse = int((prompted.reciprocal < bare.reciprocal).sum())
    change = f"stays at {decimals(bare.mrr, 3)}"
    if decimals(bare.mrr, 3) != decimals(prompted.mrr, 3):
        change = f"goes from {decimals(bare.mrr, 3)} to {decimals(prompted.mrr, 3)}"
    return (
        f"With the prompts MRR {change}: of {_queries(len(ranking.queries))} {better} have the first relevant "
        f"document higher, {worse} lower."
    )


def _queries(count: int) -> str:
    return f"{count:,} {'query' if count == 1 else 'queries'}"


def prompts_frame(prompt_comparison: PromptComparison) -> "pd.DataFrame":
    """One row per arrangement of prompts: mean, spread and percentiles of the cosines, and what is kept."""
    rows = [
        {
            "prompts": each.name,
            "mean cosine": each.range.mean,
            "spread": each.spread,
            "5th percentile": each.range.low,
            "95th percentile": each.range.high,
            "order kept": each.spearman,
            "nearest kept": each.same_nearest,
            "prompt of the query": each.query_prompt,
            "prompt of the document": each.document_prompt,
        }
        for each in prompt_comparison.prompted
    ]
    return pd.DataFrame(rows)


def moved_pairs_frame(comparison: PromptComparison, prompted: PromptedCosines | None = None) -> "pd.DataFrame":
    """One row per pair of sentences: cosine and rank without and with prompts, what moved most first.

    Args:
        prompted: the arrangement that is compared with no prompt; None for the pair of prompts.
    """
    bare, other = comparison.prompted[0], prompted or comparison.prompted[1]
    count, symmetric = len(comparison.sentences), other.query_prompt == other.document_prompt
    rows, columns = np.triu_indices(count, 1) if symmetric else np.nonzero(~np.eye(count, dtype=bool))
    before, after = bare.cosines[rows, columns], other.cosines[rows, columns]
    ranks = _ranks(before), _ranks(after)
    frame = pd.DataFrame(
        {
            "one": rows + 1,
            "other": columns + 1,
            "cosine without": before,
            "cosine with": after,
            "rank without": ranks[0],
            "rank with": ranks[1],
            "moved": ranks[0] - ranks[1],
            "one sentence": [comparison.sentences[place] for place in rows.tolist()],
            "other sentence": [comparison.sentences[place] for place in columns.tolist()],
        }
    )
    order = np.lexsort((-np.abs(after - before), -np.abs(ranks[0] - ranks[1])))
    return frame.iloc[order].reset_index(drop=True)


def _ranks(values: Float[np.ndarray, " pairs"]) -> np.ndarray:
    """Ranks from 1 in descending order; equal values have the same one."""
    return np.searchsorted(np.sort(-values), -values) + 1


def ranks_frame(prompt_ranking: PromptRanking) -> "pd.DataFrame":
    """One row per arrangement of prompts: the measures, and the mean rank of the relevant documents."""
    rows = [
        {
            "prompts": each.name,
            **{name: getattr(each, field) for name, field in MEASURES.items()},
            "first": each.first,
            "mean rank": each.mean_rank,
            "prompt of queries": each.query_prompt,
            "prompt of documents": each.document_prompt,
        }
        for each in prompt_ranking.prompted
    ]
    return pd.DataFrame(rows)


def moved_documents_frame(ranking: PromptRanking) -> "pd.DataFrame":
    """One row per relevant document: its rank without prompts and with them, what moved most first."""
    bare, prompted = ranking.prompted[0].ranks, ranking.prompted[1].ranks
    frame = pd.DataFrame(
        {
            "query": [ranking.queries[place] for place in ranking.query.tolist()],
            "document": [ranking.documents[place] for place in ranking.document.tolist()],
            "relevance": ranking.relevance,
            "rank without": bare,
            "rank with": prompted,
            "moved": bare - prompted,
        }
    )
    return frame.iloc[np.argsort(-np.abs(bare - prompted), kind="stable")].reset_index(drop=True)


def _rows(names: Sequence[str], title: str, theme: Theme) -> go.Figure:
    """A figure with a row for each arrangement of prompts."""
    figure = go.Figure(layout=layout(theme, escape(title), height=124 + ROW * max(len(names), 3)))
    return figure.update_yaxes(row_axis([escape(name) for name in names]))


def cosine_ranges(comparison: PromptComparison, title: str, theme: Theme) -> go.Figure:
    """Draw mean and percentiles of the cosines, a row for each arrangement of prompts."""
    every = comparison.prompted
    figure = _rows([each.name for each in every], title, theme)
    means = np.array([each.range.mean for each in every])
    ends = {
        "array": [max(each.range.high - each.range.mean, 0) for each in every],
        "arrayminus": [max(each.range.mean - each.range.low, 0) for each in every],
    }
    hovers = [
        f"{escape(each.name)}: mean {decimals(each.range.mean)}, spread {decimals(each.spread)}" for each in every
    ]
    bars = {**ends, "thickness": 2.5, "width": 7, "color": theme.hues[0]}
    look = {"customdata": hovers, "showlegend": False, "error_x": bars}
    add_points(figure, means, np.arange(len(every)), "%{customdata}", 13, theme.hues[0], None, **look)
    low = min(0.0, *(each.range.low for each in every))
    across = "cosine; dot: mean, bar: 5th to 95th percentile"
    return figure.update_xaxes(title=across, range=[low - 0.03, 1.03]).update_layout(margin={"b": 56, "r": 16})


def measure_points(ranking: PromptRanking, title: str, theme: Theme) -> go.Figure:
    """Draw the measures of a ranking, a row for each arrangement of prompts."""
    every = ranking.prompted
    figure = _rows([each.name for each in every], title, theme)
    for place, (name, field) in enumerate(MEASURES.items()):
        values = np.array([getattr(each, field) for each in every])
        hovers = [
            f"{escape(each.name)}: {name} {decimals(value, 3)}"
            for each, value in zip(every, values.tolist(), strict=True)
        ]
        spots = np.arange(len(every)) + (place - 1) * 0.18
        look = {"symbol": SYMBOLS[place], "line": {"width": 2, "color": theme.hues[place]}}
        add_points(figure, values, spots, "%{customdata}", 12, theme.hues[place], look, name=name, customdata=hovers)
    figure.update_xaxes(title="0 to 1, 1 is best", range=[-0.03, 1.03])
    return figure.update_layout(margin={"b": 56, "r": 16})


@figure("prompts", "sentences_prompts", table=prompts_frame)
def prompts_figure(prompt_comparison: PromptComparison) -> FigureSpec:
    """Cosines of a list without a prompt, with prompts, and swapped (--set prompt_pair=NAME)."""
    result = prompt_comparison
    title = f"Cosines of {counted(len(result.sentences), 'sentence')} by prompts — {result.model}"
    about = f"{title}. {comparison_words(result)}"
    return FigureSpec(title, about, partial(cosine_ranges, result, title), about)


@figure("prompt-ranks", "sentences_prompt_ranks", table=ranks_frame)
def prompt_ranks_figure(prompt_ranking: PromptRanking) -> FigureSpec:
    """How prompts rank relevant documents (--set prompt_pair=NAME; texts: QUERY DOCUMENT RELEVANCE ...)."""
    result = prompt_ranking
    size = f"{counted(len(result.documents), 'document')} for {_queries(len(result.queries))}"
    title = f"Ranks of {size} by prompts — {result.model}"
    about = f"{title}. {ranking_words(result)}"
    return FigureSpec(title, about, partial(measure_points, result, title), about)
