"""Values written into the address, the state of a component in it, and further parameters of links."""

from streamlit.testing.v1 import AppTest

from ui.address.registry import link_query


def test_a_link_carries_a_text_only_on_request_and_never_a_default() -> None:
    values = {"text": "Mine.", "pair": "", "word": "bank", "corpus": "news", "layer": "3"}
    assert list(link_query("corpus", values, {}, typed=False)) == [("corpus", "news")]
    assert list(link_query("representations", values, {}, typed=False)) == []
    message = dict(link_query("representations", values, {"word": "bank"}, typed=True))
    assert message == {"text": "Mine."}


def test_places_go_with_the_list_and_a_column_with_the_file() -> None:
    values = {"sentences": "One.\nTwo.", "first_sentence": 1, "sentence_column": "text", "text": "Mine."}
    own = dict(link_query("sentences", values, {}, typed=True))
    assert own == {"text": "Mine.", "sentences": "One.\nTwo.", "first_sentence": "1"}
    from_file = dict(link_query("sentences", values, {}, typed=True, from_file=True))
    assert from_file == {"text": "Mine.", "sentence_column": "text"}


def page() -> None:
    import streamlit as st

    from ui.address.registry import component_text, put, read_component, take, write_component

    step = st.session_state.get("step", "")
    if step == "put":
        put("a", "1")
        put("b", None)
    if step == "take":
        st.session_state["taken"] = take(("a", "gone"))
    if step == "component":
        read_component("look", st.session_state.get("serial"))
        message = component_text("look", st.session_state.get("serial"))
        st.session_state["message"] = None if message is None else message.text
        st.session_state["times"] = write_component("look", "lines", st.session_state.get("serial"), ("shown",))


def run(step: str, serial: int | None = None, **query: str) -> AppTest:
    at = AppTest.from_function(page, default_timeout=60)
    for name, value in query.items():
        at.query_params[name] = value
    at.session_state["step"], at.session_state["serial"] = step, serial
    at.run()
    assert not at.exception
    return at


def test_a_default_takes_its_name_out_of_the_address() -> None:
    assert dict(run("put", b="2").query_params) == {"a": "1"}


def test_what_is_taken_is_gone_from_the_address() -> None:
    at = run("take", a="1", b="2")
    assert at.session_state["taken"] == {"a": "1"}
    assert dict(at.query_params) == {"b": "2"}


def test_a_component_follows_the_address_until_the_browser_says_something() -> None:
    at = run("component", look="order-entropy")
    assert (at.session_state["message"], at.session_state["times"]) == ("order-entropy", 1)
    assert dict(at.query_params) == {"look": "lines"}
    at.session_state["serial"] = 7
    at.query_params["look"] = "order-entropy"
    at.run()
    assert (at.session_state["message"], at.session_state["times"]) == (None, 1)
    at.query_params["look"] = "heads-1.2"
    at.run()
    assert (at.session_state["message"], at.session_state["times"]) == ("heads-1.2", 2)
