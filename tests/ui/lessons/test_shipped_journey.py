"""The lesson on the journey: each number in its texts, from the hidden states, the weights and the tables."""

import numpy as np

from bertviz_core.heads.weights import value_norms
from bertviz_core.hidden_states.embeddings import embedding_sum
from tests.ui.lessons.shipped import lesson, model, number_texts, numbers, run, tokens, weights

STEPS = lesson("the-journey-of-a-sentence").steps
TEXT = "The bank of the river was steep."
BANK, RIVER = 2, 5


def test_the_last_layer_turns_the_word_most() -> None:
    assert all(step.text == TEXT and step.page == "journey" for step in STEPS)
    assert (tokens(TEXT).tokens[BANK], tokens(TEXT).tokens[RIVER]) == ("bank", "river")
    states = run(TEXT).hidden_states[:, BANK]
    units = states / np.linalg.norm(states, axis=1, keepdims=True)
    turns = 1 - (units[1:] * units[:-1]).sum(axis=1)
    assert turns.argmax() == len(turns) - 1
    assert numbers(STEPS[0]) == number_texts(len(turns), 0, 1, f"{turns[-1]:.3f}")


def test_the_rows_of_the_sum() -> None:
    parts = embedding_sum(model(), run(TEXT))
    lengths = {name: float(np.linalg.norm(rows[BANK])) for name, rows in parts.parts.items()}
    assert max(lengths, key=lambda name: lengths[name]) == "word"
    assert parts.normalized is not None
    after = float(np.linalg.norm(parts.normalized[BANK]))
    assert numbers(STEPS[1]) == number_texts(f"{lengths['word']:.3f}", f"{after:.3f}")


def test_the_mean_of_the_heads() -> None:
    mean = np.mean([weights(0, head, TEXT)[BANK] for head in range(12)], axis=0)
    assert numbers(STEPS[2]) == number_texts(12, f"{mean[0]:.3f}", f"{mean[RIVER]:.3f}", 1)


def test_a_head_that_looks_one_token_back() -> None:
    rows = weights(0, 2, TEXT)
    assert [int(row.argmax()) for row in rows[1:-1]] == list(range(len(rows) - 2))
    assert numbers(STEPS[3]) == number_texts(2, 0, f"{rows[BANK, BANK - 1]:.3f}")


def test_heads_that_find_the_river() -> None:
    assert numbers(STEPS[4]) == number_texts(4, f"{weights(0, 4, TEXT)[BANK, RIVER]:.3f}")
    last = weights(5, 6, TEXT)[BANK]
    assert last.argmax() == RIVER
    assert numbers(STEPS[6]) == number_texts(6, f"{last[RIVER]:.3f}", 32)


def test_most_of_the_middle_goes_to_the_first_token() -> None:
    mean = np.mean([weights(2, head, TEXT)[BANK] for head in range(12)], axis=0)
    lengths = np.stack([weights(2, head, TEXT)[BANK] for head in range(12)]) * value_norms(model(), run(TEXT), 2)
    shares = (lengths / lengths.sum(axis=1, keepdims=True)).mean(axis=0)
    assert numbers(STEPS[5]) == number_texts(2, f"{mean[0]:.3f}", f"{shares[0]:.3f}")
