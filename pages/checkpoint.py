"""Checkpoint: did it really load, for which task, is it healthy, and what changed?"""

from ui import checkpoint_compare_view, checkpoint_report_view, checkpoint_weights_view, controls
from ui.errors import told
from ui.text import heading

name_model = heading("Checkpoint", "Did it really load, and for which task?")
with told():
    name = controls.model_name()
    name_model(name, checkpoint_report_view.origin(name))

views = {
    "Load report": checkpoint_report_view.report_view,
    "Weights": checkpoint_weights_view.weights_view,
    "Two checkpoints": checkpoint_compare_view.compare_view,
}
chosen = controls.choice("View", list(views), "checkpoint", label_visibility="collapsed")
with told():
    views[chosen](name)
