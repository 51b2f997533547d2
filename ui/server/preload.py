"""Background work of the server: import torch and transformers, and collect garbage periodically."""

import contextlib
import gc
import threading
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

from bertviz_core.isolation.config_trials import warm_trials
from bertviz_core.lazy_imports import import_libraries
from bertviz_core.models.skeleton import build_skeleton
from bertviz_core.models.sources import resolve
from bertviz_core.settings import DEFAULT_MODEL, Settings
from bertviz_core.trace.isolated.tokenizer import warm_tokenizers
from ui.session import first_page_sent

COLLECT_EVERY_S = 30.0
"""Seconds between two collections of garbage."""


@contextlib.asynccontextmanager
async def lifespan(_app: Any) -> AsyncIterator[dict[str, Any]]:
    """Start the background work, which ends with the server; the health check does not wait for it."""
    ended = threading.Event()
    threading.Thread(target=_import_and_collect, args=(ended,), name="preload", daemon=True).start()
    yield {}
    ended.set()


def _import_and_collect(ended: threading.Event) -> None:
    """Import the libraries that run models; then collect garbage periodically until the server ends.

    The import starts when the first page has been sent, since it would slow that page down. Streamlit would collect
    garbage after every click (`runner.postScriptGC`, off in .streamlit/config.toml), and traverse all objects of torch
    and transformers each time. Objects that exist after the import are frozen instead, so that no collection visits
    them again.
    """
    first_page_sent.wait()
    import_libraries()
    # The config of the bundled model, which is available even where visitors may not open that model.
    settings = replace(Settings.from_environment(), allowed_models=())
    build_skeleton(DEFAULT_MODEL, resolve(DEFAULT_MODEL, settings).config)
    gc.collect()
    gc.freeze()
    if allows_strangers(settings):
        warm_tokenizers(settings)
        warm_trials(settings)
    while not ended.wait(COLLECT_EVERY_S):
        gc.collect()


def allows_strangers(settings: Settings) -> bool:
    """Whether untrusted models, which are read in isolated processes, can be opened."""
    if settings.allow_hub:
        return True
    with contextlib.suppress(OSError):
        return any(each.is_dir() for each in settings.models_dir.iterdir())
    return False
