"""Norms, cosines, paths and one word's vectors: properties on arrays, and on traces of tiny models.

Covers `bertviz_core/hidden_states/geometry.py`.
"""

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import zscore

from bertviz_core.errors import UnsupportedModelError
from bertviz_core.hidden_states.embeddings import nearest_rows
from bertviz_core.hidden_states.geometry import (
    change_by_layer,
    compare_word,
    cosine,
    cosine_to_embedding,
    cosine_to_previous,
    hidden_states_npz,
    largest_value,
    most_alike,
    norms,
    occurrences,
    outlier_dimensions,
    token_cosines,
    token_paths,
)
from bertviz_core.models.loading import load_model
from bertviz_core.models.sources import folder_source
from bertviz_core.settings import Settings
from bertviz_core.trace.run import trace
from bertviz_core.trace.tokenization import load_tokenizer, tokenize
from tests.helpers.tiny_models import PAIR, TEXT, save_tiny

STATES, SEQ, HIDDEN = 4, 5, 7


@pytest.fixture
def states() -> Any:
    return np.random.default_rng(0).normal(size=(STATES, SEQ, HIDDEN)).astype(np.float32)


def test_norms(states: Any) -> None:
    found = norms(states)
    assert found.shape == (STATES, SEQ)
    np.testing.assert_allclose(found, np.linalg.norm(states, axis=-1), rtol=1e-6)
    np.testing.assert_allclose(norms(3 * states), 3 * found, rtol=1e-6)
    np.testing.assert_allclose(norms(np.array([[[3, 4]]], dtype=np.float32)), [[5]])


def test_cosine_of_known_vectors() -> None:
    first = np.array([[1, 0], [1, 0], [2, 2], [0, 0], [1e-30, 0], [1e30, 1e30]], dtype=np.float32)
    second = np.array([[0, 3], [-2, 0], [1, 0], [1, 1], [5e-31, 0], [1, 1]], dtype=np.float32)
    np.testing.assert_allclose(cosine(first, second), [0, -1, np.sqrt(0.5), 0, 1, 1], atol=1e-6)


@pytest.mark.filterwarnings("error")
def test_a_vector_with_infinity_has_no_cosine() -> None:
    first = np.array([[np.inf, 1], [3, 4]], dtype=np.float32)
    np.testing.assert_array_equal(cosine(first, np.ones((2, 2), dtype=np.float32))[:1], [np.nan])
    np.testing.assert_allclose(cosine(first, np.ones((2, 2), dtype=np.float32))[1:], [7 / 50**0.5], rtol=1e-6)


