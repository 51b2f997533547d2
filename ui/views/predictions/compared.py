"""What the second model of the sidebar predicts for the same text, below the answer of the first."""

from collections.abc import Mapping
from dataclasses import replace

import streamlit as st

from bertviz_core.figures.predictions.two_models import predictions_compared_figure
from bertviz_core.predictions.two_models.results import PredictionComparison
from bertviz_core.questions.models.checkpoints import OTHER
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.predictions.task_heads import JOINED
from bertviz_core.questions.predictions.two_models import ENTITIES, VIEW, compared_predictions
from bertviz_core.questions.question import Answer
from bertviz_core.questions.report.library_lines import library_lines
from bertviz_core.questions.tables.two_models.predictions import prediction_comparison_frame, what_changed
from bertviz_core.text import escape_markdown
from ui.cache.shared_model import SharedModel
from ui.views.predictions.texts import COMPARED, ENTITIES_COMPARED
from ui.widgets.figure_block import explained, figure_block, numbers_table
from ui.widgets.heading import unshown
from ui.widgets.lists.progress import answer
from ui.widgets.models.beside import beside

LONG = "surprise"
"""The view whose answer may take long."""
MOST = 320
"""Most pixels of the table of entities."""
NO_VALUES: Mapping[str, str] = {}


def compared_block(opened: SharedModel, options: Options, view: str = "", joined: str = "") -> None:
    """Show both models' predictions with what changed; nothing without a second model.

    Where they cannot be compared, one sentence says why.

    Args:
        opened: the first model.
        options: text, pair, task and parameters of the first model's answer.
        view: what to compare for masked-LM heads: "words", "surprise" or "lens"; "" for other heads.
        joined: how tagged tokens become entities, which are then compared too; "" for heads that do not tag.
    """

    def show(other: str) -> None:
        values = {OTHER.key: other, **({VIEW.key: view} if view else NO_VALUES), **options.values}
        whole = replace(options, values=values)
        made = answer(compared_predictions, opened, whole) if view == LONG else compared_predictions(opened, whole)
        _comparison(opened, whole, made)
        if joined:
            _entities(opened, replace(whole, values={**values, VIEW.key: ENTITIES, JOINED.key: joined}))

    beside("predictions_beside", show)


def _entities(opened: SharedModel, options: Options) -> None:
    """The entities that both models find, and those that only one finds."""
    compared = compared_predictions(opened, options).result
    st.markdown(f"**Entities**  \n{escape_markdown(what_changed(compared))}")
    frame = prediction_comparison_frame(compared)
    if len(frame):
        numbers_table(frame, "Entities of both models", height=min(MOST, 38 + 35 * len(frame)))
    explained("predictions_entities", ENTITIES_COMPARED, library_lines(compared_predictions, opened, options))


def _comparison(opened: SharedModel, options: Options, made: Answer[PredictionComparison]) -> None:
    """What changed in a sentence, the figure and the table."""
    compared, first = made.result, opened.head(options.task)
    models = tuple(dict.fromkeys((compared.first, compared.second)))
    st.markdown(escape_markdown(what_changed(compared)))
    words = figure_block(
        predictions_compared_figure(compared),
        f"{compared.kind} {' '.join(models)}",
        prediction_comparison_frame(compared),
        texts=made.texts,
        models=models,
        explanation=(COMPARED, library_lines(compared_predictions, opened, options)),
    )
    for notice in unshown(made.notices):
        if notice not in first.notices:  # shown at the top of the page
            words.caption(escape_markdown(notice))
