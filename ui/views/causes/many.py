"""Many sentences: mean and spread of each head's effect over a list, and the right answers to it as heads go."""

from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st

from bertviz_core.causes.results import EffectKind, EffectSpread
from bertviz_core.figures.predictions.causes.maps import KIND_WORDS
from bertviz_core.figures.predictions.causes.spread import accuracy_figure, effect_spread_figure
from bertviz_core.predictions.labelled.reading import EXAMPLE_SET
from bertviz_core.predictions.labelled.results import LabelledTexts
from bertviz_core.text import counted, decimals
from ui.views.causes import cache, controls, texts
from ui.views.causes.several import curve_frame
from ui.widgets.figure_block import chart, figure_block
from ui.widgets.formatting import escape_markdown
from ui.widgets.target.opened import ChosenTarget, list_classes
from ui.widgets.target.row import TargetRow

HEIGHT = 300
"""Pixels of the list of heads."""


def many_view(name: str, chosen: ChosenTarget, row: TargetRow) -> None:
    """Maps of the mean and the standard deviation, the heads as a list, and the curve of right answers."""
    with row.folded:
        kind = controls.in_place()
    row.say(chosen, controls.IN_PLACE_WORDS[kind])
    with row.row:
        count = controls.list_choice()
    listed = controls.listed_sentences(count)
    if listed is None:
        st.info(texts.WRITE, icon=":material/info:")
        return
    for notice in listed.notices:
        st.caption(escape_markdown(notice))
    spread = cache.spread(name, chosen, listed.texts, kind, _so_far)
    words = figure_block(
        effect_spread_figure(spread),
        f"spread {kind} {name}",
        spread_frame(spread),
        numbers="open",
        height=HEIGHT,
        explanation=(texts.SPREAD, texts.spread_code(name, chosen, listed, kind)),
    )
    with words:
        st.markdown(_spread_words(spread))
        source = f"drawn from the example set *{EXAMPLE_SET}* with seed 0" if count is not None else "of your own list"
        st.caption(f"{counted(spread.texts, 'sentence')} {source}, each in the place of the text in the sidebar.")
    _right_answers(name, chosen, listed, kind)


def _so_far(spread: EffectSpread) -> None:
    """The maps over the sentences that are done."""
    chart(effect_spread_figure(spread), "causes_spread_so_far")
    st.caption("Mean over the sentences that are done.")


def spread_frame(spread: EffectSpread) -> pd.DataFrame:
    """Every head with mean and standard deviation of its effect, the largest mean first."""
    places = np.argwhere(~np.isnan(spread.mean))
    frame = pd.DataFrame(
        {
            "layer": places[:, 0],
            "head": places[:, 1],
            "mean effect": [float(spread.mean[layer, head]) for layer, head in places],
            "standard deviation": [float(spread.spread[layer, head]) for layer, head in places],
        }
    )
    return frame.loc[frame["mean effect"].abs().sort_values(ascending=False, kind="stable").index]


def _spread_words(spread: EffectSpread) -> str:
    """The clean target over the list, the head of the largest mean, and how many stand out of their spread."""
    layer, head = (int(each) for each in np.unravel_index(np.nanargmax(np.abs(spread.mean)), spread.mean.shape))
    beyond, heads = int((np.abs(spread.mean) > spread.spread).sum()), int((~np.isnan(spread.mean)).sum())
    mean, deviation = float(spread.mean[layer, head]), float(spread.spread[layer, head])
    return (
        f"With all heads the {escape_markdown(spread.title)} is **{decimals(float(spread.clean.mean()))}** on average, "
        f"from {decimals(float(spread.clean.min()))} to {decimals(float(spread.clean.max()))}. Largest mean effect: "
        f"{controls.head_name((layer, head))} {KIND_WORDS[spread.kind]}, **{decimals(mean)}** with a standard "
        f"deviation of **{decimals(deviation)}**. For **{beyond}** of {heads} "
        "heads the mean effect is larger than its standard deviation; for the others, sentences differ by more."
    )


def _right_answers(name: str, chosen: ChosenTarget, listed: LabelledTexts, kind: EffectKind) -> None:
    """The curve of right answers, where the list has labels that the target's classes have."""
    kept = [place for place, label in enumerate(listed.labels) if label]
    labels = tuple(listed.labels[place] for place in kept)
    classes = list_classes(name, chosen)
    if not kept or len(classes) < 2 or not set(labels) <= set(classes):
        st.caption(texts.NO_ACCURACY)
        return
    labelled = replace(listed, texts=tuple(listed.texts[place] for place in kept), labels=labels)
    count = controls.answers_level(cache.model_layers(name) * cache.head_count(name))
    curves = cache.accuracy(name, chosen, labelled, count, kind)
    figure_block(
        accuracy_figure(curves),
        f"accuracy {kind} {name}",
        curve_frame(curves),
        explanation=(texts.ACCURACY, texts.accuracy_code(name, chosen, labelled, count, kind)),
    )
    if all(each.order != "gradient" for each in curves):
        st.caption("The order by gradients is left out: its run needs more memory than is allowed.")
