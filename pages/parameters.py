"""Parameters: where are they, and how do they add up?"""

import streamlit as st

from figures.ledger_pictures import origin
from ui import cache, controls, ledger_views
from ui.errors import told
from ui.text import bytes_text, count, heading, short_count

name_model = heading("Parameters", "Where are the parameters?")
views = {
    "Tree": ledger_views.tree_view,
    "Layers": ledger_views.layers_view,
    "Components": ledger_views.components_view,
    "Compare models": ledger_views.compare_view,
}
name, numbers = controls.model_name(), st.container()
with told():
    tasks = cache.tasks(name)
with st.container(horizontal=True, vertical_alignment="bottom"):
    chosen = controls.choice("View", list(views), "view")
    controls.task_select(tasks)
with told():
    task = controls.chosen_task(tasks)
    ledger = cache.ledger(name, task)
name_model(name, origin(ledger))

with numbers:
    with st.container(horizontal=True):
        st.metric("Total", count(ledger.total), help=f"{short_count(ledger.total)}; tied parameters counted once.")
        st.metric("Trainable", count(ledger.trainable), help="Parameters that training changes.")
        st.metric("Tensors", count(ledger.tensors), help="Named parameters, tied ones counted once.")
        stored = "In its format" if ledger.stored_nbytes is None else "As stored"
        st.metric(stored, bytes_text(ledger.nbytes), help=f"{ledger.nbytes:,} bytes.")
        for dtype, nbytes in (("float32", 4), ("float16", 2), ("int8", 1)):
            scales = {"float16": "; the same for bfloat16", "int8": ", without scales"}.get(dtype, "")
            size = ledger.total * nbytes
            st.metric(f"At {dtype}", bytes_text(size), help=f"{size:,} bytes{scales}.")
    ledger_views.balance(ledger)
with told():
    views[chosen](name, task)
