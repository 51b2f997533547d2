"""A second text for patching has as many tokens as the first, for tokenizers of pieces and of letters."""

import numpy as np
import pytest

from bertviz_core import open_model
from bertviz_core.interventions.donor_texts import MOST_TRIED, same_length_text
from bertviz_core.questions.interventions.effects import nearest_other_answer
from bertviz_core.questions.opened import OpenedModel
from bertviz_core.settings import DEFAULT_MODEL, Settings
from bertviz_core.trace.results import Tokens
from ui.cache import models

TEXTS = ("I love my pet python.", "python", "The river, my love", "Überraschung im Garten", "I l\u202eove it")


def by_letters(text: str) -> Tokens:
    """Tokenize by letters."""
    none = np.zeros(len(text), dtype=bool)
    return Tokens(
        text=text,
        pair=None,
        tokens=tuple(text),
        input_ids=np.array([ord(letter) for letter in text]),
        token_type_ids=None,
        word_ids=None,
        offsets=None,
        sequence=(0,) * len(text),
        special=none,
        unknown=none,
        other_inputs={},
        limit=1_000,
        limit_reason="none",
        tokens_cut=(0, 0),
        notices=(),
    )


@pytest.mark.parametrize("text", TEXTS)
def test_one_word_is_another_and_the_length_is_the_same(text: str) -> None:
    for read in (by_letters, lambda words: models.tokens(DEFAULT_MODEL, words, None)):
        tokens = read(text)
        found = same_length_text(tokens, "", read)
        assert found is not None
        ids = read(found).input_ids.tolist()
        assert len(ids) == len(tokens.input_ids)
        assert ids != tokens.input_ids.tolist()


def test_a_word_of_the_second_text_is_taken_first() -> None:
    tokens = by_letters("I love my pet python.")
    assert same_length_text(tokens, "We see rabbit holes", by_letters) == "I love my pet rabbit."


def test_the_second_text_itself_is_never_offered() -> None:
    first, second = "I love my pet python.", "I love my pet rabbit."
    assert same_length_text(by_letters(first), second, by_letters) not in (None, first, second)


def test_where_no_word_fits_two_letters_are_turned_or_nothing_is_offered() -> None:
    assert same_length_text(by_letters("abcdefghijklmnopqrst"), "", by_letters) == "tsrqponmlkjihgfedcba"
    tries: list[str] = []

    def counted(text: str) -> Tokens:
        tries.append(text)
        return by_letters("x" * len(tries))

    assert same_length_text(by_letters("one two three four five six seven eight nine ten" * 9), "", counted) is None
    assert len(tries) <= MOST_TRIED
    assert same_length_text(by_letters("..."), "", by_letters) is None


def test_the_nearest_labelled_text_has_another_answer() -> None:
    name, text = "negations/checkpoint-80", "The market was not rude."
    model, opened = open_model(name), OpenedModel(name, Settings.from_environment())
    found = nearest_other_answer(opened, text)
    assert found is not None
    assert model.predict(text).data.logits.argmax() != model.predict(found).data.logits.argmax()
    ids = [opened.tokens(each, None).input_ids for each in (text, found)]
    assert int((np.array(ids[0]) != np.array(ids[1])).sum()) == 1  # rude and another word of the same length
    assert nearest_other_answer(opened, "I love my pet python.") is None  # of no labelled text most tokens are the same
    assert nearest_other_answer(OpenedModel(DEFAULT_MODEL, Settings.from_environment()), text) is None
