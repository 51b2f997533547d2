"""Overview: what this model is, at a glance."""

import pandas as pd
import streamlit as st

from bertviz_core.figures.architecture.layers import stack_figure
from bertviz_core.figures.pages import PAGES
from bertviz_core.questions.views.architecture import STACK_MADE, stack_lines
from bertviz_core.text import bytes_text, count, escape_markdown
from ui.cache import ledgers
from ui.cache.shared_model import SharedModel
from ui.components.frame import PageLink, page_links
from ui.lessons import tour
from ui.widgets import models
from ui.widgets.figure_block import chart, download_row, explained, folded
from ui.widgets.heading import BERT_IN_FIVE, BERT_IS_FOR, heading, place_for_text
from ui.widgets.run_model import shown_to_user

HALF = 0.55
"""Share of the page's width taken by the figure."""


def links(*names: str) -> list[PageLink]:
    """Links to pages, labelled with their questions."""
    return [PageLink(PAGES[name].label, name, PAGES[name].icon) for name in names]


name_model = heading("overview")
with shown_to_user():
    name = models.model_name()
    model = ledgers.architecture(name)
    ledger = ledgers.ledger(name)

named = f", class {model.architecture}"
if model.config_class not in ("", model.architecture):
    named += f", named {model.config_class} by its config"
name_model(name, f"{model.title}{named}", ledger.notices)
tour.entry()

if not tour.is_open():  # a step has its own text, and its figure must be visible
    with st.container(key="halves_text"):
        field, ways = st.columns([11, 9], gap="medium")
    with field:
        place_for_text()
    with ways:
        page_links(
            [("", links("journey", "tokens", "attention", "predictions", "words"))],
            "overview_ways",
            label="What the model does with the text",
        )

with st.container(key="halves_overview"):
    drawing, card = st.columns([11, 9], gap="medium")
with drawing:
    picture = stack_figure(model, ledger)
    chart(picture, "overview_stack", share=HALF)
with card:
    st.markdown(BERT_IS_FOR)
    with st.container(horizontal=True):
        st.metric("Parameters", count(ledger.total), help="Trainable numbers; tied ones are counted once.")
        st.metric("Layers", count(model.num_hidden_layers))
        st.metric("Heads", count(model.num_attention_heads), help="Attention heads in each layer.")
        st.metric("Hidden size", count(model.hidden_size), help="Numbers in a token's vector between layers.")
        st.metric("Vocabulary", count(model.vocab_size))
        st.metric(
            "Size", bytes_text(ledger.nbytes), help=f"{ledger.nbytes:,} bytes of parameters in their own formats."
        )
    page_links([("", links("parameters", "architecture"))], "overview_deeper", label="More of this model")
    st.markdown("**What BERT is**")
    st.markdown("\n".join(f"- {line}" for line in BERT_IN_FIVE))
    with folded("What this model has", "overview_has"):
        for each in model.capabilities:
            st.markdown(
                f"**{escape_markdown(each.name)}:** {escape_markdown(each.answer)}  "
                f"\n:small[:gray[{escape_markdown(each.note)}]]"
            )

rows = pd.DataFrame(
    [(part.name, part.total, part.arithmetic) for part in ledger.components],
    columns=["component", "parameters", "arithmetic"],
)
download_row(picture, "overview_stack", f"stack {name}", picture.caption, rows)
explained("overview_stack", STACK_MADE, stack_lines(SharedModel(name), ledger))
