"""Attention, heads and states of two models: each side is the answer about that model alone, differences are exact.

Covers `bertviz_core/questions/texts/two_models.py` and `bertviz_core/questions/tables/two_models/runs.py`.
"""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.spatial.distance import jensenshannon

from bertviz_core.attention.results import AttentionComparison
from bertviz_core.attention.value_zeroing import relative_place
from bertviz_core.checkpoints.results import Behaviour
from bertviz_core.errors import BertvizError
from bertviz_core.figures.attention.two_models import attention_comparison_frame, changed_heads_frame
from bertviz_core.figures.hidden_states.lines import compared_states_frame
from bertviz_core.predictions.two_models import SAME_MODEL
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.tables.two_models.runs import (
    CHANGED_HEADS,
    COMPARED_ATTENTION,
    attention_that_changed,
    heads_that_changed,
    states_that_changed,
)
from bertviz_core.questions.texts.attention import attention_map
from bertviz_core.questions.texts.hidden_states import run
from bertviz_core.questions.texts.two_models import SAME_STATES, changed_heads, compared_attention, cosines_of_states
from tests.helpers.tiny_models import HEADS, LAYERS, PAIR, TEXT, save_tiny
from tests.helpers.two_tokenizers import opened_model, save_byte_head

PLACE = {"layer": "2", "head": "1"}
READINGS = ({}, {"weights": "value-weighted"}, {"weights": "rollout"}, {"words": "true", "hide_special": "true"})


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models of one tokenizer: two of one shape, deeper, wider, without attention; and one that reads bytes."""
    place = tmp_path_factory.mktemp("two")
    save_tiny("bert", place / "first")
    save_tiny("bert", place / "second", initializer_range=0.4)
    save_tiny("bert", place / "deep", num_hidden_layers=5)
    save_tiny("bert", place / "wide", hidden_size=18, num_attention_heads=3)
    save_tiny("fnet", place / "fourier")
    save_byte_head("masked-lm", place / "bytes")
    return place


def compare(place: Path, second: str, first: str = "first", **values: str) -> AttentionComparison:
    chosen = {**PLACE, "other": str(place / second), **values}
    return compared_attention(opened_model(place / first), Options((TEXT,), values=chosen)).result


def test_another_head_of_the_same_model_is_not_called_the_same(place: Path) -> None:
    found = compare(place, "first", other_layer="0")
    assert found.difference is not None
    assert np.abs(found.difference).max() > 0
    assert SAME_MODEL not in found.notices
    assert SAME_MODEL in compare(place, "first", other_layer="2", other_head="1").notices


def compare_all(place: Path, question: object, second: str, text: str = TEXT) -> Behaviour:
    options = Options((text,), PAIR, values={"other": str(place / second)})
    return question(opened_model(place / "first"), options).result  # type: ignore[operator]  # a question of a model


@pytest.mark.sample(2)
@pytest.mark.parametrize("reading", READINGS)
def test_each_side_is_the_map_of_that_model_alone_and_the_difference_is_exact(
    place: Path, reading: dict[str, str]
) -> None:
    found = compare(place, "second", **reading)
    for folder, side in (("first", found.first), ("second", found.second)):
        alone = attention_map(opened_model(place / folder), Options((TEXT,), values={**PLACE, **reading})).result
        np.testing.assert_array_equal(side.weights, alone.weights)
        assert (side.layer, side.head, side.queries.labels) == (alone.layer, alone.head, alone.queries.labels)
    assert found.difference is not None
    np.testing.assert_array_equal(found.difference, found.second.weights - found.first.weights)
    assert found.difference.any()
    assert found.notices == ()


def test_the_sentence_and_the_table_have_the_largest_difference(place: Path) -> None:
    found = compare(place, "second")
    assert found.difference is not None
    query, key = np.unravel_index(np.abs(found.difference).argmax(), found.difference.shape)
    assert f"(query {query}) to" in attention_that_changed(found)
    assert f"(key {key}) differs most" in attention_that_changed(found)
    frame = attention_comparison_frame(found)
    np.testing.assert_array_equal(frame["difference"].to_numpy(), found.difference.ravel())
    np.testing.assert_allclose(frame["second"] - frame["first"], frame["difference"], atol=1e-7)
    assert frame["query"].nunique() == len(found.first.queries)
    np.testing.assert_array_equal(COMPARED_ATTENTION.to_json(found)["difference"], found.difference)


def test_other_tokens_are_side_by_side_and_one_sentence_says_why(place: Path) -> None:
    found = compare(place, "bytes")
    sizes = len(found.first.queries), len(found.second.queries)
    assert sizes[0] != sizes[1]
    assert found.difference is None
    (notice,) = found.notices
    assert f"as {sizes[0]} and {sizes[1]} tokens, so their maps have no difference" in notice
    np.testing.assert_allclose(found.second.weights.sum(axis=1), 1, atol=1e-5)
    frame = attention_comparison_frame(found)
    assert len(frame) == sizes[0] ** 2 + sizes[1] ** 2
    assert frame["first"].notna().sum() == sizes[0] ** 2


def test_words_of_two_tokenizers_are_subtracted_where_both_have_the_same(place: Path) -> None:
    reading = {"words": "true", "hide_special": "true"}
    found = compare(place, "bytes", **reading)
    assert found.difference is not None
    np.testing.assert_array_equal(found.difference, found.second.weights - found.first.weights)
    assert [label.lower() for label in found.first.queries.labels] == ["i", "love", "my", "pet", "python", "."]


@pytest.mark.sample(1)
@pytest.mark.parametrize(("second", "layer", "head"), [("deep", 4, 1), ("wide", 2, 2)])
def test_a_model_of_another_size_shows_the_head_at_the_same_relative_place_and_says_so(
    place: Path, second: str, layer: int, head: int
) -> None:
    found = compare(place, second)
    assert (found.second.layer, found.second.head) == (layer, head)
    assert any(f"of the second, layer {layer}, head {head} is shown" in notice for notice in found.notices)
    chosen = compare(place, second, other_layer="0", other_head="0")
    assert (chosen.second.layer, chosen.second.head) == (0, 0)
    with pytest.raises(BertvizError, match="There is no layer '99' in .*give other_layer 0 to"):
        compare(place, second, other_layer="99")
    with pytest.raises(BertvizError, match="have|has .*do not correspond"):
        compare_all(place, changed_heads, second)


@pytest.mark.parametrize(("count", "other"), [(2, 2), (6, 12), (12, 6), (3, 5), (1, 4), (4, 1)])
def test_relative_places_begin_and_end_together_and_never_go_back(count: int, other: int) -> None:
    places = [relative_place(each, count, other) for each in range(count)]
    assert places[0] == 0
    assert count == 1 or places[-1] == other - 1
    assert all(one <= two for one, two in pairwise(places))
    assert count != other or places == list(range(count))


@pytest.mark.slow
def test_divergences_are_scipys_squared_distances_of_every_row(place: Path) -> None:
    found = compare_all(place, changed_heads, "second")
    assert found.divergences is not None
    assert found.divergences.shape == (LAYERS, HEADS)
    for layer in range(LAYERS):
        for head in range(HEADS):
            values = {"layer": str(layer), "head": str(head)}
            rows = [
                attention_map(opened_model(place / each), Options((TEXT,), PAIR, values=values)).result.weights
                for each in ("first", "second")
            ]
            expected = np.mean([jensenshannon(p, q) ** 2 for p, q in zip(*rows, strict=True)])
            assert found.divergences[layer, head] == pytest.approx(expected, rel=1e-4)


def test_the_list_of_heads_is_sorted_and_has_every_head_once(place: Path) -> None:
    found = compare_all(place, changed_heads, "second")
    frame = changed_heads_frame(found)
    assert (np.diff(frame["divergence"]) <= 0).all()
    assert not frame.duplicated(["layer", "head"]).any()
    assert found.divergences is not None
    for row in frame.itertuples():
        assert row.divergence == found.divergences[row.layer, row.head]
    assert f"layer {frame['layer'][0]}, head {frame['head'][0]} changed most" in heads_that_changed(found)
    assert CHANGED_HEADS.to_json(found)["sorted"][0]["layer"] == frame["layer"][0]


def test_cosines_are_those_of_torch(place: Path) -> None:
    found = compare_all(place, cosines_of_states, "second")
    states = [
        torch.from_numpy(np.array(run(opened_model(place / each), Options((TEXT,), PAIR)).result.hidden_states))
        for each in ("first", "second")
    ]
    expected = torch.nn.functional.cosine_similarity(*states, dim=-1).numpy()
    np.testing.assert_allclose(found.cosines, expected, atol=1e-5)
    frame = compared_states_frame(found)
    assert list(frame["hidden state"]) == ["embeddings", *(f"after layer {layer}" for layer in range(LAYERS))]
    np.testing.assert_allclose(frame.iloc[:, 1:], expected, atol=1e-5)
    assert f"(token {expected[-1].argmin()})" in states_that_changed(found)


def test_states_of_a_deeper_model_are_compared_as_far_as_both_have_them(place: Path) -> None:
    found = compare_all(place, cosines_of_states, "deep")
    assert found.cosines is not None
    assert len(found.cosines) == LAYERS + 1
    assert any(f"the first {LAYERS} layers are compared" in notice for notice in found.notices)


def test_states_of_another_width_are_one_sentence(place: Path) -> None:
    with pytest.raises(BertvizError, match="so no cosine between them is defined"):
        compare_all(place, cosines_of_states, "wide")


@pytest.mark.parametrize("question", [changed_heads, cosines_of_states])
def test_other_tokens_have_no_number_per_token(place: Path, question: object) -> None:
    with pytest.raises(BertvizError, match=r"read this text as \d+ and \d+ tokens, so their"):
        compare_all(place, question, "bytes")


def test_a_model_without_attention_is_one_sentence(place: Path) -> None:
    for question in (compared_attention, changed_heads):
        with pytest.raises(BertvizError, match="FNet mixes tokens by Fourier transforms"):
            compare_all(place, question, "fourier")


def test_the_same_model_twice_is_exact_zeros_and_says_so(place: Path) -> None:
    found, heads = compare(place, "first"), compare_all(place, changed_heads, "first")
    assert found.difference is not None
    assert heads.divergences is not None
    assert not found.difference.any()
    assert not heads.divergences.any()
    assert found.notices[0] == heads.notices[0] == SAME_MODEL
    assert attention_that_changed(found) == "No weight differs."
    assert "is the same" in heads_that_changed(heads)
    states = compare_all(place, cosines_of_states, "first")
    np.testing.assert_allclose(states.cosines, 1, atol=1e-6)
    assert states.notices == (SAME_STATES,)
