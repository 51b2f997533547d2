"""Thumbnails are max-pools of the maps, measures equal brute force, and rows of the rollout sum to 1.

Covers `bertviz_core/attention/maps.py`.
"""

from math import log
from typing import Any, get_args

import numpy as np
import pytest

from bertviz_core.attention.atlas import MEASURES, attention_atlas, pooled_map
from bertviz_core.attention.maps import attention_map, attention_probs, attention_rollout
from bertviz_core.attention.results import OF_LAYERS, AttentionMap, MapOptions, Weights
from bertviz_core.errors import TextError, UnsupportedModelError
from bertviz_core.trace.results import Trace
from tests.attention.test_merging import WITH_MAPS
from tests.helpers.families_table import family_run
from tests.helpers.made_traces import PIECES, made, mapped, random_trace, spelled
from tests.helpers.tiny_models import HEADS, LAYERS

READINGS = [
    MapOptions(),
    MapOptions(words=True),
    MapOptions(hide_special=True),
    MapOptions(words=True, hide_punctuation=True, block="A to B"),
    MapOptions("value-weighted", hide_special=True),
]
LONG = 1600
"""More tokens than fit into one tile."""


def split_max(cells: Any, side: int) -> Any:
    """The largest cell of every block, split as by numpy.array_split."""
    rows = np.array_split(np.arange(cells.shape[0]), min(side, cells.shape[0]))
    columns = np.array_split(np.arange(cells.shape[1]), min(side, cells.shape[1]))
    return np.array([[cells[np.ix_(row, column)].max() for column in columns] for row in rows])


def counted(drawn: AttentionMap, special: Any) -> dict[str, float]:
    """The measures by their definitions, cell by cell of a map as it is drawn."""
    queries, keys = ([places[0] for places in axis.positions] for axis in (drawn.queries, drawn.keys))
    rows = zip(queries, drawn.weights.tolist(), strict=True)
    cells = [(i, j, cell / (sum(row) or 1)) for i, row in rows for j, cell in zip(keys, row, strict=True)]
    return {
        "entropy": sum(-p * log(p) for _, _, p in cells if p > 0) / len(queries),
        "distance": sum(p * abs(i - j) for i, j, p in cells) / len(queries),
        "special_share": sum(p for _, j, p in cells if special[j]) / len(queries),
        "diagonal_share": sum(p for i, j, p in cells if i == j) / len(queries),
    }


@pytest.mark.parametrize("side", [3, 4, 64])
@pytest.mark.parametrize("reading", READINGS)
def test_a_thumbnail_is_the_max_pool_of_the_heads_full_map(reading: MapOptions, side: int) -> None:
    found = random_trace(3, len(PIECES), tokens=PIECES)
    norms = np.random.default_rng(1).random((2, 3, len(PIECES))).astype(np.float32)
    atlas = attention_atlas(found, reading, norms, max_side=side)
    for layer in range(2):
        for head in range(3):
            full = attention_map(found, layer, head, reading, norms[layer])
            np.testing.assert_array_equal(atlas.thumbnails[layer, head], split_max(full.weights, side))
            assert (atlas.queries.labels, atlas.keys.labels) == (full.queries.labels, full.keys.labels)
            assert atlas.queries.positions == full.queries.positions
    assert atlas.thumbnails.shape[2:] == (len(atlas.row_starts), len(atlas.column_starts))
    assert atlas.row_starts.tolist() == [
        part[0] for part in np.array_split(range(len(full.queries)), len(atlas.row_starts))
    ]
    assert atlas.column_starts.tolist() == [
        part[0] for part in np.array_split(range(len(full.keys)), len(atlas.column_starts))
    ]


def test_a_thumbnail_of_a_text_of_several_tiles_is_the_max_pool_too() -> None:
    found = random_trace(2, LONG)
    atlas = attention_atlas(found, max_side=64)
    for head in range(2):
        full = attention_map(found, 1, head)
        np.testing.assert_array_equal(atlas.thumbnails[1, head], split_max(full.weights, 64))


@pytest.mark.parametrize("name", WITH_MAPS)
@pytest.mark.sample(1)
def test_every_family_has_an_atlas(name: str) -> None:
    """A short text is not pooled, so its thumbnails are the maps."""
    run = family_run(name)
    assert run.traces is not None
    found = run.traces[1]
    calls: list[tuple[int, int]] = []
    atlas = attention_atlas(found, progress=lambda done, total: calls.append((done, total)))
    assert calls == [(done, LAYERS * HEADS) for done in range(1, LAYERS * HEADS + 1)]
    for layer in range(LAYERS):
        for head in range(HEADS):
            np.testing.assert_allclose(atlas.thumbnails[layer, head], attention_probs(found, layer, head), atol=1e-7)


