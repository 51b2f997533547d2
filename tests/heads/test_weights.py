"""Projections split into heads: as in the model, undone by the inverse, with numbers that add up.

Covers `bertviz_core/heads/projections.py`, `bertviz_core/heads/weights.py`,
`bertviz_core/heads/projections.py`.
"""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bertviz_core.errors import UnsupportedModelError
from bertviz_core.heads import weights
from bertviz_core.heads.projections import capture_layer_io
from bertviz_core.heads.results import BLOCKS, HeadProjections
from bertviz_core.heads.weights import (
    block_norms,
    compare_fused_and_per_head,
    head_parameters,
    head_projections,
    merge_columns,
    plausible,
    split_columns,
    split_rows,
    time_products,
)
from bertviz_core.models.sources import folder_source
from bertviz_core.parameters.components import layer_numbers
from bertviz_core.parameters.ledger import source_ledger
from bertviz_core.settings import Settings
from bertviz_core.trace.run import trace
from tests.helpers.families_table import FamilyRun, family_run
from tests.helpers.tiny_models import FAMILIES, HEAD_DIM, HEADS, HIDDEN, LAYERS, save_tiny
from tests.trace.test_families import RECORDED

WITHOUT = {"canine", "fnet", "funnel"}
CUT = tuple(name for name in FAMILIES if name not in WITHOUT)
HEARD = tuple(name for name in CUT if name != "xlnet")
"""XLNet multiplies with bare tensors, so no module's output can be recorded."""
TOLERANCE = 1e-5


def merge_rows(blocks: np.ndarray) -> np.ndarray:
    """The inverse of split_rows."""
    return blocks.reshape(-1, blocks.shape[-1])


def near(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE)


def linear(inputs: Any, blocks: Any, bias: Any) -> Any:
    """Vectors of all heads by plain products, concatenated: (seq, rows)."""
    return inputs @ merge_rows(blocks).T + (0 if bias is None else bias.reshape(-1))


def whole_output(parts: HeadProjections) -> np.ndarray:
    return np.concatenate([merge_columns(parts.output), parts.output_rest], axis=1)


