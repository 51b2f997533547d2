"""A widget has the key, options and bounds of its parameter, and clamps foreign values."""

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest


def page() -> None:
    import streamlit as st

    from bertviz_core.questions.parameters import Param, choice, flag
    from ui.address import widgets

    colour = choice("colour", ("red", "green"), "the colour")
    number = Param("number", "whole", "a number")
    st.session_state["answers"] = {
        "choice": widgets.choice(colour, "Colour", colour.options),
        "select": widgets.select(Param("word", "text", "a word"), "Word", ["a", "b", "c"], "b"),
        "whole": widgets.whole(number, "Number", 2, 9, 3),
        "level": widgets.level(Param("depth", "whole", "a depth"), "Depth", 4, 2),
        "only": widgets.level(Param("lonely", "whole", "no choice"), "Lonely", 1, 1),
        "span": widgets.span(Param("part", "span", "a part"), "Part", 5, (0, 4)),
        "toggle": widgets.toggle(flag("on", "on"), "On"),
        "words": widgets.words(Param("find", "text", "a word"), "Find"),
        "typed": widgets.typed(Param("own", "text", "own words"), "Own"),
    }


def answers(state: dict[str, Any] | None = None, **query: str | list[str]) -> tuple[dict[str, Any], set[str]]:
    at = AppTest.from_function(page, default_timeout=60)
    for name, value in query.items():
        at.query_params[name] = value
    for name, value in (state or {}).items():
        at.session_state[name] = value
    at.run()
    assert not at.exception
    return at.session_state["answers"], set(at.query_params)


def test_defaults_are_the_first_options_and_stand_in_no_address() -> None:
    found, named = answers()
    assert found == {
        "choice": "red", "select": "b", "whole": 3, "level": 2, "only": 1, "span": (0, 4), "toggle": False,
        "words": "", "typed": "",
    }  # fmt: skip
    assert named == set()


def test_the_address_sets_what_is_offered() -> None:
    found, _ = answers(colour="green", word="c", number="9", depth="4", part=["1", "2"], on="true", find=" x ")
    assert (found["choice"], found["select"], found["whole"], found["level"]) == ("green", "c", 9, 4)
    assert (found["span"], found["toggle"], found["words"]) == ((1, 2), True, "x")


@pytest.mark.parametrize(
    ("state", "name", "value"),
    [
        ({"colour": "blue"}, "choice", "red"),
        ({"word": "z"}, "select", "b"),
        ({"number": 99}, "whole", 9),
        ({"depth": 0}, "level", 1),
        ({"part": (1, 9)}, "span", (1, 4)),
    ],
)
def test_what_another_model_left_becomes_the_nearest_or_the_default(
    state: dict[str, Any], name: str, value: Any
) -> None:
    found, _ = answers(state)
    assert found[name] == value


def defaults_of_a_model() -> None:
    import streamlit as st

    from bertviz_core.questions.parameters import Param
    from ui.address import widgets

    options = st.session_state["offered"]
    chosen = widgets.select(Param("word", "text", "a word"), "Word", options)
    st.session_state["answers"] = chosen, widgets.choice(Param("colour", "text", "a colour"), "Colour", options)


def test_another_models_default_is_shown_unless_the_reader_or_a_link_chose() -> None:
    at = AppTest.from_function(defaults_of_a_model, default_timeout=60)

    def shown(offered: str) -> tuple[str, str]:
        at.session_state["offered"] = list(offered)
        at.run()
        assert not at.exception
        values: tuple[str, str] = at.session_state["answers"]
        return values

    assert [shown(each) for each in ("abc", "bac", "cd")] == [("a", "a"), ("b", "b"), ("c", "c")]
    at.selectbox(key="word").set_value("d")
    at.segmented_control(key="colour").set_value("d").run()
    assert [shown(each) for each in ("dc", "cd", "ecd")] == [("d", "d")] * 3
    assert shown("abc") == ("a", "a")
    at.query_params["word"] = "a"
    assert shown("cab") == ("a", "c")
