"""Effects of heads on the same target in the second model of the sidebar, below the answer of the first."""

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from bertviz_core.figures.interventions.two_models import effects_compared_figure
from bertviz_core.questions.interventions.two_models import compared_effects
from bertviz_core.questions.models.checkpoints import OTHER
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.report.library_lines import library_lines
from bertviz_core.questions.tables.two_models.interventions import effect_comparison_frame, effects_that_changed
from bertviz_core.text import escape_markdown
from ui.cache.shared_model import SharedModel
from ui.views.causes.texts import COMPARED
from ui.widgets.figure_block import figure_block
from ui.widgets.heading import unshown
from ui.widgets.lists.progress import answer
from ui.widgets.models.beside import beside

HEIGHT = 300
"""Pixels of the table."""


def compared_block(opened: SharedModel, options: Options, shown: Sequence[str] = ()) -> None:
    """Show the effects of both models with the differences; nothing without a second model.

    Args:
        opened: the first model.
        options: options of its answer.
        shown: notices that the page shows already.
    """

    def show(other: str) -> None:
        both = replace(options, values={**options.values, OTHER.key: other})
        made = answer(compared_effects, opened, both)
        compared = made.result
        models = tuple(dict.fromkeys((compared.first.model, compared.second.model)))
        st.markdown(escape_markdown(effects_that_changed(compared)))
        words = figure_block(
            effects_compared_figure(compared),
            f"effects {' '.join(models)}",
            effect_comparison_frame(compared),
            numbers="open",
            height=HEIGHT,
            texts=made.texts,
            models=models,
            explanation=(COMPARED, library_lines(compared_effects, opened, both)),
        )
        for notice in unshown(compared.notices):
            if notice not in shown:
                words.caption(escape_markdown(notice))

    beside("causes_beside", show)
