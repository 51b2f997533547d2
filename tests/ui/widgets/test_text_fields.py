"""The text's own field on a page: drawn where its place is reserved, and not where another page stands."""

from streamlit.testing.v1 import AppTest


def page_that_is_left() -> None:
    import streamlit as st

    from ui.widgets.heading import place_for_text, text_on_page

    with text_on_page():
        if st.session_state.get("interrupted"):
            place_for_text()
            st.stop()
        if st.session_state.get("reserves"):
            place_for_text()
        st.text("page")


def test_a_place_that_an_interrupted_run_reserved_is_not_filled_on_the_next_page() -> None:
    at = AppTest.from_function(page_that_is_left, default_timeout=60)
    at.session_state["interrupted"] = True
    at.run()
    at.session_state["interrupted"] = False
    at.run()
    assert [each.value for each in at.text] == ["page"]
    assert not at.text_area
    at.session_state["reserves"] = True
    assert [each.label for each in at.run().text_area] == ["Your text"]
