"""Block requests to the Hub while a library processes untrusted files."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from threading import Lock
from typing import Any

import huggingface_hub

_UNPLUGGED: ContextVar[bool] = ContextVar("unplugged", default=False)
_GUARDING = Lock()


@contextmanager
def unplugged() -> Iterator[None]:
    """Block requests of this thread to the Hub inside the block."""
    guard_requests()
    before = _UNPLUGGED.set(True)
    try:
        yield
    finally:
        _UNPLUGGED.reset(before)


def guard_requests() -> None:
    """Install the check in the client of the Hub, once; its session is replaced."""
    with _GUARDING:
        _guard()


@cache
def _guard() -> None:
    usual = huggingface_hub.get_session()
    hooks = usual.event_hooks
    guarded = {**hooks, "request": [_refuse, *hooks["request"]]}

    def client() -> Any:
        return type(usual)(event_hooks=guarded, follow_redirects=usual.follow_redirects, timeout=usual.timeout)

    huggingface_hub.set_client_factory(client)


def _refuse(request: Any) -> None:
    if _UNPLUGGED.get():
        raise huggingface_hub.errors.OfflineModeIsEnabled(
            f"{request.url.host} is not contacted while a model's files are read."
        )
