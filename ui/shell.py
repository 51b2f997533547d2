"""The frame around every page: page settings, navigation, and the sidebar where the model is chosen."""

from pathlib import Path

import streamlit as st

from bertviz_core.figures.base.style import theme_named
from ui import session, share
from ui.lessons import tour
from ui.server import brand
from ui.server.auth import require_sign_in
from ui.widgets import controls
from ui.widgets.errors import shown_to_user

theme = theme_named(session.theme_name())
st.set_page_config(page_title="Inside BERT", page_icon=brand.mark(theme), layout="wide")
st.logo(brand.logo(theme), icon_image=brand.mark(theme), size="large")
st.html(Path(__file__).with_name("frame.css"))

groups = {
    "What it is": [
        st.Page("../pages/overview.py", title="Overview", icon=":material/info:", default=True),
        st.Page("../pages/parameters.py", title="Parameters", icon=":material/donut_large:"),
        st.Page("../pages/architecture.py", title="Architecture", icon=":material/account_tree:"),
        st.Page("../pages/checkpoint.py", title="Checkpoint", icon=":material/fact_check:"),
    ],
    "What it does with a text": [
        st.Page("../pages/tokens.py", title="Tokens", icon=":material/text_fields:"),
        st.Page("../pages/representations.py", title="Representations", icon=":material/grid_on:"),
        st.Page("../pages/heads.py", title="Heads", icon=":material/view_week:"),
        st.Page("../pages/attention.py", title="Attention", icon=":material/hub:"),
        st.Page("../pages/sentences.py", title="Sentences", icon=":material/notes:"),
    ],
}
page = st.navigation(groups, position="hidden")
require_sign_in()
pages = {each.url_path or "overview": each for group in groups.values() for each in group}
here = page.url_path or "overview"
tour.follow_address(here, pages)
share.take_from_address()
with st.sidebar, shown_to_user():
    # Links of our own: in Streamlit's list of pages, sections are list items outside of a list.
    with st.container(key="pages", gap=None):
        for section, entries in groups.items():
            st.markdown(section)
            for entry in entries:
                st.page_link(entry, width="stretch")
    with st.container(horizontal=True, gap="small"):
        share.share_button(here)
        tour.lessons_button()
    controls.model_select()
    controls.text_inputs()
tour.step_bar(here, pages)
page.run()
session.first_page_sent.set()
