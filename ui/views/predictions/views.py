"""Views of the page Predictions in order, and the tasks that have them."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from bertviz_core.predictions.loading import PREDICTED
from ui.views.predictions.many.list_answers import several_view
from ui.views.predictions.masked_lm.expanded import expanded_view
from ui.views.predictions.masked_lm.lens import lens_view
from ui.views.predictions.masked_lm.masked import masked_view
from ui.views.predictions.masked_lm.surprise import surprise_view
from ui.views.predictions.probes.train import train_view
from ui.views.predictions.task_heads.answers import answers_view
from ui.views.predictions.task_heads.change import EDITABLE, change_view
from ui.views.predictions.task_heads.classes import classes_view, next_view
from ui.views.predictions.task_heads.tags import tags_view

NO_HEAD = ""
"""Represents a model without a head among the tasks."""
EVERY_HEAD = frozenset(PREDICTED)
EVERY_MODEL = EVERY_HEAD | {NO_HEAD}
WORDS = frozenset(("masked-lm",))


class PredictionView(NamedTuple):
    """A view and the tasks that have it."""

    tasks: frozenset[str]
    """Tasks in bertviz_core.predictions.loading.PREDICTED, or NO_HEAD."""
    show: Callable[[str], None]
    """Draws the view of a model; raises BertvizError if it cannot."""


SEVERAL = "Several texts"
"""View with the guide for a classifier that is wrong."""
VIEWS: Mapping[str, PredictionView] = {
    "Masked words": PredictionView(WORDS, masked_view),
    "Classes": PredictionView(frozenset(("sequence-classification",)), classes_view),
    "Tags": PredictionView(frozenset(("token-classification",)), tags_view),
    "Answers": PredictionView(frozenset(("question-answering",)), answers_view),
    "Next sentence": PredictionView(frozenset(("next-sentence",)), next_view),
    "Surprise": PredictionView(WORDS, surprise_view),
    "Lens": PredictionView(WORDS, lens_view),
    "Expanded terms": PredictionView(WORDS, expanded_view),
    "Change a word": PredictionView(EDITABLE, change_view),
    "Train a probe": PredictionView(EVERY_MODEL, train_view),
    SEVERAL: PredictionView(EVERY_MODEL, several_view),
}
"""Name -> view."""


def offered(tasks: Sequence[str]) -> list[str]:
    """Names of the views for these tasks, NO_HEAD for a model without a head."""
    return [name for name, view in VIEWS.items() if view.tasks.intersection(tasks)]
