"""No request to the Hub while a library works on a stranger's files, whatever these or the library ask for."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

_UNPLUGGED: ContextVar[bool] = ContextVar("unplugged", default=False)


@contextmanager
def unplugged() -> Iterator[None]:
    """This thread without the Hub: what asks for it meanwhile is told that it is offline."""
    guard_requests()
    before = _UNPLUGGED.set(True)
    try:
        yield
    finally:
        _UNPLUGGED.reset(before)


@cache
def guard_requests() -> None:
    """Have the Hub's client ask before every request; once, and before its first, since it starts a new connection."""
    from huggingface_hub import set_client_factory
    from huggingface_hub.utils._http import default_client_factory

    def client() -> Any:
        made = default_client_factory()
        hooks = made.event_hooks
        made.event_hooks = {**hooks, "request": [_refuse, *hooks.get("request", [])]}
        return made

    set_client_factory(client)


def _refuse(request: Any) -> None:
    if _UNPLUGGED.get():
        from huggingface_hub.errors import OfflineModeIsEnabled

        raise OfflineModeIsEnabled(f"{request.url.host} is not asked while a model's files are read.")
