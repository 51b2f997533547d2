"""Sentences compared by weights of words: those of a sparse encoder, and the three heads of BGE-M3."""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from bertviz_core.figures.predictions.masked_lm import score_figure
from bertviz_core.figures.sentences.ranking import heads_figure, heads_frame, heads_words
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.models.receipt import TOKEN_HEADS
from bertviz_core.predictions.results import HeadScores, TermWeights
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options, Param
from bertviz_core.questions.predictions.masked_lm import query_terms, shared_terms, term_ledger
from bertviz_core.questions.predictions.ranking import WEIGHTS, heads_options, three_heads
from bertviz_core.questions.report.library_lines import explained
from bertviz_core.questions.texts.sentences import QUERY
from bertviz_core.questions.view import (
    LONGEST_LINKED,
    Ask,
    Columns,
    Figure,
    Link,
    Links,
    Notices,
    Part,
    Section,
    Table,
    Text,
)
from bertviz_core.questions.views.texts import sentences as texts
from bertviz_core.text import counted, decimals, escape_markdown

THREE_HEADS = "Three heads"
RANKED_TEXT = Param(
    "ranked_text",
    "position",
    "the open ranked text by its place, from 1",
    label="Open text",
    bounds=lambda _, options: (1, len(options.texts), 1),
)
SMALL = 280
"""Most rows of a table that is not scrolled, and pixels of tables that are."""
HEAD_FILES = tuple(f"{name}{end}" for name in TOKEN_HEADS for end in (".safetensors", ".pt"))
"""The heads of BGE-M3, in either format."""
NO_QUERY = "Type a query: the three heads of BGE-M3 score the texts of the list for it."


def heads_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The texts of the list by the three heads of BGE-M3, and the tokens that one of them shares with the query."""
    query = options.get(QUERY.key)
    if not query:
        yield Text(NO_QUERY, "notice")
        return
    options = heads_options(query, options.texts, options.get(WEIGHTS.key))
    answer = ask(three_heads, options)
    result = answer.result
    frame = heads_frame(result)
    yield Figure.of(
        heads_figure,
        answer,
        f"three heads {result.model}",
        numbers="in files",
        below=[Text(f"**{escape_markdown(heads_words(result))}**"), Notices(answer.notices, "caption")],
        rows=[Table(frame, "The texts by descending weighted mean", key="heads_table", opens=RANKED_TEXT.key)],
        **explained(texts.THREE_HEADS, three_heads, opened, options),
    )
    yield Section((RANKED_TEXT,), partial(_text_of_heads, result))


def _text_of_heads(result: HeadScores, opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """One text: its sparse score as a sum over shared tokens, and the way to its multi-vector score."""
    index = int(result.order[int(options.get(RANKED_TEXT.key)) - 1])
    text, shared = result.texts[index], result.shared[index]
    yield Text(escape_markdown(text))
    score = decimals(float(result.sparse[index]))
    if not shared.tokens:
        yield Text("Query and text have no token with a weight in common, so the sparse score is 0.", "caption")
    else:
        count = counted(len(shared.tokens), "shared token")
        yield Text(f"The sparse score **{score}** is the sum of the products of the weights of {count}:")
        frame = pd.DataFrame({"token": list(shared.tokens), "product": shared.products})
        yield Table(frame, "Shared tokens and the products of their weights", SMALL)
    if len(text) + len(result.query) <= LONGEST_LINKED:
        line = [("source", "typed"), ("sentences", " ".join(text.split())), (QUERY.key, result.query)]
        tokens = [("model", result.model), ("view", "Late interaction"), *line]
        links = [Link("The multi-vector score, token by token", "sentences", tokens)]
        yield Links("sentences_heads_open", "Open this text with the query in another view", links)


def shared_terms_parts(opened: Opened, ask: Ask, both: Sequence[str]) -> Iterator[Part]:
    """The score of two sentences as a sum over the words that both have a weight for."""
    options = Options(tuple(both[:1]), both[1])
    ledger = ask(shared_terms, options)
    yield Notices(ledger.notices, "caption")
    if not len(ledger.result.ids):
        yield Text("The two sentences have no word with a weight in common, so their dot product is 0.", "notice")
        return
    answer = ask(term_ledger, options)
    score, drawn = decimals(answer.result.score), answer.drawn
    yield Figure.of(
        score_figure,
        answer,
        f"score by word {opened.name}",
        formats={"share": "percent"},
        below=[Text(f"**{score}** is the sum of {counted(len(ledger.result.ids), 'product')}, one for each word.")],
        **explained(texts.SHARED_TERMS, term_ledger, opened, options),
    )
    names = {"first": "term_weights", "second": "second_weights"}
    first, second = (_weights(opened, drawn[key], name) for name, key in names.items())
    yield Columns("terms", first, second)


def query_terms_parts(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """The words of the query with their weights, and their products with those of the sentence nearest to it."""
    answer = ask(query_terms, options)
    ledger, weights, nearest = answer.result, answer.drawn["term_weights"], answer.drawn["second_weights"]
    of_text = dict(zip(nearest.ids.tolist(), nearest.weights.tolist(), strict=True))
    in_nearest = [of_text.get(word, 0.0) for word in weights.ids.tolist()]
    columns = {
        "word": opened.tokenizer.spelled(weights.ids.tolist()),
        "weight in the query": weights.weights,
        "in the nearest": in_nearest,
        "product": weights.weights * np.array(in_nearest, np.float32),
    }
    count = f"{counted(len(ledger.ids), 'word')} that both have"
    yield Text(
        f"The dot product of the query and its nearest sentence, **{decimals(ledger.score)}**, sums over {count}:"
    )
    yield Table(pd.DataFrame(columns), "Words of the query with their weights", SMALL)


def _weights(opened: Opened, weights: TermWeights, name: str) -> list[Part]:
    frame = pd.DataFrame({"word": opened.tokenizer.spelled(weights.ids.tolist()), "weight": weights.weights})
    return [Text(f"**Weights of the {name} sentence**"), Table(frame, f"Words of the {name} sentence", SMALL)]
