"""One cell by hand: in every family its row equals the model's attention, and all heads together the layer's output.

Covers `bertviz_core/heads/weights.py`.
"""

from functools import cache

import numpy as np
import pytest

from bertviz_core.attention.maps import attention_probs
from bertviz_core.errors import UnsupportedModelError
from bertviz_core.heads.results import CellBreakdown
from bertviz_core.heads.score_breakdown import break_down_cell, layer_heads
from bertviz_core.heads.weights import head_projections, value_norms
from tests.heads.test_weights import near
from tests.helpers.families_table import family_run
from tests.helpers.tiny_models import HEAD_DIM, HEADS, LAYERS
from tests.trace.test_families import TOLERANCE, TRACED, WITHOUT_MAPS, own_maps

WITH_TERMS = {"deberta", "deberta-v2", "lilt", "mpnet", "roformer", "xlnet"}
ROTARY = {"eurobert", "gte", "jina_embeddings_v3", "modernbert", "neo_bert", "nomic_bert"}
MAPPED = tuple(name for name in TRACED if name not in WITHOUT_MAPS)


@cache
def cells(name: str) -> list[CellBreakdown]:
    """Some cells of a pair, with every layer and head among them."""
    run = family_run(name)
    assert run.traces is not None
    found, places = run.traces[1], [(0, 0), (5, len(run.traces[1].tokens) - 1)]
    return [
        break_down_cell(run.loaded, found, layer, head, query, key, heads)
        for layer in range(LAYERS)
        for heads in [layer_heads(run.loaded, found, layer)]
        for head in range(HEADS)
        for query, key in places
    ]


@pytest.mark.parametrize("name", MAPPED)
@pytest.mark.sample(2)
def test_the_row_is_the_models_own_attention(name: str) -> None:
    run = family_run(name)
    for cell in cells(name):
        own = own_maps(name, run.own[1], 0, cell.layer, len(cell.score.weights))[cell.head, cell.query_position]
        near(cell.score.weights, own)
        near(cell.score.model_weights, own)
        assert cell.score.max_difference <= TOLERANCE
        near(cell.score.weights.sum(), 1)


@pytest.mark.parametrize("name", MAPPED)
@pytest.mark.sample(3)
def test_every_step_follows_from_the_one_before(name: str) -> None:
    for cell in cells(name):
        score = cell.score
        near(score.products, score.query * score.key)
        near(score.products.sum(), score.total)
        near(score.total * score.scaling, score.scaled)
        assert score.score == score.scaled + score.added
        assert score.scores[cell.key_position] == np.float32(score.score)
        raised = np.exp(score.scores.astype(np.float64) - score.scores.max())
        near(score.weights, raised / raised.sum())
        near(cell.output.mix, score.weights @ cell.output.values)


@pytest.mark.parametrize("name", MAPPED)
@pytest.mark.sample(2)
def test_projections_are_weights_times_inputs(name: str) -> None:
    run = family_run(name)
    for cell in cells(name):
        parts, score = head_projections(run.loaded, cell.layer), cell.score
        query = parts.query[cell.head] @ score.query_input
        key = parts.key[cell.key_head] @ score.key_input
        near(score.query_projected, query + (0 if parts.query_bias is None else parts.query_bias[cell.head]))
        near(score.key_projected, key + (0 if parts.key_bias is None else parts.key_bias[cell.key_head]))
        assert score.positions == ("rotated" if name in ROTARY else "as projected")
        assert score.query_factor == pytest.approx(HEAD_DIM**-0.5 if name == "esm" else 1)
        if score.positions == "as projected":
            near(score.query, score.query_projected * score.query_factor)
            near(score.key, score.key_projected)


