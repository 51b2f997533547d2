"""The attention view: all heads at a glance, and open heads as maps or as lines between tokens."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from bertviz_core.attention.results import AttentionAtlas, AttentionMap, PooledMap
from bertviz_core.figures.attention.html_file import CSS, HTML, JS
from bertviz_core.figures.attention.payload import view_payload
from bertviz_core.figures.attention.view_state import (
    Head,
    ViewOptions,
    ViewState,
    int_tuples,
    maps_sent_ahead,
    view_state,
)
from bertviz_core.figures.base.style import Theme
from ui.components import component
from ui.session import stored

_component = component("attention_view", html=HTML, css=CSS, js=f"{JS}\nexport default attentionView;")


def attention_state(
    key: str, atlas: AttentionAtlas, opened: Head | None = None, requested: ViewOptions | None = None
) -> ViewState:
    """Validate the state of a view; call this before the maps are computed."""
    return view_state(_browser_state(key), atlas, opened, requested)


def last_serial(key: str) -> int | None:
    """Serial number of the browser's last message; None before the first."""
    serial = _browser_state(key).get("serial")
    return serial if isinstance(serial, int) else None


def opened_head(key: str) -> Head | None:
    """The head opened last, for callbacks, which run before the atlas is known."""
    return next(iter(int_tuples(_browser_state(key).get("heads"), 2)), None)


def attention_view(
    atlas: AttentionAtlas,
    opened: Sequence[AttentionMap | PooledMap],
    state: ViewState,
    *,
    key: str,
    title: str,
    theme: Theme,
    special: Collection[int] = (),
    second: int | None = None,
    reads: int = 0,
    on_change: Callable[[], None] | None = None,
) -> None:
    """Draw the view, which stays mounted while its data changes; data that the browser has is not sent again.

    Of the maps those are sent that are missing or ahead in the state. The browser applies the state's options whenever
    the address was read once more; `second` is the first token of a pair's second text.
    """
    _component(
        key=key,
        data=view_payload(
            atlas,
            [each for each in opened if (each.layer, each.head or 0) in {*state.missing, *state.ahead}],
            offers=not state.holds_atlas and maps_sent_ahead(len(atlas.queries) * len(atlas.keys)) > 0,
            title=title,
            theme=theme,
            special=special,
            second=second,
            heads=state.heads,
            part=state.range,
            answers={**(state.message or {}), "look": asdict(state.look), "reads": reads},
            with_atlas=not state.holds_atlas,
        ),
        default={"look": None},
        on_look_change=on_change or _nothing,
        height="content",
    )


def _nothing() -> None:
    """Do nothing: without a callback the page reads the state when it runs."""


def _browser_state(key: str) -> Mapping[str, Any]:
    """The state sent by the browser, which is validated where it is used."""
    state = stored(key)
    look = state.get("look") if isinstance(state, Mapping) else None
    return look if isinstance(look, Mapping) else {}
