"""Journey: what happens to a text on its way through the whole model?"""

import streamlit as st

from bertviz_core.interventions.target_parsing import OF_TWO_TEXTS
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.texts.journey import journey
from bertviz_core.text import escape_markdown
from ui.cache import models
from ui.cache.shared_model import SharedModel
from ui.lessons import tour
from ui.views.journey.ending import chosen_ending, ending_of, is_computed
from ui.views.journey.views import drawing_view
from ui.widgets.heading import heading, page_pair, page_text, place_for_text, unshown
from ui.widgets.models import model_name
from ui.widgets.run_model import shown_to_user, ways_on

FIELD = 100
"""Pixels of the field with the reader's text."""

name_model = heading("journey")
with shown_to_user(ends_page=False):  # so that the field of the text is drawn, which the error may be about
    name = model_name()
    tour.entry(tour.GUIDE, "Guide")
    beside = st.container()
    if alone := not (tour.is_open() or st.context.is_embedded):
        field, beside = st.columns([11, 9], vertical_alignment="bottom", gap="medium")
        with field:
            place_for_text(FIELD)
    with beside:
        target = chosen_ending(name)
    text, pair = (page_text(), page_pair()) if target is None else (target.text, target.pair)
    if target is not None and target.kind in OF_TWO_TEXTS:
        pair = None
    with st.spinner("Running the model"):
        travelled = journey(SharedModel(name), Options((text,), pair)).result
    both = travelled.tokens is not None and travelled.tokens.pair is not None
    name_model(name, f"{travelled.title}, {travelled.layers} layers{', both texts in one run' if both else ''}")
    if both:
        st.caption("Both texts are one input: tokens of one look at those of the other. A cosine reads each alone.")
    for notice in unshown(travelled.notices):
        st.warning(escape_markdown(notice))
    if travelled.missing and not models.source(name).has_weights:
        ways_on(name)
    above, computed = st.container(), target is not None and is_computed(name, target)
    known = ending_of(name, target, travelled) if target and computed else None
    drawing_view(name, travelled, target, known, alone)
    if target is not None and not computed:
        with above:  # the page ends here while this is computed, below the question whether to and its progress
            ending = ending_of(name, target, travelled)
        if ending is not None and is_computed(name, target):
            st.rerun()
