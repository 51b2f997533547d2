"""What the reader typed: kept in the tab over a reload, and set aside while a lesson's step has a text of its own."""

from collections.abc import Mapping
from secrets import token_hex

import streamlit as st

from ui.address.registry import TYPED
from ui.components.browser.kept_texts import KEY as KEPT_TEXTS
from ui.components.browser.kept_texts import ask_for_kept_texts, found_texts, kept_texts
from ui.session import TEXTS_KEPT
from ui.share import DEFAULTS, LINKED

APPLIED_KEY, OWN_TEXTS_KEY, SESSION = "tour_given", "tour_own", "tour_session"
"""Keys of the session: texts that steps wrote, the reader's that they replaced, the session's own name for the tab."""


def apply_texts(texts: Mapping[str, str]) -> None:
    """Write a step's texts where the model reads them; what the reader had there is kept for the end of the tour.

    Args:
        texts: key of a text field -> what stands there in the step.
    """
    given, own = dict(st.session_state.get(APPLIED_KEY, {})), dict(st.session_state.get(OWN_TEXTS_KEY, {}))
    for key, text in texts.items():
        now = st.session_state.get(key)
        if now is not None and now != given.get(key):
            own[key] = now
        if key not in st.query_params:
            st.session_state[key] = text
        given[key] = text
    st.session_state.update({APPLIED_KEY: given, OWN_TEXTS_KEY: own})


def read_kept_texts() -> None:
    """Before the first run of a session: end it here until the tab has said what it keeps, where it keeps anything.

    So a reloaded page computes its reader's text at once, and never shows what everyone begins with in between.
    """
    if SESSION in st.session_state:
        return
    st.session_state[SESSION] = token_hex(8)
    if st.context.cookies.get(TEXTS_KEPT) == "1" and not st.context.is_embedded:
        ask_for_kept_texts(str(st.session_state[SESSION]), _take_kept)
        st.stop()


def keep_texts() -> None:
    """Have the tab keep what the reader typed; after a reload it comes back."""
    kept_texts(_own_texts(), str(st.session_state[SESSION]), _take_kept)


def _own_texts() -> dict[str, str]:
    """What the reader typed, also where a step's text stands there now; not what everyone begins with."""
    given, own = st.session_state.get(APPLIED_KEY, {}), st.session_state.get(OWN_TEXTS_KEY, {})
    held = {key: st.session_state.get(key) for key in TYPED}
    written = {
        key: own.get(key) if key in given and text == given[key] else text
        for key, text in held.items()
        if key in given or text != DEFAULTS.get(key, "")
    }
    return {key: text for key, text in written.items() if isinstance(text, str)}


def _take_kept() -> None:
    """Take what the tab has kept, but for texts that a link brought; where a step's text stands, for its end."""
    linked, found = st.session_state.get(LINKED, ()), found_texts(st.session_state.get(KEPT_TEXTS))
    given, own = st.session_state.get(APPLIED_KEY, {}), dict(st.session_state.get(OWN_TEXTS_KEY, {}))
    for key, text in found.items():
        if key not in TYPED or key in linked:
            continue
        if key in given and st.session_state.get(key) == given[key]:
            own[key] = text
        else:
            st.session_state[key] = text
    st.session_state[OWN_TEXTS_KEY] = own


def restore_texts() -> None:
    """Bring back what the reader had; a field that the reader changed since stays."""
    given, own = st.session_state.pop(APPLIED_KEY, {}), st.session_state.pop(OWN_TEXTS_KEY, {})
    for key, text in own.items():
        if st.session_state.get(key) == given.get(key):
            st.session_state[key] = text
