"""Masked words: what the head expects at every position of a text, masked or not."""

import math

import numpy as np
import pandas as pd
import streamlit as st

from bertviz_core.errors import BertvizError
from bertviz_core.figures.predictions.words import masked_text_figure, words_figure
from bertviz_core.predictions.results import ComparedWord, WordPrediction
from bertviz_core.text import escape_controls, isolated
from bertviz_core.trace.subwords.pieces import text_pieces
from ui.cache import models
from ui.cache.figures import cached_figure
from ui.views.predictions import cache, controls, texts
from ui.widgets import controls as widgets_controls
from ui.widgets.figure_block import chart, figure_block, page_theme
from ui.widgets.formatting import escape_markdown

TALLEST = 440
"""Pixels of the text on the page; a taller one is scrolled in its place."""


@st.fragment
def masked_view() -> None:
    """The text, a click on each of whose tokens masks it, and the best words at one of its positions."""
    name, text, pair = widgets_controls.model_name(), widgets_controls.text(), widgets_controls.pair()
    tokens = models.tokens(name, text, pair)
    mask_id = models.tokenizer(name).tokenizer.mask_token_id
    masked = controls.masked_positions(tokens, mask_id)
    prediction = cache.words(name, text, pair, masked)
    above = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        controls.mask_select(tokens, mask_id)
        position = controls.position_select(tokens, masked, mask_id)
        word = controls.word_input()
    with above:
        _text(prediction, position)
    compared = _own_word(name, prediction, position, word, masked)
    best = models.spelled(name, prediction.top_ids[position].tolist())
    spec = words_figure(prediction, best, position, compared)
    words = figure_block(
        spec,
        f"words at position {position} {name}",
        _table(prediction, best, position, compared),
        texts=tokens,
        explanation=(texts.WORDS, texts.words_code(name, tokens, masked, position)),
    )
    words.markdown(_original(prediction, position, models.with_head(name, "masked-lm").base.model.config.vocab_size))
    if compared is not None:
        words.caption(escape_markdown(compared.note))


def _text(prediction: WordPrediction, position: int) -> None:
    spec = masked_text_figure(prediction, text_pieces(prediction.tokens), position)
    tall = cached_figure(spec, page_theme()).layout.height > TALLEST
    with st.container(height=TALLEST if tall else "content", border=False):
        chart(spec, spec.chart, on_select=controls.take_mask)
    st.caption(texts.MARKS)


def _own_word(
    name: str, prediction: WordPrediction, position: int, word: str, masked: tuple[int, ...]
) -> ComparedWord | None:
    """The word of the reader's own at this position; None for none, or for one that cannot stand there."""
    if not word:
        return None
    try:
        return cache.own_word(name, prediction.tokens.text, prediction.tokens.pair, position, word, masked)
    except BertvizError as error:
        st.warning(escape_markdown(str(error)), icon=":material/block:")
        return None


def _original(prediction: WordPrediction, position: int, vocab_size: int) -> str:
    """The original token here, in a line."""
    if prediction.typed[position]:
        return "The text has a mask here, so there is no original word to be compared."
    value = float(prediction.log_probability[position])
    token = escape_markdown(isolated(escape_controls(prediction.tokens.tokens[position])))
    seen = "hidden behind the mask" if prediction.masked[position] else "seen by the model"
    return (
        f"The original token **{token}**, {seen}: probability **{math.exp(value):.4f}**, log-probability "
        f"**{value:.3f}** nats, rank **{int(prediction.rank[position]):,}** of {vocab_size:,}."
    )


def _table(prediction: WordPrediction, best: tuple[str, ...], position: int, own: ComparedWord | None) -> pd.DataFrame:
    """The words of the figure with all that is known of them."""
    logs = prediction.top_log_probability[position].astype(float)
    frame = pd.DataFrame(
        {
            "rank": range(1, len(best) + 1),
            "word": best,
            "probability": np.exp(logs),
            "log-probability": logs,
            "logit": prediction.top_logits[position],
        }
    )
    original = None
    if not prediction.typed[position] and prediction.rank[position] > len(best):
        value = float(prediction.log_probability[position])
        token = prediction.tokens.tokens[position]
        original = (int(prediction.rank[position]), token, math.exp(value), value, None)
    mine = None if own is None else (own.rank, own.word, math.exp(own.log_probability), own.log_probability, None)
    more = [row for row in (original, mine) if row is not None]
    if not more:
        return frame
    return pd.concat([frame, pd.DataFrame(more, columns=list(frame.columns))], ignore_index=True)
