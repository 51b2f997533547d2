"""Prompts in front of queries and documents: conventions of families, and what prompts change.

A checkpoint may name its prompts. Families that were trained with prompts before sentence-transformers had a file for
them name them in their model cards alone; these are in `CONVENTIONS`, and are never applied by themselves.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from bertviz_core.errors import TextError
from bertviz_core.hidden_states.geometry import unit
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.sentences.analysis.results import PromptComparison, PromptedCosines, PromptedRanks, PromptRanking
from bertviz_core.sentences.conventions import CONVENTIONS, _queries
from bertviz_core.sentences.results import CosineRange, PromptPair, SentenceTable
from bertviz_core.sentences.similarity import similarity_matrix
from bertviz_core.sentences.two_models import (
    EQUAL,
    PERCENTILES,
    SCORE_COLUMNS,
    average_ranks,
    number_of,
    pearson,
    require_finite,
    usual_column,
)
from bertviz_core.text import counted, quoted

E5 = CONVENTIONS[r"e5-(?:small|base|large)"]
NO_PROMPT, WITH, SWAPPED = "no prompt", "with prompts", "swapped"
QUERY_ALL, DOCUMENT_ALL = "all as queries", "all as documents"
QUERY_ONLY, DOCUMENT_ONLY = "queries only", "documents only"
QUERY_COLUMNS = ("query", "question", "queries", "anchor", "sentence1")
TEXT_COLUMNS = ("document", "text", "passage", "positive", "answer", "context", "sentence2")
GOLD_COLUMNS = ("relevance", *SCORE_COLUMNS)
"""Usual names of the columns of queries, documents and relevance, in order of preference."""
LEAST_SENTENCES, MOST_SENTENCES, MOST_PROMPTS, MOST_GOLD = 2, 500, 8, 10_000
"""Least and most sentences that are compared, most further prompts of a checkpoint, and most rows with gold."""
CUT = 10
"""Documents that nDCG and recall look at."""
CHUNK_ROWS = 256
"""Relevant documents whose ranks are counted at once: 20 MB for 10,000 documents."""


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Which prompts are in front of queries and of documents."""

    name: str
    query: str
    document: str


def list_arrangements(pair: PromptPair, others: Mapping[str, str]) -> tuple[Arrangement, ...]:
    """The arrangements in which a list of sentences is compared, each once.

    Args:
        others: further prompts by their names, each put in front of all sentences.
    """
    further = [Arrangement(f"all with {quoted(name, 30)}", text, text) for name, text in others.items()]
    return _different((*_of_pair(pair), *further[:MOST_PROMPTS]))


def search_arrangements(pair: PromptPair) -> tuple[Arrangement, ...]:
    """The arrangements in which documents are ranked for queries, each once."""
    query, document = pair.query, pair.document
    return _different((*_of_pair(pair), Arrangement(QUERY_ONLY, query, ""), Arrangement(DOCUMENT_ONLY, "", document)))


def _of_pair(pair: PromptPair) -> tuple[Arrangement, ...]:
    if not pair.query and not pair.document:
        raise TextError("There is no prompt to compare: both are empty; give the prompt of queries or of documents.")
    query, document = pair.query, pair.document
    return (
        Arrangement(NO_PROMPT, "", ""),
        Arrangement(WITH, query, document),
        Arrangement(SWAPPED, document, query),
        Arrangement(QUERY_ALL, query, query),
        Arrangement(DOCUMENT_ALL, document, document),
    )


def _different(arrangements: Iterable[Arrangement]) -> tuple[Arrangement, ...]:
    first: dict[tuple[str, str], Arrangement] = {}
    for each in arrangements:
        first.setdefault((each.query, each.document), each)
    return tuple(first.values())


def prompts_of(arrangements: Iterable[Arrangement]) -> tuple[str, ...]:
    """The different prompts of arrangements, no prompt among them."""
    return tuple(dict.fromkeys(prompt for each in arrangements for prompt in (each.query, each.document)))


def prompt_comparison(
    model: str,
    pair: PromptPair,
    sentences: Sequence[str],
    arrangements: Sequence[Arrangement],
    vectors: Mapping[str, Float[np.ndarray, "sentences dimensions"]],
) -> PromptComparison:
    """Compare the cosines of a list of sentences in several arrangements of prompts, the first without any.

    Args:
        vectors: prompt -> vectors of the sentences with it.
    """
    if len(sentences) < LEAST_SENTENCES:
        raise TextError("Prompts are compared by the cosines of pairs; give a second sentence.")
    for made in vectors.values():
        require_finite(model, made)
    every = [_cosines(vectors[each.query], vectors[each.document], each) for each in arrangements]
    nearest = _without_diagonal(every[0]).argmax(axis=1)
    different = ~np.eye(len(sentences), dtype=bool)
    bare = average_ranks(every[0][different].astype(np.float64))
    prompted = []
    for each, cosines in zip(arrangements, every, strict=True):
        pairs, others = cosines[different].astype(np.float64), _without_diagonal(cosines)
        low, high = np.percentile(pairs, PERCENTILES).tolist()
        rows = np.arange(len(cosines))
        prompted.append(
            PromptedCosines(
                name=each.name,
                query_prompt=each.query,
                document_prompt=each.document,
                cosines=cosines,
                range=CosineRange(float(pairs.mean()), low, high),
                spread=float(pairs.std()),
                spearman=pearson(bare, average_ranks(pairs)),
                same_nearest=int((others[rows, nearest] >= others.max(axis=1) - EQUAL).sum()),
            )
        )
    return PromptComparison(model, pair, tuple(sentences), tuple(prompted))


