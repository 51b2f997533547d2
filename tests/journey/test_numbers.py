"""Numbers of a journey equal their definitions: bins, entropy, ribbons, opened parts; and the question about them.

Covers `bertviz_core/questions/texts/journey.py`.
"""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bertviz_core.attention.maps import attention_probs
from bertviz_core.figures.base.style import LIGHT
from bertviz_core.journey.steps import bin_edges, binned, ribbons, strongest_weights, token_entropy
from bertviz_core.questions.interventions.journey_change import journey_page
from bertviz_core.questions.opened import OpenedModel
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.texts.hidden_states import run
from bertviz_core.questions.texts.journey import (
    all_openings,
    embeddings,
    head_opening,
    journey,
    layer_opening,
    next_openings,
)
from bertviz_core.settings import Settings
from tests.heads.test_weights import HEARD
from tests.helpers.made_traces import mapped
from tests.helpers.tiny_models import save_tiny
from tests.trace.test_families import RECORDED

TEXT = "I love my pet python."


@pytest.fixture(scope="module")
def opened() -> OpenedModel:
    return OpenedModel("all-MiniLM-L6-v2", Settings.from_environment())


@pytest.mark.slow
@given(st.lists(st.floats(-1e3, 1e3, width=32), min_size=1, max_size=70), st.integers(1, 80))
def test_a_bin_is_the_value_of_largest_magnitude(values: list[float], bins: int) -> None:
    vector = np.array(values, dtype=np.float32)
    edges = bin_edges(len(vector), bins)
    assert edges[0] == 0
    assert edges[-1] == len(vector)
    assert (np.diff(edges) > 0).all()
    for bin_, value in enumerate(binned(vector, edges)):
        part = vector[edges[bin_] : edges[bin_ + 1]]
        assert abs(value) == np.abs(part).max()
        assert value in part


@pytest.mark.slow
@given(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=60).filter(lambda row: sum(row) > 0.01))
def test_ribbons_and_the_rest_sum_to_one(row: list[float]) -> None:
    shares = np.array(row, dtype=np.float64)
    shares = (shares / shares.sum()).astype(np.float32)
    found = ribbons(shares)
    assert sum(found.shares) + found.rest == pytest.approx(1, abs=1e-5)
    assert len(found.keys) <= 8
    assert min(found.shares) >= np.sort(shares)[::-1][len(found.keys) - 1]
    assert len(found.keys) == 8 or sum(found.shares) >= 0.9 - 1e-5 or len(found.keys) == len(shares)


def test_entropy_is_zero_on_one_key_and_the_logarithm_on_all_alike() -> None:
    one, even = np.eye(5)[None], np.full((1, 5, 5), 0.2)
    assert token_entropy(mapped(one, even)).tolist() == [[0.0] * 5, pytest.approx([np.log(5)] * 5)]


@pytest.mark.slow
def test_the_strongest_weight_of_a_token_is_the_largest_of_all_heads(opened: OpenedModel) -> None:
    trace = opened.trace(opened.tokens(TEXT, None))
    heads, keys = strongest_weights(trace, 5)
    for layer, (head, key) in enumerate(zip(heads, keys, strict=True)):
        weights = [attention_probs(trace, layer, each)[5] for each in range(trace.num_attention_heads)]
        assert weights[head][key] == np.max(weights)


def test_turn_and_length_are_those_of_the_hidden_states(opened: OpenedModel) -> None:
    way = journey(opened, Options((TEXT,))).result
    states = torch.from_numpy(opened.trace(opened.tokens(TEXT, None)).hidden_states.copy())
    turn = 1 - torch.nn.functional.cosine_similarity(states[1:], states[:-1], dim=-1)
    assert way.turn == pytest.approx(turn.numpy(), abs=1e-6)
    assert way.length == pytest.approx(states[1:].norm(dim=-1).numpy(), rel=1e-6)
    assert way.labels[5] == "python"


def test_an_opened_layer_has_the_rows_of_attention_and_shares_with_values(opened: OpenedModel) -> None:
    trace = opened.trace(opened.tokens(TEXT, None))
    part = layer_opening(opened, Options((TEXT,), values={"layer": "3", "query": "5"})).result
    assert part.rows == pytest.approx(attention_probs(trace, 3)[:, 5])
    assert part.weighted is not None
    assert part.weighted.sum(axis=1) == pytest.approx(1, abs=1e-5)
    # Kobayashi et al. 2020: |alpha W_o v|, from the model's own modules.
    attention = opened.loaded.model.encoder.layer[3].attention
    value = torch.from_numpy(trace.value[3].copy()) if trace.value is not None else None
    assert value is not None
    size = value.shape[-1]
    output = attention.output.dense.weight.detach()[:, 4 * size : 5 * size]
    lengths = (value[4] @ output.T).norm(dim=-1).numpy() * part.rows[4]
    assert part.weighted[4] == pytest.approx(lengths / lengths.sum(), abs=1e-5)


