"""Logits of every head equal those of transformers' own class, alone and padded, in at least 25 families a head."""

import numpy as np
import pytest
import torch

from bertviz_core.models.families import family
from bertviz_core.predictions.run import WordHead, row_outputs
from bertviz_core.trace.run import RUN_LOCK
from bertviz_core.trace.tokenization import tokenize
from bertviz_core.trace.verification import check_batches
from tests.helpers.tiny_heads import families_with, own_outputs, tiny_head
from tests.helpers.tiny_models import PAIR, TEXT

TASKS = ("masked-lm", "sequence-classification", "token-classification", "question-answering")
BESIDE = {"bart", "esm", "eurobert", "nomic_bert", "t5"}
"""Families with a head of another kind, or without one of the four."""
SAME = [name for name in families_with("multiple-choice") if name not in ("canine", "funnel", "longformer")]
FAMILIES = sorted({*SAME, *BESIDE, "deberta"})
NEEDS = {("longformer", "question-answering"), ("t5", "sequence-classification"), ("t5", "question-answering")}
"""Heads that the tiny tokenizer or config lacks something for: transformers' own class refuses them as well."""
TOLERANCE = 1e-5


def tasks_of(name: str) -> list[str]:
    return [task for task in TASKS if name in families_with(task) and (name, task) not in NEEDS]


def names_of(task: str) -> tuple[str, ...]:
    return ("start_logits", "end_logits") if task == "question-answering" else ("logits",)


@pytest.mark.parametrize("name", FAMILIES)
def test_logits_are_transformers_own(name: str) -> None:
    for task in tasks_of(name):
        head, tokenizer, own = tiny_head(name, task)
        texts = (tokenize(tokenizer, TEXT), tokenize(tokenizer, TEXT, PAIR))
        with RUN_LOCK:
            together = check_batches(head.base) == "any length" and not family(name).padding_acts
        if name == "xlnet":  # its class reads the last position of a batch, which may be padding
            together = together and task != "sequence-classification"
        if name == "bart":  # its classes read one count of <eos> in a batch
            texts, together = texts[:1], False
        expected = [own_outputs(head, own, (text,)) for text in texts]
        padded = own_outputs(head, own, texts) if together else None
        for index, arrays in row_outputs(head, texts, names_of(task)):
            for array, output in zip(arrays, names_of(task), strict=True):
                np.testing.assert_allclose(array, expected[index][output][0], rtol=0, atol=TOLERANCE, err_msg=task)
                if padded is not None:
                    whole = padded[output][index][: len(array)]
                    np.testing.assert_allclose(array, whole, rtol=0, atol=TOLERANCE, err_msg=task)
        if task == "masked-lm":
            word_head = WordHead(head)
            output = word_head.outputs(texts[:1])
            states = word_head.states(output)[0]
            parts = [word_head.logits(output, states[start : start + 3]) for start in range(0, len(states), 3)]
            np.testing.assert_allclose(torch.cat(parts), expected[0].logits[0], rtol=0, atol=TOLERANCE)


def test_at_least_25_families_of_every_head() -> None:
    assert all(sum(task in tasks_of(name) for name in FAMILIES) >= 25 for task in TASKS)


def test_the_next_sentence_head_too() -> None:
    for name in families_with("next-sentence"):
        head, tokenizer, own = tiny_head(name, "next-sentence")
        pair = tokenize(tokenizer, TEXT, PAIR)
        ((_, (logits,)),) = row_outputs(head, (pair,))
        np.testing.assert_allclose(logits, own_outputs(head, own, (pair,)).logits[0], rtol=0, atol=TOLERANCE)


def test_chunks_keep_the_logits_within_their_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    head, _, _ = tiny_head("bert", "masked-lm")
    word_head = WordHead(head)
    monkeypatch.setattr("bertviz_core.predictions.run.CHUNK_NBYTES", 3 * 4 * word_head.vocab_size)
    assert [(part.start, part.stop) for part in word_head.chunks(7)] == [(0, 3), (3, 6), (6, 7)]
