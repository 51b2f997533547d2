"""A map of a corpus: counts of rows per cell, and single rows when zoomed in."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int, UInt

from bertviz_core.corpus.analysis.results import MapWindow
from bertviz_core.figures.base.export import packed
from bertviz_core.figures.base.style import HUES, Theme, sequential
from bertviz_core.text import escape_controls, shortened
from ui.components import component, file_text
from ui.session import stored

LONGEST_TEXT, LONGEST_GROUP = 160, 40
OTHERS = len(HUES)
"""Index of the group of all values without a colour of their own."""


@dataclass(frozen=True, slots=True, eq=False)
class MapScene:
    """The content of the map in a window."""

    identity: str
    """Identity of the map, which depends on corpus, method and column."""
    label: str
    """Description for screen readers."""
    words: str
    """Caption below the map."""
    whole: MapWindow
    """The window that contains every row."""
    window: MapWindow
    """The visible window."""
    counts: Int[np.ndarray, "high wide"]
    """Rows in each cell of the window, from low to high and left to right."""
    groups: tuple[str, ...] = ()
    """Values with a colour of their own, in the order of the colours; empty for a scale of counts."""
    cell_groups: Int[np.ndarray, "high wide"] | None = None
    """Index of the most frequent group of each cell; None without groups."""
    points: Float[np.ndarray, "points 2"] | None = None
    """Coordinates of single rows, shown instead of cells; None if there are too many."""
    point_groups: Int[np.ndarray, " points"] | None = None
    """Their groups; None without groups."""
    texts: tuple[str, ...] = ()
    """The text of each point; empty where there are too many."""


def levels(counts: Int[np.ndarray, "*shape"]) -> UInt[np.ndarray, "*shape"]:
    """Counts as bytes: 0 for none, 1 to 255 by the logarithm of the count, 255 for the largest."""
    most = max(int(counts.max(initial=0)), 1)
    share = np.log1p(counts.astype(np.float64)) / np.log1p(most)
    steps = np.clip(np.rint(255 * share), 1, 255).astype(np.uint8)
    return np.where(counts > 0, steps, 0).astype(np.uint8)


def group_colours(count: int, theme: Theme) -> list[str]:
    """Colours of this many groups; groups beyond the palette are muted."""
    return [theme.hues[place] if place < OTHERS else theme.muted for place in range(count)]


def map_payload(
    scene: MapScene, theme: Theme, answers: int = 0, region: Sequence[Sequence[float]] | None = None
) -> bytes:
    """Encode the message for the browser, whose message with the serial number `answers` it answers."""
    high, wide = scene.counts.shape
    points = np.zeros((0, 2), np.float32) if scene.points is None else scene.points.astype(np.float32)
    named = zip(scene.groups, group_colours(len(scene.groups), theme), strict=True)
    header: dict[str, Any] = {
        "identity": scene.identity,
        "label": scene.label,
        "words": scene.words,
        "look": {
            **{name: getattr(theme, name) for name in ("name", "paper", "text", "muted", "grid", "neutral")},
            "scale": sequential(theme),
            "hue": group_colours(1, theme)[0],
        },
        "whole": _ends(scene.whole),
        "window": _ends(scene.window),
        "size": [wide, high],
        "groups": [
            {"name": escape_controls(shortened(name, LONGEST_GROUP)), "colour": colour} for name, colour in named
        ],
        "points": len(points),
        "texts": [escape_controls(shortened(text, LONGEST_TEXT)) for text in scene.texts],
        "answers": answers,
        "region": [list(corner) for corner in region] if region is not None else None,
    }
    arrays = [levels(scene.counts)]
    if scene.groups:
        arrays.append(_groups(scene.cell_groups, (high, wide)))
    arrays.append(np.ascontiguousarray(points))
    if scene.groups:
        arrays.append(_groups(scene.point_groups, (len(points),)))
    return packed(header, arrays)


def _ends(window: MapWindow) -> list[float]:
    return [window.left, window.right, window.bottom, window.top]


def _groups(places: Int[np.ndarray, "..."] | None, shape: tuple[int, ...]) -> UInt[np.ndarray, "..."]:
    """Indices of groups as bytes; 0 without groups."""
    return np.zeros(shape, np.uint8) if places is None else np.clip(places, 0, 255).astype(np.uint8)


MOST_CORNERS = 220
"""Most corners of a selection."""
_component = component(
    "corpus_map",
    html='<div class="corpus-map"></div>',
    css=file_text(__file__, "corpus_map.css"),
    js=file_text(__file__, "corpus_map.js"),
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
    """Validate the state of a map; malformed parts, and the state of another content, are ignored."""
    state = stored(key)
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
    """Draw the map; `on_change` is called when the reader moves, zooms or selects rows."""
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
