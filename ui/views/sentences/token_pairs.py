"""Explain the similarity of two sentences by pairs of tokens."""

import pandas as pd
import streamlit as st

from bertviz_core.figures.sentences.token_pairs import Unit, token_pairs_figure
from bertviz_core.hidden_states.results import state_name
from bertviz_core.sentences.results import TokenPairShares
from bertviz_core.text import escape_markdown
from ui.views.sentences import cache, controls
from ui.views.sentences.similarity import SentenceInputs
from ui.views.sentences.texts import pair_code
from ui.widgets.figure_block import explained, figure_block, numbers_table

LISTED, SUMMED = 12, 3


def pair_view(inputs: SentenceInputs) -> None:
    """The cosine of two sentences as a sum over pairs of their tokens."""
    sentences = inputs.table.sentences
    few = len(sentences) <= controls.LISTED
    with inputs.row:
        first, second = controls.pair_select(sentences) if few else controls.pair_numbers(len(sentences))
        unit = controls.unit_select()
    shares = cache.pair_shares(inputs.model, sentences[first], sentences[second], inputs.plan)
    if not shares.exact:
        st.warning(f"An approximation. {escape_markdown(shares.note)}")
    spec = token_pairs_figure(shares, unit, inputs.model)
    filename = f"{unit[:-1]} pairs {shares.pooling} {state_name(shares.layer)} {inputs.model}"
    words = figure_block(spec, filename, _cells(shares, unit), texts=(sentences[first], sentences[second]))
    words.markdown(_sum_words(shares))
    if not few:
        words.markdown(
            f"{first + 1} *{escape_markdown(sentences[first][:300])}*  \n{second + 1} "
            f"*{escape_markdown(sentences[second][:300])}*"
        )
    if shares.exact:
        words.caption(escape_markdown(shares.note))
    if inputs.measure != "cosine":
        words.caption("The cells add up to the cosine, whichever measure is chosen on other views.")
    with st.container(key="halves_pair"):
        left, right = st.columns([3, 4])
    with left:
        st.markdown("**Largest contributions of token pairs**")
        numbers_table(_top(shares), "Token pairs by their contribution", 280)
    with right:
        st.markdown("**Contribution of each word**")
        numbers_table(_words(shares), "Words of both sentences and their contributions", 280)
    explained(
        spec.chart,
        "The mean of the tokens' vectors is a sum, so the cosine of two means is one too: "
        "`cos(a, b) = sum over i, j of <h_i, k_j> / (n m |a| |b|)`, with `h_i` and `k_j` the tokens' vectors, `n` and "
        "`m` their counts, `a` and `b` the means. Every term is a cell; rows and columns add up to the totals beside "
        "them. Max pooling takes each dimension from one token, so its share goes to that pair of tokens. A cell says "
        "what enters this sum, not what the model looked at: every vector already holds its context.",
        pair_code(inputs.origin_of((sentences[first], sentences[second])), inputs.plan),
    )


def _sum_words(shares: TokenPairShares) -> str:
    """The score as a sum: its largest terms, and the rest of the cells as one."""
    terms = shares.top[:SUMMED]
    words = [
        f"{pair.share:.4f} :gray[({escape_markdown(shares.first_tokens[pair.first])} · "
        f"{escape_markdown(shares.second_tokens[pair.second])})]"
        for pair in terms
    ]
    # Computed from the printed numbers, so that the line adds up.
    rest = round(shares.total, 4) - sum(round(pair.share, 4) for pair in terms)
    others = shares.cells.size - len(terms)
    sign = "=" if shares.exact else "≈"
    line = f"**{shares.score:.4f}** {sign} {' + '.join(words)} + {rest:.4f} :gray[(the other {others:,} pairs)]"
    return line if shares.exact else f"{line}; the cells add up to {shares.total:.4f}"


def _top(shares: TokenPairShares) -> pd.DataFrame:
    rows = [
        (
            shares.first_tokens[pair.first],
            shares.second_tokens[pair.second],
            pair.share,
            pair.share / (shares.total or 1),
        )
        for pair in shares.top[:LISTED]
    ]
    return pd.DataFrame(rows, columns=["first token", "second token", "contribution", "share of the sum"])


def _words(shares: TokenPairShares) -> pd.DataFrame:
    sides = (
        ("first", shares.first_words, shares.first_word_totals.tolist()),
        ("second", shares.second_words, shares.second_word_totals.tolist()),
    )
    rows = [(side, word, total) for side, words, totals in sides for word, total in zip(words, totals, strict=True)]
    return pd.DataFrame(rows, columns=["sentence", "word", "contribution"])


def _cells(shares: TokenPairShares, unit: Unit) -> pd.DataFrame:
    cells, rows, columns = (
        (shares.cells, shares.first_tokens, shares.second_tokens)
        if unit == "tokens"
        else (shares.word_cells, shares.first_words, shares.second_words)
    )
    frame = pd.DataFrame(cells, columns=[f"{place} {name}" for place, name in enumerate(columns)])
    frame.insert(0, unit[:-1], list(rows))
    return frame
