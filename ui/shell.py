"""The frame around every page: page settings, navigation, and the sidebar where the model is chosen."""

from pathlib import Path

import streamlit as st

from figures.style import theme
from ui import brand, controls
from ui.errors import told
from ui.server import first_page_drawn

look = theme(controls.theme_name())
st.set_page_config(page_title="Inside BERT", page_icon=brand.mark(look), layout="wide")
st.logo(brand.logo(look), icon_image=brand.mark(look), size="large")
st.html(Path(__file__).with_name("frame.css"))

page = st.navigation(
    {
        "What it is": [
            st.Page("../pages/overview.py", title="Overview", icon=":material/info:", default=True),
            st.Page("../pages/parameters.py", title="Parameters", icon=":material/donut_large:"),
        ],
        "What it does with a text": [
            st.Page("../pages/tokens.py", title="Tokens", icon=":material/text_fields:"),
            st.Page("../pages/representations.py", title="Representations", icon=":material/grid_on:"),
            st.Page("../pages/heads.py", title="Heads", icon=":material/view_week:"),
            st.Page("../pages/attention.py", title="Attention", icon=":material/hub:"),
            st.Page("../pages/sentences.py", title="Sentences", icon=":material/notes:"),
        ],
    }
)
with st.sidebar, told():
    controls.model_select()
    controls.text_inputs()
page.run()
first_page_drawn.set()
