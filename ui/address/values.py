"""Values in the address that are written by code and not by a bound widget; all writes go through here."""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import streamlit as st

from ui.address.registry import linked


def put(name: str, text: str | None) -> None:
    """Write a value into the address; None or "" removes the name."""
    if not text:
        st.query_params.pop(name, None)
    elif st.query_params.get(name) != text:
        st.query_params[name] = text


def put_all(values: Mapping[str, str | None]) -> None:
    """Write values into the address; None or "" removes a name.

    The browser gets the whole address even where nothing seems to change: with a click that follows closely on another
    it still sends the address as it was before the first.
    """
    for name, text in values.items():
        if not text:
            st.query_params.pop(name, None)
    st.query_params.update({name: text for name, text in values.items() if text})


def take(names: Iterable[str]) -> dict[str, str]:
    """Remove names from the address; returns the values of those that were present."""
    return {name: st.query_params.pop(name) for name in names if name in st.query_params}


@dataclass(frozen=True, slots=True)
class ComponentText:
    """The state of a component in the address, and the circumstances in which it was read or written."""

    text: str = ""
    """The value in the address."""
    serial: int | None = None
    """Serial number of the last message of the browser."""
    shown: Hashable = None
    """What the component showed; None before it was drawn with this text."""
    reads: int = 0
    """How many times the text was read from the address."""


def _state(name: str) -> ComponentText:
    state = st.session_state.get(f"address_{name}")
    return state if isinstance(state, ComponentText) else ComponentText()


def read_component(name: str, serial: int | None) -> None:
    """Read the state of a component from an address that was changed from outside, by a link or by Back.

    Call this when the whole page runs. A message of the browser in the same run has priority, since it contains the
    address as it was before the last change to it.

    Args:
        name: name in the address.
        serial: serial number of the browser's last message about the component.
    """
    state, text = _state(name), st.query_params.get(name, "")
    if text != state.text and serial in (None, state.serial):
        st.session_state[f"address_{name}"] = ComponentText(text, serial, None, state.reads + 1)


def component_text(name: str, serial: int | None) -> ComponentText | None:
    """Return the state in the address; None if the browser has sent a message since."""
    state = _state(name)
    return state if serial in (None, state.serial) else None


def write_component(name: str, text: str, serial: int | None, shown: Hashable) -> int:
    """Write the state of a component without another run; returns how many times it was read from the address."""
    before = _state(name)
    st.session_state[f"address_{name}"] = ComponentText(text, serial, shown, before.reads)
    if text == before.text:
        put(name, text)
    else:
        put_all({name: text})
    return before.reads


def link_query(
    page: str, values: Mapping[str, object], defaults: Mapping[str, str], typed: bool, from_file: bool = False
) -> Iterator[tuple[str, str]]:
    """Yield the parameters of a link to a page that are not in the address anyway.

    Args:
        page: name of the page.
        values: name -> value of each control; empty values are left out.
        defaults: name -> default text, which no link needs.
        typed: whether the reader's own texts are included.
        from_file: whether the page's list comes from a file, so that its own list is left out.
    """
    yield from _filled(linked("always", page), values)
    if typed:
        for name in linked("on request", "" if from_file else page):
            text = values.get(name)
            if isinstance(text, str) and text != defaults.get(name, ""):
                yield name, text
        yield from _filled(linked("column" if from_file else "placed", page), values)


def _filled(names: Iterable[str], values: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    return ((name, str(values[name])) for name in names if values.get(name))
