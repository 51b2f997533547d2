"""Corpus: what is in many texts, as a model sees them?"""

import streamlit as st

from ui.views.corpus.choosing import chosen_corpus
from ui.views.corpus.clusters import clusters_view
from ui.views.corpus.duplicates import duplicates_view
from ui.views.corpus.manifest import about_view
from ui.views.corpus.map import map_view
from ui.views.corpus.probes import probes_view
from ui.views.corpus.profiles import profiles_view
from ui.views.corpus.search import search_view
from ui.views.corpus.texts import RUN_ANEW
from ui.widgets.errors import shown_to_user
from ui.widgets.formatting import heading
from ui.widgets.models import fields
from ui.widgets.view_and_layer import view_choice

views = {
    "Search": search_view,
    "Map": map_view,
    "Near duplicates": duplicates_view,
    "Clusters": clusters_view,
    "Heads": profiles_view,
    "Probes": probes_view,
    "About": about_view,
}
name_model = heading("corpus")
view = view_choice(list(views))
with shown_to_user():
    row = st.container(horizontal=True, vertical_alignment="bottom")
    named = chosen_corpus(row)
    manifest = named.corpus.manifest
    note = f"{manifest.rows:,} rows, whose vectors this model made."
    if view in RUN_ANEW and fields.model_name() != manifest.model:
        note += f" {view}: {fields.model_name()}, which reads their texts anew."
    name_model(manifest.model, note)
    views[view](named, row)
