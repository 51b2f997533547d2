"""Logits of every head equal those of transformers' own class, alone and padded, in at least 25 families per head."""

import pytest

from bertviz_core.predictions.loading import PREDICTED
from bertviz_core.predictions.run import WordHead
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


def test_chunks_keep_the_logits_within_their_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    head, _, _ = tiny_head("bert", "masked-lm")
    word_head = WordHead(head)
    monkeypatch.setattr("bertviz_core.predictions.run.CHUNK_NBYTES", 3 * 4 * word_head.vocab_size)
    assert [(part.start, part.stop) for part in word_head.chunks(7)] == [(0, 3), (3, 6), (6, 7)]
