"""Behaviour of two models on one text: properties of the divergence, cosines against torch, and refusals."""

from dataclasses import replace
from math import log
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

from bertviz_core.checkpoints.behaviour import (
    attention_divergences,
    behaviour,
    compared_heads,
    compared_states,
    jensen_shannon,
)
from bertviz_core.errors import TextError
from bertviz_core.models.loading import load_model
from bertviz_core.models.sources import folder_source
from bertviz_core.settings import Settings
from bertviz_core.trace.results import Trace
from bertviz_core.trace.run import trace
from bertviz_core.trace.tokenization import load_tokenizer, tokenize
from tests.helpers.made_traces import mapped
from tests.helpers.tiny_models import HEADS, LAYERS, TEXT, save_tiny

SEQ = 5
ROWS = st.lists(st.floats(0, 1, width=32), min_size=SEQ, max_size=SEQ).filter(lambda row: sum(row) > 1e-3)


def normal(row: list[float]) -> np.ndarray:
    """Normalise a row to sum 1."""
    found = np.array(row, dtype=np.float64)
    return (found / found.sum()).astype(np.float32)


def random_maps(seed: int, heads: int = 3, seq: int = SEQ) -> np.ndarray:
    """Random maps with rows that sum to 1."""
    weights = np.random.default_rng(seed).exponential(size=(heads, seq, seq))
    return (weights / weights.sum(axis=-1, keepdims=True)).astype(np.float32)


def run(folder: Path, settings: Settings, text: str = TEXT) -> Trace:
    """A model's run on a text."""
    source = folder_source(folder.name, folder)
    return trace(load_model(source, settings), tokenize(load_tokenizer(source, settings), text))


@given(ROWS, ROWS)
def test_the_divergence_is_symmetric_bounded_and_zero_for_itself(one: list[float], two: list[float]) -> None:
    first, second = normal(one), normal(two)
    there, back = float(jensen_shannon(first, second)), float(jensen_shannon(second, first))
    assert there == pytest.approx(back, abs=1e-12)
    assert 0 <= there <= log(2)
    assert float(jensen_shannon(first, first)) == 0


def test_the_divergence_is_scipys_squared_distance() -> None:
    first, second = random_maps(0)[0], random_maps(1)[0]
    expected = [jensenshannon(p, q) ** 2 for p, q in zip(first, second, strict=True)]
    np.testing.assert_allclose(jensen_shannon(first, second), expected, rtol=1e-5)


def test_rows_that_never_meet_are_ln_two_apart() -> None:
    first, second = np.eye(4, dtype=np.float32)[:2], np.eye(4, dtype=np.float32)[2:]
    np.testing.assert_allclose(jensen_shannon(first, second), log(2), rtol=1e-12)


def test_a_changed_head_is_the_only_one_that_diverges() -> None:
    first = [random_maps(0), random_maps(1)]
    second = [each.copy() for each in first]
    second[1][2] = random_maps(9)[2]
    found = attention_divergences(mapped(*first), mapped(*second), layers=2)
    assert np.argwhere(found > 0).tolist() == [[1, 2]]
    assert found[1, 2] == pytest.approx(float(jensen_shannon(first[1][2], second[1][2]).mean()), rel=1e-6)


def test_tiles_give_the_same_as_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = mapped(random_maps(0, 4, 9)), mapped(random_maps(1, 4, 9))
    whole = attention_divergences(first, second, layers=1)
    monkeypatch.setattr("bertviz_core.checkpoints.behaviour.DIVERGENCE_CELLS", 20)
    np.testing.assert_allclose(attention_divergences(first, second, layers=1), whole, rtol=1e-6)


def test_a_model_agrees_with_itself(settings: Settings, tmp_path: Path) -> None:
    one = run(save_tiny("bert", tmp_path / "one"), settings)
    found = behaviour(one, one)
    assert found.cosines is not None
    assert found.divergences is not None
    np.testing.assert_allclose(found.cosines, 1, atol=1e-6)
    assert found.divergences.shape == (LAYERS, HEADS)
    assert not found.divergences.any()
    assert found.notices == ()


def test_cosines_are_torchs_and_an_edit_is_felt_from_its_layer_on(settings: Settings, tmp_path: Path) -> None:
    folder = save_tiny("bert", tmp_path / "one")
    one = run(folder, settings)
    loaded = load_model(folder_source("two", folder), settings)
    with torch.no_grad():
        loaded.model.encoder.layer[1].attention.self.query.weight += 1
    two = trace(loaded, one.tokens)
    calls: list[tuple[int, int]] = []
    found = behaviour(one, two, lambda *facts: calls.append(facts))
    states = [torch.from_numpy(np.array(each.hidden_states)) for each in (one, two)]
    expected = torch.nn.functional.cosine_similarity(*states, dim=-1).numpy()
    np.testing.assert_allclose(found.cosines, expected, atol=1e-5)
    assert found.divergences is not None
    assert not found.divergences[0].any()
    assert (found.divergences[1:] > 0).all()
    assert calls == [(1, LAYERS), (2, LAYERS), (3, LAYERS)]


@pytest.mark.slow
def test_what_two_models_do_not_have_alike_is_said(settings: Settings, tmp_path: Path) -> None:
    one = run(save_tiny("bert", tmp_path / "one"), settings)
    deep = run(save_tiny("bert", tmp_path / "deep", num_hidden_layers=4), settings)
    found = behaviour(one, deep)
    assert found.cosines is not None
    assert found.divergences is not None
    assert (len(found.cosines), len(found.divergences)) == (LAYERS + 1, LAYERS)
    assert "the first 3 layers are compared" in found.notices[0]
    wide = run(save_tiny("bert", tmp_path / "wide", hidden_size=18, num_attention_heads=3), settings)
    found = behaviour(one, wide)
    assert (found.cosines, found.divergences) == (None, None)
    assert ["12 and 18 numbers" in found.notices[0], "2 and 3 heads" in found.notices[1]] == [True, True]
    still = run(save_tiny("fnet", tmp_path / "fnet"), settings)
    found = behaviour(one, still)
    assert found.divergences is None
    assert "The attention of fnet" in found.notices[0]


def test_a_text_that_is_cut_off_is_said(settings: Settings, tmp_path: Path) -> None:
    one, other = (run(save_tiny("bert", tmp_path / name), settings, TEXT * 9) for name in ("one", "other"))
    assert behaviour(one, other).notices == one.tokens.notices
    assert "cut off at the end" in one.tokens.notices[0]


def test_other_ids_are_refused_in_one_sentence() -> None:
    one = mapped(random_maps(0))
    longer = mapped(random_maps(0, 3, 6))
    with pytest.raises(TextError, match="5 and 6 tokens"):
        behaviour(one, longer)
    ids = one.tokens.input_ids.copy()
    ids[2] = 99
    moved = replace(one, model="moved", tokens=replace(one.tokens, input_ids=ids))
    with pytest.raises(TextError, match=r"'moved' read this text as different ids, first at position 2 \(2 and 99\)"):
        behaviour(one, moved)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_sentence_names_the_model_whose_states_are_not_finite(
    value: float, tmp_path: Path, settings: Settings
) -> None:
    whole, broken = (run(save_tiny("bert", tmp_path / name), settings) for name in ("whole", "broken"))
    states = broken.hidden_states.copy()
    states[2:, 0, 0] = value
    broken = replace(broken, hidden_states=states)
    for compare in (behaviour, compared_heads, compared_states):
        (notice,) = compare(whole, broken).notices
        assert notice.startswith("The hidden states of 'broken' hold NaN or infinity from entry 2 on")
        assert compare(whole, whole).notices == ()