@pytest.mark.parametrize("name", WITH_MAPS)
@pytest.mark.sample(4)
def test_measures_are_what_is_counted(name: str) -> None:
    run = family_run(name)
    assert run.traces is not None
    for found in run.traces:
        measures = attention_atlas(found).measures
        for layer in range(LAYERS):
            for head in range(HEADS):
                expected = counted(attention_map(found, layer, head), found.tokens.special)
                for measure in MEASURES:
                    assert getattr(measures, measure)[layer, head] == pytest.approx(expected[measure], abs=1e-5)
        assert (measures.entropy >= 0).all()
        assert (measures.entropy <= log(len(found.tokens))).all()


LOOKS = [
    MapOptions(weights, words, special, punctuation, block)
    for weights in get_args(Weights)
    for words in (False, True)
    for special, punctuation in ((False, False), (True, False), (True, True))
    for block in ("all", "A to B")
]


@pytest.mark.parametrize("look", LOOKS, ids=str)
@pytest.mark.sample(9)
def test_measures_are_those_of_the_map_that_is_drawn(look: MapOptions) -> None:
    found, rng, count = random_trace(3, len(PIECES), tokens=PIECES), np.random.default_rng(7), len(PIECES)
    norms = (9 * rng.random((2, 3, count))).astype(np.float32)
    maps = rng.dirichlet(np.ones(count), size=(2, count)).astype(np.float32)
    atlas = attention_atlas(found, look, norms, max_side=2, layer_maps=maps)
    together = look.weights in OF_LAYERS
    for layer, head in np.ndindex(*atlas.thumbnails.shape[:2]):
        drawn = attention_map(found, layer, None if together else head, look, norms[layer], maps[layer])
        expected = counted(drawn, PIECES.special)
        measured = {name: float(getattr(atlas.measures, name)[layer, head]) for name in MEASURES}
        assert measured == pytest.approx(expected, abs=1e-5)


def measures_of_head(trace: Trace, layer: int, head: int) -> list[float]:
    measures = attention_atlas(trace).measures
    return [float(getattr(measures, measure)[layer, head]) for measure in MEASURES]


def test_measures_of_even_attention() -> None:
    """ln n nats; the mean of |i - j| over all pairs is (n^2 - 1) / 3n; 3 of 10 keys are special, 1 of 10 the query."""
    found = measures_of_head(random_trace(2, 10, tokens=PIECES), 0, 1)
    np.testing.assert_allclose(found, [log(10), 99 / 30, 0.3, 0.1], atol=1e-5)


@pytest.mark.parametrize(("maps", "expected"), [("self", [0, 0, 0.3, 1]), ("next", [0, 1.8, 0.3, 0])])
def test_measures_of_attention_to_one_key(maps: str, expected: list[float]) -> None:
    """To the query itself; or to the next token, the last of ten to the first: (9 x 1 + 9) / 10 = 1.8 tokens."""
    cells = np.eye(10) if maps == "self" else np.roll(np.eye(10), 1, axis=1)
    np.testing.assert_allclose(measures_of_head(mapped(cells[None], tokens=PIECES), 0, 0), expected, atol=1e-6)


def test_measures_of_a_text_of_several_tiles() -> None:
    """Even attention over the keys within 30 tokens, as in a local layer; tokens at the edges see fewer."""
    distance = np.abs(np.arange(LONG)[:, None] - np.arange(LONG))
    near = distance <= 30
    found = measures_of_head(made(np.zeros((1, LONG, 2)), np.zeros((1, LONG, 2)), near[None]), 1, 0)
    shown_map = near.sum(axis=1)
    expected = [np.log(shown_map).mean(), ((near * distance).sum(axis=1) / shown_map).mean(), 0, (1 / shown_map).mean()]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("queries", "keys", "side"),
    [(None, None, 512), (None, None, 7), ((2, 9), None, 3), (None, (5, 11), 4), ((4, 5), (0, 2), 9)],
)
def test_a_pooled_map_is_the_max_pool_of_the_whole_one(queries: Any, keys: Any, side: int) -> None:
    """The softmax is over all keys, even if only a range is shown."""
    found = random_trace(3, 11)
    pooled = pooled_map(found, 1, 2, side, queries, keys)
    rows, columns = slice(*(queries or (0, 11))), slice(*(keys or (0, 11)))
    np.testing.assert_allclose(pooled.weights, split_max(attention_probs(found, 1, 2)[rows, columns], side), atol=1e-7)
    for starts, part in ((pooled.row_starts, rows), (pooled.column_starts, columns)):
        expected = [cut[0] for cut in np.array_split(np.arange(11)[part], min(side, part.stop - part.start))]
        assert starts.tolist() == expected
    assert (pooled.layer, pooled.head) == (1, 2)


def test_a_pooled_map_of_several_tiles() -> None:
    distance = np.abs(np.arange(LONG)[:, None] - np.arange(LONG))
    found = random_trace(2, LONG, mask=(distance <= 64)[None])
    pooled = pooled_map(found, 1, 1, 100)
    np.testing.assert_allclose(pooled.weights, split_max(attention_probs(found, 1, 1), 100), atol=1e-6)


