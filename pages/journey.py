"""Journey: what happens to a text on its way through the whole model?"""

import streamlit as st

from bertviz_core.figures.pages import PAGES
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.views.journey import PURPOSE, VIEWS, about_journey
from ui.cache.models import source
from ui.engine import show_page
from ui.lessons import tour
from ui.views.journey import SPECIAL, text_and_ending
from ui.widgets.models import model_name
from ui.widgets.target_controls import shared_model_of


def texts() -> Options:
    """The text and the number at the end, below the guide."""
    with st.container():
        if source(model_name()).has_weights:  # the guide's notes are about a run
            tour.entry(tour.GUIDE)
        return text_and_ending(not (tour.is_open() or st.context.is_embedded))


show_page(
    "journey",
    VIEWS,
    about_journey,
    special=SPECIAL,
    texts=texts,
    open_model=shared_model_of,
    question_of=lambda _: f"{PAGES['journey'].question} {PURPOSE}",
)
