"""Logit lens: the masked-LM head applied to the hidden states of every layer."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st

from bertviz_core.figures.predictions.logit_lens import HOVERED_WORDS, lens_figure
from bertviz_core.hidden_states.results import state_name
from bertviz_core.predictions.results import LogitLens
from bertviz_core.questions.predictions.masked_lm import TASK
from bertviz_core.questions.predictions.masked_lm import lens as lens_of
from bertviz_core.questions.report.library_lines import library_lines
from bertviz_core.text import decimals, escape_controls, escape_markdown, isolated
from ui.cache import models
from ui.cache.shared_model import SharedModel
from ui.components.cell_click import cell_click
from ui.views.predictions import controls, texts
from ui.views.predictions.compared import compared_block
from ui.views.predictions.controls import masked_options
from ui.widgets.errors import shown_to_user
from ui.widgets.figure_block import figure_block, numbers_table
from ui.widgets.models import run_model
from ui.widgets.view_and_layer import state_select

CHART = "predictions_lens"
LIST_HEIGHT = 250


@st.fragment
@shown_to_user()
def lens_view(name: str) -> None:
    """The map of layers and positions, and the words of one of its cells."""
    tokens = controls.read_text(name)
    opened = SharedModel(name)
    run_model.agreed_cost(opened.head(TASK).base, tokens)
    mask_id = models.tokenizer(name).tokenizer.mask_token_id
    masked = controls.masked_positions(tokens, mask_id)
    options = masked_options(tokens, masked)
    lens = lens_of(opened, options).result
    states, seq = lens.rank.shape
    words = figure_block(
        lens_figure(lens, lens_words(name, lens), controls.lens_measure()),
        f"lens {name}",
        lens_table(name, lens),
        texts=tokens,
        explanation=(texts.LENS, library_lines(lens_of, opened, options)),
    )
    with words:
        controls.take_cell(cell_click(CHART), states, seq)
        st.caption(texts.trained(lens.final_norm))
        with st.container(horizontal=True, vertical_alignment="bottom"):
            entry = state_select(states - 1, "The hidden state that the head reads.")
            position = controls.position_select(tokens, masked, mask_id)
            controls.mask_select(tokens, mask_id)
        st.markdown(_cell(lens, entry, position))
        numbers_table(_list(name, lens, entry, position), "Best words of the chosen cell", LIST_HEIGHT)
    compared_block(opened, replace(masked_options(tokens, masked, position), task=TASK), "lens")


def lens_words(name: str, lens: LogitLens) -> tuple[tuple[tuple[str, ...], ...], ...]:
    """Spelling of the best words of each cell, for the hover text."""
    ids = lens.top_ids[..., :HOVERED_WORDS]
    rows = np.unique(ids)
    spelled = dict(zip(rows.tolist(), models.spelled(name, rows.tolist()), strict=True))
    return tuple(tuple(tuple(spelled[token_id] for token_id in cell) for cell in row) for row in ids.tolist())


def lens_table(name: str, lens: LogitLens) -> pd.DataFrame:
    """Every cell: its best word and all four measures."""
    states, seq = lens.rank.shape
    best = [word for row in lens_words(name, lens) for word, *_ in row]
    return pd.DataFrame(
        {
            "hidden state": np.repeat([state_name(entry) for entry in range(states)], seq),
            "position": np.tile(np.arange(seq), states),
            "token": list(lens.tokens.tokens) * states,
            "best word": best,
            "probability": np.exp(lens.top_log_probability[..., 0]).ravel(),
            "log-probability of the original": lens.log_probability.ravel(),
            "rank of the original": pd.array([rank or None for rank in lens.rank.ravel().tolist()], dtype="Int64"),
            "entropy": lens.entropy.ravel(),
            "KL to the last layer": lens.divergence.ravel(),
        }
    )


def _cell(lens: LogitLens, entry: int, position: int) -> str:
    """One cell in a line."""
    token = escape_markdown(isolated(escape_controls(lens.tokens.tokens[position])))
    place = f"**{state_name(entry)}**, position {position} **{token}**"
    spread = (
        f"entropy **{float(lens.entropy[entry, position]):.3f}** nats, "
        f"KL to the last layer **{float(lens.divergence[entry, position]):.3f}** nats"
    )
    if lens.rank[entry, position] == 0:
        return f"{place}: {spread}."
    value = float(lens.log_probability[entry, position])
    return (
        f"{place}: the original token has rank **{int(lens.rank[entry, position]):,}**, probability "
        f"**{decimals(math.exp(value))}**, log-probability **{decimals(value, 3)}** nats; {spread}."
    )


def _list(name: str, lens: LogitLens, entry: int, position: int) -> pd.DataFrame:
    logs = lens.top_log_probability[entry, position].astype(float)
    return pd.DataFrame(
        {
            "rank": range(1, len(logs) + 1),
            "word": models.spelled(name, lens.top_ids[entry, position].tolist()),
            "probability": np.exp(logs),
            "log-probability": logs,
        }
    )
