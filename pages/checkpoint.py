"""Checkpoint: did it really load, for which task, is it healthy, and what changed?"""

import streamlit as st

from ui.views.checkpoint.load_report import origin
from ui.views.checkpoint.views import VIEWS
from ui.widgets.errors import shown_to_user
from ui.widgets.heading import heading
from ui.widgets.models import fields
from ui.widgets.view_and_layer import view_choice

name_model = heading("checkpoint")
with shown_to_user():
    name = fields.model_name()
    name_model(name, origin(name))

with st.container(horizontal=True, vertical_alignment="bottom"):
    chosen = view_choice(list(VIEWS))
    with shown_to_user():
        settings = VIEWS[chosen].settings(name)
with shown_to_user():
    VIEWS[chosen].show(name, *settings)
