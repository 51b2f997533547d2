"""Masked words: predictions of the head at every position of a text, masked or not."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st

from bertviz_core.errors import BertvizError
from bertviz_core.figures.base.spec import FigureSpec
from bertviz_core.figures.predictions.masked_lm import masked_text_figure, words_figure
from bertviz_core.figures.tokens.box_rows import SPELLED
from bertviz_core.predictions.results import ComparedWord, WordPrediction
from bertviz_core.predictions.run import word_count
from bertviz_core.questions.predictions.masked_lm import TASK, masked_words, own_word, words_at_position
from bertviz_core.text import decimals, escape_controls, escape_markdown, isolated
from bertviz_core.trace.subwords.pieces import text_pieces
from ui.cache import models
from ui.cache.shared_model import SharedModel
from ui.views.predictions import controls, texts
from ui.views.predictions.compared import compared_block
from ui.widgets.errors import shown_to_user
from ui.widgets.figure_block import download_row, figure_block, scrolled_chart
from ui.widgets.models import run_model


@st.fragment
@shown_to_user()
def masked_view(name: str) -> None:
    """The text, whose tokens are masked by a click, and the best words at one position."""
    tokens = controls.read_text(name)
    opened = SharedModel(name)
    run_model.agreed_cost(opened.head(TASK).base, tokens)
    mask_id = models.tokenizer(name).tokenizer.mask_token_id
    masked = controls.masked_positions(tokens, mask_id)
    above = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        controls.mask_select(tokens, mask_id)
        position = controls.position_select(tokens, masked, mask_id)
        word = controls.word_input()
    below, files = st.container(), st.container()
    here = controls.masked_options(tokens, masked, position)
    with below:
        _words(opened, words_at_position(opened, here).result, position, word, masked)
    # The text is above but drawn last, so that a click in it is handled before the head runs at all its positions.
    prediction = masked_words(opened, controls.masked_options(tokens, masked)).result
    text = masked_text_figure(prediction, text_pieces(tokens), position)
    with above:
        _text(text)
    with files:
        st.caption(f"{SPELLED} The text with its masks, as files:")
        download_row(text, text.chart, f"masked text {name}", text.caption, _text_table(prediction), tokens)
    compared_block(opened, replace(here, task=TASK), "words")


def _words(opened: SharedModel, prediction: WordPrediction, position: int, word: str, masked: tuple[int, ...]) -> None:
    """The best words at a position, with the original one and the reader's own."""
    name, tokens = opened.name, prediction.tokens
    compared = _own_word(opened, prediction, position, word, masked)
    best = models.spelled(name, prediction.top_ids[position].tolist())
    words = figure_block(
        words_figure(prediction, best, position, compared),
        f"words at position {position} {name}",
        _table(prediction, best, position, compared),
        texts=tokens,
        explanation=(texts.WORDS, texts.words_code(name, tokens, masked, position)),
    )
    words.markdown(_original(prediction, position, word_count(opened.head(TASK))))
    if compared is not None:
        words.caption(escape_markdown(compared.note))


def _text(spec: FigureSpec) -> None:
    """The text with clickable tokens."""
    scrolled_chart(spec, controls.take_mask)
    st.caption(texts.MARKS)


def _own_word(
    opened: SharedModel, prediction: WordPrediction, position: int, word: str, masked: tuple[int, ...]
) -> ComparedWord | None:
    """The reader's own word at this position; None for none, or for one that is not a single token."""
    if not word:
        return None
    try:
        return own_word(opened, controls.masked_options(prediction.tokens, masked, position, word)).result
    except BertvizError as error:
        st.warning(escape_markdown(str(error)), icon=":material/block:")
        return None


def _original(prediction: WordPrediction, position: int, vocab_size: int) -> str:
    """The original token here, in a line."""
    if prediction.typed[position]:
        return "The text has a mask here, so there is no original word to be compared."
    value = float(prediction.log_probability[position])
    token = escape_markdown(isolated(escape_controls(prediction.tokens.tokens[position])))
    visibility = "hidden behind the mask" if prediction.masked[position] else "seen by the model"
    return (
        f"The original token **{token}**, {visibility}: probability **{decimals(math.exp(value))}**, log-probability "
        f"**{decimals(value, 3)}** nats, rank **{int(prediction.rank[position]):,}** of {vocab_size:,}."
    )


def _text_table(prediction: WordPrediction) -> pd.DataFrame:
    """Every token, whether it is masked, and its prediction."""
    logs = prediction.log_probability.astype(float)
    return pd.DataFrame(
        {
            "position": range(len(logs)),
            "token": list(prediction.tokens.tokens),
            "masked": prediction.masked,
            "probability": np.exp(logs),
            "log-probability": logs,
            "rank": pd.array([rank or None for rank in prediction.rank.tolist()], dtype="Int64"),
        }
    )


def _table(prediction: WordPrediction, best: tuple[str, ...], position: int, own: ComparedWord | None) -> pd.DataFrame:
    """The words of the figure with their numbers."""
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
