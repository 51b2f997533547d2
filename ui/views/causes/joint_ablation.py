"""Ablate several heads together, and one after the other as a curve."""

import numpy as np
import pandas as pd
import streamlit as st

from bertviz_core.figures.interventions.ablation_curves import removal_figure
from bertviz_core.interventions.results import AblationCurve, JointAblation
from bertviz_core.questions.interventions.single_text import (
    COUNT,
    IN_PLACE,
    REMOVED,
    REMOVED_FOR,
    ablation_curves,
    joint_ablation,
    named_places,
)
from bertviz_core.questions.interventions.targets import layers_and_heads
from bertviz_core.questions.report.library_lines import library_lines
from bertviz_core.text import decimals, escape_markdown
from ui.views.causes import controls, texts
from ui.widgets.figure_block import figure_block, numbers_table
from ui.widgets.heading import unshown
from ui.widgets.lists.progress import answer
from ui.widgets.target_controls.opened import shared_model_of, target_options
from ui.widgets.target_controls.row import TargetRow, target_row

IN_WORDS = {"zero": "with nothing in their place", "mean": "at their means"}


def several_view(name: str, row: TargetRow) -> None:
    """Joint effect of heads, the sum of their single effects, and the curve of a greedy search."""
    chosen, opened = target_row(name, row), shared_model_of(name)
    layers, each = layers_and_heads(opened)
    heads = [(layer, head) for layer in range(layers) for head in range(each)]
    with row.folded:
        in_place = controls.in_place()
    kind = IN_PLACE[in_place]
    row.say(chosen, controls.IN_PLACE_WORDS[kind])
    with row.row:
        which = controls.which_choice()
        if which == "my choice":
            places = controls.heads_multiselect(heads)
        else:
            count = controls.count_level(len(heads))
    if which == "my choice":
        if not places:
            st.info("Choose the heads to remove above.", icon=":material/info:")
            return
        values = {REMOVED.key: named_places(places), REMOVED_FOR.key: in_place}
        _joint(answer(joint_ablation, opened, target_options(chosen, values)).result)
        return
    values = {COUNT.key: str(count), REMOVED_FOR.key: in_place}
    options = target_options(chosen, values)
    removed = answer(ablation_curves, opened, options)
    curves = removed.result.curves
    words = figure_block(
        removal_figure(curves),
        f"removal {kind} {name}",
        curve_frame(curves),
        texts=(chosen.text, chosen.pair),
        explanation=(texts.REMOVAL, library_lines(ablation_curves, opened, options)),
    )
    with words:
        _joint(removed.result.greedy)
        st.caption(texts.CURVES)
        for notice in unshown(removed.notices):
            st.caption(escape_markdown(notice))


def _joint(removal: JointAblation) -> None:
    """The joint effect, the sum of single effects, and the effect of each head."""
    with st.container(horizontal=True):
        st.metric("Clean", decimals(removal.clean), help=f"The {removal.title}, unchanged; in {removal.unit}.")
        st.metric("Joint effect", _signed(removal.joint), help="All these heads removed together.")
        st.metric("Sum of single effects", _signed(removal.total), help="Each head removed alone, added up.")
        st.metric(
            "Difference", _signed(removal.joint - removal.total), help="Joint effect minus the sum of single effects."
        )
    st.markdown(
        f"Removed together {IN_WORDS[removal.kind]}, these {len(removal.places)} heads change the "
        f"{escape_markdown(removal.title)} by **{_signed(removal.joint)}**; their single effects add up to "
        f"**{_signed(removal.total)}**."
    )
    frame = pd.DataFrame(
        {
            "layer": removal.places[:, 0].astype(int),
            "head": removal.places[:, 1].astype(int),
            "effect alone": removal.single.astype(float),
            "sum so far": np.cumsum(removal.single, dtype=float),
        }
    )
    numbers_table(frame, "The removed heads and the effect of each alone")


def _signed(value: float) -> str:
    return f"+{decimals(value)}" if value > 0 else decimals(value)


def curve_frame(curves: tuple[AblationCurve, ...]) -> pd.DataFrame:
    """The target after each step; mean, least and greatest value of the random orders."""
    columns: dict[str, object] = {"heads removed": np.arange(curves[0].values.shape[1])}
    for curve in curves:
        if curve.order == "random":
            columns["random, mean"] = curve.values.mean(axis=0).astype(float)
            columns["random, least"] = curve.values.min(axis=0).astype(float)
            columns["random, greatest"] = curve.values.max(axis=0).astype(float)
            continue
        columns[curve.order] = curve.values[0].astype(float)
        columns[f"head of {curve.order}"] = ["", *(controls.head_name((int(a), int(b))) for a, b in curve.places[0])]
    return pd.DataFrame(columns)
