"""Views of the page Checkpoint in order."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from ui.views.checkpoint import comparison, load_report, number_formats, training, weights


class CheckpointView(NamedTuple):
    """The controls of a view, and the view."""

    settings: Callable[[str], tuple[object, ...]]
    """Draws the controls for a model, beside the names of the views, and returns what is chosen."""
    show: Callable[..., None]
    """Draws the view of a model and of what is chosen."""


VIEWS: Mapping[str, CheckpointView] = {
    "Load report": CheckpointView(load_report.settings, load_report.view),
    "Weights": CheckpointView(weights.settings, weights.view),
    "Fewer bits": CheckpointView(number_formats.settings, number_formats.view),
    "Compare with base": CheckpointView(comparison.settings, comparison.view),
    "Training run": CheckpointView(training.settings, training.view),
}
"""Name -> view."""
