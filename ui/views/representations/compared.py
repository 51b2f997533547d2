"""How far each token's hidden states are apart in the second model of the sidebar, below the view of the first."""

import streamlit as st

from bertviz_core.figures.hidden_states.two_models import states_compared_figure
from bertviz_core.questions.models.checkpoints import OTHER
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.report.library_lines import library_lines
from bertviz_core.questions.tables.two_models.runs import compared_states_frame, states_that_changed
from bertviz_core.questions.texts.two_runs import cosines_of_states
from bertviz_core.text import escape_markdown
from bertviz_core.trace.results import Trace
from ui.cache.shared_model import SharedModel
from ui.views.representations.texts import COMPARED
from ui.widgets.figure_block import figure_block
from ui.widgets.heading import unshown
from ui.widgets.models.beside import beside


def compared_block(trace: Trace) -> None:
    """Show the cosine of each token's states in both models, by layer; nothing without a second model.

    Args:
        trace: run of the first model.
    """

    def show(other: str) -> None:
        opened, tokens = SharedModel(trace.model, trace), trace.tokens
        options = Options((tokens.text,), tokens.pair, values={OTHER.key: other})
        made = cosines_of_states(opened, options)
        compared = made.result
        models = tuple(dict.fromkeys((compared.first, compared.second)))
        st.markdown(escape_markdown(states_that_changed(compared)))
        words = figure_block(
            states_compared_figure(compared),
            f"cosines {' '.join(models)}",
            compared_states_frame(compared),
            texts=made.texts,
            models=models,
            explanation=(COMPARED, library_lines(cosines_of_states, opened, options)),
        )
        for notice in unshown(made.notices):
            words.caption(escape_markdown(notice))

    beside("representations_second", show)
