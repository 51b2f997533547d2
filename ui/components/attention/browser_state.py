"""What a browser says of the attention view, checked: a stranger's word, of which only what fits is taken."""

from collections.abc import Sequence
from typing import Any

from ui.components.attention.payload import map_bits
from ui.components.attention.url import Head, Range

AHEAD_BYTES = 400_000
"""Most bytes of the maps that a reader may open next: of 128 tokens twelve maps, of 256 three."""
FEWEST_AHEAD = 3
"""Fewer help no one who looks through the heads."""


def int_tuples(value: Any, length: int) -> list[Any]:
    """Those entries that are so many whole numbers from 0."""
    entries = value if isinstance(value, Sequence) and not isinstance(value, str) else []
    return [tuple(entry) for entry in entries if _is_numbers(entry, length)]


def _is_numbers(entry: Any, length: int) -> bool:
    return (
        isinstance(entry, list | tuple)
        and len(entry) == length
        and all(isinstance(number, int) and number >= 0 for number in entry)
    )


def window_within(value: Any, size: tuple[int, int]) -> Range | None:
    """A range that lies within the map and holds something."""
    for first_query, end_query, first_key, end_key in int_tuples([value], 4):
        if first_query < end_query <= size[0] and first_key < end_key <= size[1]:
            return (first_query, end_query, first_key, end_key)
    return None


def with_head_first(opened: Head, chosen: list[Head]) -> list[Head]:
    """The chosen heads, this one first; it alone where it is not one of them."""
    return [opened, *(head for head in chosen if head != opened)] if opened in chosen else [opened]


def maps_sent_ahead(cells: int) -> int:
    """How many opened maps of so many cells may go ahead of their being opened."""
    room = AHEAD_BYTES // (cells * map_bits(cells) // 8)
    return room if room >= FEWEST_AHEAD else 0


def neighbouring_heads(opened: Head, layers: int, heads: int) -> list[Head]:
    """The heads that a reader of this one is likely to open next: its layer's and, from near to far, other layers'."""
    layer, head = opened
    beside = sorted(range(heads), key=lambda other: abs(other - head))
    above = sorted(range(layers), key=lambda other: abs(other - layer))
    return [(layer, other) for other in beside[1:]] + [(other, head) for other in above[1:]]


def hues_in_url(hues: tuple[Head | None, ...], chosen: list[Head]) -> tuple[Head | None, ...]:
    """The heads in the places of their hues; nothing where they are not the chosen ones, or need not be named."""
    while hues and hues[-1] is None:
        hues = hues[:-1]
    return hues if {head for head in hues if head} == set(chosen) and hues != (chosen[0],) else ()