@pytest.mark.parametrize("limits", [(3, 3), (0, 12), (-1, 4), (5, 2)])
def test_a_range_that_is_not_in_the_text_is_a_mistake(limits: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="of 11 tokens"):
        pooled_map(random_trace(2, 11), 0, 0, query_range=limits)
    with pytest.raises(ValueError, match="of 11 tokens"):
        pooled_map(random_trace(2, 11), 0, 0, key_range=limits)


def test_an_atlas_can_be_stopped_between_two_heads() -> None:
    class Stopped(Exception):
        """Raised by a reader who leaves early."""

    calls = []

    def progress(done: int, total: int) -> None:
        calls.append(done)
        if done == 2:
            raise Stopped

    with pytest.raises(Stopped):
        attention_atlas(random_trace(3, 5), progress=progress)
    assert calls == [1, 2]


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", WITH_MAPS)
def test_rollout_is_the_product_of_the_layers(name: str) -> None:
    """Mean over heads, half of it plus half of the identity, rows normalised, multiplied (Abnar & Zuidema 2020)."""
    run = family_run(name)
    assert run.traces is not None
    found = run.traces[1]
    rollout = attention_rollout(found)
    np.testing.assert_allclose(rollout.sum(axis=-1), 1, atol=1e-5)
    product = np.eye(len(found.tokens))
    for layer in range(LAYERS):
        mixed = 0.5 * attention_probs(found, layer).mean(axis=0) + 0.5 * np.eye(len(found.tokens))
        product = mixed / mixed.sum(axis=1, keepdims=True) @ product
        np.testing.assert_allclose(rollout[layer], product, atol=1e-5)
    np.testing.assert_array_equal(attention_rollout(found, 0), rollout[:1])


def test_rollout_is_read_like_attention_and_has_an_atlas_of_one_column() -> None:
    found = random_trace(3, len(PIECES), tokens=PIECES)
    rollout = attention_rollout(found)
    reading = MapOptions("rollout", words=True, hide_special=True)
    atlas = attention_atlas(found, reading, max_side=3)
    assert atlas.thumbnails.shape == (2, 1, 3, 3)
    for layer in range(2):
        shown_map = attention_map(found, layer, None, reading)
        given = attention_map(found, layer, None, reading, layer_map=rollout[layer])
        np.testing.assert_array_equal(shown_map.weights, given.weights)
        np.testing.assert_allclose(shown_map.weights.sum(axis=1) + shown_map.hidden_share, 1, atol=1e-6)
        np.testing.assert_array_equal(atlas.thumbnails[layer, 0], split_max(shown_map.weights, 3))
        expected = counted(shown_map, PIECES.special)
        assert atlas.measures.entropy[layer, 0] == pytest.approx(expected["entropy"], abs=1e-5)


def test_value_zeroing_is_read_like_rollout() -> None:
    found, rng = random_trace(3, len(PIECES), tokens=PIECES), np.random.default_rng(4)
    zeroed = rng.dirichlet(np.ones(len(PIECES)), size=(2, len(PIECES))).astype(np.float32)
    reading = MapOptions("value-zeroing", words=True, hide_special=True)
    atlas = attention_atlas(found, reading, max_side=3, layer_maps=zeroed)
    assert atlas.thumbnails.shape == (2, 1, 3, 3)
    for layer in range(2):
        shown_map = attention_map(found, layer, None, reading, layer_map=zeroed[layer])
        np.testing.assert_allclose(shown_map.weights.sum(axis=1) + shown_map.hidden_share, 1, atol=1e-6)
        np.testing.assert_array_equal(atlas.thumbnails[layer, 0], split_max(shown_map.weights, 3))
        expected = counted(shown_map, PIECES.special)
        assert atlas.measures.distance[layer, 0] == pytest.approx(expected["distance"], abs=1e-5)
    with pytest.raises(ValueError, match="without the map of the layer"):
        attention_atlas(found, reading)


def test_rollout_of_a_row_that_sees_nothing_stays_with_itself() -> None:
    mask = np.ones((1, 4, 4), dtype=bool)
    mask[:, 2] = False
    rollout = attention_rollout(random_trace(2, 4, mask=mask))
    np.testing.assert_allclose(rollout.sum(axis=-1), 1, atol=1e-6)


def test_rollout_of_a_very_long_text_is_refused_in_one_sentence() -> None:
    found = random_trace(1, 8200, 1)
    with pytest.raises(TextError, match="at most 8,192 tokens"):
        attention_rollout(found)


def test_families_without_attention_say_why() -> None:
    run = family_run("fnet")
    assert run.traces is not None
    works: tuple[Any, ...] = (attention_atlas, attention_rollout, lambda found: pooled_map(found, 0, 0))
    for work in works:
        with pytest.raises(UnsupportedModelError, match="Fourier"):
            work(run.traces[0])


def test_measures_of_weights_that_are_no_numbers_are_no_numbers() -> None:
    found: Trace = mapped(np.full((1, 3, 3), np.nan), tokens=spelled("[CLS] a [SEP]", sequence=".A."))
    atlas = attention_atlas(found)
    assert np.isnan(atlas.thumbnails).all()
    assert np.isnan(atlas.measures.entropy).all()
