"""The lesson on attention: each number in its texts, from the model's own weights, values and hidden states."""

import numpy as np

from bertviz_core.attention.maps import attention_rollout
from tests.ui.lessons.shipped import SINAN, cosine, lesson, model, number_texts, numbers, run, tokens, weights

STEPS = lesson("attention-and-what-it-is-not").steps
WORDS = slice(1, 7)
"""Positions of the words in the text."""
LONG = "The cat sat on the mat because it was tired."


def value_lengths(layer: int, head: int) -> np.ndarray:
    """Norm of each token's value vector after the head's columns of the output projection."""
    own = slice(head * 32, (head + 1) * 32)

    def parameter(name: str) -> np.ndarray:
        return np.asarray(model().model.get_parameter(f"encoder.layer.{layer}.attention.{name}").detach().numpy())

    values = run(SINAN).hidden_states[layer] @ parameter("self.value.weight")[own].T + parameter("self.value.bias")[own]
    return np.asarray(np.linalg.norm(values @ parameter("output.dense.weight")[:, own].T, axis=-1))


def test_a_row() -> None:
    own = weights(1, 8)
    np.testing.assert_allclose(own.sum(1), 1, atol=1e-5)
    assert own.sum(0).argmax() == 0
    rest = f"{1 - own[1, 2]:.2f}"
    assert numbers(STEPS[0]) == number_texts("1", f"{own[1, 2]:.2f}", rest, 7, f"{own.sum(0)[0]:.2f}", 8)


def test_a_head_of_places() -> None:
    for text in (SINAN, LONG):
        own = weights(0, 2, text)
        assert min(own[place, place - 1] for place in range(1, len(own))) >= 0.99
    assert numbers(STEPS[1]) == number_texts(2, "0", "0.99", len(tokens(LONG)), "0.99")
    assert STEPS[1].trials[0].text == LONG


def test_where_most_of_it_goes() -> None:
    everything = np.mean([weights(layer, head)[WORDS, 0].mean() for layer in range(6) for head in range(12)])
    own = weights(2, 4)[WORDS, 0].mean()
    assert numbers(STEPS[2]) == number_texts(4, 2, f"{own:.2f}", 72, f"{everything:.0%}", "1")


def test_short_values() -> None:
    own, lengths = weights(2, 4), value_lengths(2, 4)
    assert min(lengths[1:]) > 5
    weighted = (f"{own[3, 3] * lengths[3]:.2f}", f"{own[3, 0] * lengths[0]:.2f}")
    note = (f"{lengths[0]:.2f}", 5, *weighted, f"{own[3, 3]:.2f}", f"{own[3, 0]:.2f}")
    others = value_lengths(1, 8)
    assert numbers(STEPS[3]) == number_texts(*note, 8, 1, "2.3", "3.2", f"{others[0]:.2f}")
    assert [f"{edge(others[WORDS]):.1f}" for edge in (np.min, np.max)] == ["2.3", "3.2"]


def test_the_residual_stream() -> None:
    states = run(SINAN).hidden_states
    unit = states / np.linalg.norm(states, axis=-1, keepdims=True)
    turned = 1 - (unit[1:] * unit[:-1]).sum(-1).mean(-1)
    assert numbers(STEPS[4]) == number_texts("0", 4, "0.08", "0.14", "1", f"{turned[5]:.2f}")
    assert 0.08 < turned[:5].min() <= turned[:5].max() < 0.14


def test_rollout() -> None:
    last = attention_rollout(run(SINAN))[-1]
    assert last[:, 0].min() > 0.65
    assert last[:, WORDS].max() < 0.05
    assert numbers(STEPS[5]) == number_texts("1", "65%", "5%")


def test_what_matters() -> None:
    step = STEPS[6]
    assert step.sentences is not None
    whole, *others = step.sentences
    assert whole == SINAN
    without = {sentence: f"{cosine(whole, sentence):.2f}" for sentence in others}
    order = ("loves a beautiful day", "Sinan loves a beautiful", "Sinan a beautiful day", "Sinan loves a day")
    answer = [f"{cosine(whole, sentence):.2f}" for sentence in (step.trials[0].sentences or ())[1:]]
    words = [without[sentence] for sentence in (*order, "Sinan loves beautiful day")]
    assert numbers(step) == number_texts(*words, *answer)