@pytest.mark.parametrize("name", MAPPED)
@pytest.mark.sample(5)
def test_terms_beside_the_product_are_named_and_only_where_there_are_some(name: str) -> None:
    for cell in cells(name):
        score = cell.score
        assert score.is_remainder == (name in WITH_TERMS)
        if name in WITH_TERMS or name in ("jina_bert", "t5", "mt5", "umt5"):
            assert score.added_name not in ("", "mask")
            assert score.added_peak > 1e-2
        else:
            assert score.added_name in ("", "mask")
            assert score.added_peak == 0
            assert score.added in (0, -np.inf)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", MAPPED)
def test_all_heads_together_are_the_output_of_the_layers_attention(name: str) -> None:
    run = family_run(name)
    for cell in cells(name):
        mix = cell.output
        near(mix.head_norms[cell.head], np.linalg.norm(mix.head_output))
        near(mix.head_output, head_projections(run.loaded, cell.layer).output[cell.head] @ mix.mix)
        if name == "xlnet":
            assert mix.mix_difference is None
            assert mix.output_difference is None
            continue
        assert mix.output_difference <= TOLERANCE
        assert (mix.rest_norm > 0) == (name in ("convbert", "nystromformer"))
        if name != "nystromformer":
            assert mix.mix_difference <= TOLERANCE


@pytest.mark.parametrize("name", ["gpt2", "longformer", "modernbert"])
def test_a_masked_key_has_minus_infinity_and_weight_0(name: str) -> None:
    run = family_run(name)
    assert run.traces is not None
    last = len(run.traces[1].tokens) - 1
    cell = break_down_cell(run.loaded, run.traces[1], 1, 0, 0, last)
    assert cell.score.added == -np.inf
    assert cell.score.added_name == "mask"
    assert cell.score.weights[last] == 0


def test_shared_key_heads_are_named() -> None:
    run = family_run("eurobert")
    assert run.traces is not None
    assert [break_down_cell(run.loaded, run.traces[0], 0, head, 1, 2).key_head for head in range(HEADS)] == [0, 0]


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", sorted(WITHOUT_MAPS))
def test_families_without_maps_are_refused(name: str) -> None:
    run = family_run(name)
    assert run.traces is not None
    with pytest.raises(UnsupportedModelError, match="no attention"):
        break_down_cell(run.loaded, run.traces[0], 0, 0, 0, 0)


@pytest.mark.parametrize("place", [(LAYERS, 0, 0, 0), (0, HEADS, 0, 0), (0, 0, 99, 0), (0, 0, 0, -1)])
def test_cells_that_are_not_there_are_the_programmers_mistake(place: tuple[int, int, int, int]) -> None:
    run = family_run("bert")
    assert run.traces is not None
    with pytest.raises(ValueError, match="of"):
        break_down_cell(run.loaded, run.traces[0], *place)


@pytest.mark.parametrize("name", [name for name in MAPPED if name != "nystromformer"])
@pytest.mark.sample(3)
def test_value_norms_are_lengths_of_values_behind_the_output(name: str) -> None:
    run = family_run(name)
    assert run.traces is not None
    found = run.traces[0]
    for layer in range(LAYERS):
        heads = layer_heads(run.loaded, found, layer)
        norms, parts = value_norms(run.loaded, found, layer), heads.projections
        assert norms.shape == (HEADS, len(found.tokens))
        for head in range(HEADS):
            cell = break_down_cell(run.loaded, found, layer, head, 0, 0, heads)
            near(norms[head], np.linalg.norm(cell.output.values @ parts.output[head].T, axis=-1))


def test_weighted_by_attention_values_make_the_heads_output() -> None:
    """alpha_ij f(x_j) summed over j is the head's output (Kobayashi et al. 2020)."""
    run = family_run("roberta")
    assert run.traces is not None
    found = run.traces[1]
    cell = break_down_cell(run.loaded, found, 2, 1, 4, 0)
    parts = head_projections(run.loaded, 2)
    vectors = cell.output.values @ parts.output[1].T
    near(attention_probs(found, 2, 1)[4] @ vectors, cell.output.head_output)
    near(np.linalg.norm(vectors, axis=1), value_norms(run.loaded, found, 2)[1])
