"""The view Answers over a list: its example, typed rows and a file of SQuAD; the numbers of the library.

Covers `bertviz_core/questions/views/labelled/answer_list.py`, `ui/views/predictions_lists.py`.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core import open_model
from bertviz_core.predictions.answer_scores import EXAMPLES, gold_answers
from tests.helpers.tiny_heads import save_tiny_head
from tests.pages.opened import opened, visible_text
from tests.pages.snippets import chart, printed

ROWS = (
    ("the pet?", "I love my pet python.", "pet | my pet"),
    ("a river?", "two rivers", ""),
    ("who?", "my bank", "me"),
)
TYPED = {"asked_from": "my own list", "asked": "\n".join("\t".join(row) for row in ROWS)}

pytestmark = pytest.mark.usefixtures("patience")


def page(models_dir: Path, **query: str) -> AppTest:
    save_tiny_head("bert", "question-answering", models_dir / "qa")
    at = opened("predictions", model="qa", view="Answers over a list", **query)
    assert not at.exception
    return at


def text_of(at: AppTest) -> str:
    return " ".join(visible_text(each.value) for each in (*at.markdown, *at.caption))


@pytest.mark.slow
def test_the_example_is_scored_at_first_sight(models_dir: Path) -> None:
    at = page(models_dir)
    assert not at.error
    questions, contexts, gold = zip(*EXAMPLES, strict=True)
    result = open_model(models_dir / "qa").answers(questions, contexts, [gold_answers(each) for each in gold])
    (frame,) = [each.value for each in at.dataframe if "null difference" in each.value]
    np.testing.assert_allclose(frame["null difference"], result.data.difference, atol=1e-5)
    assert [each.value for each in at.metric][0] == f"{result.scores['exact']:.1%} / {result.scores['f1']:.1%}"
    for texts, (_, context, _) in zip(map(gold_answers, gold), EXAMPLES, strict=True):
        assert all(each in context or each[0].isupper() for each in texts)


def test_typed_rows_have_the_numbers_of_the_library_at_the_chosen_threshold(models_dir: Path) -> None:
    at = page(models_dir, **TYPED, null_threshold="-0.4", predictions_null_threshold_explained="true")
    assert not at.error
    questions, contexts, _ = zip(*ROWS, strict=True)
    result = open_model(models_dir / "qa").answers(
        questions, contexts, [["pet", "my pet"], "", "me"], null_threshold=-0.4
    )
    (frame,) = [each.value for each in at.dataframe if "best span" in each.value]
    assert frame["answer"].tolist() == list(result.answers)
    lines = {each.get("name"): each for each in chart(at, "predictions_null_threshold")}
    count = len(result.curve.exact)
    np.testing.assert_allclose(np.array(lines["exact match"]["y"])[:count], 100 * result.curve.exact)
    np.testing.assert_allclose(np.array(lines["F1"]["y"])[:count], 100 * result.curve.f1)
    assert set(np.array(lines["no answer above \N{MINUS SIGN}0.4"]["x"]).tolist()) == {-0.4}
    assert "1 gold answer not in the context" in text_of(at)
    assert f"best span **{result.data.spans[0].text}**" in text_of(at)
    assert printed(at.code[-1].value)[0] == result.answers


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("one", "Line 1 has 0 tabs: 'one'. Write the question"),
        ("a\tb\tc\td", "has 3 tabs"),
        ("a\t ", "context is empty"),
    ],
)
def test_a_list_that_cannot_be_answered_is_one_sentence(models_dir: Path, lines: str, message: str) -> None:
    at = page(models_dir, asked_from="my own list", asked=lines)
    assert message in " ".join(visible_text(each.value) for each in at.error)


def test_without_gold_answers_there_are_answers_and_no_scores(models_dir: Path) -> None:
    at = page(models_dir, asked_from="my own list", asked="the pet?\tI love my pet.\na river?\ttwo rivers")
    assert not at.error
    assert not at.metric
    assert "Gold answers beside the questions give exact match" in text_of(at)
    at = page(models_dir, asked_from="my own list")
    assert "Under Questions, write a question" in visible_text(at.info[0].value).replace("**", "")


def test_a_file_of_squad_is_read(models_dir: Path) -> None:
    at = page(models_dir, asked_from="file")
    questions = [
        {"question": "the pet?", "id": "1", "answers": [{"text": "my pet", "answer_start": 7}], "is_impossible": False},
        {"question": "who?", "id": "2", "answers": [], "plausible_answers": [], "is_impossible": True},
    ]
    squad = {"version": "v2.0", "data": [{"paragraphs": [{"context": "I love my pet.", "qas": questions}]}]}
    at.file_uploader[0].set_value(("dev.json", json.dumps(squad).encode(), "application/json")).run()
    assert not at.exception
    assert not at.error
    (frame,) = [each.value for each in at.dataframe if "best span" in each.value]
    assert frame["gold answers"].tolist() == ["my pet", ""]
    assert len(at.metric) == 3
