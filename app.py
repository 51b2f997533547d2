"""Server entry of Inside BERT: `streamlit run app.py`."""

import os
import sys

import streamlit as st
from starlette.middleware import Middleware
from starlette.routing import Route

from bertviz_core.errors import BertvizError
from bertviz_core.figures.pages import PAGES
from bertviz_core.settings import Settings
from ui.components import FOLDER, OF_COMPONENTS, script
from ui.server.access import Entrance, UnknownPages, check_sign_in
from ui.server.monitoring import Readiness, notify, start_log, start_metrics
from ui.server.start import (
    IndexPage,
    badge,
    check_models,
    check_places,
    device_notice,
    lifespan,
    memory_notice,
    walls_notice,
)

# Read when torch is loaded: threads that wait for each other sleep. Where other programs run, threads that spin keep
# those that they wait for from a processor: two sentences' pairs took 44 s on a busy machine, and 1.2 s with this.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
try:
    settings = Settings.from_environment()
    start_log(settings)
    closed = check_sign_in(settings)
    check_places(settings)
    check_models(settings)
    for notice in (memory_notice(settings), device_notice(settings), walls_notice()):
        notify(notice, settings)
    start_metrics(settings)
except BertvizError as error:
    sys.exit(str(error))  # no page could be shown

base_path = st.get_option("server.baseUrlPath")
root = f"/{base_path.strip('/')}".rstrip("/")
app = st.App(
    "ui/shell.py",
    lifespan=lifespan,
    routes=[Route(f"{root}/{FOLDER}/{{name}}", script), Route(f"{root}/badge.svg", badge)],
    middleware=[
        Middleware(Readiness, settings=settings, base_path=base_path),
        Middleware(IndexPage, base_path=base_path, frame_ancestors=settings.frame_ancestors, modules=OF_COMPONENTS),
        Middleware(UnknownPages, pages=PAGES, base_path=base_path),
        Middleware(Entrance, settings=settings, base_path=base_path, closed=closed),
    ],
)
