"""Draw the pinned views that have no figures yet: the browser shows one after the other, and comes back.

A view is drawn by its own page from its own address, as when a reader opens it, so the report has what that address
shows. A page that asks something, or that waits for a long run, stays until it is answered, or the view is skipped.
"""

from dataclasses import dataclass, replace
from typing import NoReturn

import streamlit as st

from ui import session
from ui.address.navigation import bring_values_back, visit
from ui.address.values import take
from ui.components.step_links import address, open_at_once
from ui.lessons.handout import without_figures
from ui.lessons.pins import PINNED, pinned_views
from ui.lessons.tour import NAMES, Place
from ui.own_texts import restore_texts
from ui.session import TOUR

OPEN = "pins_open"
"""Session key: whether the panel of the pinned views is open. A number in the label of its button changes, which would
close it."""
DRAWING = "pinned_views_drawn"
"""Session key: the running drawing; None for none."""


@dataclass(frozen=True, slots=True)
class ViewsToDraw:
    """Pinned views that are drawn one after the other."""

    tokens: tuple[str, ...]
    """Tokens of the views, in order."""
    start: str
    """Address to which the browser returns."""
    at: int = 0
    """Number of the view that is drawn, from 0; after the last one the number of views."""
    to_open: bool = True
    """Whether the browser has not opened it yet."""

    @property
    def is_over(self) -> bool:
        """Whether all views were drawn or skipped."""
        return self.at >= len(self.tokens)

    def step(self) -> int | None:
        """Number of the view among the pinned ones, from 0; None where it was removed."""
        pins = enumerate(pinned_views().pins)
        return next((number for number, pin in pins if pin.token == self.tokens[self.at]), None)


def draw_missing() -> None:
    """Begin to draw the pinned views that have no figures, in the next run."""
    query = [(name, value) for name in st.query_params for value in st.query_params.get_all(name)]
    tokens = tuple(pin.token for pin in without_figures(pinned_views()))
    session.store(DRAWING, ViewsToDraw(tokens, address(visit().page, query)))


def current_drawing() -> ViewsToDraw | None:
    """The running drawing; None for none."""
    drawing = session.stored(DRAWING)
    return drawing if isinstance(drawing, ViewsToDraw) else None


def leave_after_the_last() -> None:
    """After the last view, restore the reader's own texts; their fields must not have been drawn in this run."""
    drawing = current_drawing()
    if drawing is not None and drawing.is_over and drawing.to_open:
        restore_texts()
        bring_values_back()
        st.session_state.pop(TOUR, None)
        take(NAMES)


def drawing_bar() -> None:
    """Show the progress, or have the browser open a view, and end the page there.

    After the last view that is the one in which the drawing began, where the panel of the pinned views is then open.
    """
    drawing = current_drawing()
    if drawing is None:
        return
    if drawing.to_open:
        _open(drawing)
    if drawing.is_over:
        session.store(DRAWING, None)
        session.store(OPEN, True)
        return
    step = drawing.step()
    if step is None or (session.stored(TOUR) or ())[:2] != (PINNED, str(step + 1)):  # the reader went elsewhere
        session.store(DRAWING, None)
        return
    with st.container(horizontal=True, vertical_alignment="center", key="pinned_drawing"):
        count = len(drawing.tokens)
        st.progress(drawing.at / count, f"View {drawing.at + 1} of {count} is drawn for the report")
        st.button("Skip this view", key="pinned_skip", on_click=_go_to, args=(drawing, drawing.at + 1))
        st.button("Stop", key="pinned_stop", on_click=_go_to, args=(drawing, count))


def draw_next() -> None:
    """Continue, once the page has shown the current view whole."""
    if (drawing := current_drawing()) is not None:
        _go_to(drawing, drawing.at + 1)
        st.rerun()


def _go_to(drawing: ViewsToDraw, at: int) -> None:
    session.store(DRAWING, replace(drawing, at=at, to_open=True))


def _open(drawing: ViewsToDraw) -> NoReturn:
    """Have the browser open the view, if it was not removed."""
    step = None if drawing.is_over else drawing.step()
    if step is None and not drawing.is_over:
        _go_to(drawing, drawing.at + 1)
        st.rerun()
    session.store(DRAWING, replace(drawing, to_open=False))
    whole = drawing.start if step is None else Place(pinned_views().lesson(), step).address()
    open_at_once(whole, drawing.at, "pinned_next", back=step is None)
    st.stop()
