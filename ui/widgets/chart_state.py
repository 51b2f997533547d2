"""Charts as the maker of a link had moved them: the browser writes it into the link, and the first drawing follows it.

It holds as long as the chart shows what the link showed; a figure of another text, model or layer begins as it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from bertviz_core.figures.base.view_state import Left, as_left, read_left

DRAWN = "drawn"
"""Name in the address: a word per chart."""
MOST_CHARTS, MOST_CHARACTERS = 12, 2_000
_HELD = "charts_left"
_FACTS = ("model", "text", "pair", "sentences", "query_sentence")
"""Keys of what a figure may depend on besides its own title."""


@dataclass(slots=True)
class _Held:
    """A chart that a link describes."""

    left: Left
    shows: tuple[object, ...] | None = None
    """What it showed when it was first drawn."""
    let_go: bool = False
    """Whether its reader has drawn another line since."""


def take(words: Sequence[str]) -> None:
    """Remember how the charts of a link stood; a stranger's words, of which malformed ones are ignored."""
    found = (read_left(word) for word in words[:MOST_CHARTS] if len(word) <= MOST_CHARACTERS)
    st.session_state[_HELD] = {key: _Held(left) for key, left in filter(None, found)}


def standing(figure: Any, key: str) -> Any:
    """The figure as the link says that the chart of this key stands; the figure itself where none says so."""
    held = _held(figure, key)
    return figure if held is None else as_left(figure, held.left)


def encircled_in_link(figure: Any, key: str) -> tuple[tuple[float, ...], ...]:
    """Lines around points that the link has, until the reader draws another."""
    held = _held(figure, key)
    return () if held is None or held.let_go else held.left.outlines


def let_go(key: str) -> None:
    """Forget the link's lines: the reader has drawn another, or taken it away."""
    held = st.session_state.get(_HELD, {}).get(key)
    if held is not None:
        held.let_go = True


def _held(figure: Any, key: str) -> _Held | None:
    held: _Held | None = st.session_state.get(_HELD, {}).get(key)
    if held is None:
        return None
    shows = (figure.layout.title.text, *(st.session_state.get(fact) for fact in _FACTS))
    if held.shows is None:
        held.shows = shows
    return held if held.shows == shows else None
