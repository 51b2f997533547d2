"""A model object, and a list of texts, give the same results as a folder and single texts.

Covers `bertviz_core/api/own_model.py`.
"""

import gc
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from bertviz_core import BertvizError, open_model

FOLDER, TEXTS = "models/my-classifier", ["a cat sat", "it rained all night long"]


@pytest.fixture
def own(in_workplace: Path) -> tuple[Any, Any]:
    """A classifier and its tokenizer as objects of transformers."""
    model = AutoModelForSequenceClassification.from_pretrained(FOLDER)
    return model.train(), AutoTokenizer.from_pretrained(FOLDER)


def test_an_object_is_answered_as_its_folder_and_is_not_changed(own: tuple[Any, Any]) -> None:
    model, tokenizer = own
    before = {name: value.clone() for name, value in model.state_dict().items()}
    opened, folder = open_model(model, tokenizer=tokenizer), open_model(FOLDER)
    assert opened.name == type(model).__name__
    assert opened.predict(TEXTS[0]).probabilities == folder.predict(TEXTS[0]).probabilities
    np.testing.assert_array_equal(opened.trace(TEXTS[0]).hidden_states, folder.trace(TEXTS[0]).hidden_states)
    assert opened.parameters().total == sum(each.numel() for each in model.parameters())
    assert model.training
    assert model.config._attn_implementation != opened._opened.loaded.model.config._attn_implementation
    assert all((before[name] == value).all() for name, value in model.state_dict().items())


def test_its_copy_goes_with_the_last_answer_and_pickled_numbers_stay(own: tuple[Any, Any]) -> None:
    opened = open_model(own[0], tokenizer=own[1])
    run = opened.trace(TEXTS[0])
    folder, pickled, states = opened._opened.copy.folder, pickle.dumps(run), run.hidden_states
    del opened
    assert folder.is_dir()
    del run
    gc.collect()
    assert not folder.exists()
    again = pickle.loads(pickled)
    np.testing.assert_array_equal(again.hidden_states, states)
    with pytest.raises(BertvizError, match="a program that has ended"):
        again.figure("cell")


def test_a_list_has_an_answer_for_each_text(in_workplace: Path) -> None:
    model = open_model(FOLDER)
    for ask in (model.trace, model.predict, lambda *each: model.effects(*each, target="class:neutral")):
        for pairs in (None, "another", ["one", "other"]):
            own_pairs = pairs if isinstance(pairs, list) else [pairs] * 2
            for many, text, pair in zip(ask(TEXTS, pairs), TEXTS, own_pairs, strict=True):
                single, listed = ask(text, pair).to_pandas(), many.to_pandas()
                assert list(single.columns) == list(listed.columns)
                np.testing.assert_allclose(single.to_numpy(), listed.to_numpy(), atol=1e-5)
    assert model.trace([]) == []
