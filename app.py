"""Server entry of Inside BERT: `streamlit run app.py`."""

import streamlit as st
from starlette.middleware import Middleware

from ui.server.index_page import IndexPage, chart_modules
from ui.server.preload import lifespan, look_for_no_components
from ui.server.static_files import StaticFiles

look_for_no_components()
base_path = st.get_option("server.baseUrlPath")
app = st.App(
    "ui/shell.py",
    lifespan=lifespan,
    middleware=[
        Middleware(IndexPage, base_path=base_path, modules=chart_modules()),
        Middleware(StaticFiles, base_path=base_path),
    ],
)
