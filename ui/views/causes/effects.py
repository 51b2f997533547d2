"""Effects of ablating every head, feed-forward block and layer, by three kinds of ablation."""

from urllib.parse import urlencode

import pandas as pd
import streamlit as st

from bertviz_core.figures.interventions.effect_maps import KIND_WORDS, effect_columns, effects_figure
from bertviz_core.interventions.results import AblationEffects, EffectComparison
from bertviz_core.predictions.results import ClassPrediction
from bertviz_core.questions.interventions.single_text import (
    REMOVED,
    Place,
    classes_without,
    effects,
    gradient_need,
    named_places,
)
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.question import Answer
from bertviz_core.questions.report.library_lines import library_lines
from bertviz_core.text import bytes_text, counted, decimals, escape_markdown
from ui.cache.shared_model import SharedModel
from ui.components.cell_click import cell_click
from ui.components.navigation import PageLink, page_links
from ui.session import store, stored
from ui.views.causes import controls, texts
from ui.views.causes.compared import compared_block
from ui.widgets.figure_block import chart, figure_block, numbers_table
from ui.widgets.heading import unshown
from ui.widgets.lists.progress import answer
from ui.widgets.target_controls.opened import shared_model_of, target_options
from ui.widgets.target_controls.row import TargetRow, target_row

KEY = "causes_effects"
OF_CLASSES = ("class", "tag", "probe")
"""Kinds of targets that are one of several classes."""
STATED_FROM = 50 * 2**20
"""Bytes of the run with gradients above which the page shows them."""
HEIGHT = 300
"""Pixels of the table."""
LAST_CELL = "causes_last_cell"
"""Key of the session: the cell clicked last."""


def effects_view(name: str, row: TargetRow) -> None:
    """Maps of all three kinds, the table, their agreement, and one head."""
    chosen = target_row(name, row)
    opened, options = shared_model_of(name), target_options(chosen)
    _tell_memory(opened, options)
    comparison = answer(effects, opened, options, _so_far).result
    first = comparison.effects[0]
    _take_cell(cell_click(KEY), first)
    with row.row:
        place = controls.head_select(first)
    words = figure_block(
        effects_figure(comparison, place),
        f"effects {name}",
        effect_frame(comparison),
        numbers="open",
        height=HEIGHT,
        texts=(chosen.text, chosen.pair),
        explanation=(texts.EFFECTS, library_lines(effects, opened, options)),
    )
    with words:
        st.markdown(_head_words(comparison, place))
        link = PageLink(
            f"See its attention: {controls.head_name(place)}",
            f"attention?{urlencode({'layer': place[0], 'head': place[1]})}",
            "hub",
        )
        page_links([("", [link])], "causes_attention", label="The attention of this head", width="content")
        if chosen.kind in OF_CLASSES:
            without = target_options(chosen, {REMOVED.key: named_places([place])})
            _classes(answer(classes_without, opened, without).result)
        st.markdown(_agreement(comparison))
        reference = next((each.reference for each in comparison.effects if each.reference), "")
        st.caption(
            f"{texts.KINDS} Mean: over {escape_markdown(reference)}. Colours end at the largest effect of a head; "
            "blocks and layers with larger effects have the last colour, and their numbers are below."
        )
        for notice in unshown(first.notices):
            st.caption(escape_markdown(notice))
    compared_block(opened, options, first.notices)


def _so_far(known: Answer[EffectComparison]) -> None:
    """The maps with the rows that are done."""
    chart(effects_figure(known.result), f"{KEY}_so_far")
    st.caption("Rows that are not done yet are empty.")


def _tell_memory(opened: SharedModel, options: Options) -> None:
    """State the memory of the run with gradients where it is large, or that the run is left out."""
    need, allowed = gradient_need(opened, options)
    memory = f"The gradient estimate keeps every layer of one run: about {bytes_text(need)}, of {bytes_text(allowed)}"
    if need > allowed:
        st.warning(f"{memory} allowed, so it is left out; try a shorter text.", icon=":material/memory:")
    elif need > STATED_FROM:
        st.caption(f"{memory} allowed.")


def _take_cell(cell: tuple[int, int] | None, effects: AblationEffects) -> None:
    """Select a newly clicked head; the maps are side by side or below each other."""
    if cell == stored(LAST_CELL):
        return
    store(LAST_CELL, cell)
    values, _ = effect_columns(effects)
    if cell is None:
        return
    layer, head = cell[0] % (len(values) + 2), cell[1] % (values.shape[1] + 1)
    if layer < effects.heads.shape[0] and head < effects.heads.shape[1]:
        controls.take_head((layer, head))


def effect_frame(comparison: EffectComparison) -> pd.DataFrame:
    """Every part with its effects, the largest first."""
    columns = [effect_columns(each)[0] for each in comparison.effects]
    names = effect_columns(comparison.effects[0])[1]
    part_names = {"FF": "feed-forward block", "all": "whole layer"}
    rows = [
        (layer, part_names.get(part, f"head {part}"), *(float(each[layer, place]) for each in columns))
        for layer in range(len(columns[0]))
        for place, part in enumerate(names)
    ]
    frame = pd.DataFrame(rows, columns=["layer", "part", *(KIND_WORDS[each.kind] for each in comparison.effects)])
    frame = frame.dropna().reset_index(drop=True)
    return frame.loc[frame.iloc[:, 2].abs().sort_values(ascending=False, kind="stable").index]


def _head_words(comparison: EffectComparison, place: Place) -> str:
    """The target with and without a head."""
    first = comparison.effects[0]
    effects_text = "; ".join(
        f"{KIND_WORDS[each.kind]} **{decimals(first.clean + float(each.heads[place]))}** "
        f"({decimals(float(each.heads[place])) if each.heads[place] < 0 else '+' + decimals(float(each.heads[place]))})"
        for each in comparison.effects
    )
    title = escape_markdown(first.title)
    return (
        f"**{controls.head_name(place).capitalize()}:** the {title} is **{decimals(first.clean)}** with all heads; "
        f"with this one {effects_text}."
    )


def _classes(predictions: tuple[ClassPrediction, ClassPrediction]) -> None:
    """Every class with and without the head."""
    clean, without = predictions
    columns: dict[str, object] = {"class": list(clean.labels)}
    for word, each in (("with all heads", clean), ("without this head", without)):
        if each.probabilities is not None:
            columns[f"probability {word}"] = each.probabilities.astype(float)
        columns[f"logit {word}"] = each.logits.astype(float)
    numbers_table(pd.DataFrame(columns), "Every class with all heads and without this one")


def _agreement(comparison: EffectComparison) -> str:
    """Agreement of the kinds of ablation, as text."""
    kinds = [each.kind for each in comparison.effects]
    count = int(comparison.effects[0].heads.size)
    pairs = [
        f"{kinds[one]} and {kinds[other]} **{decimals(float(comparison.correlations[one, other]), 2)}**"
        for one in range(len(kinds))
        for other in range(one + 1, len(kinds))
    ]
    largest = [each.ranked()[0][:2] for each in comparison.effects]
    same = len(set(largest)) == 1
    agree = (
        "All agree on the head with the largest effect."
        if same
        else "They differ in the head with the largest effect: "
        + "; ".join(f"{controls.head_name(place)} by {kind}" for kind, place in zip(kinds, largest, strict=True))
        + "."
    )
    return f"Correlation over {counted(count, 'head')}: {', '.join(pairs)}. {agree}"
