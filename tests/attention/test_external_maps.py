"""Maps of other programs: any nesting of layers gives the same weights, and what does not fit is one sentence.

Covers `bertviz_core/attention/external_maps.py`.
"""

import tracemalloc
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import entropy

from bertviz_core.attention.atlas import max_pool
from bertviz_core.attention.external_maps import atlas_of, head_map, head_measures, labelled, stacked, uneven
from bertviz_core.errors import TextError

WEIGHTS = np.random.default_rng(1).dirichlet(np.ones(5), size=(3, 2, 5)).astype(np.float32)
"""3 layers x 2 heads x 5 queries x 5 keys."""


@pytest.mark.parametrize(
    "given",
    [
        WEIGHTS,
        tuple(torch.tensor(layer)[None] for layer in WEIGHTS),
        [torch.tensor(layer, requires_grad=True) for layer in WEIGHTS],
        torch.tensor(WEIGHTS)[:, None],
        [layer.tolist() for layer in WEIGHTS],
    ],
    ids=["array", "as transformers", "with gradients", "with a batch", "lists"],
)
def test_any_nesting_of_layers_gives_the_same_weights(given: Any) -> None:
    np.testing.assert_array_equal(stacked(given), WEIGHTS)


def test_one_layer_and_one_map_are_layers_of_their_own() -> None:
    np.testing.assert_array_equal(stacked(WEIGHTS[1]), WEIGHTS[1:2])
    np.testing.assert_array_equal(stacked(torch.tensor(WEIGHTS[1, 0])), WEIGHTS[1:2, :1])
    assert stacked(torch.tensor(WEIGHTS).bfloat16()).dtype == np.float32


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ([], "is empty"),
        ([None, None], "output_attentions=True"),
        ("attention", "attention has texts, and weights are real numbers"),
        (3j, "has complex numbers"),
        ({"a": 1}, "objects"),
        (np.zeros(3), "1 dimensions"),
        (np.zeros((2, 3, 2, 4, 4)), "a batch of 3 texts"),
        ([np.ones((2, 4, 4)), np.ones((3, 4, 4))], "different shapes"),
        (WEIGHTS - 1, "negative"),
        (WEIGHTS * np.nan, "not finite"),
        (WEIGHTS * np.inf, "not finite"),
        (WEIGHTS.astype(np.float64) * 1e300, "not finite"),
        (WEIGHTS + 0.1j, "complex numbers"),
        (torch.tensor(WEIGHTS) + 0.1j, "complex numbers"),
        (WEIGHTS > 0.5, "True and False"),
        (torch.tensor(WEIGHTS) > 0.5, "True and False"),
        (WEIGHTS.astype(str), "texts"),
        (WEIGHTS.astype(object), "objects"),
        (WEIGHTS.astype("timedelta64[s]"), "durations"),
        ([[["0.5", "0.5"]] * 2], "texts"),
        (torch.tensor(WEIGHTS).to_sparse(), "a Tensor where an array of numbers is needed"),
        (torch.tensor(WEIGHTS, device="meta"), "a Tensor where an array of numbers is needed"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_what_does_not_fit_is_one_sentence(given: Any, sentence: str) -> None:
    with pytest.raises(TextError, match=sentence):
        stacked(given)


class NeverConverted:
    """What has the shape of many weights; a conversion fails."""

    shape = (1, 1, 31_623, 31_623)


SIDE = 31_623


@pytest.mark.filterwarnings("ignore:Sparse invariant")
@pytest.mark.parametrize(
    "many",
    [
        NeverConverted(),
        [NeverConverted()],
        np.broadcast_to(np.float32(1), (1, 1, SIDE, SIDE)),
        (np.broadcast_to(np.float32(1), (1, SIDE, SIDE)),),
        torch.ones(1).expand(1, 1, SIDE, SIDE),
        [torch.ones(1).expand(1, 4_000, 4_000)] * 40,
        torch.sparse_coo_tensor(torch.zeros(2, 1, dtype=torch.long), torch.ones(1), (SIDE, SIDE)),
        [[0.5] * SIDE] * SIDE,
        [[[[]] * SIDE] * SIDE],
        [(np.ones(SIDE),) * SIDE],
    ],
)
def test_many_weights_are_refused_before_one_is_copied(many: Any) -> None:
    tracemalloc.start()
    with pytest.raises(TextError, match=r"more than 536,870,912 weights"):
        stacked(many)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50 * 1024**2


def test_each_row_and_column_has_one_token() -> None:
    assert labelled("tokens", list("abc"), 3).labels == ("a", "b", "c")
    with pytest.raises(TextError, match="tokens has 3 tokens, and the attention is over 5"):
        labelled("tokens", list("abc"), 5)
    for wrong in (None, 3, "abc", [b"a", b"b", b"c"]):
        with pytest.raises(TextError, match="tokens has no list of texts"):
            labelled("tokens", wrong, 3)


def test_measures_are_those_of_their_definitions() -> None:
    measures = head_measures(WEIGHTS)
    np.testing.assert_allclose(measures.entropy, entropy(WEIGHTS, axis=-1).mean(axis=-1), rtol=1e-5)
    place = np.arange(5)
    expected = (WEIGHTS * abs(place[:, None] - place)).sum(axis=(-1, -2)) / 5
    np.testing.assert_allclose(measures.distance, expected, rtol=1e-5)
    np.testing.assert_allclose(measures.diagonal_share, np.trace(WEIGHTS, axis1=2, axis2=3) / 5, rtol=1e-5)


def test_a_thumbnail_is_the_largest_weight_of_each_block() -> None:
    maps = np.random.default_rng(2).dirichlet(np.ones(100), size=(1, 1, 70)).astype(np.float32)
    queries, keys = labelled("tokens", ["q"] * 70, 70), labelled("key_tokens", ["k"] * 100, 100)
    atlas = atlas_of(maps, queries, keys)
    np.testing.assert_array_equal(atlas.thumbnails[0, 0], max_pool(max_pool(maps[0, 0], 64, 0), 64, 1))
    assert atlas.thumbnails.max() == maps.max()
    assert head_map(maps[0, 0], 0, 0, queries, keys).weights.shape == (70, 100)


def test_rows_that_do_not_add_up_to_1_are_named() -> None:
    assert uneven(WEIGHTS) == ""
    assert uneven(WEIGHTS * 2) == "The rows of this attention add up to 2 to 2, not to 1."
