"""No address ends in an exception, with any value of any name.

Covers `ui/address/registry.py`.
"""

import re
from itertools import cycle
from pathlib import Path
from urllib.parse import unquote_plus

import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.figures.pages import PAGES
from tests.helpers.hostile_addresses import HOSTILE, ROOT, VIEWS, opened_by, parameters, unknown_names
from tests.helpers.template_corpus import make_corpus, seeded_vectors
from tests.pages.opened import views_of, visible_text
from ui.address.registry import MOST_CHARACTERS, NUMBERS, TYPED, refused, whole

pytestmark = pytest.mark.usefixtures("models_dir")


@pytest.mark.parametrize(
    ("written", "number"),
    [("0", 0), ("7", 7), ("007", 7), ("0" * 5_000, 0), ("0" * 5_000 + "1", 1), ("123456789", 123_456_789)],
)
def test_a_whole_number_is_read(written: str, number: int) -> None:
    assert whole(written) == number


@pytest.mark.parametrize(
    "written",
    [None, "", " 1", "1\n", "-1", "0-1", "+1", "1.0", "1e3", "1_0", "0x1", "²", "٣", "１", "1234567890", "9" * 5_000],
)
def test_nothing_else_is_a_number(written: str | None) -> None:
    assert whole(written) is None


@pytest.mark.parametrize("value", ["9" * 5_000, "1e999", "nan", "x", "", "²", "99999999999", " 3 "])
def test_what_is_no_number_is_refused_under_every_name_of_one(value: str) -> None:
    assert {refused(name, ["1", value]) for name in NUMBERS} == {value}
    assert {refused(name, ["-7", "007"]) for name in NUMBERS} == {None}


@pytest.mark.parametrize(
    ("name", "values", "left_out"),
    [
        ("text", ["x" * 200_000], None),  # a text has the model's own limit
        ("view", ["x" * 10_000], None),
        ("view", ["x" * 10_001], "x" * 10_001),
        ("models", ["a"] * 100, None),
        ("models", [*["a"] * 100, "b"], "b"),
        ("n" * 10_001, ["1"], "1"),
        ("arrive", ["x" * 40_000], None),  # another address
        ("arrive", ["x" * 40_001], "x" * 40_001),
    ],
)
def test_a_value_has_a_length(name: str, values: list[str], left_out: str | None) -> None:
    assert refused(name, values) == left_out


def toasts(at: AppTest) -> list[str]:
    return [visible_text(each.value) for each in at.toast]


def numbers_page() -> None:
    import streamlit as st

    from ui.address.registry import NUMBERS, clean
    from ui.address.widgets import BOUND

    st.text(clean())
    for place, name in enumerate(sorted(NUMBERS)):
        if place % 2:
            st.number_input(name, 0, 11, 0, step=1, key=name, **BOUND)
        else:
            st.slider(name, 0, 11, (0, 11), key=name, **BOUND)


@pytest.mark.parametrize("value", HOSTILE, ids=range(len(HOSTILE)))
def test_no_number_ends_a_control(value: str | list[str]) -> None:
    at = AppTest.from_function(numbers_page)
    for name in NUMBERS:
        at.query_params[name] = value
    assert not at.run().exception
    assert (at.text[0].value == "") == (value in ("-7", ["1", "2"]))


def read_page() -> None:
    import streamlit as st

    from ui.address.registry import clean

    st.text(clean())
    st.text(",".join(sorted(st.query_params)))


def test_of_a_name_that_nobody_types_so_many_characters_are_read() -> None:
    """All such names, as many at once as Streamlit accepts in an address."""
    names = sorted((parameters() | {"model", "target", "view", "lesson"}) - NUMBERS - set(TYPED) - {"arrive"})
    for start in range(0, len(names), 40):
        some = names[start : start + 40]
        at = AppTest.from_function(read_page)
        for place, name in enumerate(some):
            at.query_params[name] = "x" * (MOST_CHARACTERS + place % 2)
        assert not at.run().exception
        assert "which no control accepts" in at.text[0].value
        assert at.text[1].value.split(",") == some[::2]


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a corpus."""
    root = tmp_path_factory.mktemp("corpora")
    make_corpus(root / "made", 60, seeded_vectors(0))
    return root


@pytest.mark.parametrize(("page", "view"), VIEWS)
def test_no_view_ends_in_an_exception(page: str, view: str, corpora: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every parameter of every page at once, each with another hostile value on every page."""
    monkeypatch.setenv("INSIDE_BERT_CORPORA_DIR", str(corpora))
    values = cycle(HOSTILE[VIEWS.index((page, view)) :] + HOSTILE)
    at = opened_by(page, {name: next(values) for name in sorted(parameters())} | {"view": view})
    assert not at.exception
    assert at.title
    assert any("which no control accepts" in each for each in toasts(at))
    assert {each.proto.query_param_key for each in (*at.slider, *at.number_input)} <= NUMBERS | {""}
    assert not unknown_names(at)


def test_what_is_left_out_is_said_and_gone() -> None:
    at = opened_by("heads", {"head": "9" * 5_000, "layer": "2", "view": "One cell"})
    assert not at.exception
    assert at.number_input(key="head").value == 0
    assert at.select_slider(key="layer").value == "2"
    (message,) = toasts(at)
    assert message.startswith("The address has head=99999999999999999999…, which no control accepts: numbers are whole")
    assert "head" not in at.query_params
    assert not toasts(at.run())


def test_a_step_back_to_such_an_address_is_cleaned_too() -> None:
    at = opened_by("heads", {"head": "3"})
    assert at.number_input(key="head").value == 3
    at.query_params["head"] = "1e999"
    assert not at.run().exception
    (message,) = toasts(at)
    assert "head=1e999, which no control accepts" in message
    assert at.number_input(key="head").value == 3


def test_a_word_too_long_for_any_address_is_left_out_and_a_text_is_not() -> None:
    long = "word " * MOST_CHARACTERS
    at = opened_by("parameters", {"search": long, "text": long})
    assert not at.exception
    assert at.session_state["text"] == long
    assert "search" not in at.query_params


def test_a_query_that_no_view_is_left_with_is_forgotten() -> None:
    at = opened_by("tokens", {"arrive": "&".join(f"n{place}=1" for place in range(200)) + "&EMBED_options=x"})
    assert not at.exception


def test_every_page_is_tried() -> None:
    assert {page for page, _ in VIEWS} == {path.stem for path in (ROOT / "pages").glob("[a-z]*.py")} == set(PAGES)


def test_views_that_browser_tests_open_are_there() -> None:
    """Most of these tests run in `make test-all` alone, and an unknown view opens the first one."""
    address = re.compile(r"/(\w+)\?[^\s\"]*?\bview=([\w+%]+)")
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "browser").rglob("*.py")]
    opened = {(page, unquote_plus(view)) for text in texts for page, view in address.findall(text)}
    assert len(opened) > 5
    unknown = [place for place in opened if place[1] not in views_of(place[0])]
    assert unknown == []


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("page", "view", "name"),
    [
        ("predictions", "Train a probe", "seed"),
        ("causes", "Several heads", "count"),
        ("causes", "One head at a time", "target_dimension"),
    ],
)
def test_a_number_beyond_all_is_a_sentence(page: str, view: str, name: str) -> None:
    at = opened_by(page, {"view": view, "target": "state", name: "1e999"})
    assert not at.exception
    assert any(f"{name}=1e999" in each for each in toasts(at))
