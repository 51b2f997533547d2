"""The guide of the Journey: it fits every text and model, and says what a beginner has to know."""

import pytest

from tests.ui.lessons.shipped import lesson
from ui.lessons.tour import GUIDE

STEPS = lesson(GUIDE).steps
WORDS = "token lane embedding vector layer turn head ribbon weight value query key softmax entropy answer rests"


def test_it_keeps_the_readers_text_model_and_token() -> None:
    assert 8 <= len(STEPS) <= 10
    assert lesson(GUIDE).keeps == ("model", "query")
    for step in STEPS:
        assert step.page == "journey"
        assert step.text is None
        assert not step.trials
        assert not {"model", "query"} & set(step.query)


def test_every_model_with_a_layer_and_a_head_has_what_it_opens() -> None:
    for name, values in (("layer", {"embeddings", "most"}), ("head", {"0"}), ("key", {"1"})):
        assert {value for step in STEPS for value in step.query.get(name, ())} == values


@pytest.mark.parametrize("word", WORDS.split())
def test_it_says_every_word_of_the_drawing(word: str) -> None:
    assert any(word in f"{step.title} {step.note}".lower() for step in STEPS)
