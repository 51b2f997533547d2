"""Overview: what this model is, at a glance."""

import pandas as pd
import streamlit as st

from bertviz_core.figures.architecture.model_stack import stack_figure
from ui.cache import ledgers
from ui.components.navigation import PageLink, page_links
from ui.lessons import tour
from ui.views.architecture import reproduction, texts
from ui.widgets import controls
from ui.widgets.errors import shown_to_user
from ui.widgets.figure_block import chart, download_row, explained
from ui.widgets.formatting import BERT_IN_FIVE, bytes_text, count, escape_markdown, heading

HALF = 0.55
"""Share of the page's width that the picture takes."""

name_model = heading("Overview", "What is this model, at a glance?")
with shown_to_user():
    name = controls.model_name()
    model = ledgers.architecture(name)
    ledger = ledgers.ledger(name)

named = f", class {model.architecture}"
if model.config_class not in ("", model.architecture):
    named += f", named {model.config_class} by its config"
name_model(name, f"{model.title}{named}")
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
    chart(picture, "overview_stack", share=HALF)
with card:
    has, bert = st.tabs(["What this model has", "What BERT is"])
with bert:
    for line in BERT_IN_FIVE:
        st.markdown(f"- {line}")
with has:
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
explained("overview_stack", texts.STACK, reproduction.stack_code(name, ledger))

st.header("Where to look next", anchor=False)
WAYS = (
    ("parameters", "Parameters: how many, and where?", "donut_large"),
    ("architecture", "Architecture: how is it put together?", "account_tree"),
    ("checkpoint", "Checkpoint: what does the file hold?", "fact_check"),
    ("tokens", "Tokens: what does the model read?", "text_fields"),
    ("representations", "Representations: what do layers change?", "grid_on"),
    ("heads", "Heads: what does one head compute?", "view_week"),
    ("attention", "Attention: which token looks at which?", "hub"),
    ("sentences", "Sentences: which are alike?", "notes"),
    ("predictions", "Predictions: what does it answer?", "psychology"),
    ("causes", "Heads that matter: what changes without one?", "content_cut"),
    ("words", "Words that matter: which does a number depend on?", "ink_highlighter"),
    ("corpus", "Corpus: what is in many texts?", "database"),
)
links = [PageLink(label, file, icon) for file, label, icon in WAYS]
page_links([("", links)], "overview_ways", label="Where to look next")
