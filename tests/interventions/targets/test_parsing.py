"""Names of targets: their meaning, the model that they open, and one message for invalid ones."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bertviz_core.errors import BertvizError, TextError
from bertviz_core.interventions.target_parsing import TargetSpec, needed_task, open_target, own_answer, parse_target
from bertviz_core.models.sources import folder_source
from bertviz_core.trace.tokenization import tokenize
from tests.helpers.tiny_heads import SETTINGS, save_tiny_head, tiny_head
from tests.helpers.tiny_models import PAIR, TEXT, save_tiny


@pytest.mark.parametrize(
    ("name", "pair", "request_", "task"),
    [
        (None, True, TargetSpec("cosine"), None),
        ("cosine", True, TargetSpec("cosine"), None),
        ("class:very: good", False, TargetSpec("class", "very: good"), "sequence-classification"),
        ("class:is another sentence", True, TargetSpec("class", "is another sentence"), "next-sentence"),
        ("tag:B-PER@0", False, TargetSpec("tag", "B-PER", (0,)), "token-classification"),
        ("word:a@b@12", False, TargetSpec("word", "a@b", (12,)), "masked-lm"),
        ("answer", True, TargetSpec("answer"), "question-answering"),
        ("answer:3-5", True, TargetSpec("answer", "", (3, 5)), "question-answering"),
        ("probe:a.zip@joy", False, TargetSpec("probe", "a.zip@joy"), None),
        ("state:6,0,99", False, TargetSpec("state", "", (6, 0, 99)), None),
        ("direction:6,0,a, b->c", False, TargetSpec("direction", "a, b->c", (6, 0)), None),
        ("direction:6,0,way.npy", False, TargetSpec("direction", "way.npy", (6, 0)), None),
    ],
)
def test_a_name_is_read(name: str | None, pair: bool, request_: TargetSpec, task: str | None) -> None:
    assert parse_target(name, pair) == request_
    assert request_.task == task


@pytest.mark.parametrize(
    ("name", "pair", "words"),
    [
        (None, False, "No target was named"),
        ("cosine", False, "second text"),
        ("answer", False, "second text"),
        ("cosine:x", True, "is no target"),
        ("class:", True, "is no target"),
        ("tag:B-PER", True, "is no target"),
        ("tag:@3", True, "is no target"),
        ("word:bank", True, "is no target"),
        ("word:@3", True, "is no target"),
        ("word:bank@x", True, "is no target"),
        ("answer:3", True, "is no target"),
        ("state:6,0", False, "is no target"),
        ("direction:6,0,", False, "is no target"),
        ("direction:6,0,a->", False, "is no target"),
        ("direction:6,way.npy", False, "is no target"),
        ("joy\u202e", True, r"'joyU\+202E' is no target"),
    ],
)
def test_what_is_no_name_is_told_in_one_sentence(name: str | None, pair: bool, words: str) -> None:
    with pytest.raises(TextError, match=words) as raised:
        parse_target(name, pair)
    assert "\n" not in str(raised.value)


def test_a_target_is_opened_by_its_name(tmp_path: Path) -> None:
    source = folder_source("tiny", save_tiny_head("bert", "sequence-classification", tmp_path / "tiny", num_labels=3))
    assert open_target(source, SETTINGS, TEXT, PAIR).unit == "cosine"
    value = open_target(source, SETTINGS, TEXT, None, "state:1,2,3")
    assert value.title == "value of dimension 3 of token 2, after layer 0"
    assert open_target(source, SETTINGS, TEXT, None, "class:LABEL_2", "margin").title == "margin of 'LABEL_2'"
    assert open_target(source, SETTINGS, TEXT, PAIR, "class:LABEL_0").tokens.pair == PAIR
    for name, measure, words in (
        ("class:LABEL_0", "loudness", "no measure"),
        ("word:bank@2", "logit", "head"),
        ("probe:nowhere.zip", "logit", "cannot be read"),
        ("probe:nowhere.zip@joy", "logit", "cannot be read"),
    ):
        with pytest.raises(BertvizError, match=words):
            open_target(source, SETTINGS, TEXT, PAIR, name, measure)


def logits(own: Any, tokenizer: Any, text: str) -> np.ndarray:
    """Logits of transformers' own run."""
    with torch.no_grad():
        found: np.ndarray = own(**tokenizer.tokenizer(text, return_tensors="pt")).logits[0].numpy()
    return found


def test_a_head_answers_with_its_likeliest_class_tag_or_word() -> None:
    head, tokenizer, own = tiny_head("bert", "sequence-classification", num_labels=4)
    best = int(logits(own, tokenizer, TEXT).argmax())
    assert own_answer(head, tokenizer, tokenize(tokenizer, TEXT)) == f"class:LABEL_{best}"
    head, tokenizer, own = tiny_head("bert", "token-classification", num_labels=5)
    inside = logits(own, tokenizer, TEXT)[1:-1]
    shares = np.exp(inside) / np.exp(inside).sum(axis=1, keepdims=True)
    place, best = (int(each) for each in np.unravel_index(shares.argmax(), shares.shape))
    assert own_answer(head, tokenizer, tokenize(tokenizer, TEXT)) == f"tag:LABEL_{best}@{place + 1}"
    head, tokenizer, own = tiny_head("bert", "masked-lm")
    word = tokenizer.tokenizer.convert_ids_to_tokens(int(logits(own, tokenizer, "my [MASK] pet")[2].argmax()))
    assert own_answer(head, tokenizer, tokenize(tokenizer, "my [MASK] pet")) == f"word:{word}@2"
    assert own_answer(head, tokenizer, tokenize(tokenizer, TEXT)) == "word:python@5"


def test_one_text_without_a_target_is_asked_for_the_models_own_answer(tmp_path: Path) -> None:
    for task, kind in (
        ("sequence-classification", "class:"),
        ("token-classification", "tag:"),
        ("masked-lm", "word:"),
        ("pretraining", "word:"),
    ):
        source = folder_source(task, save_tiny_head("bert", task, tmp_path / task))
        assert open_target(source, SETTINGS, TEXT, None).name.startswith(kind)
        assert open_target(source, SETTINGS, TEXT, PAIR).name == "cosine"
        assert needed_task(source, None, True) is None
    base = folder_source("base", save_tiny("bert", tmp_path / "base"))
    answers = folder_source("answers", save_tiny_head("bert", "question-answering", tmp_path / "answers"))
    for source in (base, answers):
        with pytest.raises(TextError, match="No target was named"):
            open_target(source, SETTINGS, TEXT, None)
