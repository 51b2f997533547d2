"""Remember the Journey as it was left, and lead back to it from the heading of every other page."""

from dataclasses import dataclass

import streamlit as st

from bertviz_core.figures.journey.payload import Path
from bertviz_core.settings import DEFAULT_MODEL
from ui import session
from ui.address.journey_links import JOURNEY, PLACE, page_links, shared_names
from ui.components.journey.show import show_link

LEFT = "journey_left"
"""Session key: the Journey as it was drawn last."""


@dataclass(frozen=True, slots=True)
class JourneyLeft:
    """The Journey as it was drawn last."""

    of: tuple[str, str]
    """Model and text."""
    query: tuple[tuple[str, str], ...]
    """Names and values in its address, the selection written out."""
    layers: int
    longest: int
    """Position of the token that is selected by default."""


def remember_journey(path: Path, layers: int, longest: int) -> None:
    """Remember the drawing for the way back from other pages."""
    looks = {name: st.query_params[name] for name in shared_names(JOURNEY) if name in st.query_params}
    places = {"token": path.token, "layer": path.open, "head": path.head, "key": path.key}
    shown = {PLACE[field]: str(at) for field, at in places.items() if at not in (None, "")}
    session.store(LEFT, JourneyLeft(_model_and_text(), tuple({**looks, **shown}.items()), layers, longest))


def show_in_journey(page: str) -> None:
    """Show a link to the place of a page in the drawing; nothing on the Journey itself or in a frame."""
    if page == JOURNEY or st.context.is_embedded:
        return
    left = session.stored(LEFT)
    if isinstance(left, JourneyLeft) and left.of == _model_and_text():
        query, layers, longest = left.query, left.layers, left.longest
    else:
        looks = () if left is None else tuple(each for each in left.query if each[0] not in PLACE.values())
        query, layers, longest = looks, None, None
    show_link(query, page_links(page, layers, longest), PLACE, "show_in_journey")


def _model_and_text() -> tuple[str, str]:
    return str(session.stored("model") or DEFAULT_MODEL), str(session.stored("text", session.DEFAULT_TEXT))
