"""What the server does beside the pages: its preload disturbs no page that is read meanwhile."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
DURING_PRELOAD = """
import asyncio, sys
import torch  # as a page that is half way there
from ui import server
from bertviz_core.parameters import parameter_ledger
from bertviz_core.settings import Settings

def importing():
    found = sys.modules.get("transformers")
    return found is not None and getattr(found.__spec__, "_initializing", False)

server.first_page_drawn.set()
asyncio.run(server.lifespan(None).__aenter__())
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
