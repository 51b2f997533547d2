"""Keep the reader's own texts in the browser's tab over a reload, and restore them after a lesson."""

from collections.abc import Mapping
from secrets import token_hex

import streamlit as st

from ui.address.registry import TYPED
from ui.components.browser.tab_texts import KEY as TAB_TEXTS
from ui.components.browser.tab_texts import found_texts, request_tab_texts, store_tab_texts
from ui.session import HAS_TAB_TEXTS
from ui.share import DEFAULTS, LINKED

APPLIED_KEY, OWN_TEXTS_KEY, SESSION = "tour_given", "tour_own", "tour_session"
"""Session keys: texts written by steps, the reader's texts that they replaced, id of the session for the tab."""


def apply_texts(texts: Mapping[str, str]) -> None:
    """Fill in the texts of a step; the reader's own are restored at the end of the tour.

    Args:
        texts: key of a text field -> its text in the step.
    """
    applied, own = dict(st.session_state.get(APPLIED_KEY, {})), dict(st.session_state.get(OWN_TEXTS_KEY, {}))
    beside = applied.get("pair") if "text" not in applied else None
    if beside is not None and not {"text", "pair"} & texts.keys() and st.session_state.get("pair") == beside:
        texts = {**texts, "pair": own.get("pair", "")}  # a step put a second text beside the reader's own
    for key, text in texts.items():
        now = st.session_state.get(key)
        if now is not None and now != applied.get(key):
            own[key] = now
        if key not in st.query_params:
            st.session_state[key] = text
        applied[key] = text
    st.session_state.update({APPLIED_KEY: applied, OWN_TEXTS_KEY: own})


def read_tab_texts() -> None:
    """Pause the first run of a session until the browser has sent the texts of the tab, if it has any.

    So a reloaded page computes with the reader's text at once, and never with the default one first.
    """
    st.session_state[SESSION] = token_hex(8)
    if st.context.cookies.get(HAS_TAB_TEXTS) == "1" and not st.context.is_embedded:
        request_tab_texts(str(st.session_state[SESSION]), _take_tab_texts)
        st.stop()


def keep_texts() -> None:
    """Store the reader's texts in the browser's tab, for a reload."""
    store_tab_texts(_own_texts(), str(st.session_state[SESSION]), _take_tab_texts)


def _own_texts() -> dict[str, str]:
    """The reader's texts, also those replaced by a step, without default texts."""
    applied, own = st.session_state.get(APPLIED_KEY, {}), st.session_state.get(OWN_TEXTS_KEY, {})
    current = {key: st.session_state.get(key) for key in TYPED}
    written = {
        key: own.get(key) if key in applied and text == applied[key] else text
        for key, text in current.items()
        if key in applied or text != DEFAULTS.get(key, "")
    }
    return {key: text for key, text in written.items() if isinstance(text, str)}


def _take_tab_texts() -> None:
    """Restore the texts of the tab unless a link contains texts; those replaced by a step are restored at its end."""
    linked, stored = st.session_state.get(LINKED, ()), found_texts(st.session_state.get(TAB_TEXTS))
    applied, own = st.session_state.get(APPLIED_KEY, {}), dict(st.session_state.get(OWN_TEXTS_KEY, {}))
    for key, text in stored.items():
        if key not in TYPED or key in linked:
            continue
        if key in applied and st.session_state.get(key) == applied[key]:
            own[key] = text
        else:
            st.session_state[key] = text
    st.session_state[OWN_TEXTS_KEY] = own


def restore_texts() -> None:
    """Restore the reader's texts, except in fields that the reader has changed since."""
    applied, own = st.session_state.pop(APPLIED_KEY, {}), st.session_state.pop(OWN_TEXTS_KEY, {})
    for key, text in applied.items():
        if st.session_state.get(key) == text:
            st.session_state.pop(key, None)  # where there was none, its field begins with the default
            if key in own:
                st.session_state[key] = own[key]
