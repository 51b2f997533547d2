"""Views of the page Heads that matter in order."""

from collections.abc import Callable, Mapping

from ui.views.causes.effects import effects_view
from ui.views.causes.joint_ablation import several_view
from ui.views.causes.many_texts import many_view
from ui.views.causes.patching import patch_view
from ui.widgets.target_controls.opened import ChosenTarget
from ui.widgets.target_controls.row import TargetRow

PATCH, MANY = "Patch", "Many sentences"
VIEWS: Mapping[str, Callable[[str, ChosenTarget, TargetRow], None]] = {
    "One head at a time": effects_view,
    "Several heads": several_view,
    PATCH: patch_view,
    MANY: many_view,
}
"""Name -> view of a model, a target and the row of controls."""
