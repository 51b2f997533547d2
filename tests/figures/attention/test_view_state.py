"""The word in the address for the options of the attention view: lossless, empty for the defaults, strict."""

from dataclasses import replace
from urllib.parse import quote_plus

import pytest

from bertviz_core.figures.attention.view_state import MOST_CHARACTERS, ViewOptions, from_query, to_query, view_state
from tests.helpers.hand_made_attention import atlas_of
from tests.pages.opened import opened

FULL = ViewOptions(
    lines=True,
    order="entropy",
    frame="share-on-the-diagonal",
    scale="own",
    shades="even",
    hide=30,
    heads=((0, 1), None, (3, 5)),
    zoom=(0, 4, 2, 6),
    cell=(3, 5),
    pins=("q2", "k5"),
)
WORD = (
    "lines_order-entropy_frame-share-on-the-diagonal_scale-own_shades-even_hide-30_heads-0.1--3.5_zoom-0.4.2.6_cell-3.5"
    "_pins-q2-k5"
)


def test_a_look_and_its_word_are_one() -> None:
    assert to_query(FULL) == WORD
    assert from_query(WORD) == FULL
    assert quote_plus(WORD) == WORD, "an address holds it as it is"


@pytest.mark.parametrize("name", ViewOptions.__dataclass_fields__)
def test_every_part_of_a_look_stands_for_itself(name: str) -> None:
    alone = replace(ViewOptions(), **{name: getattr(FULL, name)})
    assert from_query(to_query(alone)) == alone
    rest = replace(FULL, **{name: getattr(ViewOptions(), name)})
    assert from_query(to_query(rest)) == rest


def test_the_plain_look_needs_no_word() -> None:
    assert to_query(ViewOptions()) == ""
    assert from_query("") == ViewOptions()


@pytest.mark.parametrize(
    "text",
    [
        "map",
        "lines_lines",
        "lines-1",
        "lines_",
        "lines_order-beauty",
        "lines_hide-101",
        "lines_hide--1",
        "lines_zoom-0.4.2",
        "lines_cell-3.5.1",
        "lines_cell-3.-5",
        "lines_cell-03.5",
        "lines_cell-٣.٥",
        "lines_cell-3.5\n",
        "lines_cell-9999999.1",
        "lines_heads-0.1-0.1",
        "lines_heads-1",
        "lines_heads-" + "-".join(f"0.{head}" for head in range(9)),
        "lines_pins-x3",
        "lines_pins-q3-q3",
        "lines_<script>",
        "lines_pins-" + "-".join(f"q{token}" for token in range(200)),
    ],
)
def test_a_malformed_word_is_ignored_as_a_whole(text: str) -> None:
    assert from_query(text) == ViewOptions()


def test_pins_give_way_where_a_word_becomes_too_long() -> None:
    many = replace(FULL, pins=tuple(f"q{token}" for token in range(200)))
    assert len(to_query(many)) <= MOST_CHARACTERS
    assert from_query(to_query(many)) == replace(FULL, pins=())


def test_an_address_counts_in_place_of_what_the_browser_said() -> None:
    _, atlas = atlas_of(9, 4, 6)
    state = view_state({}, atlas, (3, 5), FULL)
    assert state.heads == ((3, 5), (0, 1))
    assert state.missing == state.heads
    assert (state.range, state.cell) == ((0, 4, 2, 6), (3, 5, 3, 5))
    assert state.look == FULL


def test_places_that_do_not_exist_are_left_out() -> None:
    _, atlas = atlas_of(5, 4, 5)
    state = view_state({}, atlas, (0, 1), replace(FULL, pins=("q2", "k5")))
    assert state.heads == ((0, 1),)
    assert (state.range, state.cell) == (None, None)
    assert state.look.heads == (), "the opened head alone needs no name"
    assert (state.look.zoom, state.look.cell, state.look.pins) == (None, None, ("q2",))
    other = view_state({}, atlas, (2, 2), FULL)
    assert other.heads == ((2, 2),), "an opened head that the address does not select stands alone"
    assert other.look.heads == ()


@pytest.mark.slow
def test_a_click_on_a_cell_goes_into_the_address_and_a_choosing_click_does_not() -> None:
    at = opened("representations", view="Values")
    at.session_state["representations_values"] = {"point": {"row": 3, "column": 17}}
    at.run()
    assert at.query_params["cell"] == "representations_values.3.17"
    at = opened("checkpoint", view="Weights")
    at.session_state["checkpoint_weights"] = {"point": {"row": 2, "column": 3}}
    at.run()
    assert "cell" not in at.query_params


def test_a_view_that_was_not_touched_writes_nothing_and_another_parameter_stays() -> None:
    at = opened("attention", layer="2", other="kept")
    assert "look" not in at.query_params
    assert at.query_params["other"] == "kept"
    at = opened("attention", look="lines_heads-2.1-0.0", other="kept")
    assert at.query_params["look"] == "lines_heads-2.1-0.0"
    assert at.query_params["other"] == "kept"
