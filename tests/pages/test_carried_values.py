"""What is chosen on a page changes no number of another page, but what the table of names says that both share.

The table is `SHARING` of `ui/address/registry.py`.
"""

import json
import re
from functools import cache
from itertools import permutations
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.figures.pages import PAGES
from tests.pages.opened import opened, views_of
from ui.address.registry import SHARING

PAIRS = list(permutations(PAGES, 2))
CLASSIFIER = "negations/checkpoint-80"
"""A model that has numbers on every page; a second text is not needed."""
DRAWN = ("-attention_heads", "-journey", "-architecture_tree")
"""Ends of the ids of components that draw numbers."""
UNRELATED = ("text_on_page", "_theme", "_size", "_table", "_explained")
"""Ends of the keys of the text, which all pages read, and of controls of no number."""


def numbers(at: AppTest) -> dict[str, Any]:
    """What the page shows: its charts, tables, metrics, and errors."""
    assert not at.exception, [each.message for each in at.exception]
    components = [each.proto for each in at.get("bidi_component") if each.proto.id.endswith(DRAWN)]
    return {
        "charts": [json.loads(each.proto.spec)["data"] for each in at.get("plotly_chart")],
        "tables": [each.value.to_csv() for each in at.dataframe],
        "metrics": [(each.label, each.value) for each in at.metric],
        "errors": [each.value for each in at.error],
        "drawn": [
            re.sub(rb'"(serial|reads|answered)": ?\w+', b"", each.bytes or each.json.encode()) for each in components
        ],
    }


def change(at: AppTest, done: set[str]) -> None:
    """Choose another value in every control of the page that is shown, but those that are done."""
    for each in at.main:
        key = getattr(each, "key", None)
        if key is None or key in done or key.endswith(UNRELATED):
            continue
        done.add(key)
        choose_another(each)


def choose_another(each: Any) -> None:
    """Choose another value in a control."""
    match each.type:
        case "selectbox" if len(each.options) > 1:
            each.select_index((each.index + 1) % len(each.options))
        case "select_slider" if len(each.options) > 1:
            each.set_value(each.options[each.options[0] == each.value])
        case "slider":
            each.set_value(each.max if each.value == each.min else each.min)
        case "number_input":
            each.set_value(each.min if each.value != each.min else (each.value or 0) + 1)
        case "toggle" | "checkbox":
            each.set_value(not each.value)
        case "button_group" if len(each.options) > 1:
            each.set_value(next(option for option in each.options if option != each.value))
        case "text_input" | "text_area":
            each.set_value(f"{each.value or ''} again")
        case "multiselect":
            each.set_value(list(each.options[1:2]))


@cache
def changed(page: str) -> tuple[AppTest, dict[str, Any]]:
    """A session in which every control of every view of a page has another value, and the values of all controls."""
    at, done = opened(page, model=CLASSIFIER), set()
    for view in views_of(page):
        if view:
            at.query_params["view"] = view
            at.run()
        for _ in range(2):  # some controls appear with the value of another
            change(at, done)
            at.run()
        assert not at.exception, view
    return at, {name: at.session_state[name] for name in SHARING if name in at.session_state}


def visit(at: AppTest, page: str) -> AppTest:
    """Open a page as a link in the navigation does, which carries nothing but the model."""
    at.query_params.clear()
    at.query_params["model"] = CLASSIFIER
    at.switch_page(f"../pages/{page}.py")
    return at.run()


def shared(first: str, second: str) -> set[str]:
    """Names whose value two pages share by the table."""
    return {name for name, groups in SHARING.items() for pages in groups if {first, second} <= set(pages) != set(PAGES)}


@pytest.mark.usefixtures("patience")
@pytest.mark.parametrize(("first", "second"), PAIRS)
@pytest.mark.sample(5)
def test_what_is_chosen_on_a_page_changes_no_other(first: str, second: str) -> None:
    at, values = changed(first)
    carried = {name: str(values[name]) for name in shared(first, second) if name in values}
    expected = numbers(opened(second, model=CLASSIFIER, **carried))
    assert numbers(visit(at, second)) == expected


@pytest.mark.slow
@pytest.mark.usefixtures("patience")
def test_a_visit_changes_no_number() -> None:
    at = opened("overview", model=CLASSIFIER)
    for page in PAGES:
        visit(at, page)
        for view in views_of(page):
            at.query_params["view"] = view
            at.run()
    for page in PAGES:
        assert numbers(visit(at, page)) == numbers(opened(page, model=CLASSIFIER)), page
