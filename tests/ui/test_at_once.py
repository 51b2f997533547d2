"""A view is shown when it is whole, also where the page ends before its end."""

import pytest
from streamlit.testing.v1 import AppTest


def page() -> None:
    import streamlit as st

    from ui.engine import at_once
    from ui.session import end_page

    with at_once(st.empty(), "view", (), st.query_params["view"]):
        st.text("a part")
        if "ends" in st.query_params:
            end_page()


def shown(at: AppTest) -> list[str]:
    """Names of what the last run left in the place above the view."""
    assert not at.run().exception
    return [
        key.rpartition("_")[0]
        for block in at.main.children.values()
        if (key := str(getattr(block, "key", None) or "")).startswith("switch")
    ]


@pytest.mark.parametrize("ends", [False, True])
def test_another_view_is_hidden_while_it_is_made_and_shown_then(ends: bool) -> None:
    at = AppTest.from_function(page, default_timeout=30)
    at.query_params["view"] = "one"
    assert shown(at) == []  # nothing of another is left
    assert shown(at) == []
    at.query_params["view"] = "two"
    if ends:
        at.query_params["ends"] = "true"
    assert shown(at) == ["switched"]
    assert len(shown(at)) == ends  # a page that ended early is not whole yet
