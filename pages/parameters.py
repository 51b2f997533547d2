"""Parameters: where are they, and how do they add up?"""

import streamlit as st

from bertviz_core.figures.parameters import ledger_source
from ui.cache import ledgers
from ui.views.parameters import views as parameters_views
from ui.widgets import controls
from ui.widgets.errors import shown_to_user
from ui.widgets.formatting import bytes_text, count, heading, short_count

name_model = heading("Parameters", "Where are the parameters?")
views = {
    "Tree": parameters_views.tree_view,
    "Layers": parameters_views.layers_view,
    "Components": parameters_views.components_view,
    "Compare models": parameters_views.compare_view,
}
name, numbers = controls.model_name(), st.container()
with shown_to_user():
    tasks = ledgers.tasks(name)
with st.container(horizontal=True, vertical_alignment="bottom"):
    chosen = controls.choice("View", list(views), "view")
    controls.task_select(tasks)
with shown_to_user():
    task = controls.chosen_task(tasks)
    ledger = ledgers.ledger(name, task)
name_model(name, ledger_source(ledger))

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
    parameters_views.balance(ledger)
with shown_to_user():
    views[chosen](name, task)
