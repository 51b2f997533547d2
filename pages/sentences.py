"""Sentences: how does the model compare sentences?"""

import streamlit as st

from bertviz_core.text import counted
from ui.views.sentences.controls import VIEWS
from ui.views.sentences.input import sentence_input, vector_options
from ui.views.sentences.map import map_view
from ui.views.sentences.poolings import pooling_view
from ui.views.sentences.queries.late_interaction import late_interaction_view
from ui.views.sentences.queries.rank import rank_view
from ui.views.sentences.similarity import SentenceInputs, query_view, similarity_view
from ui.views.sentences.token_pairs import pair_view
from ui.views.sentences.two_models.lists import two_models_view
from ui.views.sentences.vectors import vectors_part
from ui.widgets.errors import shown_to_user
from ui.widgets.formatting import escape_markdown, heading, run_words
from ui.widgets.models import fields
from ui.widgets.view_and_layer import view_choice

views = {
    "Similarity": lambda inputs: vectors_part(inputs, similarity_view(inputs)),
    "Two models": two_models_view,
    "Poolings": pooling_view,
    "Token contributions": pair_view,
    "Query": query_view,
    "Rank": rank_view,
    "Late interaction": late_interaction_view,
    "Map": map_view,
}
name_model = heading("sentences")
name = fields.model_name()
view = view_choice(VIEWS)
with st.container(horizontal=True, vertical_alignment="bottom"), shown_to_user():
    table = sentence_input()
    options = vector_options(view, name, len(table.sentences))
count, ran = counted(len(table.sentences), "sentence"), run_words(options.device, options.dtype)
name_model(name, f"{count} {ran}. {options.plan.reason}")
for notice in options.plan.notices:
    st.warning(escape_markdown(notice))
with shown_to_user():
    views[view](SentenceInputs(name, table, options))
