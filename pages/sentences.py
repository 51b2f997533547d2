"""Sentences: how does the model compare sentences?"""

import streamlit as st

from ui import controls, sentence_controls, sentence_plan
from ui.errors import plain, told
from ui.sentence_input import sentence_input, told_about
from ui.sentence_map_view import map_view
from ui.sentence_pair_view import pair_view
from ui.sentence_pooling_view import pooling_view
from ui.sentence_vector_view import vectors_view
from ui.sentence_views import Asked, query_view, similarity_view
from ui.text import heading

name_model = heading("Sentences", "How does the model compare sentences?")
name = controls.model_name()
with st.container(key="halves_sentences"):
    words, ways = st.columns([41, 59], gap="medium")
with words, told():
    table = sentence_input()
with ways, told():
    plan, measure, clustered, dtype = sentence_plan.asked_for(name, len(table.sentences))
    told_about(table)
name_model(name, plan.reason)
for notice in plan.notices:
    st.warning(plain(notice))

views = {
    "Similarity": similarity_view,
    "Poolings": pooling_view,
    "Why alike?": pair_view,
    "Query": query_view,
    "Map": map_view,
    "Vectors": vectors_view,
}
with told():
    views[sentence_controls.view_choice()](Asked(name, table, plan, measure, clustered, dtype))
