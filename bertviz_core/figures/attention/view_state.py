"""What is chosen and drawn in the attention view: as the browser sends it, and as a link has it."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from bertviz_core.attention.results import AttentionAtlas
from bertviz_core.attention.tables import MEASURE_NAMES
from bertviz_core.figures.attention.payload import identity, map_bits

MOST_CHARACTERS = 400
Head = tuple[int, int]
Range = tuple[int, int, int, int]
MOST_HEADS = 8
Scale = Literal["", "own", "fixed"]
Shades = Literal["", "even", "lifted"]


@dataclass(frozen=True, slots=True)
class ViewOptions:
    """How the view is drawn, and what is selected in it; the defaults are those of a new view."""

    lines: bool = False
    """Whether the open heads are drawn as lines, not as maps."""
    order: str = ""
    """Measure that orders the heads, with hyphens for spaces; "" for the order of the model."""
    frame: str = ""
    """Measure that frames the heads; "" for none."""
    scale: Scale = ""
    """End of the colour scale: "" for the largest weight of all heads, "own" for that of each head, "fixed" for 1."""
    shades: Shades = ""
    """How weights are mapped to shades; "" chooses by the length of the text."""
    hide: int | None = None
    """Share of the largest weight, in percent, below which no line is drawn; None chooses by the length of the text."""
    heads: tuple[Head | None, ...] = ()
    """(layer, head) of the selected heads in the order of their hues, None for a free hue; () if only the open head is
    selected."""
    zoom: Range | None = None
    """(first query, end, first key, end) of the visible part, ends excluded; None for the whole."""
    cell: tuple[int, int] | None = None
    """(query, key) of the clicked cell of the opened head."""
    pins: tuple[str, ...] = ()
    """Pinned tokens: q or k and the index on the axis."""


_NUMBER = "(?:0|[1-9][0-9]{0,5})"
_HEAD = rf"(?:{_NUMBER}\.{_NUMBER})?"
_MEASURE = "|".join(name.replace(" ", "-") for name in MEASURE_NAMES.values())


def _joined_heads(heads: Sequence[Head | None]) -> str:
    return "-".join("" if head is None else _dotted(head) for head in heads)


def _split_heads(text: str) -> tuple[Head | None, ...]:
    return tuple(cast(Head, _numbers(each)) if each else None for each in text.split("-"))


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split("."))


def _dotted(numbers: tuple[int, ...]) -> str:
    return ".".join(str(number) for number in numbers)


_PARTS: Mapping[str, tuple[str, Callable[[str], Any], Callable[[Any], str]]] = {
    "lines": ("", lambda _: True, lambda _: ""),
    "order": (_MEASURE, str, str),
    "frame": (_MEASURE, str, str),
    "scale": ("own|fixed", str, str),
    "shades": ("even|lifted", str, str),
    "hide": ("[0-9]|[1-9][0-9]|100", int, str),
    "heads": (f"{_HEAD}(?:-{_HEAD}){{0,7}}", _split_heads, _joined_heads),
    "zoom": (rf"{_NUMBER}(?:\.{_NUMBER}){{3}}", _numbers, _dotted),
    "cell": (rf"{_NUMBER}\.{_NUMBER}", _numbers, _dotted),
    "pins": (f"[qk]{_NUMBER}(?:-[qk]{_NUMBER})*", lambda text: tuple(text.split("-")), "-".join),
}
"""Field of the options -> form of its value in the address, which reads it, and which writes it."""


def from_query(text: str) -> ViewOptions:
    """Parse the word in the address; the defaults if any part is malformed, unknown or repeated.

    Whether its numbers exist in the current model and text is not checked here.
    """
    values: dict[str, Any] = {}
    for part in text.split("_") if len(text) <= MOST_CHARACTERS else [""]:
        name, _, value = part.partition("-")
        if name in values or name not in _PARTS or not re.fullmatch(_PARTS[name][0], value):
            return ViewOptions()
        values[name] = _PARTS[name][1](value)
    for named in ([head for head in values.get("heads", ()) if head], values.get("pins", ())):
        if len(set(named)) < len(named):
            return ViewOptions()
    return ViewOptions(**values)


def to_query(look: ViewOptions) -> str:
    """Encode options as a word, "" for the defaults; pins are left out if they make it too long."""
    changed = {name: getattr(look, name) for name in _PARTS if getattr(look, name) != getattr(ViewOptions(), name)}
    parts = [name if name == "lines" else f"{name}-{_PARTS[name][2](value)}" for name, value in changed.items()]
    full = "_".join(parts)
    return full if len(full) <= MOST_CHARACTERS or not look.pins else "_".join(parts[:-1])


AHEAD_BYTES = 400_000
"""Most bytes of maps sent ahead: twelve maps of 128 tokens, three of 256."""
FEWEST_AHEAD = 3
"""Least number of maps worth sending ahead."""


def int_tuples(value: Any, length: int) -> list[Any]:
    """Entries that consist of `length` whole numbers from 0."""
    entries = value if isinstance(value, Sequence) and not isinstance(value, str) else []
    return [tuple(entry) for entry in entries if _is_numbers(entry, length)]


def _is_numbers(entry: Any, length: int) -> bool:
    return (
        isinstance(entry, list | tuple)
        and len(entry) == length
        and all(isinstance(number, int) and number >= 0 for number in entry)
    )


def window_within(value: Any, size: tuple[int, int]) -> Range | None:
    """A non-empty range within the map; None for anything else."""
    for first_query, end_query, first_key, end_key in int_tuples([value], 4):
        if first_query < end_query <= size[0] and first_key < end_key <= size[1]:
            return (first_query, end_query, first_key, end_key)
    return None


def with_head_first(opened: Head, chosen: list[Head]) -> list[Head]:
    """Return the selected heads, this one first; only this one if it is not among them."""
    return [opened, *(head for head in chosen if head != opened)] if opened in chosen else [opened]


def maps_sent_ahead(cells: int) -> int:
    """Number of maps of this many cells that are sent ahead."""
    room = AHEAD_BYTES // (cells * map_bits(cells) // 8)
    return room if room >= FEWEST_AHEAD else 0


def neighbouring_heads(opened: Head, layers: int, heads: int) -> list[Head]:
    """Heads that a reader is likely to open next: those of the same layer, then those of the nearest layers."""
    layer, head = opened
    beside = sorted(range(heads), key=lambda other: abs(other - head))
    above = sorted(range(layers), key=lambda other: abs(other - layer))
    return [(layer, other) for other in beside[1:]] + [(other, head) for other in above[1:]]


def hues_in_url(hues: tuple[Head | None, ...], chosen: list[Head]) -> tuple[Head | None, ...]:
    """The heads in the order of their hues; empty if they are not the selected ones, or in the default order."""
    while hues and hues[-1] is None:
        hues = hues[:-1]
    return hues if {head for head in hues if head} == set(chosen) and hues != (chosen[0],) else ()


@dataclass(frozen=True, slots=True)
class ViewState:
    """The validated state of the view in the browser."""

    opened: Head
    """(layer, head) of the map, zero-based."""
    heads: tuple[Head, ...]
    """All selected heads, the open one first; at most 8."""
    missing: tuple[Head, ...]
    """Selected heads whose map the browser does not have."""
    ahead: tuple[Head, ...]
    """Heads that are likely to be opened next and whose map the browser lacks; empty until it has the thumbnails."""
    cell: tuple[int, int, int, int] | None
    """(layer, head, query, key) of the clicked cell, as entries of the axes."""
    range: Range | None
    """(first query, end, first key, end) of the visible part, ends excluded; None for the whole map."""
    message: Mapping[str, Any] | None
    """The browser's message that this answers."""
    holds_atlas: bool
    """Whether the browser has the thumbnails."""
    look: ViewOptions
    """How the view is drawn, as a link restores it."""


