"""How a control follows the address: after a link, Back or Forward, a lesson's step, a change of page or of the text.

Streamlit seeds a bound control from the address by itself. These are for controls that do more: those that stand on
several pages, and those whose value in the address means something in one text alone.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import streamlit as st

from ui.address.navigation import Visit, visit

DRAWN, WRITTEN = "address_drawn", "address_written"
"""Keys of the session: name of a control -> the visit in which it was drawn last; what it wrote into the address."""
EMBEDDINGS = "embeddings"
Source = Literal["address", "default", "control", "elsewhere"]
"""Where a value comes from: the address says another one; the address says none and is to be believed; it is the one
that the control holds; or it was for another text, and the control decides."""


@dataclass(frozen=True, slots=True)
class Written:
    """What a control wrote into the address last."""

    text: str | None
    """Its value; None where the address names none, as for a default."""
    of: Hashable
    """What the value belongs to, such as the text whose token it counts."""
    visit: int
    """Number of the visit."""


def source(asked: str | None, before: Written | None, of: Hashable, now: Visit) -> Source:
    """Where a control's value comes from.

    Args:
        asked: what the address says; None for nothing.
        before: what the control wrote there last; None where it has not been drawn.
        of: what the value belongs to now.
        now: the visit of this run.
    """
    if asked is not None and (before is None or asked != before.text):
        return "address"
    drawn_here = before is not None and before.visit == now.number
    if asked is None and now.complete and not drawn_here:
        return "default"
    if before is None or before.of != of:
        return "elsewhere"
    return "default" if asked is None and before.text is not None and drawn_here else "control"


def source_of(key: str, of: Hashable) -> Source:
    """Where the value of a control comes from in this run."""
    return source(st.query_params.get(key), st.session_state.get(WRITTEN, {}).get(key), of, visit())


def write(key: str, text: str | None, of: Hashable) -> None:
    """Let the address say a control's value; None for a default, which it does not name."""
    st.session_state[WRITTEN] = {**st.session_state.get(WRITTEN, {}), key: Written(text, of, visit().number)}
    if text is None:
        st.query_params.pop(key, None)
    elif st.query_params.get(key) != text:
        st.query_params[key] = text


def rewrite(key: str, text: str) -> None:
    """Let the address say another value, for the text that the control was drawn for last."""
    before: Written | None = st.session_state.get(WRITTEN, {}).get(key)
    write(key, text, None if before is None else before.of)


def arrived(control: str) -> bool:
    """Whether this is another visit than the one in which the control was drawn last; it counts as drawn now."""
    before = _drawn_now(control)
    return before is None or before.number != visit().number


def bring_along(key: str, default: int) -> None:
    """Keep a number that a control of the same name holds on another page; to be called before the control is drawn.

    Streamlit takes the parameters of the page before out of the address, and the control then begins anew. A number in
    the address of this page counts more.
    """
    before, held, now = _drawn_now(key), st.session_state.get(key), visit()
    elsewhere = before is not None and before.page != now.page
    if not elsewhere or now.complete or held in (None, default) or key in st.query_params:
        return
    st.session_state[key] = held
    st.query_params[key] = str(held)


def _drawn_now(control: str) -> Visit | None:
    """The visit in which a control was drawn last; it counts as drawn in this one from here on."""
    drawn: dict[str, Visit] = st.session_state.get(DRAWN, {})
    st.session_state[DRAWN] = {**drawn, control: visit()}
    return drawn.get(control)


def view_to_show(named: str | None, remembered: str | None, options: Sequence[str], anew: bool) -> str:
    """The view that a page shows.

    Args:
        named: what the address says.
        remembered: the view of this page that was seen last.
        options: the views of the page; the first is the one to begin with.
        anew: whether the page was reached in a way that may remember: by a link that names no view.
    """
    wanted = remembered if named is None and anew else named
    return options[0] if wanted is None or wanted not in options else wanted


class Layer(NamedTuple):
    """What the control of the layer is to show."""

    put: str | None
    """What it is set to; None where it shows what the address says or what it holds."""
    own: str
    """What it shows while the reader chooses nothing else."""
    absent: str | None
    """What was asked for and is not there; None where all is well."""


def layer_to_show(
    options: Sequence[str],
    default: str,
    asked: str | None,
    shown: str | None,
    chosen: str | None,
    anew: bool,
    complete: bool,
) -> Layer:
    """What the control of the layer is to show.

    Args:
        options: the layers that there are, in their order.
        default: the one that the page begins with.
        asked: what the address says.
        shown: what the control shows.
        chosen: what the reader chose last on any page.
        anew: whether the control is drawn for the first time in this visit.
        complete: whether the address says all of the view.
    """
    own = default if chosen is None or (anew and complete) else nearest(chosen, options, default)
    put = own if anew and asked is None else None
    wanted = str((asked if anew else None) or put or shown or default)
    if wanted in options:
        return Layer(put, own, None)
    if anew and asked is None:
        return Layer(own, own, None)
    own = nearest(wanted, options, default)
    return Layer(own, own, wanted)


def nearest(wanted: str, options: Sequence[str], default: str) -> str:
    """The option that comes closest: the last for a number beyond it, the first for embeddings where they are none."""
    if wanted in options:
        return wanted
    digits = wanted.removeprefix("-")
    is_number = digits.isascii() and digits.isdigit()
    if wanted == EMBEDDINGS or (is_number and wanted.startswith("-")):
        return options[0]
    return options[-1] if is_number else default
