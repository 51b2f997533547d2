"""A map of a corpus: counts of rows per cell, and single rows when zoomed in."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from bertviz_core.corpus.analysis.results import MapWindow
from bertviz_core.figures.base.style import Theme
from ui.components.corpus_map.payload import MapScene, map_payload
from ui.session import component_state

_HERE = Path(__file__)
MOST_CORNERS = 220
"""Most corners of a selection."""
_component = st.components.v2.component(
    "corpus_map",
    html='<div class="corpus-map"></div>',
    css=_HERE.with_name("corpus_map.css").read_text(encoding="utf-8"),
    js=_HERE.with_name("corpus_map.js").read_text(encoding="utf-8"),
)


@dataclass(frozen=True, slots=True)
class MapState:
    """The validated state of the map in the browser."""

    window: MapWindow | None
    """The visible part; None for the whole map."""
    region: tuple[tuple[float, float], ...]
    """Corners of the selection; empty for none."""
    serial: int
    """Serial number of the last message of the browser; 0 before the first."""


def map_state(key: str, identity: str) -> MapState:
    """Validate the state of a map; malformed parts are ignored.

    Args:
        key: key of the component.
        identity: identity of the content; the state of another content is ignored.
    """
    state = component_state(key)
    message = state.get("message") if isinstance(state, Mapping) else None
    if not isinstance(message, Mapping) or message.get("identity") != identity:
        return MapState(None, (), 0)
    serial = message.get("serial")
    return MapState(
        as_window(message.get("window")), _region(message.get("region")), serial if isinstance(serial, int) else 0
    )


def as_window(message: Any) -> MapWindow | None:
    """Four numbers, left below right and low below high; None for anything else."""
    numbers = _numbers(message, 4)
    if numbers is None or not (numbers[0] < numbers[1] and numbers[2] < numbers[3]):
        return None
    return MapWindow(*numbers)


def corpus_map(scene: MapScene, state: MapState, theme: Theme, key: str, on_change: Callable[[], None]) -> None:
    """Draw the map.

    Args:
        scene: its content.
        state: its state from `map_state`.
        theme: its colours.
        key: key of the component.
        on_change: called when the reader moves, zooms or selects rows.
    """
    data = map_payload(scene, theme, state.serial, state.region or None)
    _component(key=key, data=data, default={"message": None}, on_message_change=on_change, height="content")


def _region(message: Any) -> tuple[tuple[float, float], ...]:
    if not isinstance(message, (list, tuple)) or not 2 < len(message) <= MOST_CORNERS:
        return ()
    corners = [_numbers(corner, 2) for corner in message]
    if any(corner is None for corner in corners):
        return ()
    region = tuple((corner[0], corner[1]) for corner in corners if corner is not None)
    flat = any(min(ends) >= max(ends) for ends in zip(*region, strict=True))
    return () if flat else region


def _numbers(message: Any, count: int) -> tuple[float, ...] | None:
    """Parse `count` finite numbers; None for anything else."""
    if not isinstance(message, (list, tuple)) or len(message) != count:
        return None
    if not all(isinstance(each, (int, float)) and not isinstance(each, bool) for each in message):
        return None
    numbers = tuple(map(float, message))
    return numbers if all(map(math.isfinite, numbers)) else None
