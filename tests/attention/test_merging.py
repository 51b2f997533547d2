"""Reading a map: merged words, hidden tokens, parts of a pair; shown and hidden weights always add up."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from bertviz_core.attention.maps import BLOCKS, attention_map, attention_probs, blocks_of, is_punctuation, token_groups
from bertviz_core.attention.results import Block, MapOptions
from bertviz_core.errors import TextError
from bertviz_core.trace.results import Trace
from tests.helpers.families_table import family_run
from tests.helpers.made_traces import PIECES, random_trace, spelled
from tests.helpers.tiny_models import HEADS, LAYERS
from tests.trace.test_families import TRACED, WITHOUT_MAPS

WITH_MAPS = [name for name in TRACED if name not in WITHOUT_MAPS]
ALL_READINGS = [
    MapOptions("attention", words, special, punctuation)
    for words, special, punctuation in product((False, True), repeat=3)
]
WORDS = ((0,), (1, 2, 3), (4,), (5,), (6,), (7, 8), (9,))


def merged(probs: Any, words: tuple[tuple[int, ...], ...] = WORDS) -> Any:
    """Clark et al. 2019, section 4.1, word by word: weights to a split word are added, weights from it averaged."""
    return np.array([[np.mean([sum(probs[i, j] for j in key) for i in query]) for key in words] for query in words])


def test_merged_words_are_sums_over_keys_and_means_over_queries(pair: Trace) -> None:
    shown_map = attention_map(pair, 1, 0, MapOptions(words=True))
    assert shown_map.keys.labels == ("[CLS]", "python", ",", "[SEP]", "my", "pets", "[SEP]")
    assert shown_map.keys.positions == WORDS
    np.testing.assert_allclose(shown_map.weights, merged(attention_probs(pair, 1, 0)), atol=1e-6)


@pytest.mark.parametrize(
    ("reading", "shown"),
    [
        (MapOptions(hide_special=True), (1, 2, 3, 4, 6, 7, 8)),
        (MapOptions(hide_punctuation=True), (0, 1, 2, 3, 5, 6, 7, 8, 9)),
        (MapOptions(hide_special=True, hide_punctuation=True), (1, 2, 3, 6, 7, 8)),
    ],
)
def test_hidden_tokens_are_counted_not_renormalised(pair: Trace, reading: MapOptions, shown: tuple[int, ...]) -> None:
    shown_map, probs = attention_map(pair, 1, 1, reading), attention_probs(pair, 1, 1)
    assert shown_map.queries.positions == shown_map.keys.positions == tuple((position,) for position in shown)
    rest = [position for position in range(len(PIECES)) if position not in shown]
    np.testing.assert_allclose(shown_map.weights, probs[np.ix_(shown, shown)], atol=1e-7)
    np.testing.assert_allclose(shown_map.hidden_share, probs[np.ix_(shown, rest)].sum(axis=1), atol=1e-6)


@pytest.mark.parametrize("block", BLOCKS[1:])
def test_a_block_is_queries_of_one_text_and_keys_of_one_text(pair: Trace, block: Block) -> None:
    """Text A is [CLS] py ##th ##on , [SEP], text B is my pet ##s [SEP]."""
    sides = {"A": range(6), "B": range(6, 10)}
    queries, keys = (sides[name] for name in block.split(" to "))
    shown_map = attention_map(pair, 1, 2, MapOptions(block=block))
    np.testing.assert_allclose(shown_map.weights, attention_probs(pair, 1, 2)[np.ix_(queries, keys)], atol=1e-7)