def _cosines(queries: np.ndarray, documents: np.ndarray, each: Arrangement) -> Float[np.ndarray, "rows columns"]:
    """Cosine of every row of one side with every row of the other; symmetric where both have the same prompt."""
    if each.query == each.document:
        return similarity_matrix(queries)
    return np.asarray(np.clip(unit(queries) @ unit(documents).T, -1, 1))


def _without_diagonal(cosines: np.ndarray) -> Float[np.ndarray, "sentences sentences"]:
    others = cosines.astype(np.float64)
    np.fill_diagonal(others, -np.inf)
    return others


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """Queries, documents, and which of them are relevant."""

    queries: tuple[str, ...]
    documents: tuple[str, ...]
    query: Int[np.ndarray, " relevant"]
    document: Int[np.ndarray, " relevant"]
    relevance: Float[np.ndarray, " relevant"]
    notices: tuple[str, ...]


def judged(queries: Sequence[str], documents: Sequence[str], gold: Sequence[float]) -> Judged:
    """The different queries and documents of rows with their relevance; queries without a relevant one are left out."""
    if not queries:
        raise TextError("There are no queries with documents; give some, each with its relevance.")
    if len(queries) > MOST_GOLD:
        raise TextError(f"There are {len(queries):,} rows; at most {MOST_GOLD:,} are compared. Give a part of them.")
    if wrong := next((each for each in gold if not (np.isfinite(each) and each >= 0)), None):
        raise TextError(f"A relevance is {wrong}; give 0 for a document that is not relevant, else more.")
    best: dict[tuple[str, str], float] = {}
    for *row, relevance in zip(queries, documents, gold, strict=True):
        key = (row[0], row[1])
        best[key] = max(relevance, best.get(key, 0.0))
    relevant = {key: relevance for key, relevance in best.items() if relevance > 0}
    if not relevant:
        raise TextError("No document is relevant for any query; give a relevance above 0 to those that are.")
    every, texts = tuple(dict.fromkeys(query for query, _ in relevant)), tuple(dict.fromkeys(documents))
    if len(texts) < LEAST_SENTENCES:
        raise TextError("There is one document, which is always first; give another.")
    without = len(set(queries)) - len(every)
    notices = [f"{_queries(without)} without a relevant document left out."] if without else []
    place_of, text_of = ({text: place for place, text in enumerate(each)} for each in (every, texts))
    order = sorted(relevant, key=lambda key: place_of[key[0]])
    return Judged(
        every,
        texts,
        np.array([place_of[query] for query, _ in order]),
        np.array([text_of[document] for _, document in order]),
        np.array([relevant[key] for key in order], dtype=np.float64),
        tuple(notices),
    )


Triples = tuple[str, ...]
"""Query, document and relevance, one after the other, the relevance as it is written in Python."""


def table_rows(table: SentenceTable, query: str = "", text: str = "", gold: str = "") -> tuple[Triples, Sequence[str]]:
    """Queries, documents and relevance of a table, and notices; incomplete rows are left out.

    Args:
        query: name of the column of the queries; "" for a usual one.
        text: name of the column of the documents; "" for a usual one.
        gold: name of the column of the relevance; "" for a usual one, or 1 in every row without one.
    """
    columns: dict[str, Sequence[Any]] = {str(table.column or "text"): table.sentences}
    columns |= {str(name): table.frame[name].tolist() for name in table.frame.columns}
    names = list(columns)
    query = query or usual_column(names, QUERY_COLUMNS) or _other(names, text or usual_column(names, TEXT_COLUMNS))
    text = text or usual_column([name for name in names if name != query], TEXT_COLUMNS) or _other(names, query)
    gold = gold or usual_column([name for name in names if name not in (query, text)], GOLD_COLUMNS)
    for column in (query, text, gold):
        if column not in columns and (column or column is not gold):
            known = ", ".join(quoted(name, 40) for name in names[:12])
            what = f"no column {quoted(column, 60)}" if column else "no columns of queries and documents"
            raise TextError(f"{quoted(table.name)} has {what}; it has: {known}.")
    numbers = [number_of(each) for each in columns[gold]] if gold else [1.0] * len(table.sentences)
    texts = [["" if pd.isna(each) else str(each).strip() for each in columns[name]] for name in (query, text)]
    rows = [row for row in zip(*texts, numbers, strict=True) if row[0] and row[1] and math.isfinite(row[2])]
    if not rows:
        number = f" and a number in {quoted(gold, 60)}" if gold else ""
        both = f"{quoted(query, 60)} and {quoted(text, 60)}"
        raise TextError(f"No row of {quoted(table.name)} has a text in {both}{number}.")
    notices = [] if gold else ["The file has no column of relevance: the document of each row counts as relevant."]
    if left_out := len(numbers) - len(rows):
        notices.append(f"{counted(left_out, 'row')} without a query, a document or a number left out.")
    return tuple(cell for one, other, number in rows for cell in (one, other, repr(number))), notices


