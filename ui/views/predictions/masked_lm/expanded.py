"""Expanded terms: a text as weighted words of the vocabulary, and the score of two texts by words."""

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.figures.predictions.terms import ledger_tokens, score_figure, terms_figure
from bertviz_core.predictions.results import TermLedger, TermWeights
from bertviz_core.predictions.run import word_count
from bertviz_core.predictions.terms import term_ledger
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.predictions.masked_lm import TASK, term_weights
from bertviz_core.text import escape_markdown
from ui.cache import models
from ui.cache.shared_model import SharedModel
from ui.views.predictions import controls, texts
from ui.widgets import text_fields
from ui.widgets.errors import shown_to_user
from ui.widgets.figure_block import figure_block
from ui.widgets.heading import unshown
from ui.widgets.models import run_model

MANY = 0.05
"""Most terms of a SPLADE head, as a share of the vocabulary."""


@st.fragment
@shown_to_user()
def expanded_view(name: str) -> None:
    """The expanded terms of the text; for a pair its score and the share of each word."""
    text, pair = text_fields.text(), text_fields.pair()
    opened = SharedModel(name)
    run_model.agreed_cost(opened.head(TASK).base, opened.tokens(text, pair))
    row = st.container(horizontal=True, vertical_alignment="bottom")
    first = term_weights(opened, Options((text,))).result
    if pair is None:
        _terms(name, first, row)
        st.caption("A second text in the sidebar gives the score of the two, and what each word gives to it.")
        return
    with row:
        shown = controls.terms_choice()
    second = term_weights(opened, Options((pair,))).result
    if shown == controls.TERMS_OF[0]:
        _score(name, first, second, row)
    else:
        _terms(name, first if shown == controls.TERMS_OF[1] else second, row)


def _terms(name: str, weights: TermWeights, row: DeltaGenerator) -> None:
    for notice in unshown(weights.tokens.notices):
        st.warning(escape_markdown(notice))
    if not len(weights.ids):
        st.info("No word of the vocabulary has a weight above 0 for this text; write another.")
        return
    with row:
        count = controls.shown_terms(len(weights.ids))
    words = models.spelled(name, weights.ids.tolist())
    place = figure_block(
        terms_figure(weights, words[:count]),
        f"expanded terms {name}",
        terms_table(weights, words),
        texts=weights.tokens,
        explanation=(texts.TERMS, texts.terms_code(name, weights.tokens, count)),
    )
    if len(weights.ids) > MANY * word_count(models.with_head(name, TASK)):
        place.caption(texts.NOT_SPLADE)


def _score(name: str, first: TermWeights, second: TermWeights, row: DeltaGenerator) -> None:
    ledger = term_ledger(first, second)
    if not len(ledger.ids):
        st.info("The two texts have no term in common, so their score is 0; write texts that are nearer.")
        return
    with row:
        count = controls.shown_terms(len(ledger.ids))
    words = models.spelled(name, ledger.ids.tolist())
    place = figure_block(
        score_figure(ledger, words[:count], first, second),
        f"score by word {name}",
        score_table(ledger, words, first, second),
        texts=(first.tokens.text, second.tokens.text),
        formats={"share": "percent"},
        explanation=(texts.SCORE, texts.score_code(name, first.tokens, second.tokens, count)),
    )
    with place, st.container(horizontal=True):
        st.metric("Score", f"{ledger.score:.3f}", help="Dot product of the two texts' term weights.")
        st.metric("Words in common", f"{len(ledger.ids):,}", help="Words with a weight in both texts.")
        st.metric("Of the first text", f"{len(first.ids):,}", help="Its expanded terms.")
        st.metric("Of the second text", f"{len(second.ids):,}", help="Its expanded terms.")


def terms_table(weights: TermWeights, words: tuple[str, ...]) -> pd.DataFrame:
    """Every term with its weight and the token that it comes from."""
    positions = weights.positions.tolist()
    return pd.DataFrame(
        {
            "word": words,
            "weight": weights.weights,
            "position": positions,
            "from token": [weights.tokens.tokens[position] for position in positions],
        }
    )


def score_table(ledger: TermLedger, words: tuple[str, ...], first: TermWeights, second: TermWeights) -> pd.DataFrame:
    """Every word of both texts, with its two tokens and its part of the score."""
    tokens = ledger_tokens(ledger, first, second)
    return pd.DataFrame(
        {
            "word": words,
            "token of the first text": [one for one, _ in tokens],
            "token of the second text": [other for _, other in tokens],
            "product": ledger.shares,
            "share": ledger.shares.astype(float) / ledger.score,
        }
    )
