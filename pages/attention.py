"""Attention: what does each head look at?"""

import streamlit as st

from bertviz_core.errors import UnsupportedModelError
from ui import attention_maps, controls, runs
from ui.attention_long import long_view
from ui.attention_views import heads_view
from ui.errors import plain, told
from ui.text import heading

name_model = heading("Attention", "What does each head look at?")
with told(), st.spinner("Running the model"):
    name = controls.model_name()
    trace = runs.traced(name, controls.text(), controls.pair())
    if trace.attention_way == "none":
        raise UnsupportedModelError(f"There is no attention of {name!r} to be shown. {trace.attention_note}")
layers, heads, seq = trace.num_hidden_layers, trace.num_attention_heads, len(trace.tokens)
name_model(name, f"{layers} layers of {heads} heads, {seq:,} tokens, run in {trace.seconds:.2f} s on {trace.device}")
for notice in (*trace.tokens.notices, *trace.notices):
    st.warning(plain(notice))
if trace.attention_way == "eager":
    st.caption(plain(trace.attention_note))

one, everything = "One head", "All heads"
if attention_maps.cells(trace) <= attention_maps.ATLAS_CELLS:
    heads_view(trace)
elif controls.choice("View", [one, everything], "span", label_visibility="collapsed") == one:
    st.caption(f"All {layers * heads} heads at a glance would take about {attention_maps.atlas_words(trace)}.")
    long_view(trace)
else:
    heads_view(trace)
