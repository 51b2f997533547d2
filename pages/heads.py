"""Heads: one matrix, and where the heads of a layer are in it."""

import streamlit as st

from ui.cache import ledgers
from ui.views.heads import views as heads_views
from ui.views.heads.texts import question
from ui.widgets.errors import shown_to_user
from ui.widgets.heading import heading
from ui.widgets.models import fields
from ui.widgets.view_and_layer import view_choice

name = fields.model_name()
name_model = heading("heads", question(heads_views.head_count(name)))
with shown_to_user():
    model = ledgers.architecture(name)
    name_model(name, heads_views.sizes(model))

with st.container(horizontal=True, vertical_alignment="bottom"):
    chosen = view_choice(list(heads_views.VIEWS))
    of_all_layers = chosen == "Matrices" and heads_views.all_layers_chosen()
with shown_to_user():
    (heads_views.norms_view if of_all_layers else heads_views.VIEWS[chosen])(name)
