"""A target's name: what it asks for, which model it opens, and one sentence for what is none."""

from pathlib import Path

import pytest

from bertviz_core.causes.requests import TargetRequest, open_target, target_request
from bertviz_core.errors import BertvizError, TextError
from bertviz_core.models.sources import folder_source
from tests.helpers.tiny_heads import SETTINGS, save_tiny_head
from tests.helpers.tiny_models import PAIR, TEXT


@pytest.mark.parametrize(
    ("name", "pair", "request_", "task"),
    [
        (None, True, TargetRequest("cosine"), None),
        ("cosine", True, TargetRequest("cosine"), None),
        ("class:very: good", False, TargetRequest("class", "very: good"), "sequence-classification"),
        ("class:is another sentence", True, TargetRequest("class", "is another sentence"), "next-sentence"),
        ("word:a@b@12", False, TargetRequest("word", "a@b", (12,)), "masked-lm"),
        ("answer", True, TargetRequest("answer"), "question-answering"),
        ("answer:3-5", True, TargetRequest("answer", "", (3, 5)), "question-answering"),
        ("probe:a.zip@joy", False, TargetRequest("probe", "a.zip@joy"), None),
        ("state:6,0,99", False, TargetRequest("state", "", (6, 0, 99)), None),
        ("direction:6,0,a, b->c", False, TargetRequest("direction", "a, b->c", (6, 0)), None),
        ("direction:6,0,way.npy", False, TargetRequest("direction", "way.npy", (6, 0)), None),
    ],
)
def test_a_name_is_read(name: str | None, pair: bool, request_: TargetRequest, task: str | None) -> None:
    assert target_request(name, pair) == request_
    assert request_.task == task


@pytest.mark.parametrize(
    ("name", "pair", "words"),
    [
        (None, False, "No target was named"),
        ("cosine", False, "second text"),
        ("answer", False, "second text"),
        ("cosine:x", True, "is no target"),
        ("class:", True, "is no target"),
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
        target_request(name, pair)
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