def view_state(
    browser: Mapping[str, Any], atlas: AttentionAtlas, opened: Head | None = None, requested: ViewOptions | None = None
) -> ViewState:
    """Validate the last message of a view, {} before the first; call this before the maps are computed.

    `opened` is the head that must be open, for pages with their own widgets for it; without it the view chooses, and
    starts with layer 0, head 0. `requested` are the options in the address, which have priority over the browser's.
    """
    same = browser.get("identity") == identity(atlas)
    of_this_atlas = browser if same else {}
    grid, size = atlas.thumbnails.shape[:2], (len(atlas.queries), len(atlas.keys))
    options = requested or _view_options(browser)
    hues = tuple(head if head and _fits(head, grid) else None for head in options.heads)
    named = [head for head in hues if head] if requested else int_tuples(browser.get("heads"), 2)
    heads = _selected_heads(named, grid, opened)
    window = window_within(requested.zoom if requested else of_this_atlas.get("range"), size)
    cell = _clicked_cell(heads[0], of_this_atlas.get("cell"), requested)
    cell = cell if cell and _fits(cell[:2], grid) and _fits(cell[2:], size) else None
    missing, ahead = _maps_to_send(heads, of_this_atlas, grid, size, window)
    pins = options.pins if requested or same else ()
    return ViewState(
        opened=heads[0],
        heads=heads,
        missing=missing,
        ahead=ahead,
        cell=cell,
        range=window,
        message={name: browser.get(name) for name in ("serial", "heads")} if browser else None,
        holds_atlas=of_this_atlas.get("atlas") is True,
        look=replace(
            options,
            heads=hues_in_url(hues, list(heads)),
            zoom=window,
            cell=cell[2:] if cell and cell[:2] == heads[0] else None,
            pins=tuple(pin for pin in pins if int(pin[1:]) < size[pin[0] == "k"]),
        ),
    )


