"""Task heads on their pages: answers, messages where they cannot be run, and code that gives the same.

Covers `bertviz_core/questions/views/predictions.py`.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from streamlit.testing.v1 import AppTest

from tests.pages.labels import CONTEXT, HEADS, LONG, NAMES, QUESTION, TAGS
from tests.pages.opened import opened, page_text, views
from tests.pages.snippets import Printed, chart, check_view, close, folded

pytestmark = pytest.mark.usefixtures("heads")

TEXT, EDITED = "I love my pet python.", "I love the pet bank."
AUTO = {
    "sequence-classification": transformers.AutoModelForSequenceClassification,
    "next-sentence": transformers.AutoModelForNextSentencePrediction,
}


def own_logits(folder: Path, task: str, text: str, pair: str | None = None) -> np.ndarray:
    """The logits of transformers' own class."""
    inputs = transformers.AutoTokenizer.from_pretrained(folder)(text, pair, return_tensors="pt")
    model = AUTO[task].from_pretrained(folder).eval()
    if "distilbert" in folder.name or "roberta" in folder.name:
        inputs.pop("token_type_ids", None)
    with torch.no_grad():
        return np.asarray(model(**inputs).logits[0])


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", [name for name in HEADS if HEADS[name][1] == "sequence-classification"])
def test_classes_are_those_of_transformers(name: str, heads: Path) -> None:
    def check(at: AppTest, values: Printed) -> None:
        logits = own_logits(heads / name, "sequence-classification", TEXT)
        expected = logits if name == "number" else np.exp(logits) / np.exp(logits).sum()
        expected = 1 / (1 + np.exp(-logits)) if name == "topics" else expected
        close(values[0], expected)
        table = folded(at, "predictions_classes")
        close(table["value" if name == "number" else "probability"], expected)
        shown = chart(at, "predictions_classes")[0]["x"]
        close(shown, sorted(expected, reverse=True)[:30])

    at = check_view("predictions", name, {"predictions_classes": check})
    assert views(at) == [
        "Classes",
        "Change a word",
        "Calibration",
        "Train a probe",
        "Several texts",
        "Label errors",
        "Word swaps",
    ]
    words = page_text(at)
    assert ("no probability" in words) == (name == "number")
    assert ("Several classes may be likely at once" in words) == (name == "topics")


def test_the_order_of_the_classes_is_the_models_where_asked() -> None:
    shown = chart(opened("predictions", model="classes", order="as in the model"), "predictions_classes")[0]["x"]
    at = opened("predictions", model="classes", predictions_classes_table="true")
    close(shown, folded(at, "predictions_classes")["probability"])
    assert list(folded(at, "predictions_classes")["class"]) == list(NAMES)


def test_whether_a_text_follows_is_asked_of_a_pair(heads: Path) -> None:
    def check(at: AppTest, values: Printed) -> None:
        logits = own_logits(heads / "pretraining", "next-sentence", TEXT, CONTEXT)
        close(values[0], np.exp(logits) / np.exp(logits).sum())
        close(chart(at, "predictions_next")[0]["x"], values[0])

    check_view("predictions", "pretraining", {"predictions_next": check}, view="Next sentence", pair=CONTEXT)
    at = opened("predictions", model="pretraining", view="Next sentence")
    assert "BertForPreTraining, task heads for masked words and next sentence" in page_text(at)
    close(sum(chart(at, "predictions_next")[0]["x"]), 1.0)


@pytest.mark.parametrize("strategy", ["simple", "none", "first", "average", "max"])
@pytest.mark.parametrize("name", ["tags", "roberta-tags"])
@pytest.mark.sample(1)
def test_tags_are_those_of_the_pipeline(name: str, strategy: str, heads: Path) -> None:
    def check(at: AppTest, values: Printed) -> None:
        listed = at.dataframe[0].value
        assert values[0::3] == list(listed["tag"])
        assert values[1::3] == list(listed["text"])
        close(values[2::3], listed["score"])
        pipe = transformers.pipeline(
            "token-classification", str(heads / name), aggregation_strategy=strategy, ignore_labels=["O"]
        )
        if name == "roberta-tags":
            pipe.tokenizer.model_input_names = ["input_ids", "attention_mask"]
        own = pipe(TEXT)
        assert [f"{each['start']}:{each['end']}" for each in own] == list(listed["characters"])
        close([each["score"] for each in own], listed["score"])

    check_view("predictions", name, {"predictions_tags": check}, joined=strategy)


