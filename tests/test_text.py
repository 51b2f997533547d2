"""Numbers in words: no number but 0 reads as 0."""

import pytest

from bertviz_core.text import decimals, measured


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
    ("unit", "words"),
    [("cosine", "0.5000"), ("(no unit)", "0.5000"), ("nats", "0.5000 nats"), ("logit", "0.5000 logit")],
)
def test_a_cosine_has_no_unit(unit: str, words: str) -> None:
    assert measured(0.5, unit) == words