def test_the_most_alike_tokens_are_two_different_ones_of_the_text(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(folder_source("mine", save_tiny("bert", tmp_path / "mine")), Settings.from_environment())
    tokens = tokenize(tokenizer, "river bank river")  # with a special token before and after
    cosines = np.full((5, 5), 0.1)
    cosines[0, 1] = cosines[1, 0] = cosines[1, 3] = cosines[3, 1] = 0.9  # of a special token, of equal tokens
    cosines[2, 3] = cosines[3, 2] = 0.3
    assert [tokens.tokens[place] for place in most_alike(cosines, tokens) or ()] == ["bank", "river"]
    assert most_alike(cosines, tokens) == (2, 3)
    assert most_alike(cosines[2:, 2:], tokens, 2) == (2, 3)
    assert most_alike(cosines[:2, :2], tokens) is None


def test_cosine_to_previous(states: Any) -> None:
    found = cosine_to_previous(states)
    assert found.shape == (STATES - 1, SEQ)
    np.testing.assert_array_equal(found[1], cosine(states[2], states[1]))
    np.testing.assert_allclose(cosine_to_previous(np.repeat(states[:1], 3, axis=0)), 1, atol=1e-6)


def test_the_change_by_a_layer_is_0_for_a_longer_vector_and_1_for_a_right_angle(states: Any) -> None:
    np.testing.assert_allclose(change_by_layer(states), 1 - cosine_to_previous(states), atol=1e-6)
    turned = np.array([[[3, 0]], [[7, 0]], [[0, 1]], [[0, -1]]], dtype=np.float32)
    np.testing.assert_allclose(change_by_layer(turned)[:, 0], [0, 1, 2], atol=1e-6)


def test_the_largest_value_is_named_with_its_distance_from_its_own_token() -> None:
    state = np.zeros((3, 100), dtype=np.float32)
    state[1, 42] = -5
    found = largest_value(state)
    assert (found.token, found.dimension, found.value) == (1, 42, -5)
    # One of n values can differ by (n - 1) / sqrt(n - 1) standard deviations of all.
    assert found.deviations == pytest.approx(99**0.5, rel=1e-6)
    assert largest_value(np.zeros((2, 3), dtype=np.float32)).deviations == 0


def test_cosine_to_embedding(states: Any) -> None:
    found = cosine_to_embedding(states)
    np.testing.assert_allclose(found[0], 1, atol=1e-6)
    np.testing.assert_array_equal(found[1], cosine_to_previous(states)[0])
    np.testing.assert_allclose(found[3], cosine(states[3], states[0]), atol=1e-7)


def test_token_cosines(states: Any) -> None:
    found = token_cosines(states)
    assert found.shape == (STATES, SEQ, SEQ)
    np.testing.assert_allclose(found, found.transpose(0, 2, 1), atol=1e-6)
    np.testing.assert_allclose(np.diagonal(found, axis1=1, axis2=2), 1, atol=1e-6)
    np.testing.assert_allclose(found[2, 1], cosine(np.repeat(states[2, 1:2], SEQ, axis=0), states[2]), atol=1e-6)
    assert np.abs(found).max() <= 1


def test_a_zero_vector_has_cosine_0(states: Any) -> None:
    states[2, 3] = 0
    assert (token_cosines(states)[2, 3] == 0).all()
    assert cosine_to_previous(states)[1, 3] == 0
    assert cosine_to_embedding(states)[2, 3] == 0
    assert not any(np.isnan(array).any() for array in (token_cosines(states), norms(states)))


@pytest.mark.parametrize(("tokens", "named"), [(4, True), (2, False)])
def test_outlier_dimensions_by_the_rule(tokens: int, named: bool) -> None:
    """A dimension that is extreme in a quarter of the tokens of one entry or more is named, for both signs."""
    generator = np.random.default_rng(0)
    states = generator.normal(size=(3, 16, 100)).astype(np.float32)
    states[1, :tokens, 42] = -30
    states[2, :8, 17] = 50
    found = outlier_dimensions(states)
    assert found.dimensions.tolist() == ([17, 42] if named else [17])
    np.testing.assert_allclose(found.share[:, 0], [0, 0, 0.5])
    if named:
        np.testing.assert_allclose(found.share[:, 1], [0, 0.25, 0])
    assert found.peak[0] > 6
    for author in ("Kovaleva", "Timkey", "6 standard deviations", "25%"):
        assert author in found.rule


def test_peaks_and_shares_are_scipys_standard_scores() -> None:
    states = np.random.default_rng(1).normal(size=(4, 9, 200)).astype(np.float32)
    states[:, :, [7, 150]] *= 20
    scores = np.abs(zscore(states.astype(np.float64), axis=-1))
    found = outlier_dimensions(states)
    assert len(found.dimensions) > 0
    np.testing.assert_allclose(found.peak, scores.max(axis=(0, 1))[found.dimensions], rtol=1e-4)
    np.testing.assert_allclose(found.share, (scores > 6).mean(axis=1)[:, found.dimensions], atol=1e-7)


def test_no_outliers_in_equal_or_few_values() -> None:
    assert len(outlier_dimensions(np.ones((2, 3, 50), dtype=np.float32)).dimensions) == 0
    few = np.zeros((1, 4, 37), dtype=np.float32)
    few[..., 0] = 1e6
    assert len(outlier_dimensions(few).dimensions) == 0


def test_paths_are_the_principal_components(states: Any) -> None:
    found = token_paths(states, 3)
    rows = states.reshape(-1, HIDDEN) - states.reshape(-1, HIDDEN).mean(axis=0)
    _, singular, directions = np.linalg.svd(rows.astype(np.float64), full_matrices=False)
    np.testing.assert_allclose(found.explained, singular[:3] ** 2 / (singular**2).sum(), rtol=1e-5)
    np.testing.assert_allclose(np.abs(found.components), np.abs(directions[:3]), atol=1e-5)
    np.testing.assert_allclose(found.points.reshape(-1, 3), rows @ found.components.T, atol=1e-5)
    np.testing.assert_allclose(found.components @ found.components.T, np.eye(3), atol=1e-5)
    assert found.points.shape == (STATES, SEQ, 3)
    assert (np.diff(found.explained) <= 0).all()


def test_all_components_explain_all_and_lose_nothing(states: Any) -> None:
    found = token_paths(states, HIDDEN)
    assert found.explained.sum() == pytest.approx(1, abs=1e-6)
    np.testing.assert_allclose(found.points @ found.components + found.center, states, atol=1e-5)


def test_the_same_states_give_the_same_picture(states: Any) -> None:
    found, mirrored = token_paths(states), token_paths(-states)
    peaks = np.abs(found.components).argmax(axis=1)
    assert (found.components[np.arange(2), peaks] > 0).all()
    np.testing.assert_allclose(mirrored.components, found.components, atol=1e-6)
    np.testing.assert_allclose(mirrored.points, -found.points, atol=1e-5)


def test_more_states_than_dimensions_and_fewer() -> None:
    wide = np.random.default_rng(0).normal(size=(2, 3, 40)).astype(np.float32)
    tall = np.random.default_rng(0).normal(size=(9, 8, 3)).astype(np.float32)
    for states in (wide, tall):
        rows = states.reshape(-1, states.shape[-1]) - states.reshape(-1, states.shape[-1]).mean(axis=0)
        found = token_paths(states)
        assert found.points.var(axis=(0, 1)).sum() / rows.var(axis=0).sum() == pytest.approx(
            found.explained.sum(), rel=1e-5
        )


def test_paths_of_equal_states_stand_still() -> None:
    found = token_paths(np.full((2, 1, 4), 3, dtype=np.float32))
    np.testing.assert_array_equal(found.points, 0)
    np.testing.assert_array_equal(found.explained, 0)


def test_paths_of_nan_are_refused(states: Any) -> None:
    states[1, 2, 3] = np.nan
    with pytest.raises(UnsupportedModelError, match="NaN"):
        token_paths(states)


def test_one_word_in_two_texts(tmp_path: Path) -> None:
    source, settings = folder_source("tiny", save_tiny("bert", tmp_path)), Settings.from_environment()
    loaded, tokenizer = load_model(source, settings), load_tokenizer(source, settings)
    pet, language = trace(loaded, tokenize(tokenizer, TEXT)), trace(loaded, tokenize(tokenizer, "python, the language"))
    at_pet, at_language = occurrences(pet.tokens, "python")[0], occurrences(language.tokens, "python")[0]
    found = compare_word("python", pet, at_pet, language, at_language)
    expected = cosine(pet.hidden_states[:, at_pet[0]], language.hidden_states[:, at_language[0]])
    np.testing.assert_allclose(found.cosine, expected, atol=1e-6)
    assert found.static_cosine == 1.0
    assert found.cosine[0] < 1
    back = compare_word("python", language, at_language, pet, at_pet)
    np.testing.assert_allclose(back.cosine, found.cosine, atol=1e-6)
    np.testing.assert_allclose(compare_word("python", pet, at_pet, pet, at_pet).cosine, 1, atol=1e-6)
    plural = trace(loaded, tokenize(tokenizer, PAIR))
    pieces = occurrences(plural.tokens, "pythons")[0]
    assert len(pieces) == 2
    means = plural.hidden_states[:, list(pieces)].mean(axis=1)
    other = compare_word("pythons", plural, pieces, pet, at_pet)
    np.testing.assert_allclose(other.cosine, cosine(means, pet.hidden_states[:, at_pet[0]]), atol=1e-6)
    assert other.static_cosine is None
    with pytest.raises(ValueError, match="without tokens"):
        compare_word("bank", pet, (), language, at_language)


def test_all_hidden_states_come_back_out_of_their_file(tmp_path: Path) -> None:
    source, settings = folder_source("tiny", save_tiny("bert", tmp_path)), Settings.from_environment()
    ran = trace(load_model(source, settings), tokenize(load_tokenizer(source, settings), TEXT, PAIR))
    with np.load(BytesIO(hidden_states_npz(ran)), allow_pickle=False) as found:
        np.testing.assert_array_equal(found["hidden_states"], ran.hidden_states)
        np.testing.assert_array_equal(found["pooler_output"], ran.pooler_output)
        assert tuple(found["tokens"]) == ran.tokens.tokens
        assert list(found["states"]) == ["embeddings", "after layer 0", "after layer 1", "after layer 2"]
        assert [None if each < 0 else each for each in found["sequence"]] == list(ran.tokens.sequence)
        assert str(found["model"]) == "tiny"


def test_nearest_rows_in_chunks_and_at_the_edges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = load_model(folder_source("tiny", save_tiny("bert", tmp_path)), Settings.from_environment())
    whole = nearest_rows(loaded, 7, 1000)
    assert len(whole.ids) == 36
    assert 7 not in whole.ids
    assert (np.diff(whole.cosine) <= 0).all()
    monkeypatch.setattr("bertviz_core.hidden_states.embeddings.CHUNK_ROWS", 5)
    chunked = nearest_rows(loaded, 7, 1000)
    np.testing.assert_array_equal(chunked.ids, whole.ids)
    np.testing.assert_allclose(chunked.cosine, whole.cosine, atol=1e-6)
    loaded.model.embeddings.word_embeddings.weight.data[7] = 0
    zero = nearest_rows(loaded, 7, 3)
    assert zero.norm == 0
    np.testing.assert_array_equal(zero.cosine, 0)
    for row in (-1, 37):
        with pytest.raises(ValueError, match="row"):
            nearest_rows(loaded, row)
