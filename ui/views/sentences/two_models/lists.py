"""A list of sentences in two models: cosines side by side, where they lie, and which neighbours agree."""

import streamlit as st

from bertviz_core.figures.sentences.two_models import pair_cosines_figure, sentences_compared_figure
from bertviz_core.questions.models.checkpoints import OTHER
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.report.library_lines import library_lines
from bertviz_core.questions.tables.two_models.sentences import (
    neighbour_frame,
    pair_frame,
    range_frame,
    what_changed,
    where_pairs_lie,
)
from bertviz_core.questions.texts.sentences import POOLING, PROMPT, STATE, own_plan
from bertviz_core.questions.texts.two_models import two_models
from bertviz_core.sentences.two_models.comparison import LEAST_SENTENCES
from bertviz_core.sentences.two_models.results import SentenceComparison
from bertviz_core.text import counted, decimals, escape_markdown
from ui.address.registry import param
from ui.address.widgets import select
from ui.cache.shared_model import SharedModel
from ui.components.cell_click import cell_click
from ui.components.step_links import LONGEST_LINKED, Link, address, step_links
from ui.views.sentences import cache
from ui.views.sentences.similarity import SentenceInputs
from ui.views.sentences.texts import prompt_name
from ui.views.sentences.two_models.gold import gold_view, pairs_box
from ui.views.sentences.two_models.texts import COMPARED, MORE, SAME
from ui.widgets.figure_block import figure_block, numbers_table
from ui.widgets.heading import unshown
from ui.widgets.lists.progress import answer
from ui.widgets.models.second import needs_second, second_name

LEAST_FOR_LAYERS = 4
"""Number of texts over which layers are compared."""
HEIGHT, FEW, WHAT_WIDTH = 260, 6, 230
"""Pixels of the table of neighbours, which is scrolled; most rows without scrolling; pixels of the choice of view."""


def two_models_view(inputs: SentenceInputs) -> None:
    """Cosines of the sentences in two models and their difference, where all pairs lie, and the neighbours."""
    if needs_second("A comparison of models"):
        return
    other = second_name()
    with inputs.row:
        what = param("two_models_of")
        of_pairs = select(what, "What is compared", width=WHAT_WIDTH) == what.options[1]
        pairs = pairs_box({OTHER.key: other, **chosen_plan(inputs)}) if of_pairs else None
    if of_pairs:
        gold_view(inputs.model, pairs)
        return
    if len(inputs.table.sentences) < LEAST_SENTENCES:
        st.info(MORE, icon=":material/info:")
        return
    opened = cache.SentenceModel(inputs.model)
    options = Options(inputs.table.sentences, values={OTHER.key: other, **chosen_plan(inputs)})
    made = answer(two_models, opened, options)
    compared = made.result
    models = tuple(dict.fromkeys((compared.first, compared.second)))
    if len(models) == 1:
        st.info(SAME, icon=":material/info:")
    st.markdown(f"**{escape_markdown(what_changed(compared))}**")
    _maps(compared, models)
    for notice in unshown(made.notices):
        st.caption(escape_markdown(notice))
    figure_block(
        pair_cosines_figure(compared),
        f"cosines of pairs {compared.first} {compared.second}",
        range_frame(compared),
        texts=compared.sentences,
        models=models,
        explanation=(COMPARED, library_lines(two_models, opened, options)),
    )
    _neighbours(compared)
    _layers_link(inputs, compared, other)


def chosen_plan(inputs: SentenceInputs) -> dict[str, str]:
    """Pooling, layer and prompt that the reader has chosen; each model's own are left to it."""
    own, plan = own_plan(SharedModel(inputs.model)), inputs.plan
    chosen: dict[str, str] = {POOLING.key: plan.pooling} if plan.pooling != own.pooling else {}
    chosen |= {STATE.key: str(plan.layer)} if plan.layer is not None else {}
    return chosen | ({PROMPT.key: prompt_name(own, plan.prompt)} if plan.prompt != own.prompt else {})


def _maps(compared: SentenceComparison, models: tuple[str, ...]) -> None:
    spec = sentences_compared_figure(compared)
    filename = f"cosines of sentences {compared.first} {compared.second}"
    with figure_block(spec, filename, pair_frame(compared), texts=compared.sentences, models=models):
        st.markdown(escape_markdown(where_pairs_lie(compared)))
        cell = cell_click(spec.chart)
        if cell is None or max(cell) >= len(compared.sentences):
            st.caption("Click a cell for the exact cosines of its two sentences.")
            return
        first, second = compared.first_cosines[cell], compared.second_cosines[cell]
        sentences = [escape_markdown(compared.sentences[place][:200]) for place in cell]
        st.markdown(
            f"{cell[0] + 1} *{sentences[0]}* and {cell[1] + 1} *{sentences[1]}*: **{decimals(float(first), 7)}** in "
            f"the first model, **{decimals(float(second), 7)}** in the second, difference "
            f"**{decimals(float(compared.difference[cell]), 7)}**"
        )


def _neighbours(compared: SentenceComparison) -> None:
    count, share = compared.neighbours, float(compared.shared.mean())
    of = "nearest sentence" if count == 1 else f"{count} nearest sentences"
    keeps = "keeps" if compared.same_nearest == 1 else "keep"
    cka = "" if compared.cka is None else f" CKA of the vectors is **{decimals(compared.cka)}**."
    st.markdown(
        f"**Nearest sentences.** Of the {of} of each, **{share:.0%}** on average are the same in both models; "
        f"{compared.same_nearest} of {counted(len(compared.sentences), 'sentence')} {keeps} the nearest one.{cka}"
    )
    numbers_table(
        neighbour_frame(compared),
        "The nearest sentence of each in both models",
        "auto" if len(compared.sentences) <= FEW else HEIGHT,
        formats={"neighbours kept": "percent"},
    )


def _layers_link(inputs: SentenceInputs, compared: SentenceComparison, other: str) -> None:
    """A link to the same sentences in every layer of both models."""
    lines = "\n".join(compared.sentences)
    if len(compared.sentences) < LEAST_FOR_LAYERS or len(lines) > LONGEST_LINKED:
        return
    query = [("model", inputs.model), ("view", "Compare with base"), ("other", other)]
    query += [("compared", "layers over many texts"), ("compared_list", "my own list"), ("compared_texts", lines)]
    step_links([Link("From which layer on?", address("checkpoint", query))], "two_models_layers", "The layers of both")
