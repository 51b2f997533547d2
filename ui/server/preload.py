"""What the server does beside the pages: it imports torch while the first page is read, and collects garbage."""

import contextlib
import gc
import sys
import threading
from collections.abc import AsyncIterator
from importlib import import_module
from typing import Any

from streamlit.components.v2 import manifest_scanner

from bertviz_core.models.skeleton import build_skeleton, import_library
from bertviz_core.models.sources import resolve
from bertviz_core.settings import DEFAULT_MODEL, Settings
from ui.cache import ledgers
from ui.cache.models import first_page_drawn, model_wanted

PRELOAD_AFTER_S = 6.0
"""The first visitor's page comes before the preload; without a visitor it starts after this time."""
PAINTING_S = 3.0
"""So long a browser on the same machine, short of cores, is left alone to paint the page that it was sent."""
SWITCH_S = 0.0005
"""So often threads take turns at first: a file for the browser does not wait long for what is imported beside it.

For good, it would hold up many sessions that compute at once."""

FIRST_PAGE_MODULES = (
    *("ui.share", "ui.lessons.tour", "ui.server.auth", "ui.server.brand", "ui.cache.models"),
    "ui.views.parameters.views",
)
"""What the first page imports."""

COLLECT_EVERY_S = 10.0
"""Figures and script modules are freed within this time; a collection stops all pages for about a tenth of a second."""


@contextlib.asynccontextmanager
async def lifespan(_app: Any) -> AsyncIterator[dict[str, Any]]:
    """Start the preload beside the server, health does not wait for it; collect garbage until the server ends."""
    threading.Thread(target=_preload, name="preload", daemon=True).start()
    ended = threading.Event()
    threading.Thread(target=_collect, args=(ended,), name="garbage", daemon=True).start()
    yield {}
    ended.set()


def look_for_no_components() -> None:
    """Keep Streamlit from reading what every installed package says of itself, in search of components.

    None brings any that a page here uses; the search takes a quarter of the time until the server answers.
    """
    manifest_scanner.scan_component_manifests = lambda max_workers=None: []


def _collect(ended: threading.Event) -> None:
    """Collect garbage from time to time, in place of Streamlit, which would do it after every click."""
    while not ended.wait(COLLECT_EVERY_S):
        gc.collect()


def _import_pages() -> None:
    """What the first page needs of Python, imported while the browser fetches what it needs itself."""
    from bertviz_core.figures.base.style import LIGHT
    from bertviz_core.figures.parameters import FORMS, tree_figure

    for name in FIRST_PAGE_MODULES:
        import_module(name)
    ledger, nodes = ledgers.ledger(DEFAULT_MODEL), ledgers.tree(DEFAULT_MODEL, 3, None)
    tree_figure(ledger, nodes, FORMS[0]).drawn(LIGHT).to_json()


def _preload() -> None:
    """Import what the pages that run a model need, then keep it out of the collections: frozen is not looked at."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_S)
    gc.disable()  # of what is imported nothing is garbage, and looking takes a fifth of the time
    try:
        _import_pages()
    finally:
        gc.enable()
        sys.setswitchinterval(usual)
    if first_page_drawn.wait(PRELOAD_AFTER_S):
        model_wanted.wait(PAINTING_S)
    import_library()
    build_skeleton(DEFAULT_MODEL, resolve(DEFAULT_MODEL, Settings.from_environment()).config)
    gc.collect()
    gc.freeze()
