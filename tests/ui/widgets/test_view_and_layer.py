"""The view of a page and its layer: values in an address, and remembered values.

tests/ui/address/test_following.py tests without a page which layer is shown for each state and address.
"""

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.opened import opened
from ui.widgets.models import LAYER, VIEW

pytestmark = pytest.mark.usefixtures("models_dir")

LAYERS = 6
"""Number of layers of the bundled model."""


def toasts(at: AppTest) -> list[str]:
    return [each.value for each in at.toast]


def layer(at: AppTest) -> Any:
    return at.select_slider(key=LAYER).value


def view(at: AppTest) -> Any:
    return at.session_state[VIEW]


def to_view(at: AppTest, name: str) -> None:
    at.query_params[VIEW] = name
    at.run()
    assert view(at) == name


def page(at: AppTest, name: str) -> AppTest:
    at.switch_page(f"../pages/{name}.py")
    at.query_params.pop(VIEW, None)  # a link to a page names no view
    at.run()
    assert not at.exception
    return at


def test_each_page_remembers_its_view() -> None:
    at = opened("representations", view="Paths")
    at = page(at, "heads")
    assert view(at) == "Matrices"
    to_view(at, "One cell")
    assert view(page(at, "representations")) == "Paths"
    assert view(page(at, "heads")) == "One cell"


def test_a_head_goes_along_and_a_hidden_state_is_that_of_its_page() -> None:
    at = opened("attention")
    at.select_slider(key=LAYER).set_value("3").run()
    assert layer(page(at, "heads")) == "3"
    to_view(page(at, "representations"), "Values")
    assert layer(at) == str(LAYERS - 1)
    at.select_slider(key=LAYER).set_value("embeddings").run()
    assert layer(page(at, "attention")) == "3"
    assert layer(page(at, "sentences")) == str(LAYERS - 1)
    assert layer(page(at, "representations")) == "embeddings"
    assert not toasts(at)


@pytest.mark.parametrize(
    ("name", "address", "shown"),
    [("heads", "9" * 5_000, "5"), ("attention", "<b>x</b>", "0"), ("representations", "-1", "embeddings")],
)
def test_a_layer_that_is_not_there_is_told_once_and_the_nearest_is_shown(name: str, address: str, shown: str) -> None:
    view_with_layers = {"view": "Values"} if name == "representations" else {}
    at = opened(name, layer=address, **view_with_layers)
    assert not at.exception
    assert layer(at) == shown
    (message,) = toasts(at)
    assert "There is no layer" in message
    assert len(message) < 200
    at.run()
    assert layer(at) == shown
    assert not toasts(at)


@pytest.mark.parametrize("address", ["<b>", "Module", "9" * 5_000, "none"])
def test_a_view_that_is_not_there_is_told_and_the_first_is_shown(address: str) -> None:
    at = opened("architecture", view=address)
    assert not at.exception
    assert view(at) == "Module tree"
    (message,) = toasts(at)
    assert "There is no view" in message
    at.run()
    assert not toasts(at)


def test_there_is_nothing_to_choose_where_there_is_one_layer() -> None:
    at = AppTest.from_function(one_layer_page).run()
    assert not at.exception
    assert [text.value for text in at.text] == ["0"]
    assert not at.select_slider


def one_layer_page() -> None:
    import streamlit as st

    from ui.widgets.models import layer_select

    st.text(layer_select(1))
