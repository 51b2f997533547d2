"""The registry of names: a question's parameter has one name everywhere, and all that is derived from rows agrees."""

from itertools import groupby

import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.figures.pages import PAGES
from bertviz_core.questions.figures import all_figures
from bertviz_core.questions.parameters import Param
from bertviz_core.questions.question import figure_questions
from tests.helpers.hostile_addresses import unknown_names
from ui.address.registry import FOLDED, NAMES, NUMBERS, ROWS, TYPED, is_of_page, linked, names_read_once
from ui.lessons.library import PARAMETER, RESERVED

COMMANDS_ALONE = {
    ("corpus", "reader"): "the page reads the texts with the model on the left",
    ("checkpoint", "paired"): "the page reads second texts from a column of the file",
    ("checkpoint", "with_gold"): "the page reads labels from lines with a tab, or from a column of the file",
    ("predictions", "class_names"): "the page offers the labels of the list as names of the classes",
    ("predictions", "paired"): "the page reads second texts from a column of the file",
    ("predictions", "pooling"): "a probe takes the mean by default, label errors what the checkpoint says",
    ("predictions", "with_gold"): "the page reads labels from lines with a tab, or from a column of the file",
    ("predictions", "labelled_set"): "the page names the list or file that it reads",
    ("predictions", "tagged_notices"): "the page reads the sentences from a list or a file",
    ("predictions", "view"): "the page has a view of its own for words, surprise and lens",
    ("checkpoint", "slices"): "the page chooses among length, a word and the columns of the file",
    ("sentences", "dimensions"): "the page draws powers of two, and the dimensions that the model names",
    ("sentences", "outside"): "the page reads the vectors from a file",
    ("heads", "product"): "the page compares the projection of the matrix",
    ("causes", "removed_heads"): "the page lists the heads by name",
    ("words", "position"): "the page says target_at, as for every target at a position",
    **{
        (page, "layer"): "the page says after which layer, the command which entry of the hidden states"
        for page in ("representations", "sentences", "predictions", "words")
    },
}
"""Page and parameter of a question that has no widget, or a special one, there; and why."""


def asked_on() -> set[tuple[str, Param]]:
    """Page and parameter of every question that a figure of a page draws."""
    figures = all_figures()
    return {
        (figures[name].chart.partition("_")[0], param)
        for name, question in figure_questions().items()
        for param in question.params
    }


def test_a_parameter_of_a_question_is_the_row_of_its_page() -> None:
    rows = {(page, row.param.key): row.param for row in ROWS for page in row.pages or PAGES}
    alone = set(COMMANDS_ALONE)
    for page, param in sorted(asked_on(), key=lambda each: (each[0], each[1].key)):
        if (page, param.key) in COMMANDS_ALONE:
            alone.discard((page, param.key))
            continue
        assert rows.get((page, param.key)) is param, (page, param.key)
    assert not alone, "no question has these any more"


def test_a_name_has_one_row_on_a_page_and_is_a_number_on_all_or_none() -> None:
    places = [(page, row.param.key) for row in ROWS for page in row.pages or PAGES]
    assert len(places) == len(set(places))
    assert {page for page, _ in places} == set(PAGES)
    for _, rows in groupby(sorted(ROWS, key=lambda row: row.param.key), lambda row: row.param.key):
        kinds = {(row.param.kind in ("whole", "span", "head", "position"), row.linked) for row in rows}
        assert len(kinds) == 1


def test_every_name_can_stand_in_a_lesson_but_those_with_a_field_of_their_own() -> None:
    assert all(PARAMETER.fullmatch(name) for name in NAMES)
    assert {"text", "pair", "sentences"} == NAMES & RESERVED


def test_what_a_link_carries_when_asked_is_typed_and_no_number() -> None:
    assert not set(TYPED) & NUMBERS
    assert set(linked("placed", "sentences")) <= NUMBERS
    assert linked("on request", "")[:2] == linked("on request", "heads") == ("text", "pair")
    assert {name for page in PAGES for name in linked("on request", page)} == set(TYPED)
    assert set(names_read_once()) == {*TYPED, *linked("placed", "sentences"), *linked("column", "sentences")}


@pytest.mark.parametrize("name", ["head", "heads_matrix_table", "tokens_explained", "sentences_map_figure"])
def test_a_name_of_a_control_or_of_a_folded_part_is_known(name: str) -> None:
    assert name in NAMES or FOLDED.fullmatch(name)


@pytest.mark.parametrize("name", ["", "Head", "heads", "_table", "heads_table_x", "from", "lesson"])
def test_no_other_name_is_known(name: str) -> None:
    assert name not in NAMES
    assert not FOLDED.fullmatch(name)


@pytest.mark.parametrize(
    ("name", "page", "known"),
    [
        ("head", "attention", True),
        ("head", "tokens", False),
        ("model", "tokens", True),
        ("tokens_text_table", "tokens", True),
        ("heads_matrix_table", "tokens", False),
        ("attention_measures", "attention", True),
        ("lesson", "tokens", False),
        ("present", "tokens", False),
    ],
)
def test_a_name_belongs_to_the_pages_of_its_rows(name: str, page: str, known: bool) -> None:
    assert is_of_page(name, page) is known


def stray_page() -> None:
    import streamlit as st

    from ui.address.widgets import BOUND

    st.slider("A", 0, 3, key="no_row_for_this", **BOUND)
    st.slider("B", 0, 3, key="head", **BOUND)


def test_a_control_without_a_row_is_noticed() -> None:
    assert unknown_names(AppTest.from_function(stray_page).run()) == {"no_row_for_this"}
