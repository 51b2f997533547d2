"""The server of the small app with only the attention view."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

import streamlit as st
from starlette.routing import Route

from ui.components import FOLDER, script

app = st.App(Path(__file__).with_name("attention_app.py"), routes=[Route(f"/{FOLDER}/{{name}}", script)])
