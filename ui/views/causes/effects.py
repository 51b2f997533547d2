"""Effects: the target's change with every head, block and layer changed, by three measures beside each other."""

from collections.abc import Sequence
from urllib.parse import urlencode

import pandas as pd
import streamlit as st

from bertviz_core.causes.results import EffectComparison, EffectKind, PartEffects
from bertviz_core.figures.predictions.causes.maps import KIND_WORDS, effect_columns, effects_figure
from bertviz_core.predictions.results import ClassPrediction
from bertviz_core.text import counted, decimals
from ui.components.cell_click import cell_click
from ui.components.navigation import PageLink, page_links
from ui.session import store, stored
from ui.views.causes import cache, controls, texts
from ui.widgets.figure_block import chart, figure_block, numbers_table
from ui.widgets.formatting import bytes_text, escape_markdown
from ui.widgets.target.opened import ChosenTarget
from ui.widgets.target.row import TargetRow

KEY = "causes_effects"
TOLD_FROM = 50 * 2**20
"""Bytes of the run with gradients from which the page says what it needs."""
HEIGHT = 300
"""Pixels of the list."""
SEEN = "causes_cell_seen"
"""Key of the session: the cell that was clicked last."""


def effects_view(name: str, chosen: ChosenTarget, row: TargetRow) -> None:
    """The map of all three, the list, how far they agree, and one head."""
    kinds = _kinds(name, chosen)
    comparison = cache.effects(name, chosen, kinds, _so_far)
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
        explanation=(texts.EFFECTS, texts.effects_code(name, chosen)),
    )
    with words:
        st.markdown(_head_words(comparison, place))
        link = PageLink(
            f"See its attention: {controls.head_name(place)}",
            f"attention?{urlencode({'layer': place[0], 'head': place[1]})}",
            "hub",
        )
        page_links([("", [link])], "causes_attention", label="The attention of this head", width="content")
        _classes(cache.classes_without(name, chosen, place))
        st.markdown(_agreement(comparison))
        reference = next((each.reference for each in comparison.effects if each.reference), "")
        st.caption(
            f"{texts.KINDS} Mean: over {escape_markdown(reference)}. Colours end at the largest effect of a head; a "
            "block or layer beyond it has the last colour, and its number below."
        )
        for notice in first.notices:
            st.caption(escape_markdown(notice))


def _so_far(comparison: EffectComparison) -> None:
    """The map with the rows that are done, the others empty."""
    chart(effects_figure(comparison), f"{KEY}_so_far")
    st.caption("Rows that are not done yet are empty.")


def _kinds(name: str, chosen: ChosenTarget) -> tuple[EffectKind, ...]:
    """The measures, without the gradient's where its memory is refused; what it needs is told before it runs."""
    need, allowed = cache.gradient_need(name, chosen)
    told = f"The gradient estimate keeps every layer of one run: about {bytes_text(need)}, {bytes_text(allowed)} are"
    if need > allowed:
        st.warning(f"{told} allowed, so it is left out; a shorter text has it.", icon=":material/memory:")
        return "zero", "mean"
    if need > TOLD_FROM:
        st.caption(f"{told} allowed.")
    return "zero", "mean", "gradient"


def _take_cell(cell: tuple[int, int] | None, effects: PartEffects) -> None:
    """Make a newly clicked head the chosen one; the maps stand side by side or below each other."""
    if cell == stored(SEEN):
        return
    store(SEEN, cell)
    values, _ = effect_columns(effects)
    if cell is None:
        return
    layer, head = cell[0] % (len(values) + 2), cell[1] % (values.shape[1] + 1)
    if layer < effects.heads.shape[0] and head < effects.heads.shape[1]:
        controls.take_head((layer, head))


def effect_frame(comparison: EffectComparison) -> pd.DataFrame:
    """Every part with its effects, the largest change first."""
    columns = [effect_columns(each)[0] for each in comparison.effects]
    names = effect_columns(comparison.effects[0])[1]
    said = {"FF": "feed-forward block", "all": "whole layer"}
    rows = [
        (layer, said.get(part, f"head {part}"), *(float(each[layer, place]) for each in columns))
        for layer in range(len(columns[0]))
        for place, part in enumerate(names)
    ]
    frame = pd.DataFrame(rows, columns=["layer", "part", *(KIND_WORDS[each.kind] for each in comparison.effects)])
    frame = frame.dropna().reset_index(drop=True)
    return frame.loc[frame.iloc[:, 2].abs().sort_values(ascending=False, kind="stable").index]


def _head_words(comparison: EffectComparison, place: controls.Place) -> str:
    """The target with and without a head."""
    first = comparison.effects[0]
    said = "; ".join(
        f"{KIND_WORDS[each.kind]} **{decimals(first.clean + float(each.heads[place]))}** "
        f"({decimals(float(each.heads[place])) if each.heads[place] < 0 else '+' + decimals(float(each.heads[place]))})"
        for each in comparison.effects
    )
    title = escape_markdown(first.title)
    return (
        f"**{controls.head_name(place).capitalize()}:** the {title} is **{decimals(first.clean)}** with all heads; "
        f"with this one {said}."
    )


def _classes(predictions: Sequence[ClassPrediction]) -> None:
    """Every class with and without the head."""
    if not predictions:
        return
    clean, without = predictions
    columns: dict[str, object] = {"class": list(clean.labels)}
    for word, each in (("with all heads", clean), ("without this head", without)):
        if each.probabilities is not None:
            columns[f"probability {word}"] = each.probabilities.astype(float)
        columns[f"logit {word}"] = each.logits.astype(float)
    numbers_table(pd.DataFrame(columns), "Every class with all heads and without this one")


def _agreement(comparison: EffectComparison) -> str:
    """How far the measures agree, in words."""
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
        "All name the same head as the largest."
        if same
        else "They differ in which head is the largest: "
        + "; ".join(f"{controls.head_name(place)} by {kind}" for kind, place in zip(kinds, largest, strict=True))
        + "."
    )
    return f"Correlation over {counted(count, 'head')}: {', '.join(pairs)}. {agree}"
