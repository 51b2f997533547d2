"""Predictions: what does the model answer?"""

import streamlit as st

from bertviz_core.models.catalog.example_run import EXAMPLE_TASK
from bertviz_core.text import escape_markdown
from ui.lessons import tour
from ui.views.predictions.heads import no_head, stand_in, whole_heads
from ui.views.predictions.views import NO_HEAD, SEVERAL, VIEWS, offered
from ui.widgets.errors import shown_to_user
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
instead = stand_in(heads)
view = view_choice(offered(heads.tasks or (NO_HEAD, *([EXAMPLE_TASK] if instead else ()))))
with shown_to_user():
    if view == SEVERAL:
        tour.entry(tour.WRONG, "Guide")
    if NO_HEAD in VIEWS[view].tasks or not instead:  # a view of the model itself, or of its own head
        VIEWS[view].show(name)
    else:
        no_head(name, heads, instead)
        VIEWS[view].show(instead)
