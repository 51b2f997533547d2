"""What the page Sentences shows of prompts: the list with and without them, and documents ranked for queries."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from bertviz_core.figures.sentences.prompts import (
    comparison_words,
    moved_documents_frame,
    moved_pairs_frame,
    pair_words,
    prompt_ranks_figure,
    prompts_figure,
    ranking_words,
)
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options, Param, choice
from bertviz_core.questions.report.library_lines import explained
from bertviz_core.questions.texts.prompts import DOCUMENT_TEXT, PAIR, QUERY_TEXT, compared_prompts, ranked_prompts
from bertviz_core.questions.texts.sentences import POOLING, STATE, own_plan, vector_options
from bertviz_core.questions.view import Ask, Figure, Notices, Part, Table, Text
from bertviz_core.sentences.conventions import looks_like_search, search_notice
from bertviz_core.text import escape_markdown

OF_LIST, OF_SEARCH = PROMPTED_OPTIONS = ("the list", "queries with gold")
PROMPTED = Param(
    "prompted", "choice", "what is compared with and without prompts", PROMPTED_OPTIONS, "Compared",
    lambda *_: PROMPTED_OPTIONS, parts=True,
)  # fmt: skip
SEARCH_FROM = choice("search_from", ("my own list", "file"), "where queries and documents come from", "Queries")
PROMPTS = (PAIR, QUERY_TEXT, DOCUMENT_TEXT)
LISTED = 200
"""Most rows of the tables of what moved, most that are not scrolled, and pixels of tables that are."""
ARRANGED = (
    "Every text becomes a vector without a prompt and with each prompt, by the model's own pooling, length and "
    "normalisation; whether the prompt's tokens are pooled is as the checkpoint says."
)
COSINES = (
    f"{ARRANGED} *With prompts*, each sentence is a query, and the others are documents; *swapped*, it is a document, "
    "and the others are queries. These are the same pairs in other roles, so that mean and spread are equal, and only "
    "the nearest sentences differ. *Spread* is the standard deviation of the cosines of all pairs, *order kept* their "
    "rank correlation (Spearman) with those without a prompt: 1 is the same order. A prompt often moves all cosines "
    "up or down, which changes no search; what counts is their order."
)
RANKS = (
    f"{ARRANGED} All documents are ranked by their cosine with each query. *MRR* is the mean of 1 / rank of the first "
    "relevant document; *nDCG@10* the sum of relevance / log2(rank + 1) of the first 10, over that of the best "
    "possible order; *recall@10* the share of the relevant documents among the first 10; *first* the share of the "
    "queries with a relevant document in the first place. A document that has no relevance for a query counts as not "
    "relevant. *Swapped* puts the prompt of documents in front of queries, and that of queries in front of documents."
)
NO_ROWS = (
    "Under **Queries**, write queries with their documents and relevance, or choose a file with the columns query, "
    "text and relevance."
)


def prompt_values(opened: Opened, options: Options) -> Mapping[str, str]:
    """What is chosen of the vectors and of the prompts."""
    plain = vector_options(opened, options).values
    made = {param.key: plain[param.key] for param in (POOLING, STATE) if param.key in plain}
    return {**made, **{each.key: value for each in PROMPTS if (value := options.get(each.key))}}


def prompts_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The cosines of the list by arrangement of prompts, and the pairs that moved most."""
    if len(options.texts) < 2:
        yield Text("Prompts are compared by the cosines of pairs: add a second sentence.", "notice")
        return
    options = replace(options, values=prompt_values(opened, options))
    answer = ask(compared_prompts, options)
    result = answer.result
    yield Text(escape_markdown(pair_sentence(pair_words(result.pair))), "caption")
    yield Notices(search_notice(own_plan(opened), options.texts), "notice")
    yield Text(f"**{escape_markdown(comparison_words(result))}**")
    yield Figure.of(
        prompts_figure,
        answer,
        f"prompts {result.model}",
        numbers="open",
        below=[Notices(answer.notices, "caption")],
        **explained(COSINES, compared_prompts, opened, options),
    )
    yield Text("**Pairs that moved most**, by their rank among all pairs without prompts and with them")
    yield _moved(moved_pairs_frame(result), "Pairs by how far they moved")
    if any(looks_like_search(options.texts)):
        yield Text(f"For ranks, choose {OF_SEARCH} and say which documents are relevant.", "caption")


def prompt_ranks_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The measures of a ranking by arrangement of prompts, and the documents that moved most."""
    answer = ask(ranked_prompts, options)
    result = answer.result
    yield Text(escape_markdown(pair_sentence(pair_words(result.pair))), "caption")
    yield Text(f"**{escape_markdown(ranking_words(result))}**")
    yield Figure.of(
        prompt_ranks_figure,
        answer,
        f"ranks by prompts {result.model}",
        numbers="open",
        below=[Notices(answer.notices, "caption")],
        **explained(RANKS, ranked_prompts, opened, options),
    )
    yield Text("**Relevant documents that moved most**, by their rank without prompts and with them")
    yield _moved(moved_documents_frame(result), "Relevant documents by how far they moved")


def _moved(frame: "pd.DataFrame", alt: str) -> Table:
    return Table(frame.iloc[:LISTED], alt)


def pair_sentence(words: str) -> str:
    """The prompts that are compared, as a sentence; other views put nothing in front of texts by themselves."""
    return f"Prompts: {words}. Only this view tries them."
