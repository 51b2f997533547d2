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
from bertviz_core.sentences.results import PromptComparison, PromptPair, PromptRanking
from bertviz_core.text import escape_controls

MOST_MOVED = 20
"""Most pairs or documents that moved in a terminal."""
ARRANGEMENT = "name query_prompt document_prompt"


def _pair_json(pair: PromptPair) -> dict[str, Any]:
    return fields(pair, "name query document source")


def _pair_line(pair: PromptPair) -> str:
    return f"Prompts of {pair.name}: {pair_words(pair)}"


def _compared_lines(found: PromptComparison) -> list[str]:
    moved = moved_pairs_frame(found)
    return [
        escape_controls(f"{found.model}: {len(found.sentences):,} sentences. {_pair_line(found.pair)}"),
        comparison_words(found),
        "",
        *table(prompts_frame(found).iloc[:, :7]),
        "",
        "Pairs that moved most, without prompts and with them",
        *table(moved.iloc[:MOST_MOVED]),
    ]


COMPARED_PROMPTS: Faces[PromptComparison] = Faces(
    keys="model pair sentences prompted summary notices",
    made={
        "pair": lambda found: _pair_json(found.pair),
        "prompted": lambda found: every(
            found.prompted,
            ARRANGEMENT,
            "mean=range.mean percentile_5=range.low percentile_95=range.high spread spearman same_nearest cosines",
        ),
        "summary": comparison_words,
    },
    frame=prompts_frame,
    lines=_compared_lines,
)


def _ranking_lines(found: PromptRanking) -> list[str]:
    size = f"{len(found.documents):,} documents for {len(found.queries):,} queries"
    return [
        escape_controls(f"{found.model}: {size}. {_pair_line(found.pair)}"),
        ranking_words(found),
        "",
        *table(ranks_frame(found).iloc[:, :6]),
        "",
        "Relevant documents that moved most, without prompts and with them",
        *table(moved_documents_frame(found).iloc[:MOST_MOVED]),
    ]


RANKED_PROMPTS: Faces[PromptRanking] = Faces(
    keys="model pair queries documents prompted relevant summary notices",
    made={
        "pair": lambda found: _pair_json(found.pair),
        "prompted": lambda found: every(found.prompted, ARRANGEMENT, "mrr ndcg recall first mean_rank"),
        "relevant": lambda found: records(moved_documents_frame(found)),
        "summary": ranking_words,
    },
    frame=ranks_frame,
    lines=_ranking_lines,
)
