"""An attention sink is a column of its own: weights as the model's own eager attention has them, and the rest to 1."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from transformers import CONFIG_MAPPING, AutoModel

from bertviz_core.attention.atlas import PROFILE_MEASURES, attention_atlas, head_profile
from bertviz_core.attention.maps import attention_map, attention_probs
from bertviz_core.attention.results import MapOptions
from bertviz_core.attention.value_zeroing import compared_attention
from bertviz_core.checkpoints.behaviour import attention_divergences
from bertviz_core.heads.score_breakdown import break_down_cell
from bertviz_core.journey.steps import token_entropy
from bertviz_core.models.loading import LoadedModel
from bertviz_core.models.recording import register
from bertviz_core.questions.tables.texts import attention_faces
from bertviz_core.trace.results import Trace
from bertviz_core.trace.run import trace
from tests.helpers.made_traces import random_trace, spelled

LAYERS, HEADS, SEQ = 3, 4, 7
NEAR = 5e-6
"""The states of the last layer differ by the rounding of two kernels."""
TOKENS = spelled(
    "[CLS] py ##th ##on , pet [SEP]", "python, pet", sequence=".AAAAA.", word_ids=(None, 0, 0, 0, 1, 2, None)
)
SIZES: dict[str, Any] = {
    "vocab_size": 61, "hidden_size": 24, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
    "num_key_value_heads": 2, "head_dim": 8, "intermediate_size": 20, "sliding_window": 3, "pad_token_id": 0,
    "bos_token_id": 1, "eos_token_id": 2, "initializer_range": 0.3, "max_position_embeddings": 64,
}  # fmt: skip
EXPERTS = {
    "num_local_experts": 3,
    "num_experts_per_tok": 2,
    "rope_parameters": {"rope_type": "default", "rope_theta": 50.0},
}
FAMILIES: dict[str, dict[str, Any]] = {
    "gpt_oss": EXPERTS,
    "openai_privacy_filter": EXPERTS,
    "flint": {},
    "mimo_v2_flash": {},  # only the layers with a window have sinks
    "granite_swa": {},  # its own maps leave the sink out and sum to 1
}


def run_of(model_type: str) -> tuple[LoadedModel, Trace, Any]:
    """A random model, its trace, and its own eager output."""
    torch.manual_seed(3)
    config = CONFIG_MAPPING[model_type](**{**SIZES, **FAMILIES[model_type]})
    model = AutoModel.from_config(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3 + name.endswith("sinks"))
    model.set_attn_implementation("eager")
    with torch.inference_mode():
        own = model(torch.tensor(TOKENS.input_ids)[None], output_attentions=True, output_hidden_states=True)
    model.set_attn_implementation(register())
    loaded = LoadedModel("m", "r", model_type, model, "cpu", "float32", False, "recorded", ())
    return loaded, trace(loaded, TOKENS), own


@pytest.mark.parametrize("model_type", FAMILIES)
def test_weights_and_states_are_the_models_own_and_the_sink_has_the_rest(model_type: str) -> None:
    loaded, run, own = run_of(model_type)
    assert run.attention_source == "recorded"
    for state, expected in zip(run.hidden_states, own.hidden_states, strict=True):
        np.testing.assert_allclose(state, expected[0].numpy(), atol=1e-5 * float(expected.abs().max()))
    sinks = {
        int(name.split(".")[1]): each.detach().double().numpy()
        for name, each in loaded.model.named_parameters()
        if name.endswith("sinks")
    }
    assert sinks
    for layer in range(LAYERS):
        weights = own.attentions[layer][0].double().numpy()
        if model_type == "granite_swa":
            weights = weights * _granite_scale(run, layer, sinks[layer])
        np.testing.assert_allclose(attention_probs(run, layer), weights, atol=NEAR)
        assert ((1 - weights.sum(axis=-1)).max() > 0.1) == (layer in sinks)
        for head in range(HEADS):
            found = attention_map(run, layer, head)
            assert found.keys.labels[-1] == "sink"
            assert found.keys.positions[-1] == ()
            np.testing.assert_allclose(found.weights[:, :-1], weights[head], atol=NEAR)
            np.testing.assert_allclose(found.weights[:, -1], 1 - weights[head].sum(axis=1), atol=NEAR)


def _granite_scale(run: Trace, layer: int, sink: Any) -> Any:
    """What Granite multiplies the output of every head and query with: sigmoid(logsumexp(scores) - sink)."""
    assert run.query is not None
    assert run.key is not None
    assert run.masks is not None
    assert run.scaling is not None
    key = np.repeat(run.key[layer].astype(np.float64), HEADS // len(run.key[layer]), axis=0)
    scores = run.query[layer] @ key.transpose(0, 2, 1) * run.scaling[layer]
    mask = run.masks[layer]
    assert mask is not None
    scores = np.where(mask, scores, -np.inf) if mask.dtype == np.bool_ else scores + mask
    lse = np.log(np.exp(scores).sum(axis=-1, keepdims=True))
    return 1 / (1 + np.exp(sink[:, None, None] - lse))


@pytest.fixture(scope="module")
def filter_run() -> tuple[LoadedModel, Trace, Any]:
    return run_of("openai_privacy_filter")


def _whole(own: Any, layer: int, head: int) -> Any:
    """The map of a head with the sink as its last column, in double precision."""
    weights = own.attentions[layer][0, head].double().numpy()
    return np.concatenate((weights, 1 - weights.sum(axis=1, keepdims=True)), axis=1)


def test_merged_and_hidden_tokens_leave_the_sink_as_it_is(filter_run: Any) -> None:
    _, run, own = filter_run
    merged = attention_map(run, 1, 2, MapOptions(words=True, hide_special=True))
    whole = _whole(own, 1, 2)
    assert merged.keys.labels == ("py##th##on", ",", "pet", "sink")
    sink = [whole[1:4, -1].mean(), whole[4, -1], whole[5, -1]]
    np.testing.assert_allclose(merged.weights[:, -1], sink, atol=NEAR)
    np.testing.assert_allclose(merged.weights.sum(axis=1) + merged.hidden_share, 1, atol=NEAR)


def test_measures_count_the_sink_as_they_say(filter_run: Any) -> None:
    _, run, own = filter_run
    measures, profile = attention_atlas(run).measures, head_profile(run)
    places = np.arange(SEQ)
    for layer in range(LAYERS):
        per_token = np.zeros(SEQ)
        for head in range(HEADS):
            whole = _whole(own, layer, head)
            entropy = -np.where(whole > 0, whole * np.log(np.maximum(whole, 1e-300)), 0).sum(axis=1)
            per_token += entropy / HEADS
            distance = (whole[:, :-1] * np.abs(places[:, None] - places)).sum(axis=1).mean()
            after = sum(whole[at, at + 1] for at in range(SEQ - 1)) / SEQ
            expected = {
                "entropy": entropy.mean(), "distance": distance, "first_share": whole[:, 0].mean(),
                "separator_share": whole[:, 6].mean(), "next_share": after, "diagonal_share": np.diag(whole).mean(),
                "previous_share": sum(whole[at, at - 1] for at in range(1, SEQ)) / SEQ,
            }  # fmt: skip
            for index, name in enumerate(PROFILE_MEASURES):
                assert profile[index, layer, head] == pytest.approx(expected[name], abs=NEAR), name
            assert measures.entropy[layer, head] == pytest.approx(entropy.mean(), abs=NEAR)
            assert measures.distance[layer, head] == pytest.approx(distance, abs=NEAR)
            assert measures.special_share[layer, head] == pytest.approx(whole[:, [0, 6]].mean(axis=0).sum(), abs=NEAR)
            assert measures.diagonal_share[layer, head] == pytest.approx(np.diag(whole).mean(), abs=NEAR)
        np.testing.assert_allclose(token_entropy(run)[layer], per_token, atol=NEAR)
    uniform = math.log(SEQ + 1)
    assert measures.entropy.max() <= uniform


def test_a_thumbnail_has_the_column_of_the_sink(filter_run: Any) -> None:
    _, run, own = filter_run
    atlas = attention_atlas(run)
    assert len(atlas.keys) == SEQ + 1
    assert atlas.thumbnails.shape == (LAYERS, HEADS, SEQ, SEQ + 1)
    np.testing.assert_allclose(atlas.thumbnails[2, 3], _whole(own, 2, 3), atol=NEAR)


def test_other_readings_have_no_column_for_what_has_no_value(filter_run: Any) -> None:
    _, run, _ = filter_run
    rollout = attention_map(run, 2, None, MapOptions(weights="rollout"))
    assert rollout.weights.shape == (SEQ, SEQ)
    np.testing.assert_allclose(rollout.weights.sum(axis=1), 1, atol=NEAR)


def test_one_cell_is_worked_out_with_the_sink(filter_run: Any) -> None:
    loaded, run, own = filter_run
    cell = break_down_cell(loaded, run, 1, 2, 5, 3)
    assert cell.score.sink == pytest.approx(loaded.model.layers[1].self_attn.sinks[2].item())
    np.testing.assert_allclose(cell.score.weights, own.attentions[1][0, 2, 5].numpy(), atol=NEAR)
    assert cell.output.output_difference is not None
    assert cell.output.output_difference < 1e-5


def test_json_has_a_square_map_and_the_sink_beside_it(filter_run: Any) -> None:
    _, run, own = filter_run
    shown = attention_faces(run).to_json(attention_map(run, 0, 1))
    whole = _whole(own, 0, 1)
    np.testing.assert_allclose(shown["attention"], whole[:, :-1], atol=NEAR)
    np.testing.assert_allclose(shown["sink"], whole[:, -1], atol=NEAR)
    assert len(shown["positions"]) == SEQ


def test_heads_of_two_models_differ_in_their_sinks_too(filter_run: Any) -> None:
    _, one, own = filter_run
    _, two, _ = run_of("gpt_oss")
    found = attention_divergences(one, two, LAYERS)
    first = _whole(own, 1, 2)
    second = attention_map(two, 1, 2).weights.astype(np.float64)
    middle = (first + second) / 2
    parts = [each[each > 0] * np.log(each[each > 0] / middle[each > 0]) for each in (first, second)]
    assert found[1, 2] == pytest.approx(sum(part.sum() for part in parts) / 2 / SEQ, abs=1e-5)


def test_the_maps_of_two_models_with_sinks_have_the_same_columns(filter_run: Any) -> None:
    _, run, _ = filter_run
    both = attention_map(run, 0, 1), attention_map(run, 2, 1)
    compared = compared_attention(("a", "b"), (TOKENS, TOKENS), both)
    assert compared.difference is not None
    offsets = replace(TOKENS, offsets=(None, (0, 2), (2, 4), (4, 6), (6, 7), (8, 11), None))
    assert compared_attention(("a", "b"), (offsets, offsets), both).same_entries


def test_without_sinks_nothing_is_added() -> None:
    assert len(attention_map(random_trace(2, 5), 1, 0).keys) == 5
