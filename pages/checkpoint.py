"""Checkpoint: did it really load, for which task, is it healthy, and what changed?"""

import streamlit as st

from ui.views.checkpoint import comparison, load_report, number_formats, training, weights
from ui.widgets.errors import shown_to_user
from ui.widgets.formatting import heading
from ui.widgets.models import fields
from ui.widgets.view_and_layer import view_choice

name_model = heading("checkpoint")
with shown_to_user():
    name = fields.model_name()
    name_model(name, load_report.origin(name))

views = {
    "Load report": load_report,
    "Weights": weights,
    "Fewer bits": number_formats,
    "Two checkpoints": comparison,
    "Training run": training,
}
with st.container(horizontal=True, vertical_alignment="bottom"):
    chosen = view_choice(list(views))
    with shown_to_user():
        settings = views[chosen].settings(name)
with shown_to_user():
    views[chosen].view(name, *settings)
