"""The lesson on heads: each number in its texts, from shapes, products and one cell computed by hand."""

import numpy as np

from bertviz_core.heads.results import Block
from bertviz_core.heads.weights import compare_fused_and_per_head
from tests.ui.lessons.shipped import (
    SINAN,
    attention_parameters,
    lesson,
    model,
    number_texts,
    numbers,
    run,
    tokens,
    weights,
)

STEPS = lesson("twelve-heads-one-matrix").steps
HEADS, SIZE, HIDDEN = 12, 32, 384


def parameter(layer: int, name: str) -> np.ndarray:
    """A parameter of a layer's attention, from the model itself."""
    return np.asarray(model().model.get_parameter(f"encoder.layer.{layer}.attention.{name}").detach().numpy())


def test_one_matrix() -> None:
    assert parameter(0, "self.query.weight").shape == (HIDDEN, HIDDEN)
    assert numbers(STEPS[0]) == number_texts("0", HIDDEN, HIDDEN, HIDDEN * HIDDEN, HEADS, HEADS)


def test_blocks_of_rows() -> None:
    answer = (11, 11, SIZE, 11 * SIZE, 11 * SIZE, 12 * SIZE - 1)
    assert numbers(STEPS[1]) == number_texts(HEADS, HIDDEN, HEADS, SIZE, 2, 2 * SIZE, 3 * SIZE - 1, SIZE, SIZE, *answer)


def test_the_output() -> None:
    assert numbers(STEPS[2]) == number_texts(HEADS, SIZE, HIDDEN, HIDDEN, SIZE, HIDDEN, HIDDEN, HEADS)


def test_one_product_or_twelve() -> None:
    assert numbers(STEPS[3]) == number_texts(8, HEADS, "0.00001")
    blocks: tuple[Block, ...] = ("query", "key", "value")
    for block in blocks:
        assert compare_fused_and_per_head(model(), tokens(SINAN), 0, block).max_difference < 0.00001


def test_one_cell() -> None:
    x, own = run(SINAN).hidden_states[1], slice(8 * SIZE, 9 * SIZE)
    query = parameter(1, "self.query.weight")[own] @ x[1] + parameter(1, "self.query.bias")[own]
    keys = x @ parameter(1, "self.key.weight")[own].T + parameter(1, "self.key.bias")[own]
    products = keys @ query
    scores = products / np.sqrt(SIZE)
    found = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
    np.testing.assert_allclose(found, weights(1, 8)[1], atol=1e-6)
    second = np.sort(scores)[-2]
    words = (f"{products[2]:.2f}", SIZE, f"{scores[2]:.2f}", 8, f"{found[2]:.3f}")
    answer = (f"{1 - found[2]:.3f}", f"{second:.2f}", f"{scores[2] - second:.2f}", f"{scores[2] - second:.2f}", "58")
    assert numbers(STEPS[4]) == number_texts("8", "1", SIZE, *words, *answer)
    assert int(np.exp(scores[2] - second)) == 58


def test_norms() -> None:
    norms = np.stack(
        [
            [np.linalg.norm(parameter(layer, name)[head * SIZE : (head + 1) * SIZE]) for head in range(HEADS)]
            for name in ("self.query.weight", "self.key.weight")
            for layer in range(6)
        ]
    ).reshape(2, 6, HEADS)
    assert [np.unravel_index(each.argmax(), each.shape) for each in norms] == [(0, 2), (0, 2)]
    largest = [f"{each.max():.1f}" for each in norms]
    assert numbers(STEPS[5]) == number_texts(6, HEADS, *largest, 2, "0")
    own = weights(0, 2)
    assert all(own[place, place - 1] > 0.99 for place in range(1, len(own)))


def test_what_it_adds_up_to() -> None:
    one = 4 * SIZE * HIDDEN + 3 * SIZE
    assert HEADS * one + HIDDEN == attention_parameters(HIDDEN) == 591_360
    large = 4 * 64 * 768 + 3 * 64
    assert HEADS * large + 768 == attention_parameters(768)
    note = (SIZE, HIDDEN, SIZE, one, HEADS, HIDDEN, attention_parameters(HIDDEN))
    question = (attention_parameters(768), 768, HEADS, 64, 4, 64, 768, 3, 64, large, HEADS, 768)
    assert numbers(STEPS[6]) == number_texts(*note, *question, attention_parameters(768))
