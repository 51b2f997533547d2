"""A small app with only the attention view, on hand-made attention."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

import streamlit as st

from bertviz_core.figures.base.style import theme_named
from tests.helpers.hand_made_attention import atlas_of, map_of
from ui.components.attention.view import attention_state, attention_view

KEY = "attention"
st.set_page_config(layout="wide")
seq, layers, heads = (int(st.query_params.get(name, "0")) for name in ("seq", "layers", "heads"))
weights, atlas = st.cache_resource(atlas_of, show_spinner=False)(seq or 10, layers or 3, heads or 4)


@st.fragment
def view() -> None:
    state = attention_state(KEY, atlas)
    maps = [map_of(weights, atlas, layer, head) for layer, head in (*state.missing, *state.ahead)]
    theme = theme_named(st.context.theme.type or "light")
    attention_view(atlas, maps, state, key=KEY, title="hand-made", theme=theme, special={0, len(atlas.queries) - 1})
    st.text(f"opened {state.opened} heads {state.heads} sent {[(each.layer, each.head) for each in maps]}")
    st.text(f"cell {state.cell} range {state.range}")
    if state.cell:
        layer, head, query, key = state.cell
        st.text(f"weight {weights[layer, head, query, key]:.6f}")


view()
