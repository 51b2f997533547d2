"""Activation patching: copy parts of the text's run into the run of a second text."""

import numpy as np
import pandas as pd
import streamlit as st

from bertviz_core.errors import NoDifferenceError
from bertviz_core.figures.interventions.effect_maps import patched_heads_figure, patched_states_figure
from bertviz_core.interventions.results import ActivationPatching
from bertviz_core.questions.interventions.single_text import patches as ask_patches
from bertviz_core.questions.report.library_lines import library_lines
from bertviz_core.text import decimals, escape_controls, escape_markdown
from ui.views.causes import controls, texts
from ui.widgets import text_fields
from ui.widgets.figure_block import figure_block
from ui.widgets.heading import unshown
from ui.widgets.lists.progress import answer
from ui.widgets.target_controls.opened import shared_model_of, target_options
from ui.widgets.target_controls.row import TargetRow, target_row


def patch_view(name: str, row: TargetRow) -> None:
    """The share of the difference between two texts that a copied state or head restores."""
    own = text_fields.text()
    other = controls.other_text(name, own)
    chosen = target_row(name, row, alone=True, texts=(own, other))
    opened, options = shared_model_of(name), target_options(chosen, pair=other)
    try:
        patches = answer(ask_patches, opened, options).result
    except NoDifferenceError as error:
        controls.offer_donor(name, chosen.text, other, str(error))
        return
    with row.row:
        part = controls.patched_choice(patches.states is not None)
    spec = patched_states_figure(patches) if part == "hidden states" else patched_heads_figure(patches)
    words = figure_block(
        spec,
        f"patched {part} {name}",
        patch_frame(patches, part),
        texts=(chosen.text, other),
        explanation=(texts.PATCHES, library_lines(ask_patches, opened, options)),
    )
    with words:
        st.markdown(_summary(patches, part))
        st.markdown(f"Tokens at the same position that differ: {_aligned(patches)}")
        st.caption(texts.SHARES)
        for notice in unshown(patches.notices):
            st.caption(escape_markdown(notice))


def _summary(patches: ActivationPatching, part: str) -> str:
    """The target of both texts, and the largest share."""
    values = patches.states if part == "hidden states" and patches.states is not None else patches.heads
    layer, place = np.unravel_index(np.nanargmax(np.abs(values)), values.shape)
    if part == "hidden states":
        token = _token(patches.tokens.tokens[int(place)])
        what = f"the state of token {place} ({token}) that goes into layer {layer}"
    else:
        what = f"layer {layer}, head {place}"
    return (
        f"The {escape_markdown(patches.title)} is **{decimals(patches.clean)}** for the text and "
        f"**{decimals(patches.corrupt)}** for the second one. Copied from the first "
        f"into the second, {what} brings back **{float(values[layer, place]):.0%}** of the difference: of all {part} "
        "the largest share, whatever its sign."
    )


def _aligned(patches: ActivationPatching) -> str:
    """The tokens that differ between the texts."""
    pairs = [
        f"{place} **{_token(one)}** / **{_token(other)}**"
        for place, (one, other) in enumerate(zip(patches.tokens.tokens, patches.corrupt_tokens.tokens, strict=True))
        if one != other
    ]
    return ", ".join(pairs) + "." if pairs else "none."


def _token(token: str) -> str:
    return escape_markdown(escape_controls(token))


def patch_frame(patches: ActivationPatching, part: str) -> pd.DataFrame:
    """A row for each layer; a column for each position or head."""
    if part == "hidden states" and patches.states is not None:
        names = [
            f"{place} {one}" if one == other else f"{place} {one} / {other}"
            for place, (one, other) in enumerate(zip(patches.tokens.tokens, patches.corrupt_tokens.tokens, strict=True))
        ]
        frame = pd.DataFrame(patches.states.astype(float), columns=names)
    else:
        frame = pd.DataFrame(
            patches.heads.astype(float), columns=[f"head {head}" for head in range(patches.heads.shape[1])]
        )
    frame.insert(0, "layer", np.arange(len(frame)))
    return frame
