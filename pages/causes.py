"""Heads that matter: which parts of the model does a number depend on?"""

import streamlit as st

from ui.views.causes.views import MANY, VIEWS
from ui.widgets.errors import shown_to_user
from ui.widgets.heading import heading
from ui.widgets.models import fields
from ui.widgets.target_controls.row import folded_row
from ui.widgets.view_and_layer import view_choice

name_model = heading("causes")
with shown_to_user():
    name = fields.model_name()
    name_model(name, "every head is changed on purpose, and one number is measured")
    view = view_choice(tuple(VIEWS))
    VIEWS[view](name, folded_row())
if view != MANY:
    st.caption(
        "Effects belong to this text and this target: with another text or target other heads matter. **Many "
        "sentences** shows how far they differ."
    )
