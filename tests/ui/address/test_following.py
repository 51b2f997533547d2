"""Values of widgets after a link, Back or Forward, a lesson's step, a change of page or of the text.

Each case is an earlier state and the current address; tests/browser/test_history.py shows that a browser produces
these states.
"""

from itertools import product

import pytest

from ui.address.navigation import EMBEDDINGS, Source, Visit, Written, layer_to_show, nearest, source, view_to_show

HERE, LATER = Visit("heads", 3, first_run=False), Visit("heads", 5)
BACK = Visit("heads", 5, complete=True)
NAMED, UNNAMED = Written("4", "text", 3), Written(None, "text", 3)
VIEWS = ("Values", "Paths", "Change")
LAYERS = tuple(map(str, range(6)))
STATES = (EMBEDDINGS, *LAYERS)


@pytest.mark.parametrize(
    ("address", "before", "of", "now", "expected"),
    [
        ("2", None, "text", HERE, "address"),  # a link in another browser
        (None, None, "text", HERE, "elsewhere"),
        ("2", NAMED, "text", HERE, "address"),  # a step back within the page, or a link
        ("4", NAMED, "text", HERE, "control"),  # a click
        ("4", NAMED, "other", HERE, "elsewhere"),  # another text
        (None, NAMED, "text", HERE, "default"),  # the name was removed from the address
        (None, NAMED, "text", LATER, "control"),  # a link to the page: its value is kept
        (None, NAMED, "text", BACK, "default"),  # back to where none was named
        (None, UNNAMED, "text", BACK, "default"),  # although another page has set it since
        ("4", NAMED, "text", BACK, "control"),
        ("7", UNNAMED, "text", BACK, "address"),
        (None, UNNAMED, "text", HERE, "control"),
    ],
)
def test_where_a_value_comes_from(
    address: str | None, before: Written | None, of: str, now: Visit, expected: Source
) -> None:
    assert source(address, before, of, now) == expected


def test_what_an_address_says_is_taken_once_whatever_was_before() -> None:
    """Once the widget has written its value, a run without a change leaves it unchanged."""
    befores = (None, NAMED, UNNAMED, Written("4", "other", 5))
    for address, before, now in product((None, "2", "4"), befores, (HERE, LATER, BACK)):
        first = source(address, before, "text", now)
        assert address is not None or first != "address"
        shown = Written(address, "text", now.number)
        assert source(address, shown, "text", now) == "control", (address, before, now)


@pytest.mark.parametrize(
    ("named", "remembered", "anew", "shown"),
    [
        (None, None, True, "Values"),
        (None, "Paths", True, "Paths"),  # a link to the page
        (None, "Paths", False, "Values"),  # the way back, or a step of a lesson that names none
        ("Change", "Paths", True, "Change"),
        ("Change", "Paths", False, "Change"),
        ("nonsense", "Paths", True, "Values"),
        (None, "gone", True, "Values"),
    ],
)
def test_the_view_of_a_page(named: str | None, remembered: str | None, anew: bool, shown: str) -> None:
    assert view_to_show(named, remembered, VIEWS, anew) == shown


@pytest.mark.parametrize(
    ("address", "stored", "anew", "complete", "expected"),
    [
        (None, None, True, False, ("2", None)),  # a page's default
        (None, "4", True, False, ("4", None)),  # what was chosen on this page
        (None, "4", True, True, ("2", None)),  # back to where none was named
        ("3", "1", True, True, (None, None)),  # Streamlit seeds it from the address
        ("3", None, True, False, (None, None)),
        (None, "5", False, False, (None, None)),  # a click
        ("9", None, True, False, ("5", "9")),  # beyond the last, with a message
        ("-1", None, True, False, ("0", "-1")),
        ("x", None, True, False, ("2", "x")),
        (None, "9", True, False, ("5", "9")),  # a smaller model since the page was left
        ("5", "9", False, False, ("5", "9")),  # a smaller model while the page is open
    ],
)
def test_the_layer(
    address: str | None, stored: str | None, anew: bool, complete: bool, expected: tuple[str | None, str | None]
) -> None:
    assert layer_to_show(LAYERS, "2", address, stored, anew, complete) == expected


def test_the_layer_is_always_one_that_there_is() -> None:
    words = (None, "0", "5", "9", "-3", "x", EMBEDDINGS)
    for address, stored in product(words, words):
        for options, anew, complete in product((LAYERS, STATES), (False, True), (False, True)):
            layer, _ = layer_to_show(options, options[2], address, stored, anew, complete)
            seeded = address if anew and address is not None else stored
            assert (layer or seeded or options[2]) in options


@pytest.mark.parametrize(
    ("layer", "options", "shown"),
    [
        ("3", LAYERS, "3"),
        ("6", LAYERS, "5"),
        ("99", LAYERS, "5"),
        ("9" * 5_000, LAYERS, "5"),
        ("-3", LAYERS, "0"),
        ("1e9", LAYERS, "1"),
        ("<b>x</b>", LAYERS, "1"),
        ("6", STATES, "5"),
        ("x", STATES, "1"),
        (EMBEDDINGS, LAYERS, "0"),
        ("-1", STATES, EMBEDDINGS),
        ("²", LAYERS, "1"),
        ("", LAYERS, "1"),
    ],
)
def test_the_nearest_layer(layer: str, options: tuple[str, ...], shown: str) -> None:
    assert nearest(layer, options, "1") == shown
