"""No request to the Hub while a library works on a stranger's files, whatever these or the library ask for."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from threading import Lock
from typing import Any

_UNPLUGGED: ContextVar[bool] = ContextVar("unplugged", default=False)
_GUARDING = Lock()


@contextmanager
def unplugged() -> Iterator[None]:
    """This thread without the Hub: what asks for it meanwhile is told that it is offline."""
    guard_requests()
    before = _UNPLUGGED.set(True)
    try:
        yield
    finally:
        _UNPLUGGED.reset(before)


def guard_requests() -> None:
    """Have the Hub's client ask before every request; once, and before its first, since it starts a new connection."""
    with _GUARDING:
        _guard()


@cache
def _guard() -> None:
    from huggingface_hub import get_session, set_client_factory

    usual = get_session()
    hooks = usual.event_hooks
    guarded = {**hooks, "request": [_refuse, *hooks["request"]]}

    def client() -> Any:
        return type(usual)(event_hooks=guarded, follow_redirects=usual.follow_redirects, timeout=usual.timeout)

    set_client_factory(client)


def _refuse(request: Any) -> None:
    if _UNPLUGGED.get():
        from huggingface_hub.errors import OfflineModeIsEnabled

        raise OfflineModeIsEnabled(f"{request.url.host} is not asked while a model's files are read.")
