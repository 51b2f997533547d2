"""What a page draws after all the rest, in its place."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import streamlit as st

_WAITING: ContextVar[list[Callable[[], None]] | None] = ContextVar("waiting", default=None)
"""What is still to be drawn; None where nothing waits."""


@contextmanager
def later_last() -> Iterator[None]:
    """Draw what `later` puts off at the end of the block."""
    waiting: list[Callable[[], None]] = []
    before = _WAITING.set(waiting)
    try:
        yield
    finally:
        _WAITING.reset(before)
    for draw in waiting:
        draw()


def later(draw: Callable[[], None]) -> None:
    """Draw at this place, but last; at once in a section that is drawn anew by itself."""
    place, waiting = st.container(), _WAITING.get()

    def drawn() -> None:
        with place:
            draw()

    if waiting is None:
        drawn()
    else:
        waiting.append(drawn)
