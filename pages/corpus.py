"""Corpus: what is in many texts, as a model sees them?"""

import streamlit as st

from ui.views.corpus.controls import RUN_ANEW, chosen_corpus
from ui.views.corpus.views import VIEWS
from ui.widgets import models
from ui.widgets.heading import heading
from ui.widgets.models import view_choice
from ui.widgets.run_model import shown_to_user

name_model = heading("corpus")
view = view_choice(list(VIEWS))
with shown_to_user():
    row = st.container(horizontal=True, vertical_alignment="bottom")
    named = chosen_corpus(row)
    manifest = named.corpus.manifest
    note = f"{manifest.rows:,} rows, whose vectors this model made."
    if view in RUN_ANEW and models.model_name() != manifest.model:
        note += f" {view}: {models.model_name()}, which reads their texts anew."
    name_model(manifest.model, note)
    VIEWS[view](named, row)