def test_labels_that_lie_about_their_number_are_told() -> None:
    at = opened("predictions", model="lying")
    assert not at.exception
    assert "several outputs the same name" in page_text(at)
    assert set(at.dataframe[0].value["tag"]) <= {"PER (1)", "PER (2)", "LOC", "LABEL_4", *TAGS}


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["answers", "distilbert-answers"])
@pytest.mark.parametrize("context", [CONTEXT, LONG])
def test_answers_are_spans_of_the_context(name: str, context: str) -> None:
    def check(at: AppTest, values: Printed) -> None:
        listed = at.dataframe[0].value
        listed = listed[listed["answer"] != "no answer"]  # which is no span
        assert values[0::2] == list(listed["answer"])
        close(values[1::2], listed["score"])
        for answer, place in zip(listed["answer"], listed["characters"], strict=True):
            start, end = map(int, place.split(":"))
            assert context[start:end] == answer

    address = {"text": QUESTION, "pair": context, "longest": "4"}
    at = check_view("predictions", name, {"predictions_answers": check}, **address)
    cells = np.array(chart(at, "predictions_answer_map")[0]["z"], float)
    assert cells.shape[0] == cells.shape[1]
    assert np.isfinite(cells).sum() == sum(max(0, min(4, len(cells) - row)) for row in range(len(cells)))
    assert ("longer than the model reads at once" in page_text(at)) == (context == LONG)
    assert bool([each for each in at.slider if each.key == "window"]) == (context == LONG)


def test_a_question_that_fills_the_model_is_one_sentence() -> None:
    at = opened("predictions", model="answers", text="the pet " * 40, pair=CONTEXT)
    assert not at.exception
    (error,) = at.error
    assert "leaves no room" in error.value


CHANGES: dict[str, tuple[str, dict[str, Any]]] = {
    "classes": ("predictions_classes_change", {}),
    "number": ("predictions_classes_change", {}),
    "tags": ("predictions_tags_change", {}),
    "answers": (
        "predictions_answers_change",
        {"text": QUESTION, "pair": CONTEXT, "edited_pair": "The river, my love."},
    ),
    "words": ("predictions_words_change", {}),
    "pretraining": ("predictions_classes_change", {"pair": CONTEXT, "head_of": "next-sentence"}),
}


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", CHANGES)
def test_an_edit_shows_both_answers_and_their_difference(name: str) -> None:
    key, address = CHANGES[name]

    def check(at: AppTest, values: Printed) -> None:
        table = folded(at, key)
        if name in ("tags", "answers"):
            assert set(table["version"]) <= {"the text", "edited"}
            return
        close(table["edited"] - table["the text"], table["change"])
        bars = chart(at, key)
        close(sorted(bars[0]["x"]), sorted(table["the text"]))
        close(sorted(bars[1]["x"]), sorted(table["edited"]))
        if name == "words":
            assert values[0] == tuple(table["word"])
            close(values[1], table["the text"])
        else:
            close(sorted(values[1]), sorted(table["the text"]))
            close(sorted(values[3]), sorted(table["edited"]))

    at = check_view("predictions", name, {key: check}, view="Change a word", edited=EDITED, **address)
    if name == "classes":
        assert "Changed: I love ~~my~~ the pet ~~python~~ bank ." in page_text(at).replace("**", "")


def test_the_edited_text_follows_the_text_until_it_is_edited() -> None:
    at = opened("predictions", model="classes", view="Change a word")
    assert "Nothing is changed yet" in page_text(at)
    at.text_area(key="text").set_value("my pet").run()
    assert at.text_area(key="edited").value == "my pet"
    at.text_area(key="edited").set_value("my bank").run()
    at.text_area(key="text").set_value("the pet").run()
    assert at.text_area(key="edited").value == "my bank"
    assert "~~the pet~~ my bank" in page_text(at).replace("**", "")
    at.text_area(key="edited").set_value(" ").run()
    assert "The edited text is empty" in page_text(at)


def test_a_token_that_the_edit_took_away_is_told() -> None:
    at = opened("predictions", model="words", view="Change a word", edited=EDITED, guess="3")
    assert not at.exception
    assert "The edit changed token 3" in page_text(at)
