"""The attention view: all heads at a glance, and the opened ones as a map or as lines between tokens."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import streamlit as st

from bertviz_core.attention.results import AttentionAtlas, AttentionMap, PooledMap
from bertviz_core.figures.base.style import Theme
from ui.components.attention.browser_state import (
    hues_in_url,
    int_tuples,
    maps_sent_ahead,
    neighbouring_heads,
    window_within,
    with_head_first,
)
from ui.components.attention.legend import MEASURES
from ui.components.attention.payload import identity, view_payload
from ui.components.attention.url import Head, Range, ViewOptions, from_query
from ui.session import component_state

PARTS = ("data", "paint", "atlas", "map", "pointer", "lines", "view")
MOST_HEADS = 8
HTML = '<div class="attention"></div>'
_HERE = Path(__file__).parent


def _code(name: str) -> str:
    """A file without indentation and lines of comment: the server sends it along with every message."""
    lines = (line.strip() for line in (_HERE / name).read_text(encoding="utf-8").splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))


CSS = _code("view.css")
JS = "\n".join(_code(f"js/{part}.js") for part in PARTS)
_component = st.components.v2.component("attention_view", html=HTML, css=CSS, js=f"{JS}\nexport default attentionView;")


@dataclass(frozen=True, slots=True)
class ViewState:
    """What the reader did in the view, checked against the atlas that is shown."""

    opened: Head
    """(layer, head) of the map, zero-based."""
    heads: tuple[Head, ...]
    """All heads that are selected, the opened one first; at most 8."""
    missing: tuple[Head, ...]
    """Those of them whose map the browser does not hold."""
    ahead: tuple[Head, ...]
    """Heads that may be opened next and whose map it does not hold; none while it lacks the thumbnails."""
    cell: tuple[int, int, int, int] | None
    """(layer, head, query, key) of the cell that was clicked: entries of the axes."""
    range: Range | None
    """(first query, end, first key, end) of the part that is looked at, ends excluded; None for the whole."""
    said: Mapping[str, Any] | None
    """The browser's own words, which the answer refers to."""
    holds_atlas: bool
    """Whether the browser holds the thumbnails."""
    look: ViewOptions
    """How the view is drawn, with the heads, the range and the cell from above: what a link restores."""


def attention_state(
    key: str, atlas: AttentionAtlas, opened: Head | None = None, asked: ViewOptions | None = None
) -> ViewState:
    """What the reader has done so far in the view of this key; read it before the maps are computed.

    Args:
        key: of the view.
        atlas: what the view shows.
        opened: head that is to be open whatever the view says, as where the page has controls for it; None leaves
            that to the view, which begins with layer 0, head 0.
        asked: what an address asks for, which counts in place of what the browser said; None for the browser's word.
    """
    said = _browser_state(key)
    layers, count = atlas.thumbnails.shape[:2]
    size = (len(atlas.queries), len(atlas.keys))
    same = said.get("identity") == identity(atlas)
    look = asked or _view_options(said)
    hues = tuple(head if head and head[0] < layers and head[1] < count else None for head in look.heads)
    named = [head for head in hues if head] if asked else int_tuples(said.get("heads"), 2)
    chosen = [(layer, head) for layer, head in named if layer < layers and head < count][:MOST_HEADS]
    chosen = with_head_first(opened, chosen) if opened else chosen or [(0, 0)]
    held = set(int_tuples(said.get("held"), 2)) if same else set()
    window = window_within(asked.zoom if asked else said.get("range") if same else None, size)
    part = window or (0, size[0], 0, size[1])
    in_part = set(int_tuples(said.get("held"), 6)) if same else set()
    complete = same and said.get("complete") is True
    missing = [head for head in chosen if not complete and head not in held and (*head, *part) not in in_part]
    holds_atlas = same and said.get("atlas") is True
    near = [] if complete else neighbouring_heads(chosen[0], layers, count)[: maps_sent_ahead(size[0] * size[1])]
    cell = next(iter(int_tuples([said.get("cell")], 4)), None) if same else None
    if asked:
        cell = (*chosen[0], *asked.cell) if asked.cell else None
    if cell and not (cell[0] < layers and cell[1] < count and cell[2] < size[0] and cell[3] < size[1]):
        cell = None
    return ViewState(
        opened=chosen[0],
        heads=tuple(chosen),
        missing=tuple(missing),
        ahead=tuple(head for head in near if head not in {*chosen, *held}) if holds_atlas else (),
        cell=cell,
        range=window,
        said={name: said.get(name) for name in ("serial", "heads")} if said else None,
        holds_atlas=holds_atlas,
        look=replace(
            look,
            heads=hues_in_url(hues, chosen),
            zoom=window,
            cell=cell[2:] if cell and cell[:2] == chosen[0] else None,
            pins=tuple(pin for pin in look.pins if int(pin[1:]) < size[pin[0] == "k"]) if asked or same else (),
        ),
    )


def last_serial(key: str) -> int | None:
    """Number of the last thing that the browser said about the view of this key; None before it said anything."""
    found = _browser_state(key).get("serial")
    return found if isinstance(found, int) else None


def opened_head(key: str) -> Head | None:
    """The head that the reader opened last; for a callback, before the atlas is known."""
    return next(iter(int_tuples(_browser_state(key).get("heads"), 2)), None)


def attention_view(
    atlas: AttentionAtlas,
    opened: Sequence[AttentionMap | PooledMap],
    state: ViewState,
    *,
    key: str,
    title: str,
    look: Theme,
    special: Collection[int] = (),
    measures: Sequence[str] = tuple(MEASURES),
    taken: int = 0,
    on_change: Callable[[], None] | None = None,
) -> None:
    """The view; what the browser holds already is not sent again.

    Args:
        atlas: all heads.
        opened: maps of the heads that the state names as missing or ahead; others are left out.
        state: what `attention_state` gave for this atlas.
        key: of the view; its place on the page stays the same while the data changes.
        title: what the pictures are of, such as the model's name.
        look: theme.
        special: positions of special tokens.
        measures: fields of HeadMeasures in the order in which they are offered.
        taken: how many addresses were taken; the browser takes the state's look with each new one, and to begin with.
        on_change: called when the reader opened a head, clicked a cell or chose a range.
    """
    _component(
        key=key,
        data=view_payload(
            atlas,
            [each for each in opened if (each.layer, each.head or 0) in {*state.missing, *state.ahead}],
            offers=not state.holds_atlas and maps_sent_ahead(len(atlas.queries) * len(atlas.keys)) > 0,
            title=title,
            look=look,
            special=special,
            measures=measures,
            heads=state.heads,
            part=state.range,
            answers={**(state.said or {}), "look": asdict(state.look), "taken": taken},
            with_atlas=not state.holds_atlas,
        ),
        default={"look": None},
        on_look_change=on_change or _nothing,
        height="content",
    )


def _nothing() -> None:
    """Without a callback the page reads the state when it runs."""


def _browser_state(key: str) -> Mapping[str, Any]:
    """The state that the browser sent; it is a stranger's word, so every part of it is checked where it is used."""
    found = component_state(key)
    look = found.get("look") if isinstance(found, Mapping) else None
    return look if isinstance(look, Mapping) else {}


def _view_options(said: Mapping[str, Any]) -> ViewOptions:
    """How the browser draws, which it says as an address does."""
    found = said.get("drawn")
    return from_query(found) if isinstance(found, str) else ViewOptions()