def test_what_attention_adds_is_what_the_module_gives(opened: OpenedModel) -> None:
    trace, heard = opened.trace(opened.tokens(TEXT, None)), []
    module = opened.loaded.model.encoder.layer[2].attention.output.dense
    hook = module.register_forward_hook(
        lambda _module, inputs, output: heard.extend((output[0].detach(), inputs[0][0]))
    )
    try:
        opened.loaded.model(torch.from_numpy(trace.tokens.input_ids.copy())[None])
    finally:
        hook.remove()
    part = layer_opening(opened, Options((TEXT,), values={"layer": "2", "query": "5"})).result
    assert part.attention_output == pytest.approx(heard[0][5].numpy(), abs=1e-5)
    # What enters the module is zero but for the columns of one head: then its output is that head's part and the bias.
    mixed = heard[1][5].detach()
    alone = [module(mixed * (torch.arange(384) // 32 == head)).detach() - module.bias.detach() for head in range(12)]
    assert part.head_norms == pytest.approx([float(each.norm()) for each in alone], abs=1e-5)
    assert (sum(alone) + module.bias).detach().numpy() == pytest.approx(part.attention_output, abs=1e-5)


@pytest.mark.parametrize("name", sorted(set(RECORDED) & set(HEARD)))
@pytest.mark.sample(6)
def test_what_each_head_adds_has_the_length_that_its_weights_and_values_give(name: str, tmp_path: Path) -> None:
    save_tiny(name, tmp_path / name)
    tiny = OpenedModel(str(tmp_path / name), Settings.from_environment(any_folder=True))
    part = layer_opening(tiny, Options((TEXT,), values={"layer": "1", "query": "2"})).result
    cell = head_opening(
        tiny, Options((TEXT,), values={"layer": "1", "head": "0", "query": "2", "key": "1"})
    ).result.cell
    assert part.head_norms == pytest.approx(cell.output.head_norms, rel=1e-3, abs=1e-5)


def test_the_embedding_opens_into_a_sum(opened: OpenedModel) -> None:
    part = embeddings(opened, Options((TEXT,), values={"query": "5"})).result
    added = part.parts["word"] + part.parts["position"] + part.parts["token type"]
    assert part.parts["sum"] == pytest.approx(added, abs=1e-6)
    assert [*part.parts] == ["word", "position", "token type", "sum", "after layer norm"]


def test_a_head_opens_at_its_key(opened: OpenedModel) -> None:
    options = Options((TEXT,), values={"layer": "3", "head": "5", "query": "5", "key": "0"})
    cell = head_opening(opened, options).result.cell
    trace = opened.trace(opened.tokens(TEXT, None))
    assert cell.score.model_weights[0] == pytest.approx(attention_probs(trace, 3, 5)[5, 0], abs=1e-6)


def test_what_can_be_opened_next_is_what_each_head_and_key_opens_to(opened: OpenedModel) -> None:
    values = {"layer": "3", "query": "5"}
    heads = next_openings(opened, Options((TEXT,), values=values)).result
    maps = [attention_probs(opened.trace(opened.tokens(TEXT, None)), 3, head) for head in range(12)]
    assert [part.cell.head for part in heads] == list(range(12))
    assert [part.cell.key_position for part in heads] == [int(each[5].argmax()) for each in maps]
    cells = next_openings(opened, Options((TEXT,), values={**values, "head": "4"})).result
    strongest = np.argsort(-maps[4][5], kind="stable")[: len(cells)]
    assert [part.cell.key_position for part in cells] == strongest.tolist()
    assert maps[4][5][strongest].sum() >= 0.9 or len(cells) == 8
    for part in (heads[4], cells[-1]):
        place = {**values, "head": "4", "key": str(part.cell.key_position)}
        alone = head_opening(opened, Options((TEXT,), values=place)).result.cell
        np.testing.assert_array_equal(part.cell.score.products, alone.score.products)
        np.testing.assert_array_equal(part.cell.output.mix, alone.output.mix)


def test_a_file_holds_every_layer_and_head_of_a_token(opened: OpenedModel) -> None:
    parts = all_openings(opened, Options((TEXT,)), 5)
    assert len(parts) == 1 + 6 + 6 * 12


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "words"),
    [("word " * 600, "90 tokens cut off"), ("", "no token of its own"), ("\ud800 fox", "half character")],
)
def test_what_is_said_of_a_text_is_said_of_its_journey_and_in_its_file(
    opened: OpenedModel, text: str, words: str
) -> None:
    way = journey(opened, Options((text,))).result
    assert words in " ".join(way.notices)
    assert set(run(opened, Options((text,))).result.tokens.notices) <= set(way.notices)
    page, _ = journey_page(opened, Options((text,)), LIGHT, None)
    assert words in page
