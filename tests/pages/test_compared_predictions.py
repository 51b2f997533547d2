"""Predictions of two models on their page: numbers as the lines of Python have them, refusals that leave the first.

Covers `bertviz_core/questions/views/predictions.py`.
"""

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.models.catalog import SPLADE
from bertviz_core.models.loading import LoadedModel
from bertviz_core.models.sources import ModelSource
from bertviz_core.predictions.run import HeadModel
from bertviz_core.settings import Settings
from tests.helpers.charts import sent_charts
from tests.pages.labels import CONTEXT, QUESTION, TEXT
from tests.pages.opened import opened, visible_text
from tests.pages.snippets import Check, Printed, chart, check_view, close, folded
from ui.cache import models

pytestmark = pytest.mark.usefixtures("heads")

CHART = "predictions_compared"
ROUNDED = "itself, rounded to bfloat16"
OWN = {
    "Classes": "predictions_classes",
    "Tags": "predictions_tags",
    "Answers": "predictions_answers",
    "Next sentence": "predictions_next",
    "Masked words": "predictions_words",
    "Surprise": "predictions_surprise",
    "Lens": "predictions_lens",
}
"""View -> chart of the first model alone, whose lines other tests check."""


def compared(at: AppTest, values: Printed) -> None:
    """The printed numbers are those of the table and of the bars."""
    table = folded(at, CHART)
    first, second, difference = values[-3:]
    close(table["first"], first)
    close(table["second"], second)
    np.testing.assert_allclose(np.asarray(difference, dtype=float), table["difference"], atol=1e-6)
    bars = [trace["x"] for trace in chart(at, CHART)]
    assert all(any(np.isclose(each, value, atol=1e-6) for value in table["first"]) for each in bars[0] if each)
    assert len(bars) == 2


def same_entities(at: AppTest, values: Printed) -> None:
    """The printed entities are those of the table below the tags."""
    (table,) = [each.value for each in at.dataframe if "found by" in each.value]
    names, first, second = values[-6], values[-3], values[-2]
    assert tuple(table["entity"]) == names
    close(table["first"], first)
    close(table["second"], second)


@pytest.mark.parametrize(
    ("model", "view", "more"),
    [
        ("classes", "Classes", {"other": "roberta-classes"}),
        ("tags", "Tags", {"other": "roberta-tags"}),
        ("answers", "Answers", {"other": "distilbert-answers", "text": QUESTION, "pair": CONTEXT}),
        ("pretraining", "Next sentence", {"other": ROUNDED, "pair": CONTEXT}),
        ("words", "Masked words", {"other": ROUNDED}),
        ("words", "Surprise", {"other": "byte-words"}),
        ("words", "Lens", {"other": "pretraining"}),
    ],
)
@pytest.mark.slow
def test_the_lines_give_the_numbers_of_the_page(model: str, view: str, more: dict[str, str]) -> None:
    checks: dict[str, Check] = {OWN[view]: lambda *_: None, CHART: compared}
    if view == "Tags":
        checks["predictions_entities"] = same_entities
    at = check_view("predictions", model, checks, view=view, **more)
    assert not at.error
    assert len(sent_charts(at)) >= 2, "the first model's own figure stays"


def test_without_a_second_model_the_first_is_alone() -> None:
    at = opened("predictions", model="classes")
    assert not [each for each in sent_charts(at) if each.key == CHART]
    assert not any("Compared with" in each.value for each in at.markdown)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("model", "other", "words"),
    [
        ("classes", "tags", "'tags' predicts tags"),
        ("classes", "all-MiniLM-L6-v2", "has no task head"),
        ("classes", "number", "returns a number"),
        ("words", "no-such-model", "No model 'no-such-model' found"),
        ("tags", "bert-base-NER", "not on this machine"),
    ],
)
def test_what_cannot_be_compared_is_one_sentence_below_the_whole_first_answer(
    model: str, other: str, words: str
) -> None:
    at, alone = opened("predictions", model=model, other=other), opened("predictions", model=model)
    assert not at.exception
    assert not at.error
    (message,) = [visible_text(each.value) for each in at.info]
    assert words in message
    assert "hf download" not in message
    charts = [[each.spec for each in sent_charts(page)] for page in (at, alone)]
    assert charts[0] == charts[1]


def test_the_same_model_twice_is_zeros_and_says_so() -> None:
    at = opened("predictions", model=SPLADE, other=SPLADE, text=TEXT, predictions_compared_table="true")
    assert set(folded(at, CHART)["difference"]) == {0.0}
    assert any("The same model twice" in each.value for each in at.caption)


@pytest.mark.slow
def test_a_rounded_head_is_loaded_once_for_all_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[str] = []
    load = models.load_head

    def noted(source: ModelSource, settings: Settings, task: str | None, base: LoadedModel) -> HeadModel:
        loaded.append(base.name)
        return load(source, settings, task, base)

    monkeypatch.setattr(models, "load_head", noted)
    for position in ("2", "3", "4"):
        at = opened("predictions", model="words", other="itself, rounded to float16", position=position)
        assert not at.exception
        assert not at.error
    assert loaded.count("words in float16") == 1


def test_surprise_of_a_text_with_a_mask_offers_its_likeliest_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSIDE_BERT_ISOLATE_MODELS", "1")
    at = opened("predictions", model="words", view="Surprise", text="I love my [MASK].")
    assert not at.exception
    at.button(key="fill_masks").click().run()
    assert "[MASK]" not in at.session_state["text"]
    assert not at.exception
