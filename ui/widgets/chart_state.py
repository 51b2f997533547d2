"""Charts as the maker of a link had moved them: the browser writes it into the link, and the first drawing follows it.

It holds as long as the chart shows what the link showed; a figure of another text, model or layer begins as it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from bertviz_core.figures.base.view_state import ChartState, apply_chart_state, parse_chart_state

DRAWN = "drawn"
"""Name in the address: a word per chart."""
MOST_CHARTS, MOST_CHARACTERS = 12, 2_000
_LINKED = "charts_left"
_FACTS = ("model", "text", "pair", "sentences", "query_sentence")
"""Keys of what a figure may depend on besides its own title."""


@dataclass(slots=True)
class _LinkedChart:
    """A chart that a link describes."""

    left: ChartState
    shows: tuple[object, ...] | None = None
    """What it showed when it was first drawn."""
    forgotten: bool = False
    """Whether its reader has drawn another line since."""


def restore(words: Sequence[str]) -> None:
    """Remember how the charts of a link stood; a stranger's words, of which malformed ones are ignored."""
    found = (parse_chart_state(word) for word in words[:MOST_CHARTS] if len(word) <= MOST_CHARACTERS)
    st.session_state[_LINKED] = {key: _LinkedChart(left) for key, left in filter(None, found)}


def restored_figure(figure: Any, key: str) -> Any:
    """The figure as the link says that the chart of this key stands; the figure itself where none says so."""
    held = _linked_charts(figure, key)
    return figure if held is None else apply_chart_state(figure, held.left)


def selection_in_link(figure: Any, key: str) -> tuple[tuple[float, ...], ...]:
    """Lines around points that the link has, until the reader draws another."""
    held = _linked_charts(figure, key)
    return () if held is None or held.forgotten else held.left.outlines


def forget_selection(key: str) -> None:
    """Forget the link's lines: the reader has drawn another, or taken it away."""
    held = st.session_state.get(_LINKED, {}).get(key)
    if held is not None:
        held.forgotten = True


def _linked_charts(figure: Any, key: str) -> _LinkedChart | None:
    held: _LinkedChart | None = st.session_state.get(_LINKED, {}).get(key)
    if held is None:
        return None
    shows = (figure.layout.title.text, *(st.session_state.get(fact) for fact in _FACTS))
    if held.shows is None:
        held.shows = shows
    return held if held.shows == shows else None
