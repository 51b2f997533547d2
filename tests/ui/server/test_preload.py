"""What the server does beside the pages: its preload disturbs no page that is read meanwhile."""

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

import pytest
import uvicorn
import uvloop
from streamlit.components.v2.component_manager import BidiComponentManager
from uvicorn.protocols.http.auto import AutoHTTPProtocol
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ui.server import preload

ROOT = Path(__file__).parents[3]
DURING_PRELOAD = """
import asyncio, sys
import torch  # as a page that is half way there
from ui.cache.models import first_page_drawn
from ui.server import preload
from bertviz_core.parameters.ledger import parameter_ledger
from bertviz_core.settings import Settings

def importing():
    found = sys.modules.get("transformers")
    return found is not None and getattr(found.__spec__, "_initializing", False)

first_page_drawn.set()
asyncio.run(preload.lifespan(None).__aenter__())
while not importing() and "transformers.models" not in sys.modules:
    pass
print(parameter_ledger("bert-base-uncased", Settings.from_environment()).total)
"""


def test_a_page_that_needs_transformers_while_it_is_preloaded_gets_its_numbers() -> None:
    environment = {**os.environ, "INSIDE_BERT_ALLOW_HUB": "0", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", DURING_PRELOAD], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout == "109482240\n", done.stderr[-2_000:]


def test_no_package_is_read_in_search_of_components(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(importlib.metadata, "distributions", lambda: asked.append(1) or [])
    BidiComponentManager().discover_and_register_components(start_file_watching=False)
    assert asked == [1]  # Streamlit looks for them if nobody keeps it from that
    preload.look_for_no_components()
    BidiComponentManager().discover_and_register_components(start_file_watching=False)
    assert asked == [1]


def test_the_server_sends_every_piece_at_once() -> None:
    # Python's own event loop leaves Streamlit's sockets waiting 40 ms for an acknowledgement between two pieces.
    factory = uvicorn.Config("app:app").get_loop_factory()
    assert factory is not None
    loop = factory()
    assert isinstance(loop, uvloop.Loop)
    loop.close()
    assert AutoHTTPProtocol is HttpToolsProtocol