@pytest.mark.parametrize("name", WITH_MAPS)
@pytest.mark.sample(4)
def test_shown_and_hidden_add_up_to_the_row(name: str) -> None:
    """In every family, for a text and a pair, with all readings; and the parts of a pair have every cell once."""
    run = family_run(name)
    assert run.traces is not None
    for found in run.traces:
        probs = attention_probs(found, LAYERS - 1, HEADS - 1)
        for reading in ALL_READINGS:
            shown_map = attention_map(found, LAYERS - 1, HEADS - 1, reading)
            np.testing.assert_allclose(shown_map.weights.sum(axis=1) + shown_map.hidden_share, 1, atol=1e-5)
            sums = [probs[list(query)].mean(axis=0) for query in shown_map.queries.positions]
            chosen = [position for key in shown_map.keys.positions for position in key]
            np.testing.assert_allclose(shown_map.weights.sum(axis=1), [row[chosen].sum() for row in sums], atol=1e-5)
            assert (shown_map.weights >= 0).all()
            assert (shown_map.hidden_share >= 0).all()
    both = run.traces[1]
    for words in (False, True):
        whole = attention_map(both, 0, 0, MapOptions(words=words))
        parts = {block: attention_map(both, 0, 0, MapOptions(words=words, block=block)) for block in BLOCKS[1:]}
        assert sum(part.weights.size for part in parts.values()) == whole.weights.size
        assert sum(part.weights.sum() for part in parts.values()) == pytest.approx(whole.weights.sum(), abs=1e-4)
        for query, key in product("AB", repeat=2):
            part, other = parts[f"{query} to {key}"], parts[f"{query} to {'BA'['AB'.index(key)]}"]  # type: ignore[index]  # recorded
            np.testing.assert_allclose(part.hidden_share, other.weights.sum(axis=1), atol=1e-5)


@pytest.mark.parametrize("name", ["bert", "roberta", "deberta", "modernbert"])
def test_words_and_punctuation_of_real_tokenizers_are_hidden_whole(name: str) -> None:
    run = family_run(name)
    assert run.traces is not None
    tokens = run.traces[1].tokens
    shown_map = attention_map(run.traces[1], 0, 0, MapOptions(words=True, hide_special=True, hide_punctuation=True))
    assert shown_map.keys.labels == ("I", "love", "my", "pet", "python", "The", "pythons", "my", "love")
    hidden = [each for each in token_groups(tokens, words=True).positions if each not in shown_map.keys.positions]
    assert all(tokens.special[list(each)].all() or is_punctuation(tokens, each) for each in hidden)


def test_value_weighted_words_are_merged_like_weights(pair: Trace) -> None:
    norms = np.random.default_rng(1).random((3, len(PIECES))).astype(np.float32)
    shown_map = attention_map(pair, 1, 2, MapOptions("value-weighted", words=True), norms)
    np.testing.assert_allclose(shown_map.weights, merged(attention_probs(pair, 1, 2) * norms[2]), atol=1e-6)


def test_a_text_of_several_tiles_is_read_like_one() -> None:
    """Words of three pieces, so that tiles must not end inside a word."""
    seq = 1550
    ids = tuple(position // 3 for position in range(seq))
    tokens = spelled(" ".join(f"t{position}" for position in range(seq)), word_ids=ids)
    found = random_trace(2, seq, tokens=tokens)
    shown_map = attention_map(found, 1, 1, MapOptions(words=True))
    probs = attention_probs(found, 1, 1)
    starts = np.arange(0, seq, 3)
    sizes = np.diff(np.append(starts, seq))
    expected = np.add.reduceat(np.add.reduceat(probs, starts, axis=0), starts, axis=1) / sizes[:, None]
    np.testing.assert_allclose(shown_map.weights, expected, atol=1e-6)


def test_everything_hidden_is_said_in_one_sentence() -> None:
    tokens = spelled("[CLS] , [SEP]", sequence=".A.")
    found = random_trace(2, 3, tokens=tokens)
    for reading in (
        MapOptions(hide_special=True, hide_punctuation=True),
        MapOptions(words=True, hide_special=True, hide_punctuation=True),
    ):
        with pytest.raises(TextError, match="hidden"):
            attention_map(found, 0, 0, reading)


def test_a_part_of_a_pair_that_is_no_pair_is_refused() -> None:
    found = random_trace(2, 3)
    assert blocks_of(found.tokens) == ("all",)
    with pytest.raises(TextError, match="one text only"):
        attention_map(found, 0, 0, MapOptions(block="A to B"))
