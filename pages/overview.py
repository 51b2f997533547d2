"""Overview: what this model is, at a glance."""

from collections.abc import Iterable

from bertviz_core.questions.parameters import Options
from bertviz_core.questions.view import Ask, Part
from bertviz_core.questions.views.overview import VIEWS, about_overview, overview_view
from ui.cache.shared_model import SharedModel
from ui.engine import show_page
from ui.lessons import tour


def with_tour(opened: SharedModel, ask: Ask, options: Options) -> Iterable[Part]:
    """The way into the tour above the view; a step of it has its own text, and its figure must be visible."""
    tour.entry()
    return overview_view(opened, ask, options, not tour.is_open())


show_page("overview", VIEWS, about_overview, special={"Overview": with_tour})
