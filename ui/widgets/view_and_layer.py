"""Widgets for the view of a page and for the layer.

Which pages share a layer is in `ui/address/registry.py`. Layers are counted from 0. Hidden states are "embeddings",
then "after layer 0" and so on.
"""

from collections.abc import Sequence
from typing import TypeVar

import streamlit as st

from bertviz_core.figures.pages import PAGES
from bertviz_core.text import escape_markdown
from ui.address.navigation import EMBEDDINGS, arrived, layer_to_show, view_to_show, visit, write_brought
from ui.address.registry import put
from ui.address.widgets import BOUND
from ui.cache.figures import note, view_in_sight
from ui.components.navigation import view_links

VIEW, LAYER = "view", "layer"
WIDTH = 320
"""Pixels of the layer widget."""
LONGEST_SHOWN = 20
T = TypeVar("T", bound=str)


def reads_text(page: str) -> bool:
    """Whether the current view of a page reads the text of the sidebar."""
    without = PAGES[page].views_without_text
    return without is not None and current_view() not in without


def current_view() -> str:
    """Name of the view that the page will show; "" for its first."""
    return str(st.query_params.get(VIEW) or ("" if visit().complete else st.session_state.get(VIEW, "")))


def view_choice(options: Sequence[T]) -> T:
    """The view of a page, by default the first.

    The address names every view but the first. A link to a page without a view opens the one that was open last.
    """
    named = st.query_params.get(VIEW)
    anew = arrived(VIEW) and not visit().complete
    shown = view_to_show(named, st.session_state.get(VIEW), options, anew)
    view = next(option for option in options if option == shown)
    if named is not None and named != view:
        words = f"There is no view {named[:LONGEST_SHOWN]} here; the views are {', '.join(options)}."
        st.toast(escape_markdown(words))
    if view != options[0] and named != view:
        open_view(view)
    elif view == options[0] and named is not None:
        put(VIEW, None)
    st.session_state[VIEW] = view
    view_links(options, view, VIEW, "views")
    note(view=view)
    if (record := view_in_sight()) is not None:
        record.name = view
    return view


def open_view(view: str) -> None:
    """Show another view of the page, as a click in a figure does."""
    put(VIEW, view)


def layer_select(layers: int, default: int = 0, help_text: str | None = None, width: int = WIDTH) -> int:
    """A layer of the model, counted from 0; no widget where there is only one.

    Args:
        layers: number of layers.
        default: the page's default.
        help_text: what the layer means on this page.
        width: pixels of the widget.
    """
    if layers <= 1:
        return 0
    label = f"Layer, 0 to {layers - 1}"
    return int(_select(label, [str(layer) for layer in range(layers)], str(default), help_text, width))


def state_select(layers: int, help_text: str | None = None) -> int:
    """An entry of `hidden_states`: 0 for the embeddings, then one after each layer."""
    options = [EMBEDDINGS, *(str(layer) for layer in range(layers))]
    return options.index(_select(f"After layer, 0 to {layers - 1}", options, options[-1], help_text))


def store_layer(layer: int) -> None:
    """Select a layer, as a click in a figure does."""
    st.session_state[LAYER] = str(layer)


def store_state(entry: int) -> None:
    """Select an entry of `hidden_states`, as a click in a figure does."""
    st.session_state[LAYER] = str(entry - 1) if entry else EMBEDDINGS


def _select(label: str, options: Sequence[str], default: str, help_text: str | None, width: int = WIDTH) -> str:
    requested, stored = st.query_params.get(LAYER), st.session_state.get(LAYER)
    layer, absent = layer_to_show(options, default, requested, stored, arrived(LAYER), visit().complete)
    if layer is not None:
        st.session_state[LAYER] = layer
    if absent is not None:
        shown = "the embeddings are" if layer == EMBEDDINGS else f"layer {layer} is"
        words = f"There is no layer {absent[:LONGEST_SHOWN]} here, only {options[0]} to {options[-1]}; {shown} shown."
        st.toast(escape_markdown(words))
    shown = str(st.session_state.get(LAYER, default))
    write_brought(LAYER, None if shown == default else shown)
    return str(st.select_slider(label, options, default, key=LAYER, help=help_text, width=width, **BOUND))
