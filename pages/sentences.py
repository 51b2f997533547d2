"""Sentences: how does the model compare sentences?"""

import streamlit as st

from bertviz_core.text import counted, escape_markdown
from ui.views.sentences.input import note_chosen_vectors, sentence_input, vector_options
from ui.views.sentences.similarity import SentenceInputs
from ui.views.sentences.views import VIEWS
from ui.widgets.errors import shown_to_user
from ui.widgets.formatting import run_words
from ui.widgets.heading import heading, unshown
from ui.widgets.models import fields
from ui.widgets.view_and_layer import view_choice

name_model = heading("sentences")
name = fields.model_name()
view = view_choice(list(VIEWS))
with st.container(horizontal=True, vertical_alignment="bottom"), shown_to_user():
    table = sentence_input()
    options = vector_options(view, name, len(table.sentences))
count, ran = counted(len(table.sentences), "sentence"), run_words(options.device, options.dtype)
name_model(name, f"{count} {ran}. {options.plan.reason}")
with shown_to_user():
    note_chosen_vectors(name, options.plan)
for notice in unshown(options.plan.notices):
    st.warning(escape_markdown(notice))
with shown_to_user():
    VIEWS[view](SentenceInputs(name, table, options))
