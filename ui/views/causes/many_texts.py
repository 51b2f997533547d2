"""Mean and spread of each head's effect over a list of sentences, and the accuracy as heads are removed."""

from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st

from bertviz_core.errors import TextError
from bertviz_core.figures.interventions.effect_maps import KIND_WORDS
from bertviz_core.figures.interventions.effect_spread import accuracy_figure, effect_spread_figure
from bertviz_core.interventions.results import EffectSpread
from bertviz_core.predictions.probing.results import LabelledTexts
from bertviz_core.questions.interventions.many_texts import (
    TEXTS_DRAWN,
    accuracy_curves,
    effect_spread,
    listed_examples,
    listed_texts,
)
from bertviz_core.questions.interventions.single_text import COUNT, IN_PLACE, REMOVED_FOR
from bertviz_core.questions.interventions.targets import MEASURE, TARGET, layers_and_heads
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.question import Answer
from bertviz_core.questions.report.library_lines import library_lines
from bertviz_core.text import counted, decimals, escape_markdown
from ui.cache.shared_model import SharedModel
from ui.views.causes import controls, texts
from ui.views.causes.joint_ablation import curve_frame
from ui.widgets.figure_block import chart, figure_block
from ui.widgets.heading import unshown
from ui.widgets.lists.progress import answer
from ui.widgets.target_controls.opened import ChosenTarget, list_classes, shared_model_of, target_options
from ui.widgets.target_controls.row import TargetRow, target_row

HEIGHT = 300
"""Pixels of the table of heads."""


def many_view(name: str, row: TargetRow) -> None:
    """Maps of mean and standard deviation, a table of heads, and the accuracy curve."""
    chosen = target_row(name, row, alone=True, of_list=True)
    with row.folded:
        in_place = controls.in_place()
    kind = IN_PLACE[in_place]
    row.say(chosen, controls.IN_PLACE_WORDS[kind])
    with row.row:
        count = controls.list_choice(listed_examples(shared_model_of(name), target_options(chosen)))
    typed = None if count else controls.typed_sentences()
    if not count and typed is None:
        st.info(texts.WRITE, icon=":material/info:")
        return
    values = {REMOVED_FOR.key: in_place, **({TEXTS_DRAWN.key: count} if count else {})}
    options = replace(target_options(chosen, values), texts=() if typed is None else (typed,))
    opened = shared_model_of(name)
    listed = _listed(opened, options)
    for notice in unshown(listed.notices):
        st.caption(escape_markdown(notice))
    spread = answer(effect_spread, opened, options, _so_far).result
    words = figure_block(
        effect_spread_figure(spread),
        f"spread {kind} {name}",
        spread_frame(spread),
        numbers="open",
        height=HEIGHT,
        explanation=(texts.SPREAD, library_lines(effect_spread, opened, options)),
    )
    with words:
        st.markdown(_spread_words(spread))
        of = f"drawn from the example set *{listed.name}* with seed 0" if count is not None else "of your own list"
        st.caption(f"{counted(spread.texts, 'sentence')} {of}, each in the place of the text in the sidebar.")
    _right_answers(opened, chosen, listed, options)


def _listed(opened: SharedModel, options: Options) -> LabelledTexts:
    """The sentences, each with its label or "".

    Raises:
        TextError: there are too few or too many.
    """
    listed = listed_texts(opened, options)
    if options.texts and len(listed.texts) > controls.MOST_TYPED:
        most = f"at most {controls.MOST_TYPED} are run. Give some of it."
        raise TextError(f"The list has {len(listed.texts):,} sentences; {most}")
    return listed


def _so_far(known: Answer[EffectSpread]) -> None:
    """The maps of the sentences that are done."""
    chart(effect_spread_figure(known.result), "causes_spread_so_far")
    st.caption("Mean over the sentences that are done.")


def spread_frame(spread: EffectSpread) -> pd.DataFrame:
    """Mean and standard deviation of every head's effect, the largest mean first."""
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
    """The clean target, the head with the largest mean, and the number of heads whose mean exceeds its spread."""
    layer, head = (int(each) for each in np.unravel_index(np.nanargmax(np.abs(spread.mean)), spread.mean.shape))
    beyond, heads = int((np.abs(spread.mean) > spread.spread).sum()), int((~np.isnan(spread.mean)).sum())
    mean, deviation = float(spread.mean[layer, head]), float(spread.spread[layer, head])
    return (
        f"With all heads the {escape_markdown(spread.title)} is **{decimals(float(spread.clean.mean()))}** on average, "
        f"from {decimals(float(spread.clean.min()))} to {decimals(float(spread.clean.max()))}. Of all heads "
        f"{controls.head_name((layer, head))} {KIND_WORDS[spread.kind]} has the largest mean effect, whatever its "
        f"sign: **{decimals(mean)}** with a standard deviation of **{decimals(deviation)}**. For **{beyond}** "
        f"of {heads} heads the mean effect is larger than its standard deviation; for the others, sentences "
        "differ by more. Above 0, the number is larger without the head; below 0, smaller. On one text, such as that "
        "of the sidebar, the sign may be another."
    )


def _right_answers(opened: SharedModel, chosen: ChosenTarget, listed: LabelledTexts, options: Options) -> None:
    """The accuracy curve, where the labels of the list are classes of the target."""
    name, kind = opened.name, IN_PLACE[options.choice(REMOVED_FOR)]
    rows_with_label = [place for place, label in enumerate(listed.labels) if label]
    labels = tuple(listed.labels[place] for place in rows_with_label)
    classes = list_classes(name, chosen)
    if not rows_with_label or len(classes) < 2 or not set(labels) <= set(classes):
        st.caption(texts.NO_ACCURACY)
        return
    layers, heads = layers_and_heads(opened)
    count = controls.answers_level(layers * heads)
    whose = f"probe:{chosen.probe}" if chosen.kind == "probe" else ""  # all of its classes
    values = {**options.values, TARGET.key: whose, MEASURE.key: "margin", COUNT.key: str(count)}
    labelled = replace(options, values=values)
    right = answer(accuracy_curves, opened, labelled)
    curves = right.result
    figure_block(
        accuracy_figure(curves),
        f"accuracy {kind} {name}",
        curve_frame(curves),
        explanation=(texts.ACCURACY, library_lines(accuracy_curves, opened, labelled)),
    )
    for notice in unshown(right.notices):
        st.caption(escape_markdown(notice))
