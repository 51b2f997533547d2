"""Representations: how does a token change on its way up?"""

import streamlit as st

from bertviz_core.text import escape_markdown
from ui.views.representations import controls as representations_controls
from ui.views.representations.views import VIEWS, pooler_view
from ui.widgets import models, run_model, text_fields
from ui.widgets.errors import shown_to_user
from ui.widgets.heading import heading, run_words, unshown
from ui.widgets.view_and_layer import view_choice

name_model = heading("representations")
with shown_to_user(), st.spinner("Running the model"):
    name = models.model_name()
    trace = run_model.traced(name, text_fields.text(), text_fields.pair())
states, seq, hidden = trace.hidden_states.shape
ran = run_words(trace.device, trace.dtype)
name_model(name, f"{states} hidden states of {seq} tokens and {hidden} dimensions, {ran}")
for notice in unshown((*trace.tokens.notices, *trace.notices)):
    st.warning(escape_markdown(notice))

with st.container(horizontal=True, vertical_alignment="bottom"):
    chosen = view_choice(list(VIEWS))
    of_pooler = chosen == "Values" and representations_controls.pooler_chosen(trace)
with shown_to_user():
    (pooler_view if of_pooler else VIEWS[chosen])(trace)
