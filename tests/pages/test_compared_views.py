"""The second model below a view of the first: numbers as the lines of Python have them, refusals are one sentence.

Covers `bertviz_core/questions/views/{words,causes}.py`, `ui/views/attention.py`,
`bertviz_core/questions/views/representations.py`, `ui/widgets/models.py`.
"""

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from tests.helpers.charts import sent_charts
from tests.pages.opened import opened, visible_text
from tests.pages.snippets import Printed, chart, check_view, close, folded
from ui.session import SECOND_TEXT
from ui.views.attention import AS_FIRST, take_row

pytestmark = pytest.mark.usefixtures("heads", "patience")

ROUNDED = "itself, rounded to bfloat16"
BUNDLED, FINE_TUNED = "all-MiniLM-L6-v2", "sre-embedding-model"


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("page", "model", "other", "words"),
    [
        ("words", "classes", "tags", "has no task head for sequence-classification"),
        ("words", "classes", "no-such-model", "No model 'no-such-model' found"),
        ("words", "tags", "bert-base-NER", "not on this machine"),
        ("causes", "classes", "words", "has no task head for sequence-classification"),
    ],
)
def test_what_cannot_be_compared_is_one_sentence_below_the_whole_first_answer(
    page: str, model: str, other: str, words: str
) -> None:
    at, alone = opened(page, model=model, other=other), opened(page, model=model)
    assert not at.exception
    assert not at.error
    of_first = [each.value for each in alone.info]
    (sentence,) = [visible_text(each.value) for each in at.info if each.value not in of_first]
    assert words in sentence
    charts = [[each.spec for each in sent_charts(each_page)] for each_page in (at, alone)]
    assert charts[0] == charts[1]


def test_the_same_model_twice_is_zeros_and_says_so() -> None:
    at = opened("words", model="classes", other="classes", words_compared_table="true")
    assert not at.exception
    assert set(folded(at, "words_compared")["difference"]) == {0.0}
    assert any("The same model twice" in each.value for each in at.caption)


@pytest.mark.slow
@pytest.mark.parametrize("other", [ROUNDED, FINE_TUNED])
def test_the_attention_of_both_models_is_that_of_the_lines(other: str) -> None:
    def compared(at: AppTest, values: Printed) -> None:
        first, second, difference = values
        for trace, expected in zip(chart(at, "attention_compared"), (first, second, difference), strict=True):
            close(trace["z"], expected)
        np.testing.assert_array_equal(difference, second - first)

    def changed(at: AppTest, values: Printed) -> None:
        (divergences,) = values
        close(chart(at, "attention_changed")[0]["z"], divergences)
        listed = at.dataframe[-1].value
        assert (np.diff(listed["divergence"]) <= 0).all()
        close(listed["divergence"], [divergences[row.layer, row.head] for row in listed.itertuples()])

    checks = {"attention_heads": lambda *_: None, "attention_compared": compared, "attention_changed": changed}
    at = check_view("attention", BUNDLED, checks, other=other, layer="3", head="2", hide_special="true")
    assert not at.error


@pytest.mark.slow
def test_the_second_model_has_a_layer_and_head_of_its_own() -> None:
    def compared(at: AppTest, values: Printed) -> None:
        for trace, expected in zip(chart(at, "attention_compared"), values, strict=True):
            close(trace["z"], expected)

    place = {"layer": "1", "head": "0", "other_layer": "3", "other_head": "2"}
    checks = {"attention_heads": lambda *_: None, "attention_compared": compared, "attention_changed": lambda *_: None}
    at = check_view("attention", BUNDLED, checks, other=FINE_TUNED, **place)
    alone = opened("attention", model=FINE_TUNED, other=FINE_TUNED, layer="3", head="2")
    close(chart(at, "attention_compared")[1]["z"], chart(alone, "attention_compared")[0]["z"])
    assert [at.selectbox(key=key).value for key in ("other_layer", "other_head")] == ["3", "2"]


def test_a_place_that_the_second_model_lacks_falls_back_to_the_same_place() -> None:
    at = opened("attention", model=BUNDLED, other="byte-words", other_layer="99", other_head="-1")
    assert not at.exception
    assert [at.selectbox(key=key).value for key in ("other_layer", "other_head")] == [AS_FIRST, AS_FIRST]


@pytest.mark.slow
@pytest.mark.parametrize("other", [ROUNDED, FINE_TUNED])
def test_the_cosines_of_both_models_are_those_of_the_lines(other: str) -> None:
    def compared(at: AppTest, values: Printed) -> None:
        close(chart(at, "representations_compared")[0]["z"], values[0])
        close(folded(at, "representations_compared").iloc[:, 1:], values[0])

    checks = {"representations_change": lambda *_: None, "representations_compared": compared}
    at = check_view("representations", BUNDLED, checks, other=other)
    assert not at.error


def test_other_tokens_and_sizes_leave_both_maps_and_a_sentence_each() -> None:
    at = opened("attention", model=BUNDLED, other="byte-words")
    assert not at.exception
    assert not at.error
    first, second = chart(at, "attention_compared")
    assert np.shape(first["z"]) != np.shape(second["z"])
    captions = [visible_text(each.value) for each in at.caption]
    assert sum("so their maps have no difference" in each for each in captions) == 1
    assert any("Merge pieces to words" in each for each in captions)
    (sentence,) = [visible_text(each.value) for each in at.info]
    assert "so their heads have no divergence" in sentence
    states = opened("representations", model=BUNDLED, other="byte-words")
    assert not states.exception
    assert any("so their hidden states have no cosines" in visible_text(each.value) for each in states.info)


def test_a_row_of_the_list_opens_its_head(monkeypatch: pytest.MonkeyPatch) -> None:
    session: dict[str, object] = {"attention_changed_heads": {"selection": {"rows": [1]}}}
    monkeypatch.setattr("streamlit.session_state", session)
    take_row(pd.DataFrame({"layer": [5, 4], "head": [0, 7], "divergence": [0.2, 0.1]}))
    assert (session["layer"], session["head"]) == ("4", 7)
    session["other_head"] = "3"
    session["attention_changed_heads"] = {"selection": {"rows": []}}
    take_row(pd.DataFrame({"layer": [5], "head": [0], "divergence": [0.2]}))
    assert (session["layer"], session["head"], session["other_head"]) == ("4", 7, "3")
    session["attention_changed_heads"] = {"selection": {"rows": [0]}}
    take_row(pd.DataFrame({"layer": [5], "head": [0], "divergence": [0.2]}))
    assert (session["layer"], session["head"], session["other_head"]) == ("5", 0, AS_FIRST)
