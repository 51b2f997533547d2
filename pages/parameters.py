"""Parameters: where are they, and how do they add up?"""

import streamlit as st

from bertviz_core.figures.parameters.tree import SOURCES
from ui.cache import ledgers, sources
from ui.views.parameters import views as parameters_views
from ui.widgets.errors import shown_to_user
from ui.widgets.formatting import class_words, escape_markdown
from ui.widgets.heading import heading
from ui.widgets.models import fields
from ui.widgets.view_and_layer import view_choice

name_model = heading("parameters")
name = fields.model_name()
with shown_to_user():
    tasks = sources.tasks(name)
    task = fields.chosen_task(tasks)
    ledger = ledgers.ledger(name, task)
classes = class_words("" if task else sources.saved_class(name), ledger.architecture)
counted = "" if classes != ledger.architecture else ", counted"
name_model(name, f"{classes}{counted} {SOURCES[ledger.source]}")
if ledger.note:
    notice = st.warning if sources.source(name).adapter is None else st.info
    notice(escape_markdown(ledger.note))

with st.container(horizontal=True, vertical_alignment="bottom"):
    chosen = view_choice(list(parameters_views.VIEWS))
    drawn = parameters_views.view_controls(chosen, name, task)
    with st.popover("Options"):
        fields.task_select(tasks)
with shown_to_user():
    parameters_views.VIEWS[chosen](name, task, *drawn)
