"""Checkpoint: did it really load, for which task, is it healthy, and what changed?"""

from ui.views.checkpoint import comparison, load_report, weights
from ui.widgets import controls
from ui.widgets.errors import shown_to_user
from ui.widgets.formatting import heading

name_model = heading("Checkpoint", "Did it really load, and for which task?")
with shown_to_user():
    name = controls.model_name()
    name_model(name, load_report.origin(name))

views = {
    "Load report": load_report.report_view,
    "Weights": weights.weights_view,
    "Two checkpoints": comparison.compare_view,
}
chosen = controls.choice("View", list(views), "checkpoint", label_visibility="collapsed")
with shown_to_user():
    views[chosen](name)