def _other(names: Sequence[str], chosen: str) -> str:
    """The first column beside a chosen one."""
    return next((name for name in names if name != chosen), "") if chosen else ""


def typed_rows(lines: SentenceTable) -> Triples:
    """Queries, documents and relevance of lines with a tab between two of them; without a number it is 1."""
    rows: list[str] = []
    for number, line in zip(lines.rows.tolist(), lines.sentences, strict=True):
        cells = [*(cell.strip() for cell in line.split("\t")), "1"]
        relevance = number_of(cells[2]) if len(cells) in (3, 4) and all(cells) else math.nan
        if not math.isfinite(relevance):
            raise TextError(
                f"Line {number} is no query with a document: {quoted(line, 60)}. Write the query, a tab, the document, "
                "and behind another tab its relevance, 0 or more; without one it is 1."
            )
        rows += [cells[0], cells[1], repr(relevance)]
    return tuple(rows)


def prompt_ranking(
    model: str,
    pair: PromptPair,
    rows: Judged,
    arrangements: Sequence[Arrangement],
    queries: Mapping[str, Float[np.ndarray, "queries dimensions"]],
    documents: Mapping[str, Float[np.ndarray, "documents dimensions"]],
) -> PromptRanking:
    """Rank all documents for every query in several arrangements of prompts, the first without any.

    Args:
        queries: prompt -> vectors of the queries with it.
        documents: prompt -> vectors of the documents with it.
    """
    for made in (*queries.values(), *documents.values()):
        require_finite(model, made)
    prompted = []
    for each in arrangements:
        ranks = ranks_of(queries[each.query], documents[each.document], rows.query, rows.document)
        prompted.append(_measured(each, ranks, rows))
    return PromptRanking(
        model=model,
        pair=pair,
        queries=rows.queries,
        documents=rows.documents,
        query=rows.query,
        document=rows.document,
        relevance=rows.relevance,
        prompted=tuple(prompted),
    )


def ranks_of(
    queries: Float[np.ndarray, "queries dimensions"],
    documents: Float[np.ndarray, "documents dimensions"],
    query: Int[np.ndarray, " relevant"],
    document: Int[np.ndarray, " relevant"],
) -> Int[np.ndarray, " relevant"]:
    """Rank of some documents among all by their cosine with a query, from 1; of equal ones the first in the list."""
    ones, others = unit(queries), unit(documents)
    places, ranks = np.arange(len(documents)), np.zeros(len(query), dtype=np.int64)
    for start in range(0, len(query), CHUNK_ROWS):
        part = slice(start, start + CHUNK_ROWS)
        scores = ones[query[part]] @ others.T
        own = np.take_along_axis(scores, document[part, None], axis=1)
        before = (scores > own) | ((scores == own) & (places < document[part, None]))
        ranks[part] = before.sum(axis=1) + 1
    return ranks


def _measured(each: Arrangement, ranks: Int[np.ndarray, " relevant"], rows: Judged) -> PromptedRanks:
    """The measures of ranks: their definitions are those of trec_eval, with the relevance itself as the gain."""
    count, inside = len(rows.queries), ranks <= CUT
    totals = np.bincount(rows.query, minlength=count)
    reciprocal = np.zeros(count)
    np.maximum.at(reciprocal, rows.query, 1 / ranks)
    gains = np.bincount(rows.query, rows.relevance * inside / np.log2(ranks + 1), minlength=count)
    order = np.lexsort((-rows.relevance, rows.query))
    ideal_ranks = np.arange(len(ranks)) - (np.cumsum(totals) - totals)[rows.query[order]] + 1
    best = rows.relevance[order] * (ideal_ranks <= CUT) / np.log2(ideal_ranks + 1)
    ideal = np.bincount(rows.query[order], best, minlength=count)
    return PromptedRanks(
        name=each.name,
        query_prompt=each.query,
        document_prompt=each.document,
        ranks=ranks,
        reciprocal=reciprocal,
        ndcg=float((gains / ideal).mean()),
        recall=float((np.bincount(rows.query, inside, minlength=count) / totals).mean()),
    )
