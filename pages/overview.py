"""Overview: what this model is, at a glance."""

import pandas as pd
import streamlit as st

from bertviz_core.figures.architecture.model_stack import stack_figure
from ui.cache import ledgers
from ui.lessons import tour
from ui.views.parameters import texts
from ui.widgets import controls
from ui.widgets.errors import shown_to_user
from ui.widgets.figure_block import chart, download_row, explained, folded
from ui.widgets.formatting import BERT_IN_FIVE, bytes_text, count, escape_markdown, glossary, heading

name_model = heading("Overview", "What is this model, at a glance?")
with shown_to_user():
    name = controls.model_name()
    model = ledgers.architecture(name)
    ledger = ledgers.ledger(name)

name_model(name, f"{model.title}, class {model.architecture}")
tour.entry()

with st.container(horizontal=True):
    st.metric("Parameters", count(ledger.total), help="Numbers that training sets; tied ones counted once.")
    st.metric("Layers", count(model.num_hidden_layers), help="Blocks that a text passes, one after the other.")
    st.metric("Heads", count(model.num_attention_heads), help="Attention heads in each layer.")
    st.metric("Head size", count(model.head_dim), help="Numbers in a query, key or value vector of one head.")
    st.metric("Hidden size", count(model.hidden_size), help="Numbers in a token's vector between layers.")
    st.metric("Feed-forward", count(model.intermediate_size), help="Numbers in the middle of the feed-forward block.")
    st.metric("Vocabulary", count(model.vocab_size), help="Word pieces that the model knows.")
    st.metric("Positions", count(model.max_position_embeddings), help="Positions that the config states.")
    st.metric("Size", bytes_text(ledger.nbytes), help=f"{ledger.nbytes:,} bytes of parameters in their own formats.")

with st.container(key="halves_overview"):
    drawing, card = st.columns([11, 9], gap="medium")
with drawing:
    picture = stack_figure(model, ledger)
    chart(picture, "overview_stack")
with card:
    st.header("What the family has and lacks", anchor=False)
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
explained("overview_stack", *texts.STACK)

st.header("What BERT is", anchor=False)
for line in BERT_IN_FIVE:
    st.markdown(f"- {line}")

st.header("Where to look next", anchor=False)
for file, label, icon in (
    ("parameters", "Parameters: where are they, and how do they add up?", "donut_large"),
    ("tokens", "Tokens: what does the model read of your text?", "text_fields"),
    ("representations", "Representations: how does a token change on its way up?", "grid_on"),
    ("heads", "Heads: one matrix, many heads: where are they?", "view_week"),
    ("sentences", "Sentences: how does the model compare sentences?", "notes"),
):
    st.page_link(f"../pages/{file}.py", label=label, icon=f":material/{icon}:")

with folded("Glossary", "glossary"):
    st.markdown(glossary())
