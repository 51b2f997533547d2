"""A figure as a reader has moved it: the part of its axes, the step of its slider, the open module, what is encircled.

A link says it in one word per chart, such as paths*xaxis*-2*3.5*slider*4. The word is a stranger's: what of it does not
fit the figure is left out.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

BETWEEN = "*"
MOST_PARTS = 400
"""Names and numbers of one chart."""
_AXIS = re.compile(r"[xy]axis[0-9]{0,3}")
_KEY = re.compile(r"[a-z][a-z0-9_]{0,59}")
_NUMBER = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,12})?(?:e-?[0-9]{1,2})?")
_LINES = ("lasso", "box")
TREES = ("sunburst", "treemap", "icicle")


@dataclass(frozen=True, slots=True)
class ChartState:
    """How a chart stands."""

    ranges: dict[str, tuple[float, float]]
    """Axis -> its ends, as plotly writes them."""
    slider: int | None = None
    """Step of the slider."""
    level: str = ""
    """Id of the module that a tree is opened at."""
    hidden: tuple[int, ...] = ()
    """Places of the traces that the legend has switched off."""
    outlines: tuple[tuple[float, ...], ...] = ()
    """Lines drawn around points: x and y by turns; a box is its four corners."""


def parse_chart_state(word: str) -> tuple[str, ChartState] | None:
    """(key of the chart, how it stands); None where any part of the word is malformed."""
    key, *parts = word.split(BETWEEN)
    if not _KEY.fullmatch(key) or len(parts) > MOST_PARTS:
        return None
    ranges: dict[str, tuple[float, float]] = {}
    slider, level = None, ""
    hidden: tuple[int, ...] = ()
    outlines: list[tuple[float, ...]] = []
    try:
        for name, values in _named(parts):
            if _AXIS.fullmatch(name):
                first, last = _numbers(values)
                ranges[name] = first, last
            elif name == "level":
                (level,) = values
            elif name == "slider":
                (slider,) = _places(values)
            elif name == "hidden":
                hidden = _places(values)
            else:
                outlines.append(_outline(name, _numbers(values)))
    except ValueError:
        return None
    return key, ChartState(ranges, slider, level, hidden, tuple(outlines))


def apply_chart_state(figure: go.Figure, left: ChartState) -> go.Figure:
    """A copy of the figure that stands as its reader left it; what it does not have stays as it is."""
    found = go.Figure(figure)
    for name, ends in left.ranges.items():
        if name in found.layout and not found.layout[name].fixedrange:
            found.layout[name].update(range=ends, autorange=False)
    if found.layout.sliders and left.slider is not None and left.slider < len(found.frames):
        found.layout.sliders[0].active = left.slider
        for trace, drawn in zip(found.data, found.frames[left.slider].data, strict=False):
            trace.z = drawn.z
    for trace in found.data:
        if trace.type in TREES and left.level in (trace.ids if trace.ids is not None else ()):
            trace.level = left.level
    for place in left.hidden:
        if place < len(found.data):
            found.data[place].visible = "legendonly"
    if left.outlines:
        found.update_layout(selections=[_selection(line) for line in left.outlines])
    return found


def _named(parts: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Names, each with the values behind it."""
    name = ""
    values: list[str] = []
    for part in parts:
        if (name == "level" and not values) or not re.fullmatch("[a-z][a-z0-9]*", part):
            values.append(part)
            continue
        if name:
            yield name, values
        name, values = part, []
    if name:
        yield name, values


def _numbers(values: Sequence[str]) -> tuple[float, ...]:
    if not all(map(_NUMBER.fullmatch, values)):
        raise ValueError("no number")
    return tuple(float(value) for value in values)


def _places(values: Sequence[str]) -> tuple[int, ...]:
    if not all(re.fullmatch("[0-9]{1,4}", value) for value in values):
        raise ValueError("no place")
    return tuple(int(value) for value in values)


def _outline(name: str, numbers: tuple[float, ...]) -> tuple[float, ...]:
    if name not in _LINES or len(numbers) % 2 or not all(map(math.isfinite, numbers)):
        raise ValueError("no line")
    if name == "box":
        left, low, right, high = numbers
        return (left, low, right, low, right, high, left, high)
    if len(numbers) < 6:
        raise ValueError("no line")
    return numbers


def _selection(line: tuple[float, ...]) -> dict[str, Any]:
    corners = "L".join(f"{x!r},{y!r}" for x, y in zip(line[::2], line[1::2], strict=True))
    return {"type": "path", "path": f"M{corners}Z", "xref": "x", "yref": "y"}
