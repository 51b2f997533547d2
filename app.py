"""Server entry of Inside BERT: `streamlit run app.py`."""

import sys

import streamlit as st
from starlette.middleware import Middleware

from bertviz_core.errors import BertvizError
from bertviz_core.settings import Settings
from ui.server.auth import check_sign_in
from ui.server.index_page import IndexPage
from ui.server.preload import lifespan

try:
    check_sign_in(Settings.from_environment())
except BertvizError as error:
    sys.exit(str(error))  # no page could be shown

app = st.App(
    "ui/shell.py",
    lifespan=lifespan,
    middleware=[Middleware(IndexPage, base_path=st.get_option("server.baseUrlPath"))],
)
