"""The mark at the start of a pair's second text: between two tokens, on either axis, only if both texts are drawn."""

from typing import Any

import plotly.graph_objects as go
import pytest

from bertviz_core.figures.base.axes import LABEL, mark_second_text, second_text_start
from bertviz_core.figures.base.style import LIGHT
from bertviz_core.trace.tokenization import TextTokenizer, TokenLimit, tokenize
from tests.helpers.tiny_models import tiny_tokenizer


def read(text: str, pair: str | None = None) -> Any:
    return tokenize(TextTokenizer("tiny", tiny_tokenizer(), TokenLimit(None, ""), 1000), text, pair)


def test_the_second_text_begins_behind_the_separator() -> None:
    tokens = read("I love my python.", "my pet")
    start = second_text_start(tokens)
    assert start is not None
    assert tokens.tokens[start - 1] == "[SEP]"
    assert tokens.tokens[start] == "my"
    assert second_text_start(read("I love my python.")) is None


def test_the_place_is_counted_from_the_first_token_drawn_and_none_where_it_is_not_drawn() -> None:
    tokens = read("I love my python.", "my pet")
    start = second_text_start(tokens)
    assert start is not None
    assert second_text_start(tokens, 2) == start - 2
    assert second_text_start(tokens, 0, start) is None
    assert second_text_start(tokens, start) is None  # only the second text is drawn


@pytest.mark.parametrize(("axis", "across"), [("x", "y"), ("y2", "x"), ("x3", "y3")])
@pytest.mark.parametrize("place", [1, 9])
def test_the_line_stands_between_two_tokens_and_the_words_inside_the_axis(axis: str, across: str, place: int) -> None:
    figure = mark_second_text(go.Figure(), place, 10, LIGHT, axis, across)
    (line,), (words,) = figure.layout.shapes, figure.layout.annotations
    own, other = ("x", "y") if axis[0] == "x" else ("y", "x")
    assert line[f"{own}0"] == line[f"{own}1"] == place - 0.5
    assert line[f"{own}ref"] == axis
    assert line[f"{other}ref"] == f"{across} domain"
    assert words.text == LABEL
    assert words[own] == (0.5 if place == 1 else 9.5)


def test_without_a_second_text_nothing_is_drawn() -> None:
    figure = mark_second_text(go.Figure(), None, 10, LIGHT)
    assert not figure.layout.shapes
    assert not figure.layout.annotations
