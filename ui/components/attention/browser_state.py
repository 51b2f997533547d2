"""Validate the state of the attention view that the browser sends."""

from collections.abc import Sequence
from typing import Any

from ui.components.attention.payload import map_bits
from ui.components.attention.view_options import Head, Range

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