@pytest.mark.parametrize("heads", [1, 2, 3, 6])
def test_split_then_merge_is_the_identity(heads: int) -> None:
    matrix = np.random.default_rng(0).normal(size=(6, 12)).astype(np.float32)
    assert split_rows(matrix, heads).shape == (heads, 6 // heads, 12)
    assert split_columns(matrix, heads).shape == (heads, 6, 12 // heads)
    np.testing.assert_array_equal(merge_rows(split_rows(matrix, heads)), matrix)
    np.testing.assert_array_equal(merge_columns(split_columns(matrix, heads)), matrix)
    for row in range(6):
        np.testing.assert_array_equal(split_rows(matrix, heads)[row // (6 // heads), row % (6 // heads)], matrix[row])


def test_a_matrix_that_the_heads_do_not_divide_is_not_cut() -> None:
    with pytest.raises(ValueError, match="5 heads"):
        split_rows(np.zeros((6, 4), np.float32), 5)


def test_the_blocks_of_bert_are_its_weights() -> None:
    run = family_run("bert")
    for layer in range(LAYERS):
        attention = run.loaded.model.encoder.layer[layer].attention
        parts = head_projections(run.loaded, layer)
        for block in ("query", "key", "value"):
            module = getattr(attention.self, block)
            np.testing.assert_array_equal(merge_rows(parts.blocks(block)), module.weight.detach())
            np.testing.assert_array_equal(parts.bias(block).reshape(-1), module.bias.detach())
            assert parts.stored[block].name == f"encoder.layer.{layer}.attention.self.{block}.weight"
        np.testing.assert_array_equal(merge_columns(parts.output), attention.output.dense.weight.detach())
        np.testing.assert_array_equal(parts.output_bias, attention.output.dense.bias.detach())


@pytest.mark.parametrize("name", CUT)
@pytest.mark.sample(2)
def test_shapes_are_those_of_the_heads(name: str) -> None:
    run = family_run(name)
    for layer in range(LAYERS):
        parts = head_projections(run.loaded, layer)
        dim = {"convbert": HEAD_DIM // 2, "mobilebert": 8}.get(name, HEAD_DIM)
        inner = 16 if name == "mobilebert" else HIDDEN
        assert parts.query.shape == (HEADS, dim, inner)
        assert parts.key.shape == (1 if name == "eurobert" else HEADS, dim, inner)
        assert parts.value.shape == (len(parts.key), dim, HIDDEN)
        assert parts.output.shape == (HEADS, inner, dim)
        assert parts.output_rest.shape[1] == (HIDDEN // 2 if name == "convbert" else 0)
        assert parts.shared_with == (tuple(range(LAYERS)) if name == "albert" else (layer,))


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", HEARD)
def test_cut_products_are_what_the_models_own_modules_give(name: str) -> None:
    run = family_run(name)
    for tokens in run.texts:
        for layer in range(LAYERS):
            parts, heard = head_projections(run.loaded, layer), capture_layer_io(run.loaded, tokens, layer)
            near(linear(heard.query_input, parts.query, parts.query_bias), heard.query)
            near(linear(heard.key_input, parts.key, parts.key_bias), heard.key)
            near(linear(heard.value_input, parts.value, parts.value_bias), heard.value)
            bias = 0 if parts.output_bias is None else parts.output_bias
            near(heard.mixed @ whole_output(parts).T + bias, heard.output)


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", sorted(RECORDED))
def test_heads_are_cut_where_the_model_cuts_them(name: str) -> None:
    """Head by head the values equal the recorded ones, and so does the query of token 0, which no rotation changes."""
    run = family_run(name)
    assert run.traces is not None
    found = run.traces[1]
    for layer in range(LAYERS):
        parts, heard = head_projections(run.loaded, layer), capture_layer_io(run.loaded, found.tokens, layer)
        value = split_rows(linear(heard.value_input, parts.value, parts.value_bias).T, len(parts.value))
        near(value.transpose(0, 2, 1), found.value[layer])
        query = split_rows(linear(heard.query_input, parts.query, parts.query_bias).T, HEADS).transpose(0, 2, 1)
        factor = HEAD_DIM**-0.5 if name == "esm" else 1
        near(query[:, 0] * factor, found.query[layer][:, 0])
        near(np.linalg.norm(query, axis=-1) * factor, np.linalg.norm(found.query[layer], axis=-1))


@pytest.mark.parametrize("name", sorted(WITHOUT))
def test_families_without_projections_say_so_in_one_sentence(name: str) -> None:
    with pytest.raises(UnsupportedModelError, match=r"^[^.]*; choose another model\.$"):
        head_projections(family_run(name).loaded, 0)


def test_there_is_no_layer_beyond_the_last() -> None:
    run = family_run("bert")
    for layer in (-1, LAYERS):
        with pytest.raises(ValueError, match=f"layer {layer} of {LAYERS}"):
            head_projections(run.loaded, layer)


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", CUT)
def test_squared_norms_of_the_heads_add_up_to_those_of_the_matrix(name: str) -> None:
    run = family_run(name)
    norms = block_norms(run.loaded)
    assert norms.shape == (LAYERS, HEADS, len(BLOCKS))
    for layer in range(LAYERS):
        parts = head_projections(run.loaded, layer)
        near(norms[layer], parts.norms)
        for index, block in enumerate(BLOCKS):
            blocks = parts.blocks(block)
            each = norms[layer, :: HEADS // len(blocks), index]
            near((each.astype(np.float64) ** 2).sum(), (blocks.astype(np.float64) ** 2).sum())


@pytest.mark.parametrize("name", ["albert", "bert", "deberta-v2", "distilbert", "gpt2", "modernbert", "roberta", "xlm"])
def test_parameters_of_the_heads_add_up_to_the_ledgers_attention(name: str, tmp_path: Path) -> None:
    source = folder_source(name, save_tiny(name, tmp_path))
    rows = layer_numbers(list(source_ledger(source, Settings.from_environment()).parameters))
    parts = ("query", "key", "value", "query_key_value", "attention_output")
    counted = sum(row.numel for row in rows if row.layer == 0 and row.part in parts)
    found = head_parameters(head_projections(family_run(name).loaded, 0))
    assert found.total == counted
    assert found.total == sum(found.per_head[block] * found.heads[block] for block in BLOCKS) + found.outside_heads


def test_a_head_of_bert_has_its_share_of_each_matrix() -> None:
    found = head_parameters(head_projections(family_run("bert").loaded, 0))
    assert found.per_head == {
        "query": HEAD_DIM * HIDDEN + HEAD_DIM,
        "key": HEAD_DIM * HIDDEN + HEAD_DIM,
        "value": HEAD_DIM * HIDDEN + HEAD_DIM,
        "output": HIDDEN * HEAD_DIM,
    }
    assert found.outside_heads == HIDDEN


@pytest.mark.parametrize("name", ["albert", "bert", "deberta", "gpt2", "mobilebert", "modernbert", "squeezebert"])
@pytest.mark.parametrize("block", ["query", "key", "value"])
def test_one_product_and_many_give_the_same(name: str, block: Any) -> None:
    run = family_run(name)
    found = compare_fused_and_per_head(run.loaded, run.texts[0], 1, block)
    parts = head_projections(run.loaded, 1)
    assert found.fused.shape == (HEADS, len(run.texts[0]), parts.blocks(block).shape[1])
    near(found.fused, found.per_head)
    assert found.max_difference == np.abs(found.fused - found.per_head).max()
    assert found.max_difference <= TOLERANCE
    assert found.model_difference is not None
    assert found.model_difference <= TOLERANCE


def test_both_ways_are_timed_on_one_thread() -> None:
    run = family_run("bert")
    products = compare_fused_and_per_head(run.loaded, run.texts[0], 1, "key")
    times = time_products(run.loaded, products)
    assert times is not None
    assert times.fused_seconds > 0
    assert times.runs >= 5
    assert plausible(times.fused_seconds, times.per_head_seconds, HEADS)


def measured(monkeypatch: pytest.MonkeyPatch, *rounds: tuple[float, float]) -> Any:
    """Result of timing with these durations."""
    found, threads = iter(rounds), []

    def shortest(works: Any, device: str, *, own_time: bool) -> tuple[list[float], int]:
        threads.append(torch.get_num_threads())
        return list(next(found)), 5

    run = family_run("bert")
    products = compare_fused_and_per_head(run.loaded, run.texts[0], 0, "query")
    monkeypatch.setattr(weights, "shortest", shortest)
    times = time_products(run.loaded, products)
    assert set(threads) == {1}
    return times, len(threads)


def test_a_ratio_that_cannot_be_is_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    times, rounds = measured(monkeypatch, (6881e-6, 253e-6), (26e-6, 300e-6), (26e-6, 40e-6))
    assert (times.fused_seconds, times.per_head_seconds, times.runs) == (26e-6, 40e-6, 15)
    assert rounds == 3


def test_times_that_are_never_plausible_are_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    times, rounds = measured(monkeypatch, *[(6881e-6, 253e-6)] * weights.ATTEMPTS)
    assert times is None
    assert rounds == weights.ATTEMPTS


def test_times_are_not_zero_nor_less_than_the_same_multiplications_take() -> None:
    assert plausible(20e-6, 30e-6, 12)
    assert not plausible(0.0, 0.0, 12)
    assert not plausible(6881e-6, 253e-6, 12)
    assert not plausible(26e-6, 1.0, 12)


def test_the_output_is_no_such_product() -> None:
    run = family_run("bert")
    with pytest.raises(ValueError, match="sums the heads"):
        compare_fused_and_per_head(run.loaded, run.texts[0], 0, "output")


def hooks(model: torch.nn.Module) -> dict[str, list[Any]]:
    """Every hook of a model: module -> functions called before and after it."""
    return {
        path: [*module._forward_pre_hooks.values(), *module._forward_hooks.values()]
        for path, module in model.named_modules()
    }


def test_a_hook_that_stays_is_seen() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 3))
    before = hooks(model)
    for register in (model[0].register_forward_hook, model[0].register_forward_pre_hook):
        handle = register(lambda *_: None)
        assert hooks(model) != before
        handle.remove()
    assert hooks(model) == before


@pytest.mark.parametrize("name", ["bert", "albert", "modernbert", "mpnet"])
def test_listening_leaves_the_model_as_it_was(name: str) -> None:
    run = family_run(name)
    before, hooked = trace(run.loaded, run.texts[0]), hooks(run.loaded.model)
    capture_layer_io(run.loaded, run.texts[1], 2)
    assert hooks(run.loaded.model) == hooked
    np.testing.assert_array_equal(trace(run.loaded, run.texts[0]).hidden_states, before.hidden_states)


def test_sessions_side_by_side_hear_their_own_text() -> None:
    run = family_run("bert")
    alone = [[capture_layer_io(run.loaded, tokens, layer) for layer in range(LAYERS)] for tokens in run.texts]

    def heard(index: int) -> tuple[int, int, Any]:
        text, layer = index % 2, index % LAYERS
        return text, layer, capture_layer_io(run.loaded, run.texts[text], layer)

    with ThreadPoolExecutor(6) as pool:
        for text, layer, found in pool.map(heard, range(36)):
            np.testing.assert_array_equal(found.query, alone[text][layer].query)
            np.testing.assert_array_equal(found.output, alone[text][layer].output)


def test_a_failed_run_leaves_no_listener_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    run: FamilyRun = family_run("bert")

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("no such thing")

    hooked = hooks(run.loaded.model)
    monkeypatch.setattr(run.loaded.model.encoder.layer[0], "forward", refuse)
    with pytest.raises(UnsupportedModelError, match="no such thing"):
        capture_layer_io(run.loaded, run.texts[0], 1)
    assert hooks(run.loaded.model) == hooked


def test_layers_with_different_numbers_of_heads_leave_gaps() -> None:
    run = family_run("bert")
    module = run.loaded.model.encoder.layer[1].attention.self
    kept = module.num_attention_heads
    module.num_attention_heads = 1
    try:
        norms = block_norms(run.loaded)
    finally:
        module.num_attention_heads = kept
    assert np.isnan(norms[1, 1:]).all()
    assert np.isfinite(norms[[0, 2]]).all()
    whole = torch.linalg.norm(module.query.weight).item()
    near(norms[1, 0, 0], whole)
