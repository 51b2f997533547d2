"""Predictions: what does the model answer?"""

import streamlit as st

from ui.lessons import tour
from ui.views.predictions.heads import no_head, whole_heads
from ui.views.predictions.views import NO_HEAD, SEVERAL, VIEWS, offered
from ui.widgets.errors import shown_to_user
from ui.widgets.formatting import escape_markdown
from ui.widgets.heading import heading, unshown
from ui.widgets.models import fields
from ui.widgets.view_and_layer import view_choice

name_model = heading("predictions")
with shown_to_user():
    name = fields.model_name()
    heads = whole_heads(name)
name_model(name, heads.words)
for notice in unshown(heads.notices):
    st.caption(escape_markdown(notice))
views = offered(heads.tasks or (NO_HEAD,))
if heads.refusal:
    no_head(name, heads)
if views:
    view = view_choice(views)
    with shown_to_user():
        if view == SEVERAL:
            tour.entry(tour.WRONG, "Guide")
        VIEWS[view].show()
