"""Parameters: where are they, and how do they add up?"""

import streamlit as st

from ui import cache, controls, ledger_views
from ui.errors import told
from ui.text import bytes_text, count, heading, short_count

name_model = heading("Parameters", "Where are the parameters?")
with told():
    name = controls.model_name()
    task = controls.chosen_task(cache.tasks(name))
    ledger = cache.ledger(name, task)

name_model(name, ledger_views.origin(ledger))

with st.container(horizontal=True):
    st.metric("Total", count(ledger.total), help=f"{short_count(ledger.total)}; tied parameters counted once.")
    st.metric("Trainable", count(ledger.trainable), help="Parameters that training changes.")
    st.metric("Tensors", count(ledger.tensors), help="Named parameters, tied ones counted once.")
    stored = ledger.stored_nbytes is not None
    st.metric("As stored" if stored else "In its format", bytes_text(ledger.nbytes), help=f"{ledger.nbytes:,} bytes.")
    st.metric("At float32", bytes_text(ledger.total * 4), help=f"{ledger.total * 4:,} bytes.")
    st.metric("At float16", bytes_text(ledger.total * 2), help=f"{ledger.total * 2:,} bytes; the same for bfloat16.")
    st.metric("At int8", bytes_text(ledger.total), help=f"{ledger.total:,} bytes, without scales.")
ledger_views.balance(ledger)

views = {
    "Tree": ledger_views.tree_view,
    "Layers": ledger_views.layers_view,
    "Components": ledger_views.components_view,
    "Compare models": ledger_views.compare_view,
}
with st.container(horizontal=True, vertical_alignment="bottom"):
    chosen = controls.choice("View", list(views), "view")
    controls.task_select(cache.tasks(name))
with told():
    views[chosen](name, task)
