"""How the comparison of prompts is shown."""

from typing import Any

from bertviz_core.figures.sentences.prompts import (
    comparison_words,
    moved_documents_frame,
    moved_pairs_frame,
    pair_words,
    prompts_frame,
    ranking_words,
    ranks_frame,
)
from bertviz_core.questions.tables.lines import Faces, every, fields, records, table
from bertviz_core.sentences.analysis.results import PromptComparison, PromptRanking
from bertviz_core.sentences.results import PromptPair
from bertviz_core.text import escape_controls

MOST_MOVED = 20
"""Most pairs or documents that moved in a terminal."""
ARRANGEMENT = "name query_prompt document_prompt"


def _pair_json(pair: PromptPair) -> dict[str, Any]:
    return fields(pair, "name query document source")


def _pair_line(pair: PromptPair) -> str:
    return f"Prompts of {pair.name}: {pair_words(pair)}"


def _compared_lines(result: PromptComparison) -> list[str]:
    moved = moved_pairs_frame(result)
    return [
        escape_controls(f"{result.model}: {len(result.sentences):,} sentences. {_pair_line(result.pair)}"),
        comparison_words(result),
        "",
        *table(prompts_frame(result).iloc[:, :7]),
        "",
        "Pairs that moved most, without prompts and with them",
        *table(moved.iloc[:MOST_MOVED]),
    ]


COMPARED_PROMPTS: Faces[PromptComparison] = Faces(
    keys="model pair sentences prompted summary notices",
    made={
        "pair": lambda result: _pair_json(result.pair),
        "prompted": lambda result: every(
            result.prompted,
            ARRANGEMENT,
            "mean=range.mean percentile_5=range.low percentile_95=range.high spread spearman same_nearest cosines",
        ),
        "summary": comparison_words,
    },
    frame=prompts_frame,
    lines=_compared_lines,
)


def _ranking_lines(result: PromptRanking) -> list[str]:
    size = f"{len(result.documents):,} documents for {len(result.queries):,} queries"
    return [
        escape_controls(f"{result.model}: {size}. {_pair_line(result.pair)}"),
        ranking_words(result),
        "",
        *table(ranks_frame(result).iloc[:, :6]),
        "",
        "Relevant documents that moved most, without prompts and with them",
        *table(moved_documents_frame(result).iloc[:MOST_MOVED]),
    ]


RANKED_PROMPTS: Faces[PromptRanking] = Faces(
    keys="model pair queries documents prompted relevant summary notices",
    made={
        "pair": lambda result: _pair_json(result.pair),
        "prompted": lambda result: every(result.prompted, ARRANGEMENT, "mrr ndcg recall first mean_rank"),
        "relevant": lambda result: records(moved_documents_frame(result)),
        "summary": ranking_words,
    },
    frame=ranks_frame,
    lines=_ranking_lines,
)
