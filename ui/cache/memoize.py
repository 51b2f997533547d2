"""Memoize functions for all sessions under one budget of bytes, and log how long computations take."""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import wraps
from inspect import signature
from time import perf_counter
from typing import Any, ParamSpec, TypeVar

import streamlit as st

from bertviz_core.errors import BertvizError, SupersededError, is_out_of_memory
from bertviz_core.resources import ByteCache, retained_nbytes
from ui.session import settings

P = ParamSpec("P")
T = TypeVar("T")
ACTIVITY = logging.getLogger("inside_bert.activity")
"""Logger of computations; it writes nothing unless the server's settings ask for it."""
_fields: ContextVar[dict[str, object]] = ContextVar("log_fields")
"""Fields of the innermost computation that is logged."""


def cached_by_bytes(
    spinner: str = "", size: Callable[[Any], int] = retained_nbytes
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Cache a function's results by its arguments, except those whose name begins with "_".

    Unlike st.cache_resource it counts bytes and not entries. Results are shared between sessions and never changed.

    Args:
        spinner: text shown during the computation; "" for none.
        size: returns the bytes of a result.
    """

    def decorated(make: Callable[P, T]) -> Callable[P, T]:
        shape = signature(make)

        @wraps(make)
        def found(*args: P.args, **kwargs: P.kwargs) -> T:
            arguments = shape.bind(*args, **kwargs).arguments
            plain = tuple(value for name, value in arguments.items() if not name.startswith("_"))

            def made() -> T:
                with _spinning(spinner):
                    return make(*args, **kwargs)

            result: T = results().get_or_compute((make.__module__, make.__qualname__, *plain), made, size)
            return result

        return found

    return decorated


@st.cache_resource(max_entries=1, show_spinner=False)
def results() -> ByteCache:
    """The cache that all sessions share."""
    return ByteCache(settings().max_cache_bytes)


def _spinning(words: str) -> AbstractContextManager[None]:
    return st.spinner(words) if words else nullcontext()


@contextmanager
def logged(
    event: str, name: str, facts: Callable[[], Mapping[str, object]] = dict, *, if_done: bool = True
) -> Iterator[None]:
    """Log how long a computation took, and how it ended; exceptions are propagated.

    The outcome is "done", "refused" with one sentence to the reader, "stopped" by the reader or for a newer click, or
    "failed". The error is logged by the name of its class alone, since its message may contain a text.

    Args:
        event: kind of the computation: page, question, run or job.
        name: its name, from the code and never from a reader.
        facts: returns further fields, called before the computation if it is logged; no texts or tokens.
        if_done: whether a computation that is done is logged, and not only one that is refused or fails.
    """
    if not ACTIVITY.isEnabledFor(logging.INFO):
        yield
        return
    started, outcome, fields = perf_counter(), {"outcome": "done"}, dict(facts())
    outer = _fields.set(fields)
    try:
        yield
    except BaseException as error:
        outcome = _outcome(error)
        raise
    finally:
        _fields.reset(outer)
        if if_done or outcome["outcome"] != "done":
            line = {"event": event, "name": name, "seconds": round(perf_counter() - started, 4), **fields, **outcome}
            ACTIVITY.info("%s %s", event, name, extra={"fields": line})


def note(**facts: object) -> None:
    """Add fields, no texts or tokens, to the line of the computation that is running here, if it is logged."""
    _fields.get({}).update(facts)


def _outcome(error: BaseException) -> dict[str, str]:
    """How a computation ended, and the class of its error."""
    cause = error if isinstance(error, Exception) else error.__context__  # st.stop() after a sentence to the reader
    if isinstance(cause, BertvizError):
        return {"outcome": "refused", "error": type(cause).__name__}
    if isinstance(cause, Exception) and is_out_of_memory(cause):
        return {"outcome": "failed", "error": "out of memory"}
    if not isinstance(error, Exception) or isinstance(error, SupersededError):
        return {"outcome": "stopped"}
    return {"outcome": "failed", "error": type(error).__name__}
