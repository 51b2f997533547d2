"""Draw declared views of a target, below the line that chooses it."""

from collections.abc import Sequence
from functools import partial

from bertviz_core.questions.parameters import Options
from bertviz_core.questions.view import Ask, TargetView, View
from ui.cache.shared_model import SharedModel
from ui.engine import Specials, draw_parts, with_controls
from ui.widgets.target_controls import (
    ChosenTarget,
    TargetRow,
    Texts,
    class_row,
    folded_row,
    target_options,
    target_row,
    target_words,
)


def targeted(views: Sequence[View]) -> Specials:
    """Title -> function that draws it, for those of these views that are of a target."""
    return {view.title: partial(show_target, view) for view in views if isinstance(view, TargetView)}


def show_target(view: TargetView, opened: SharedModel, ask: Ask, options: Options, texts: Texts | None = None) -> None:
    """Draw a view and the choice of its target; `texts` replace those of the session."""
    row = folded_row()
    chosen = target_row(opened.name, row, view.alone, view.of_list, texts)
    _show(view, row, chosen, opened, ask, texts)


def show_classes(view: TargetView, opened: SharedModel, ask: Ask, options: Options) -> None:
    """Draw a view of all classes, and the choice of the head or probe that has them."""
    row = folded_row()
    _show(view, row, class_row(opened.name, row), opened, ask)


def _show(
    view: TargetView, row: TargetRow, chosen: ChosenTarget, opened: SharedModel, ask: Ask, texts: Texts | None = None
) -> None:
    options = target_options(chosen, pair=texts[1] if texts else None)
    with row.folded:
        options = with_controls(view.below, opened, options)
    row.say(view.named(opened, options) if view.named else target_words(chosen), *view.remarks(opened, options))
    if view.show is not None:
        draw_parts(view.show(opened, ask, options), opened, ask, options)
