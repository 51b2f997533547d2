"""Memoize functions for all sessions under one budget of bytes."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

import streamlit as st

from bertviz_core.questions.byte_cache import ByteCache, retained_nbytes
from ui.session import settings

P = ParamSpec("P")
T = TypeVar("T")


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
            given = shape.bind(*args, **kwargs).arguments
            plain = tuple(value for name, value in given.items() if not name.startswith("_"))

            def made() -> T:
                with _spinning(spinner):
                    return make(*args, **kwargs)

            result: T = results().made((make.__module__, make.__qualname__, *plain), made, size)
            return result

        return found

    return decorated


@st.cache_resource(max_entries=1, show_spinner=False)
def results() -> ByteCache:
    """The cache that all sessions share."""
    return ByteCache(settings().max_cache_bytes)


def _spinning(words: str) -> AbstractContextManager[None]:
    return st.spinner(words) if words else nullcontext()
