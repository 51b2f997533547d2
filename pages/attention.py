"""Attention: what does each head look at?"""

import streamlit as st

from bertviz_core.errors import UnsupportedModelError
from bertviz_core.text import escape_markdown
from ui.views.attention import cache
from ui.views.attention.views import VIEWS, heads_view
from ui.widgets import models, run_model
from ui.widgets.heading import heading, page_pair, page_text, run_words, unshown
from ui.widgets.models import view_choice
from ui.widgets.run_model import shown_to_user

name_model = heading("attention")
with shown_to_user(), st.spinner("Running the model"):
    name = models.model_name()
    trace = run_model.traced(name, page_text(), page_pair())
    if trace.attention_source == "none":
        raise UnsupportedModelError(f"There is no attention of {name!r} to be shown. {trace.attention_note}")
layers, heads, seq = trace.num_hidden_layers, trace.num_attention_heads, len(trace.tokens)
ran = f"run in {trace.seconds:.2f} s {run_words(trace.device, trace.dtype)}"
name_model(name, f"{layers} layers of {heads} heads, {seq:,} tokens, {ran}")
for notice in unshown((*trace.tokens.notices, *trace.notices)):
    st.warning(escape_markdown(notice))
if trace.attention_source == "eager":
    st.caption(escape_markdown(trace.attention_note))

if cache.cells(trace) <= cache.ATLAS_CELLS:
    heads_view(trace)
else:
    VIEWS[view_choice(list(VIEWS))](trace)
