"""Sentences: how does the model compare sentences?"""

import streamlit as st

from ui.views.sentences import controls as sentences_controls
from ui.views.sentences import input
from ui.views.sentences.input import sentence_input, table_summary
from ui.views.sentences.map import map_view
from ui.views.sentences.poolings import pooling_view
from ui.views.sentences.similarity import SentenceQuery, query_view, similarity_view
from ui.views.sentences.token_pairs import pair_view
from ui.views.sentences.vectors import vectors_view
from ui.widgets import controls
from ui.widgets.errors import shown_to_user
from ui.widgets.formatting import escape_markdown, heading

name_model = heading("Sentences", "How does the model compare sentences?")
name = controls.model_name()
with st.container(key="halves_sentences"):
    words, ways = st.columns([41, 59], gap="medium")
with words, shown_to_user():
    table = sentence_input()
with ways, shown_to_user():
    plan, measure, clustered, dtype = input.vector_options(name, len(table.sentences))
    table_summary(table)
name_model(name, plan.reason)
for notice in plan.notices:
    st.warning(escape_markdown(notice))

views = {
    "Similarity": similarity_view,
    "Poolings": pooling_view,
    "Token contributions": pair_view,
    "Query": query_view,
    "Map": map_view,
    "Vectors": vectors_view,
}
with shown_to_user():
    views[sentences_controls.view_choice()](SentenceQuery(name, table, plan, measure, clustered, dtype))
