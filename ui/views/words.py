"""What the page Words that matter chooses by controls of its own: a target, a class, and two texts."""

from dataclasses import replace
from functools import partial

from bertviz_core.questions.interventions.attributions import LAYER
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.view import Ask, View
from bertviz_core.questions.views import words
from ui.cache.shared_model import SharedModel
from ui.engine import Specials, draw_parts
from ui.targets import show_classes, targeted
from ui.widgets.heading import two_texts
from ui.widgets.models import state_select
from ui.widgets.target_controls import class_kinds

LAYER_HELP = "The layer whose token vectors are compared. An early layer is closer to the words, and takes longer."


def _show_pairs(opened: SharedModel, ask: Ask, options: Options) -> None:
    """The view Pairs, of an example where there is no second text."""
    text, pair = two_texts("cosine")
    layers = opened.loaded.num_hidden_layers
    layer = state_select(layers - 1, LAYER_HELP) if layers > 1 else 0
    options = Options((text,), pair, values={LAYER.key: str(layer)})
    draw_parts(words.pairs_view(opened, ask, options), opened, ask, options)


*_, CLASSES = words.VIEWS
VIEWS: tuple[View, ...] = (
    *words.VIEWS[:-1],
    replace(CLASSES, lacks=lambda opened: None if class_kinds(opened.name) else words.NO_CLASSES),
)
SPECIAL: Specials = {**targeted(VIEWS), "Pairs": _show_pairs, CLASSES.title: partial(show_classes, CLASSES)}