def _fits(place: Sequence[int], shape: Sequence[int]) -> bool:
    """Whether an index is within a shape."""
    return all(index < length for index, length in zip(place, shape, strict=True))


def _selected_heads(named: Sequence[Head], grid: Sequence[int], opened: Head | None) -> tuple[Head, ...]:
    """The selected heads, the open one first; layer 0, head 0 by default."""
    selected = [(layer, head) for layer, head in named if _fits((layer, head), grid)][:MOST_HEADS]
    return tuple(with_head_first(opened, selected) if opened else selected or [(0, 0)])


def _clicked_cell(opened: Head, clicked: Any, requested: ViewOptions | None) -> tuple[int, int, int, int] | None:
    """(layer, head, query, key) of the cell in the address, or of the clicked one."""
    if requested:
        return (*opened, *requested.cell) if requested.cell else None
    return next(iter(int_tuples([clicked], 4)), None)


def _maps_to_send(
    heads: Sequence[Head], browser: Mapping[str, Any], grid: Sequence[int], size: tuple[int, int], window: Range | None
) -> tuple[tuple[Head, ...], tuple[Head, ...]]:
    """Selected heads whose map the browser does not have, and heads whose map is sent ahead."""
    if browser.get("complete") is True:
        return (), ()
    part = window or (0, size[0], 0, size[1])
    maps, map_parts = set(int_tuples(browser.get("maps"), 2)), set(int_tuples(browser.get("maps"), 6))
    missing = tuple(head for head in heads if head not in maps and (*head, *part) not in map_parts)
    if browser.get("atlas") is not True:
        return missing, ()
    near = neighbouring_heads(heads[0], grid[0], grid[1])[: maps_sent_ahead(size[0] * size[1])]
    return missing, tuple(head for head in near if head not in {*heads, *maps})


def _view_options(message: Mapping[str, Any]) -> ViewOptions:
    """Convert the browser's options to those of the address."""
    word = message.get("drawn")
    return from_query(word) if isinstance(word, str) else ViewOptions()
