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
from bertviz_core.settings import DEFAULT_MODEL
from tests.helpers.charts import sent_charts
from tests.pages.opened import opened, views_of
from tests.pages.test_lesson import leave
from tests.ui.lessons.shipped import lesson
from ui.address.registry import SHARING
from ui.lessons.tour import ORDER
from ui.widgets import run_model

PAIRS = list(permutations(PAGES, 2))
CLASSIFIER = "negations/checkpoint-80"
"""A model that has numbers on every page; a second text is not needed."""
DRAWN = ("-attention_heads", "-journey", "-architecture_tree")
"""Ends of the ids of components that draw numbers."""
UNRELATED = ("text_on_page", "_theme", "_size", "_table", "_explained")
"""Ends of the keys of the text, which all pages read, and of controls of no number."""


@pytest.fixture(autouse=True)
def without_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    """No run takes so long, on a busy machine either, that the page asks before it."""
    monkeypatch.setattr(run_model, "CONFIRM_ABOVE_SECONDS", float("inf"))


def numbers(at: AppTest) -> dict[str, Any]:
    """What the page shows: its charts, tables, metrics, and errors."""
    assert not at.exception, [each.message for each in at.exception]
    components = [each.proto for each in at.get("bidi_component") if each.proto.id.endswith(DRAWN)]
    return {
        "charts": [json.dumps(each.figure["data"]) for each in sent_charts(at)],  # as text NaN is equal to itself
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
@pytest.mark.sample(2)
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
        first, *others = views_of(page)
        for view in (*others, first):  # a page opens again with the view that was open last
            at.query_params["view"] = view
            at.run()
    for page in PAGES:
        assert numbers(visit(at, page)) == numbers(opened(page, model=CLASSIFIER)), page


@pytest.mark.usefixtures("patience")
@pytest.mark.parametrize("view", ["Patch", "Many sentences"])
@pytest.mark.parametrize("kind", ["state", "direction"])
@pytest.mark.sample(2)
def test_a_target_at_a_token_is_no_error_elsewhere_and_comes_back(view: str, kind: str) -> None:
    """Every text of the list, and the second text, is shorter than the place of the token."""
    text = "We sat on the bank of the river and looked at the boats."
    at = opened("words", model=CLASSIFIER, text=text, pair="It is good.", target=kind, target_at="9")
    before = numbers(at)
    assert before["errors"] == []
    visit(at, "causes")
    at.query_params.update({"view": view, "effect_list": "my own list", "effect_sentences": "It is good.\nIt is bad."})
    at.run()
    assert numbers(at)["errors"] == []
    aside = [each.value for each in at.caption if each.value.startswith("The chosen target is")]
    assert len(aside) == (view == "Many sentences")
    assert all("belongs to one text" in each for each in aside)
    assert numbers(visit(at, "words")) == before


@pytest.mark.parametrize("name", ORDER)
@pytest.mark.usefixtures("patience")
@pytest.mark.sample(1)
def test_a_lesson_that_is_left_changes_no_value(name: str) -> None:
    """Every step is visited; the reader has chosen models, texts and controls of three pages before."""
    at = opened("sentences", model=CLASSIFIER, other=DEFAULT_MODEL, text="Mine.", pair="And this.", layer="0")
    visit(at, "heads")
    at.select_slider(key="layer").set_value("1").run()
    visit(at, "words")
    at.button_group(key="target").set_value("state").run()
    before = values_of_all(at)
    for number, step in enumerate(lesson(name).steps, start=1):
        at.query_params.clear()
        query = {key: each[0] for key, each in step.query.items()}
        at.query_params.update({"lesson": name, "step": str(number), **query})
        at.switch_page(f"../pages/{step.page}.py").run()
        assert not at.exception
    leave(at)
    keeps = lesson(name).keeps
    visit(at, "overview")  # an address of the page where the lesson ended would be an edited one
    after = values_of_all(visit(at, "words"))
    assert {key: each for key, each in after.items() if key not in keeps} == {
        key: each for key, each in before.items() if key not in keeps
    }
    assert visit(at, "heads").select_slider(key="layer").value == "1"
    assert visit(at, "sentences").session_state["layer"] == "0"


def values_of_all(at: AppTest) -> dict[str, Any]:
    """The values of models, texts and target."""
    return {name: at.session_state[name] for name in ("model", "other", "text", "pair", "target")}
