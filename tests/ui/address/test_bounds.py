"""Values of widgets are clamped to their bounds, and valid ones are unchanged.

Covers `ui/address/widgets.py`.
"""

import json
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest


def among_page() -> None:
    import streamlit as st

    from ui.address.widgets import keep_among

    keep_among("key", ("a", "b", "c"), "b")
    st.json({"state": st.session_state.get("key", "nothing")})


def within_page() -> None:
    import streamlit as st

    from ui.address.widgets import keep_within

    keep_within("key", 1, 5)
    st.json({"state": st.session_state.get("key", "nothing")})


def span_page() -> None:
    import streamlit as st

    from ui.address.widgets import keep_span

    keep_span("key", 6)
    st.json({"state": list(st.session_state.get("key", ["nothing"]))})


@pytest.mark.parametrize(
    ("page", "state", "kept"),
    [
        (among_page, None, "nothing"),
        (among_page, "c", "c"),
        (among_page, "d", "b"),
        (within_page, None, "nothing"),
        (within_page, 1, 1),
        (within_page, 5, 5),
        (within_page, 6, 5),
        (within_page, -2, 1),
        (span_page, None, ["nothing"]),
        (span_page, (2, 5), [2, 5]),
        (span_page, (2, 6), [2, 5]),
        (span_page, (7, 9), [4, 5]),
    ],
)
def test_what_is_kept(page: Any, state: Any, kept: Any) -> None:
    at = AppTest.from_function(page)
    if state is not None:
        at.session_state["key"] = state
    assert not at.run().exception
    assert json.loads(at.json[0].value) == {"state": kept}
