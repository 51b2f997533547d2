"""Predictions: what does the model answer?"""

from collections.abc import Iterable

from bertviz_core.questions.parameters import Options
from bertviz_core.questions.view import Ask, Part
from bertviz_core.questions.views.answered import SWAPS
from bertviz_core.questions.views.labelled import answer_list, label_errors
from bertviz_core.questions.views.predictions import CALIBRATION, GOLD_TAGS, SEVERAL, VIEWS, about_predictions
from ui.cache.shared_model import SharedModel
from ui.engine import show_page
from ui.lessons import tour
from ui.views.predictions import calibration_view, label_errors_view, offered_views, several_view, train_view
from ui.views.predictions_lists import answer_list_view, gold_tags_view, swaps_view


def several_with_guide(opened: SharedModel, ask: Ask, options: Options) -> Iterable[Part]:
    """Several texts, with the guide for a classifier that is wrong."""
    tour.entry(tour.WRONG)
    return several_view(opened, ask, options)


special = {
    "Train a probe": train_view,
    SEVERAL: several_with_guide,
    CALIBRATION: calibration_view,
    GOLD_TAGS: gold_tags_view,
    SWAPS: swaps_view,
    label_errors.TITLE: label_errors_view,
    answer_list.TITLE: answer_list_view,
}
show_page("predictions", tuple(VIEWS), about_predictions, special=special, views_of=offered_views)
