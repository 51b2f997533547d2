"""The second model on Words and Heads that matter: numbers as the lines of Python have them, refusals are one sentence.

Covers `ui/views/words/compared.py`, `ui/views/causes/compared.py`, `ui/widgets/models/beside.py`.
"""

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.opened import opened, said
from tests.pages.snippets import Printed, chart, check_view, close, folded
from ui.session import SECOND_TEXT

pytestmark = pytest.mark.usefixtures("heads", "patience")

ROUNDED = "itself, rounded to bfloat16"
BUNDLED, FINE_TUNED = "all-MiniLM-L6-v2", "sre-embedding-model"


@pytest.mark.parametrize("other", [ROUNDED, FINE_TUNED])
def test_the_shares_of_both_words_are_those_of_the_lines(other: str) -> None:
    def compared(_: AppTest, values: Printed) -> None:
        table = folded(page, "words_compared")
        assert tuple(table["word"]) == values[-4]
        for column, numbers in zip(("first", "second", "difference"), values[-3:], strict=True):
            close(table[column], numbers)
        first, second = chart(page, "words_compared")
        close(first["x"], values[-3])
        close(second["x"], values[-2])

    page = opened("words", model=BUNDLED, other=other, pair=SECOND_TEXT, words_compared_table="true")
    shown = {"words_shares": lambda *_: None, "words_compared": compared}
    at = check_view("words", BUNDLED, shown, other=other, pair=SECOND_TEXT)
    assert not at.error
    np.testing.assert_allclose(folded(page, "words_compared")["first"], folded(at, "words_shares")["share"], atol=1e-6)


def test_the_effects_of_both_models_are_those_of_the_lines() -> None:
    def compared(at: AppTest, values: Printed) -> None:
        first, second, difference = values[:3]
        shown = np.asarray(chart(at, "causes_compared")[0]["z"], dtype=float)
        layers, heads = first.shape
        for number, each in enumerate((first, second, difference)):
            start = number * (heads + 1)
            close(shown[:layers, start : start + heads], each)

    checks = {"causes_effects": lambda *_: None, "causes_compared": compared}
    at = check_view("causes", "classes", checks, other=ROUNDED)
    assert not at.error


@pytest.mark.parametrize(
    ("page", "model", "other", "words"),
    [
        ("words", "classes", "tags", "has no head for sequence-classification"),
        ("words", "classes", "no-such-model", "No model 'no-such-model' found"),
        ("words", "tags", "bert-base-NER", "not on this machine"),
        ("causes", "classes", "words", "has no head for sequence-classification"),
    ],
)
def test_what_cannot_be_compared_is_one_sentence_below_the_whole_first_answer(
    page: str, model: str, other: str, words: str
) -> None:
    at, alone = opened(page, model=model, other=other), opened(page, model=model)
    assert not at.exception
    assert not at.error
    (sentence,) = [said(each.value) for each in at.info]
    assert words in sentence
    charts = [[each.proto.spec for each in each_page.get("plotly_chart")] for each_page in (at, alone)]
    assert charts[0] == charts[1]


def test_the_same_model_twice_is_zeros_and_says_so() -> None:
    at = opened("words", model="classes", other="classes", words_compared_table="true")
    assert not at.exception
    assert set(folded(at, "words_compared")["difference"]) == {0.0}
    assert any("The same model twice" in each.value for each in at.caption)
