"""Logits of every head equal those of transformers' own class, alone and padded, in at least 25 families per head."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from bertviz_core.errors import CheckpointError
from bertviz_core.predictions.answers import predicted_answers
from bertviz_core.predictions.classes import class_predictions, tag_predictions, term_weights
from bertviz_core.predictions.masked_lm import logit_lens, predicted_words
from bertviz_core.predictions.run import PREDICTED, WordHead
from bertviz_core.predictions.scoring import pseudo_likelihood
from bertviz_core.trace.tokenization import tokenize
from tests.helpers.families_table import DOCUMENT, heads_part
from tests.helpers.tiny_heads import NOT_RUN, families_with, head_difference, tiny_head

HEADS = {task: [name for name in families_with(task) if (name, task) not in NOT_RUN] for task in PREDICTED}
TOLERANCE = 1e-5


@pytest.mark.parametrize("name", sorted({name for names in HEADS.values() for name in names}))
@pytest.mark.sample(1)
def test_logits_are_transformers_own(name: str) -> None:
    differences = {task: head_difference(name, task) for task, names in HEADS.items() if name in names}
    assert {task: difference for task, difference in differences.items() if difference > TOLERANCE} == {}


def test_at_least_25_families_of_every_head() -> None:
    assert all(len(names) >= 25 for task, names in HEADS.items() if task != "next-sentence")


@pytest.mark.slow
def test_the_document_lists_the_heads_that_were_run() -> None:
    assert heads_part() in DOCUMENT.read_text(encoding="utf-8"), "run python -m tests.helpers.families_document"


def test_a_text_with_an_end_token_in_it_is_answered_beside_others() -> None:
    head, tokenizer, _ = tiny_head("bart", "sequence-classification")
    end = tokenizer.tokenizer.convert_ids_to_tokens(head.model.config.eos_token_id)
    rows = [tokenize(tokenizer, text) for text in ("a cat sat", f"a {end} sat", "a dog sat")]
    assert len({len(row) for row in rows}) == 1
    for row, together in zip(rows, class_predictions(head, rows), strict=True):
        (alone,) = class_predictions(head, [row])
        assert together.logits.tolist() == pytest.approx(alone.logits.tolist(), abs=TOLERANCE)


def test_chunks_keep_the_logits_within_their_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    head, _, _ = tiny_head("bert", "masked-lm")
    word_head = WordHead(head)
    monkeypatch.setattr("bertviz_core.predictions.run.CHUNK_NBYTES", 3 * 4 * word_head.vocab_size)
    assert [(part.start, part.stop) for part in word_head.chunks(7)] == [(0, 3), (3, 6), (6, 7)]


ANSWERS: dict[str, tuple[str, Callable[[Any, Any, Any], object]]] = {
    "classes": ("sequence-classification", lambda head, _, tokens: class_predictions(head, [tokens])),
    "tags": ("token-classification", lambda head, _, tokens: tag_predictions(head, [tokens])),
    "answers": ("question-answering", lambda head, tokenizer, _: predicted_answers(head, tokenizer, "a cat", "a dog")),
    "words": ("masked-lm", lambda head, tokenizer, tokens: predicted_words(head, tokenizer, tokens)),
    "lens": ("masked-lm", lambda head, tokenizer, tokens: logit_lens(head, tokenizer, tokens)),
    "terms": ("masked-lm", lambda head, _, tokens: term_weights(head, tokens)),
    "surprise": ("masked-lm", lambda head, tokenizer, tokens: pseudo_likelihood(head, tokenizer, tokens)),
}
"""Answer of a head -> its task, and a call that computes it."""


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("broken", [float("nan"), float("inf")])
@pytest.mark.parametrize("name", ANSWERS)
def test_no_head_answers_from_weights_that_are_not_finite(
    name: str, broken: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, answer = ANSWERS[name]
    head, tokenizer, _ = tiny_head("bert", task)
    bias = dict(head.base.model.named_parameters())["encoder.layer.2.output.LayerNorm.bias"]
    monkeypatch.setattr(bias, "data", torch.full_like(bias, broken))
    with pytest.raises(
        CheckpointError, match=r"^The task head of 'bert' answers with NaN or infinity, .* Checkpoint\.$"
    ):
        answer(head, tokenizer, tokenize(tokenizer, "a cat sat"))


def test_a_class_that_a_head_excludes_by_minus_infinity_has_probability_0(monkeypatch: pytest.MonkeyPatch) -> None:
    head, tokenizer, _ = tiny_head("bert", "sequence-classification", num_labels=4)
    bias = torch.tensor([0.0, -float("inf"), 0.0, 0.0])
    monkeypatch.setattr(head.model.classifier.bias, "data", bias)
    (found,) = class_predictions(head, [tokenize(tokenizer, "a cat sat")])
    assert found.probabilities is not None
    assert found.probabilities[1] == 0
    assert found.probabilities.sum() == pytest.approx(1)
