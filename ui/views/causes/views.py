"""Views of the page Heads that matter in order."""

from collections.abc import Callable, Mapping

from ui.views.causes.effects import effects_view
from ui.views.causes.joint_ablation import several_view
from ui.views.causes.many_texts import many_view
from ui.views.causes.patching import patch_view
from ui.widgets.target_controls.row import TargetRow

MANY = "Many sentences"
VIEWS: Mapping[str, Callable[[str, TargetRow], None]] = {
    "One head at a time": effects_view,
    "Several heads": several_view,
    "Patch": patch_view,
    MANY: many_view,
}
"""Name -> view of a model and the row of its target."""
