"""The map of a corpus: density drawn from counts that the server makes for each window, single rows when zoomed in."""

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
"""Of what is selected; the browser draws no line of more."""
_component = st.components.v2.component(
    "corpus_map",
    html='<div class="corpus-map"></div>',
    css=_HERE.with_name("corpus_map.css").read_text(encoding="utf-8"),
    js=_HERE.with_name("corpus_map.js").read_text(encoding="utf-8"),
)


@dataclass(frozen=True, slots=True)
class MapState:
    """What the reader did in the map, checked."""

    window: MapWindow | None
    """The part that is looked at; None for the whole."""
    region: tuple[tuple[float, float], ...]
    """Corners of what is selected; empty for nothing."""
    serial: int
    """Number of the last thing that the browser said; 0 before it said anything."""


def map_state(key: str, identity: str) -> MapState:
    """What the reader did so far in the map of this key; a browser's word, of which anything malformed is ignored.

    Args:
        key: of the map.
        identity: name of what it shows; what was said of another map counts no more.
    """
    state = component_state(key)
    said = state.get("said") if isinstance(state, Mapping) else None
    if not isinstance(said, Mapping) or said.get("identity") != identity:
        return MapState(None, (), 0)
    serial = said.get("serial")
    return MapState(
        as_window(said.get("window")), _region(said.get("region")), serial if isinstance(serial, int) else 0
    )


def as_window(said: Any) -> MapWindow | None:
    """Four numbers, left below right and low below high; None for anything else."""
    numbers = _numbers(said, 4)
    if numbers is None or not (numbers[0] < numbers[1] and numbers[2] < numbers[3]):
        return None
    return MapWindow(*numbers)


def corpus_map(scene: MapScene, state: MapState, theme: Theme, key: str, on_change: Callable[[], None]) -> None:
    """The map.

    Args:
        scene: what it shows.
        state: what `map_state` gave.
        theme: colours.
        key: of the map; its place on the page stays the same while the scene changes.
        on_change: called when the reader moved, zoomed or selected rows.
    """
    data = map_payload(scene, theme, state.serial, state.region or None)
    _component(key=key, data=data, default={"said": None}, on_said_change=on_change, height="content")


def _region(said: Any) -> tuple[tuple[float, float], ...]:
    if not isinstance(said, (list, tuple)) or not 2 < len(said) <= MOST_CORNERS:
        return ()
    corners = [_numbers(corner, 2) for corner in said]
    if any(corner is None for corner in corners):
        return ()
    region = tuple((corner[0], corner[1]) for corner in corners if corner is not None)
    flat = any(min(ends) >= max(ends) for ends in zip(*region, strict=True))
    return () if flat else region


def _numbers(said: Any, count: int) -> tuple[float, ...] | None:
    """So many finite numbers; None for anything else."""
    if not isinstance(said, (list, tuple)) or len(said) != count:
        return None
    if not all(isinstance(each, (int, float)) and not isinstance(each, bool) for each in said):
        return None
    numbers = tuple(map(float, said))
    return numbers if all(map(math.isfinite, numbers)) else None
