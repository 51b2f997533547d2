"""Widgets for parameters of questions: key, options and bounds come from the parameter, the value from the address.

The address, or a previously selected model, may have left a value that does not exist here, with which Streamlit
would end the page. So every widget first replaces it by the default or by the nearest number.
"""

from collections.abc import Container, Mapping, Sequence
from typing import Any, TypeVar

import streamlit as st

from bertviz_core.questions.parameters import Param
from ui.address.navigation import visit, write_brought
from ui.session import store, stored

T = TypeVar("T", bound="str | int")
BOUND: Mapping[str, Any] = {"bind": "query-params", "persist_state": "session"}
"""Binds a widget to the address, and keeps its value while other pages are shown."""


def choice(param: Param, label: str, options: Sequence[T], **more: Any) -> T:
    """Show a few options side by side, one of which is always selected; those that apply here, the default first."""
    _follow_default(param.key, options[0])
    keep_among(param.key, options, options[0])
    _write_brought(param.key, options[0], more)
    chosen: T | None = st.segmented_control(
        label, options, default=options[0], required=True, key=param.key, **BOUND, **more
    )
    return _chosen_of(param.key, chosen or options[0], options[0])


def select(param: Param, label: str, options: Sequence[T], first: T | None = None, **more: Any) -> T:
    """Show a list of options, one of which is always selected, by default the first.

    With `accept_new_options` any value is kept.
    """
    first = options[0] if first is None else first
    if not more.get("accept_new_options"):
        _follow_default(param.key, first)
        keep_among(param.key, options, first)
    _write_brought(param.key, first, more)
    chosen: T | None = st.selectbox(label, options, index=options.index(first), key=param.key, **BOUND, **more)
    return _chosen_of(param.key, first if chosen is None else chosen, first)


def whole(param: Param, label: str, least: int, most: int, first: int, **more: Any) -> int:
    """Show a field for a whole number between two bounds."""
    _follow_default(param.key, first)
    keep_within(param.key, least, most)
    _write_brought(param.key, first, more)
    number = int(st.number_input(label, least, most, first, step=1, key=param.key, **BOUND, **more))
    return _chosen_of(param.key, number, first)


def field(param: Param, label: str, least: int, most: int, first: int, **more: Any) -> int:
    """Show a field for a whole number between two bounds, which is empty for the default."""
    keep_within(param.key, least, most)
    words = f"{first:,} (default)"
    number = st.number_input(label, least, most, None, step=1, key=param.key, placeholder=words, **BOUND, **more)
    return first if number is None else int(number)


def level(param: Param, label: str, most: int, first: int, least: int = 1, **more: Any) -> int:
    """Show a slider for a whole number; nothing where only one number is possible."""
    if most <= least:
        return least
    keep_within(param.key, least, most)
    _write_brought(param.key, min(first, most), more)
    return int(st.slider(label, least, most, min(first, most), key=param.key, **BOUND, **more))


def span(param: Param, label: str, count: int, first: tuple[int, int], **more: Any) -> tuple[int, int]:
    """Show a slider for the first and the last of `count` positions."""
    keep_span(param.key, count)
    start, end = st.slider(label, 0, count - 1, first, key=param.key, **BOUND, **more)
    return int(start), int(end)


def toggle(param: Param, label: str, **more: Any) -> bool:
    """Show a switch that is off by default."""
    return bool(st.toggle(label, key=param.key, **BOUND, **more))


def words(param: Param, label: str, **more: Any) -> str:
    """Show a field for a few words that are stored in the address; surrounding spaces are removed."""
    return str(st.text_input(label, key=param.key, **BOUND, **more) or "").strip()


def typed(param: Param, label: str, own: str = "", **more: Any) -> str:
    """Show a field for the reader's own text, which is never in the address; it has its own text until edited."""
    if own or stored(f"{param.key}_of") is not None:
        _until_edited(param.key, own)
    return str(st.text_input(label, key=param.key, persist_state="session", **more) or "").strip()


def edited(param: Param, label: str, own: str, **more: Any) -> str:
    """Show a field for an edited version of a text, which equals it until edited; as `typed`, not in the address."""
    _until_edited(param.key, own)
    return str(st.text_area(label, key=param.key, height=68, persist_state="session", **more))


def _until_edited(key: str, own: str) -> None:
    """Fill a field in, as long as it is as it was filled in before."""
    of = f"{key}_of"
    if stored(key) is None or stored(key) == stored(of):
        store(key, own)
    store(of, own)


def listed(param: Param, label: str, height: int) -> str:
    """Show a field for the reader's own texts, one a line, which are never stored in the address."""
    words = param.help[0].upper() + param.help[1:]
    text = st.text_area(label, key=param.key, height=height, persist_state="session", placeholder=words)
    return str(text or "")


def several(param: Param, label: str, options: Sequence[str], first: Sequence[str], **more: Any) -> list[str]:
    """Show a list of which several options can be chosen; values that do not exist here are left out."""
    chosen = stored(param.key)
    if chosen is not None and not set(chosen) <= set(options):
        store(param.key, [each for each in options if each in chosen] or list(first))
    shown: dict[str, Any] = {"format_func": param.shown, "max_selections": param.most or None}
    return list(map(str, st.multiselect(label, options, list(first), key=param.key, **shown, **BOUND, **more)))


def _follow_default(key: str, default: object) -> None:
    """Where another view, model or text has another default, keep only what the reader or a link chose."""
    of, before = _names(key)[0], stored(_names(key)[0], default)
    store(of, default)
    if before != default and stored(key) == before and key not in st.query_params:
        store(key, stored(_names(key)[1]) or default)


def _chosen_of(key: str, value: T, default: object) -> T:
    """The value, which is remembered as the reader's where it is not the default."""
    if value != stored(_names(key)[1]):
        store(_names(key)[1], None if value == default else value)
    return value


def _names(key: str) -> tuple[str, str]:
    """Where the default that was last shown on this page is stored, and what the reader chose instead."""
    return f"{key}_default_on_{visit().page}", f"{key}_chosen_on_{visit().page}"


def _write_brought(key: str, default: object, more: Mapping[str, Any]) -> None:
    """Write a value that was brought back to this page into the address, in the words of its widget."""
    value = stored(key, default)
    write_brought(key, None if value == default else str(more.get("format_func", str)(value)))


def keep_among(key: str, options: Container[Any], default: Any) -> None:
    """Reset a widget to its default where its value is not among its options."""
    if st.session_state.get(key, default) not in options:
        st.session_state[key] = default


def keep_within(key: str, least: int, most: int) -> None:
    """Clamp the value of a number widget."""
    value = st.session_state.get(key)
    if isinstance(value, int) and not least <= value <= most:
        st.session_state[key] = min(max(value, least), most)


def keep_span(key: str, count: int) -> None:
    """Clamp the first and last position of a range widget to the `count` positions of a text, at least 2."""
    first, last = st.session_state.get(key, (0, 0))
    if last >= count:
        st.session_state[key] = (min(first, count - 2), count - 1)
