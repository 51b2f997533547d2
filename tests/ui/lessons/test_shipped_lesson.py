"""The first shipped lesson is correct: each number in its texts, counted or computed again.

Covers `ui/examples.py`.
"""

import re
from itertools import combinations

import numpy as np
import pytest

from bertviz_core.heads.weights import compare_fused_and_per_head
from bertviz_core.hidden_states.embeddings import pooler_check
from bertviz_core.hidden_states.geometry import token_paths
from tests.ui.lessons.shipped import (
    LESSONS,
    SINAN,
    VOCABULARY,
    attention_parameters,
    cosine,
    embedding_parameters,
    feed_forward_parameters,
    layer_parameters,
    lesson,
    model,
    number_texts,
    numbers,
    run,
    tokens,
    total_parameters,
    weights,
)
from ui.examples import EXAMPLES
from ui.lessons.tour import ORDER

LESSON = lesson(ORDER[0])


def test_the_lessons_are_those_of_the_folder_and_lead_from_one_to_the_next() -> None:
    assert {path.stem for path in LESSONS.glob("*.yaml")} == set(ORDER)
    assert [lesson(name).following for name in ORDER] == [*ORDER[1:], None]


@pytest.mark.parametrize("name", ORDER)
def test_every_lesson_has_a_handful_of_steps_with_answers_and_an_end(name: str) -> None:
    steps = lesson(name).steps
    assert 6 <= len(steps) <= 10
    assert lesson(name).summary
    for step in steps:
        assert step.question
        assert step.answer
        assert 2 <= len(re.findall(r"[.](?:\s|$)", step.note)) <= 5
        assert len(step.note) <= 380


def test_the_first_goes_from_the_counts_to_the_sentences() -> None:
    assert [step.page for step in LESSON.steps] == [
        *("overview", "parameters", "parameters", "tokens", "representations", "representations"),
        *("heads", "attention", "representations", "sentences"),
    ]
    assert {step.text for step in LESSON.steps} == {None, SINAN}


def test_counts_of_bert_base() -> None:
    first, second, third = LESSON.steps[:3]
    assert {step.query["model"] for step in (first, second, third)} == {("bert-base-uncased",)}
    assert total_parameters(768, 12) == 109_482_240  # as in the source documents
    assert total_parameters(1024, 24) == 335_141_888
    large = (24, 12, 16, 12, 1_024, 768, total_parameters(1024, 24), 64, VOCABULARY)
    assert numbers(first) == number_texts(total_parameters(768, 12), 12, 768, *large)
    assert (768 // 12, 1_024 // 16) == (64, 64)
    encoder = 12 * layer_parameters(768)
    whole = (embedding_parameters(768), encoder, 768 * 768 + 768, total_parameters(768, 12))
    answer = (feed_forward_parameters(768), layer_parameters(768))
    assert numbers(second) == number_texts(*whole, 30_522, 768, 30_522, 768, 30_522 * 768, *answer)
    assert round(feed_forward_parameters(768) / layer_parameters(768), 2) == 0.67
    parts = (attention_parameters(768), 768, 768, 768, feed_forward_parameters(768), 4 * 768)
    assert numbers(third) == number_texts(12, layer_parameters(768), *parts, 12, 12, layer_parameters(768), encoder)
    assert round(feed_forward_parameters(768) / attention_parameters(768), 2) == 2.0


def test_tokens_of_the_text() -> None:
    assert tokens(SINAN).tokens == ("[CLS]", "sin", "##an", "loves", "a", "beautiful", "day", "[SEP]")
    assert numbers(LESSON.steps[3]) == number_texts(VOCABULARY, 8, 6, total_parameters(384, 6), 3)
    assert tokens("Anna loves").tokens[1] == "anna"
    assert tokens("Wolfgang").tokens[1] == "wolfgang"
    assert tokens("Siobhan").tokens[1:-1] == ("si", "##ob", "##han")


def test_hidden_states() -> None:
    states = run(SINAN).hidden_states
    assert states.shape == (7, 8, 384)
    assert numbers(LESSON.steps[4]) == number_texts(384)
    words = states[:, 1:-1]  # the page starts without [CLS] and [SEP]
    share = token_paths(words).explained.sum()
    before, after = states[:-1], states[1:]
    cosines = (before * after).sum(-1) / np.linalg.norm(before, axis=-1) / np.linalg.norm(after, axis=-1)
    turned = 1 - cosines.mean(-1)
    assert numbers(LESSON.steps[5]) == number_texts(
        6, 7, words.shape[1], f"{share:.1%}", 5, f"{turned[5]:.2f}", "0", 4, "0.08", "0.14"
    )
    assert turned.argmax() == 5
    assert 0.08 < turned[:5].min() <= turned[:5].max() < 0.14


def test_heads() -> None:
    assert tuple(model().model.get_parameter("encoder.layer.0.attention.self.query.weight").shape) == (384, 384)
    assert numbers(LESSON.steps[6]) == number_texts(12, 384, 384, 12, 384, 12, 384 // 12, 12, "0.00001")
    assert compare_fused_and_per_head(model(), tokens(SINAN), 0, "query").max_difference < 0.00001


def test_attention() -> None:
    step = LESSON.steps[7]
    assert (step.query["layer"], step.query["head"]) == (("1",), ("8",))
    one, other = weights(1, 8), weights(1, 9)
    answer = (9, f"{other[2, 1]:.2f}", f"{other[6, 5]:.2f}")
    assert numbers(step) == number_texts(6, 12, 6 * 12, 1, 1, 8, f"{one[1, 2]:.2f}", *answer)
    assert all(one[place].argmax() == place + 1 for place in range(1, 6))
    assert all(other[place].argmax() in (0, place - 1) for place in range(1, 8))


def test_pooler() -> None:
    check = pooler_check(model(), run(SINAN))
    assert check is not None
    assert check.max_difference < 1e-6
    assert numbers(LESSON.steps[8]) == number_texts(384, "1", "1", f"{np.abs(check.output).max():.2f}", "0")


@pytest.mark.slow
def test_sentences() -> None:
    step = LESSON.steps[9]
    lines = EXAMPLES[step.query["example"][0]][1].split("\n")
    cosines = {pair: cosine(lines[pair[0]], lines[pair[1]]) for pair in combinations(range(len(lines)), 2)}
    inside = [value for (one, other), value in cosines.items() if one // 2 == other // 2]
    between = [value for (one, other), value in cosines.items() if one // 2 != other // 2]
    assert numbers(step) == number_texts(384, len(lines), "0.57", "0.14", "0.74", f"{max(inside):.3f}")
    assert min(inside) > 0.57
    assert max(between) < 0.14
    opposites = EXAMPLES["negation"][1].split("\n")
    assert min(cosine(*opposites[place : place + 2]) for place in (0, 2, 4, 6)) >= 0.74
