"""Numbers as text: only 0 is written as 0."""

import json
import unicodedata

import pytest

from bertviz_core.text import decimals, digits, first_line, json_escaped, measured, ordinal


@pytest.mark.parametrize(
    ("value", "places", "words"),
    [
        (0.0, 4, "0.0000"), (0.5, 3, "0.500"), (-1.25, 2, "−1.25"), (6.4e-7, 4, "6.4e−7"), (-3.04e-5, 3, "−3.0e−5"),
        (0.00006, 4, "0.0001"), (12345.678, 1, "12345.7"), (1e-30, 4, "1.0e−30"),
    ],
)  # fmt: skip
def test_decimals(value: float, places: int, words: str) -> None:
    assert decimals(value, places) == words


@pytest.mark.parametrize(
    ("value", "count", "words"),
    [(0.0, 2, "0"), (-2.4453, 4, "−2.445"), (7.2e-8, 1, "7e−8"), (-3.04e-12, 3, "−3.04e−12"), (1e20, 4, "1e20")],
)
def test_digits(value: float, count: int, words: str) -> None:
    assert digits(value, count) == words


def test_a_place_in_a_row_has_the_ending_that_english_gives_it() -> None:
    named = {1: "1st", 2: "2nd", 3: "3rd", 4: "4th", 11: "11th", 12: "12th", 13: "13th", 20: "20th", 21: "21st"}
    named |= {22: "22nd", 111: "111th", 113: "113th", 1_002: "1,002nd"}
    assert {each: ordinal(each) for each in named} == named


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("no\nmatter", "no"), ("", "ValueError"), ("of 'a':\n    a number\nmore", "of 'a': a number"),
        ("nothing behind:", "nothing behind:"), ("x" * 500, "x" * 200),
    ],
)  # fmt: skip
def test_the_first_line_of_a_message_says_something(message: str, words: str) -> None:
    assert first_line(ValueError(message)) == words


@pytest.mark.parametrize(
    ("unit", "words"),
    [("cosine", "0.5000"), ("(no unit)", "0.5000"), ("nats", "0.5000 nats"), ("logit", "0.5000 logit")],
)
def test_a_cosine_has_no_unit(unit: str, words: str) -> None:
    assert measured(0.5, unit) == words


def test_json_on_a_terminal_has_no_control_character_and_the_same_value() -> None:
    value = {"a\u202e\x9b\x7f": ["\U000e0001x\u2028\x1b", "é \U0001f469\u200d\U0001f52c \u0627"]}
    text = json_escaped(json.dumps(value, ensure_ascii=False))
    assert json.loads(text) == value
    assert not any(unicodedata.category(each) in ("Cc", "Zl", "Zp") or each in "\u202e\U000e0001" for each in text)
    assert "é \U0001f469\u200d\U0001f52c \u0627" in text
