"""Decide where the value of a widget comes from: the address, its default or the widget itself.

Streamlit reads the value of a bound widget from the address by itself. This module serves widgets that are on several
pages, and widgets whose value belongs to one text only, such as a token's position.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

import streamlit as st
from streamlit.errors import StreamlitAPIException

from ui.address.navigation import BROUGHT, Visit, visit
from ui.address.values import put

DRAWN, WRITTEN = "address_drawn", "address_written"
"""Session keys: name of a widget -> the visit in which it was last drawn; name of a widget -> what it last wrote."""
EMBEDDINGS = "embeddings"
Source = Literal["address", "default", "control", "elsewhere"]
"""Where a value comes from. "address": the address has another value; "default": the address is complete and has none;
"control": the widget has it; "elsewhere": it belongs to another text, and the caller decides."""


@dataclass(frozen=True, slots=True)
class Written:
    """The value that a widget last wrote into the address."""

    text: str | None
    """The value; None for a default, which is not written."""
    of: Hashable
    """What the value belongs to, such as the text of a token's position."""
    visit: int
    """Number of the visit."""


def source(requested: str | None, before: Written | None, of: Hashable, now: Visit) -> Source:
    """Return where a widget's value comes from.

    Args:
        requested: value in the address; None for none.
        before: what the widget last wrote; None if it has not been drawn.
        of: what the value belongs to now.
        now: the visit of this run.
    """
    if requested is not None and (before is None or requested != before.text):
        return "address"
    drawn_here = before is not None and before.visit == now.number
    if requested is None and now.complete and not drawn_here:
        return "default"
    if before is None or before.of != of:
        return "elsewhere"
    return "default" if requested is None and before.text is not None and drawn_here else "control"


def source_of(key: str, of: Hashable) -> Source:
    """Where the value of a widget comes from in this run."""
    return source(st.query_params.get(key), st.session_state.get(WRITTEN, {}).get(key), of, visit())


def write(key: str, text: str | None, of: Hashable) -> None:
    """Write a widget's value into the address; None for a default, which is not written."""
    st.session_state[WRITTEN] = {**st.session_state.get(WRITTEN, {}), key: Written(text, of, visit().number)}
    put(key, text)


def rewrite(key: str, text: str) -> None:
    """Write another value into the address, for the text that the widget was drawn with last."""
    before: Written | None = st.session_state.get(WRITTEN, {}).get(key)
    write(key, text, None if before is None else before.of)


def arrived(control: str) -> bool:
    """Whether a widget is drawn for the first time in this visit; it counts as drawn from now on."""
    before = _drawn_now(control)
    return before is None or before.number != visit().number


def bring_along(key: str) -> None:
    """Keep a number of a widget that is also on another page; call this before the widget is drawn.

    Streamlit removes the parameters of the previous page from the address and resets the widget. A number in the
    address of this page has priority.
    """
    before, value, now = _drawn_now(key), st.session_state.get(key), visit()
    elsewhere = before is not None and before.page != now.page
    if not elsewhere or now.complete or not value or key in st.query_params:
        return
    st.session_state[key] = value
    put(key, str(value))


def write_brought(key: str, text: str | None) -> None:
    """Write a value that was brought back to this page into the address; call this before the widget is drawn.

    Args:
        key: name of the widget.
        text: the value in an address; None for the default, which is not written.
    """
    brought = st.session_state.get(BROUGHT, frozenset())
    if key not in brought:
        return
    if key not in st.query_params:
        try:
            put(key, text)
        except StreamlitAPIException:  # a widget of the previous run was bound to the name; the next run writes it
            return
    st.session_state[BROUGHT] = brought - {key}


def _drawn_now(control: str) -> Visit | None:
    """Record that a widget is drawn in this visit; returns the visit in which it was last drawn."""
    drawn: dict[str, Visit] = st.session_state.get(DRAWN, {})
    st.session_state[DRAWN] = {**drawn, control: visit()}
    return drawn.get(control)


def view_to_show(named: str | None, remembered: str | None, options: Sequence[str], anew: bool) -> str:
    """Choose the view that a page shows.

    Args:
        named: view in the address.
        remembered: view of this page that was open last.
        options: views of the page, the default first.
        anew: whether the page was reached by a link that names no view.
    """
    view = remembered if named is None and anew else named
    return options[0] if view is None or view not in options else view


def layer_to_show(
    options: Sequence[str], default: str, requested: str | None, stored: str | None, anew: bool, complete: bool
) -> tuple[str | None, str | None]:
    """Choose the value of the layer widget.

    Args:
        options: the layers of the model, in order.
        default: the page's default.
        requested: layer in the address.
        stored: value of the widget when it was drawn last.
        anew: whether the widget is drawn for the first time in this visit.
        complete: whether the address describes the whole view.

    Returns:
        The value that it is set to, None where it keeps its own or the one in the address; and the requested or stored
        layer, where the model does not have it.
    """
    named = requested if anew else None
    view = str(named or (None if anew and complete else stored) or default)
    if view not in options:
        return nearest(view, options, default), view
    return (view if anew and named is None else None), None


def nearest(view: str, options: Sequence[str], default: str) -> str:
    """The closest option: the last one for a larger number, the first one for absent embeddings."""
    if view in options:
        return view
    digits = view.removeprefix("-")
    is_number = digits.isascii() and digits.isdigit()
    if view == EMBEDDINGS or (is_number and view.startswith("-")):
        return options[0]
    return options[-1] if is_number else default
