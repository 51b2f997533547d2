"""The map of one head: its weights, and its cells as lengths of vectors."""

from typing import Any

import numpy as np
import pytest
import torch

from bertviz_core.attention.maps import attention_map, attention_probs
from bertviz_core.attention.results import MapOptions
from bertviz_core.errors import UnsupportedModelError
from bertviz_core.trace.results import Trace
from tests.attention.test_merging import ALL_READINGS
from tests.helpers.families_table import family_run
from tests.helpers.made_traces import PIECES, made, mapped, random_trace
from tests.helpers.tiny_models import HEAD_DIM, HEADS, LAYERS


def test_the_default_reading_is_the_map_itself(pair: Trace) -> None:
    shown_map = attention_map(pair, 1, 2)
    np.testing.assert_array_equal(shown_map.weights, attention_probs(pair, 1, 2))
    assert shown_map.queries.labels == shown_map.keys.labels == PIECES.tokens
    assert (shown_map.layer, shown_map.head, shown_map.options) == (1, 2, MapOptions())
    assert (shown_map.hidden_share == 0).all()


@pytest.mark.parametrize("layer", range(LAYERS))
def test_value_weighted_cells_are_the_norms_of_what_is_handed_over(layer: int) -> None:
    """||alpha f(x)|| with f(x) = (x W_v + b_v) W_o of the head, vector by vector (Kobayashi et al. 2020, section 3)."""
    run = family_run("bert")
    assert run.traces is not None
    found = run.traces[0]
    block = run.loaded.model.encoder.layer[layer].attention
    states = torch.from_numpy(found.hidden_states[layer].copy())
    with torch.no_grad():
        value = block.self.value(states).numpy()
        output = block.output.dense.weight.numpy()
    vectors = [
        value[:, part] @ output[:, part].T for part in (slice(h * HEAD_DIM, (h + 1) * HEAD_DIM) for h in range(HEADS))
    ]
    norms = np.array([np.linalg.norm(each, axis=1) for each in vectors], dtype=np.float32)
    reading = MapOptions(weights="value-weighted")
    for head in range(HEADS):
        probs = attention_probs(found, layer, head)
        expected = np.linalg.norm(probs[:, :, None] * vectors[head][None, :, :], axis=-1)
        shown_map = attention_map(found, layer, head, reading, norms)
        np.testing.assert_allclose(shown_map.weights, expected, atol=1e-5)
        hidden = attention_map(found, layer, head, MapOptions("value-weighted", hide_special=True), norms)
        np.testing.assert_allclose(
            hidden.weights.sum(axis=1) + hidden.hidden_share, expected[1:-1].sum(axis=1), atol=1e-5
        )


def test_a_row_that_sees_nothing_stays_empty() -> None:
    mask = np.ones((1, len(PIECES), len(PIECES)), dtype=bool)
    mask[:, 6] = False
    shown_map = attention_map(
        random_trace(3, len(PIECES), mask=mask, tokens=PIECES), 1, 0, MapOptions(hide_special=True)
    )
    sums = shown_map.weights.sum(axis=1) + shown_map.hidden_share
    np.testing.assert_allclose(
        sums, [0 if positions == (6,) else 1 for positions in shown_map.queries.positions], atol=1e-6
    )


def test_a_map_is_not_changed_by_reading() -> None:
    found = mapped(np.full((2, len(PIECES), len(PIECES)), 1 / len(PIECES)), tokens=PIECES)
    assert found.attentions is not None
    before = found.attentions[0].copy()
    for reading in ALL_READINGS:
        attention_map(found, 0, 1, reading)
    np.testing.assert_array_equal(found.attentions[0], before)


@pytest.mark.parametrize(
    ("layer", "head", "reading", "norms"),
    [
        (0, None, MapOptions(), None),
        (0, 0, MapOptions("rollout"), None),
        (0, 0, MapOptions("value-zeroing"), None),
        (0, None, MapOptions("value-zeroing"), None),
        (2, 0, MapOptions(), None),
        (0, 3, MapOptions(), None),
        (0, 0, MapOptions("value-weighted"), None),
        (0, 0, MapOptions("value-weighted"), np.ones((3, 2), dtype=np.float32)),
    ],
)
def test_mistakes_of_a_programmer(pair: Trace, layer: int, head: int | None, reading: MapOptions, norms: Any) -> None:
    with pytest.raises(ValueError, match=r"of|without"):
        attention_map(pair, layer, head, reading, norms)


def test_a_family_without_attention_says_why() -> None:
    run = family_run("fnet")
    assert run.traces is not None
    with pytest.raises(UnsupportedModelError, match="Fourier"):
        attention_map(run.traces[0], 0, 0, MapOptions())


def test_one_token_is_a_map() -> None:
    np.testing.assert_array_equal(
        attention_map(made([[[1.0]]], [[[1.0]]]), 1, 0, MapOptions(words=True)).weights, [[1]]
    )
