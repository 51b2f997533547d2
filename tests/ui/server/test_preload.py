"""Background work of the server: its import disturbs no page, and is excluded from later collections."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bertviz_core.settings import Settings
from ui.server.start import allows_strangers

ROOT = Path(__file__).parents[3]
DURING_IMPORT = """
import asyncio, sys
import torch  # as a page that is half way there
from ui import session
from ui.server import start
from bertviz_core.models.sources import resolve
from bertviz_core.parameters.ledger import source_ledger
from bertviz_core.settings import Settings

def importing():
    found = sys.modules.get("transformers")
    return found is not None and getattr(found.__spec__, "_initializing", False)

session.first_page_sent.set()
asyncio.run(start.lifespan(None).__aenter__())
while not importing() and "transformers.models" not in sys.modules:
    pass
settings = Settings.from_environment()
print(source_ledger(resolve("bert-base-uncased", settings), settings).total)
"""
WHILE_SERVING = """
import asyncio, gc, sys, weakref

class Part:
    pass

async def serve():
    from ui.server import start
    start.COLLECT_EVERY_S = 0.05
    from ui import session
    import_libraries, asked = start.import_libraries, []

    def noted():
        asked.append(session.first_page_sent.is_set())
        import_libraries()

    start.import_libraries = noted
    async with start.lifespan(None):
        print("before the first page:", bool(asked) or "torch" in sys.modules)
        session.first_page_sent.set()
        while not gc.get_freeze_count():
            await asyncio.sleep(0.05)
        import torch, transformers
        print("asked for after it:", asked)
        print("frozen:", not any(each is torch.nn.Module for each in gc.get_objects()))
        part = Part()
        part.itself = part
        gone = weakref.ref(part)
        del part
        gc.disable()  # so that only the server's own collections can find it
        for _ in range(400):
            if gone() is None:
                break
            await asyncio.sleep(0.05)
        print("collected:", gone() is None)

asyncio.run(serve())
"""


def printed(script: str, **settings: str) -> str:
    """Run a script in a new process with these settings, and return its output."""
    environment = {
        **os.environ,
        "INSIDE_BERT_ALLOW_HUB": "0",
        "INSIDE_BERT_COMPUTE_AHEAD": "0",
        "PYTHONPATH": str(ROOT),
        **settings,
    }
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    return done.stdout or done.stderr[-2_000:]  # an exit during an import may print a message, which is harmless


@pytest.mark.slow
def test_a_page_that_needs_transformers_while_it_is_imported_gets_its_numbers() -> None:
    assert printed(DURING_IMPORT) == "109482240\n"


@pytest.mark.parametrize("allowed", ["", "nothing-here"])
@pytest.mark.slow
def test_the_import_follows_the_first_page_and_is_frozen_and_later_garbage_is_collected(allowed: str) -> None:
    lines = printed(WHILE_SERVING, INSIDE_BERT_ALLOWED_MODELS=allowed).splitlines()
    assert lines == ["before the first page: False", "asked for after it: [True]", "frozen: True", "collected: True"]


def test_a_server_whose_settings_make_no_sense_says_so_in_one_sentence_and_does_not_start() -> None:
    environment = {**os.environ, "INSIDE_BERT_MAX_TOKENS": "abc"}
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", "0", "--server.headless", "true"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode != 0
    assert "INSIDE_BERT_MAX_TOKENS is set to 'abc'" in done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_a_process_stands_ready_only_where_a_strangers_model_may_come(tmp_path: Path) -> None:
    settings = replace(Settings.from_environment(), allow_hub=False, models_dir=tmp_path / "models")
    assert not allows_strangers(settings)
    settings.models_dir.mkdir()
    (settings.models_dir / "notes.txt").touch()
    assert not allows_strangers(settings)
    assert allows_strangers(replace(settings, allow_hub=True))
    (settings.models_dir / "mine").mkdir()
    assert allows_strangers(settings)
