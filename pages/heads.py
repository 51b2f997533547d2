"""Heads: one matrix, and where the heads of a layer are in it."""

from ui import cache, controls, head_cell_view, head_views
from ui.errors import told
from ui.head_words import question
from ui.text import heading

name = controls.model_name()
name_model = heading("Heads", question(head_views.head_count(name)))
with told():
    model = cache.architecture(name)
    name_model(name, head_views.sizes(model))

views = {
    "One matrix": head_views.matrix_view,
    "Same numbers": head_views.products_view,
    "One cell": head_cell_view.cell_view,
    "All heads": head_views.norms_view,
}
chosen = controls.choice("View", list(views), "heads", label_visibility="collapsed")
with told():
    views[chosen](name)
