"""Every family's trace equals the model's own eager output: hidden states, pooler output, every head of every layer."""

from typing import Any

import numpy as np
import pytest
import torch

from bertviz_core.architecture.dataflow.derive import model_facts
from bertviz_core.attention.maps import attention_probs
from bertviz_core.figures.hidden_states.lines import embedding_lengths
from bertviz_core.hidden_states.embeddings import embedding_sum, nearest_rows, pooler_check
from bertviz_core.models.catalog import type_facts
from bertviz_core.models.families import FAMILIES as ROWS
from bertviz_core.models.families import family
from bertviz_core.trace.results import Trace
from bertviz_core.trace.run import trace
from bertviz_core.trace.tokenization import tokenize
from tests.helpers.families_table import DOCUMENT, FamilyRun, families_part, family_run
from tests.helpers.tiny_models import FAMILIES, HEAD_DIM, HEADS, HIDDEN, LAYERS, tiny_config

REFUSED = {"canine", "funnel"}
RECORDED = {
    "albert", "bart", "bert", "bert-generation", "camembert", "data2vec-text", "distilbert", "electra", "ernie", "esm",
    "eurobert", "gpt2", "gte", "jina_bert",
    "jina_embeddings_v3", "layoutlm", "markuplm", "mobilebert", "modernbert", "mt5", "neo_bert", "nomic_bert",
    "roberta", "roberta-prelayernorm", "roc_bert", "splinter", "t5", "umt5", "xlm-roberta", "xlm-roberta-xl", "xmod",
}  # fmt: skip
WITHOUT_MAPS = {"fnet", "mra", "yoso"}
TRACED = tuple(name for name in FAMILIES if name not in REFUSED)
TOLERANCE = 1e-5


def near(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE)


def cases(run: FamilyRun) -> list[tuple[Trace, Any, int]]:
    """(trace, the model's own output, row of its batch) of both texts alone, and of both padded, if the model pads.

    A padded text has the same numbers as the single one, except in families for which padding is known to matter.
    """
    assert run.traces is not None
    alone = [(run.traces[0], run.own[0], 0), (run.traces[1], run.own[1], 0)]
    if family(run.model_type).padding_acts:
        return alone
    return [*alone, (run.traces[0], run.own[2], 0), (run.traces[1], run.own[2], 1)]


def own_maps(model_type: str, own: Any, row: int, layer: int, seq: int) -> Any:
    """The model's own probabilities of one layer, computed from its scores and bands by simple loops."""
    weights = own.attentions[layer][row].double().numpy()
    if model_type == "squeezebert":
        weights = np.exp(weights - weights.max(axis=-1, keepdims=True))
        return (weights / weights.sum(axis=-1, keepdims=True))[:, :seq, :seq]
    if model_type == "longformer":
        half, square = weights.shape[-1] // 2, np.zeros((HEADS, seq, seq))
        for query in range(seq):
            for key in range(max(0, query - half), min(seq, query + half + 1)):
                square[:, query, key] = weights[:, query, key - query + half]
        return square
    return weights[:, :seq, :seq]


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", TRACED)
def test_hidden_states_are_the_models_own(name: str) -> None:
    for found, own, row in cases(family_run(name)):
        assert found.hidden_states.shape == (LAYERS + 1, len(found.tokens), HIDDEN)
        assert found.hidden_states.dtype == np.float32
        assert not found.hidden_states.flags.writeable
        for state, expected in zip(found.hidden_states, own.hidden_states, strict=True):
            near(state, expected[row, : len(found.tokens)])
        near(found.hidden_states[-1], own.last_hidden_state[row, : len(found.tokens)])


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", TRACED)
def test_pooler_output_is_the_models_own(name: str) -> None:
    run = family_run(name)
    for found, own, row in cases(run):
        expected = own.get("pooler_output")
        assert (found.pooler_output is None) == (expected is None)
        if expected is not None:
            assert found.pooler_output is not None
            near(found.pooler_output, expected[row])
            check = pooler_check(run.loaded, found)
            assert check is not None
            near(check.output, found.pooler_output)
            assert check.max_difference <= TOLERANCE


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", [name for name in TRACED if name not in WITHOUT_MAPS])
def test_attention_is_the_models_own(name: str) -> None:
    for found, own, row in cases(family_run(name)):
        assert found.attention_source == ("recorded" if name in RECORDED else "eager")
        assert found.num_attention_heads == HEADS
        for layer in range(LAYERS):
            probs = attention_probs(found, layer)
            near(probs, own_maps(name, own, row, layer, len(found.tokens)))
            near(probs.sum(axis=-1), 1)
            for head in range(HEADS):
                near(attention_probs(found, layer, head), probs[head])


def test_only_families_compared_here_wait_with_their_comparison() -> None:
    assert {name for name, row in ROWS.items() if row.heads_compared} <= {*TRACED} - WITHOUT_MAPS


@pytest.mark.parametrize("name", sorted(WITHOUT_MAPS))
def test_families_without_maps_say_why(name: str) -> None:
    for found, _, _ in cases(family_run(name)):
        assert found.attention_source == "none"
        assert found.attentions is None
        assert found.query is None
        assert found.attention_note.endswith(".")


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_families_that_shorten_the_text_are_refused(name: str) -> None:
    assert "one row of equal width per token" in family_run(name).refusal


@pytest.mark.parametrize("name", sorted(RECORDED))
@pytest.mark.sample(10)
def test_value_mixed_by_attention_is_what_the_layer_made_of_it(name: str) -> None:
    run = family_run(name)
    assert run.traces is not None
    for found in run.traces:
        assert found.query is not None
        assert found.key is not None
        assert found.value is not None
        for layer in range(LAYERS):
            query, key, value = found.query[layer], found.key[layer], found.value[layer]
            assert len(query) == HEADS
            assert len(key) == len(value) == (1 if name == "eurobert" else HEADS)
            assert query.shape[1:] == key.shape[1:]
            assert query.shape[2] == (8 if name == "mobilebert" else HEAD_DIM)
            mixed = attention_probs(found, layer) @ np.repeat(value, HEADS // len(value), axis=0)
            mask = None if found.masks is None or found.masks[layer] is None else torch.tensor(found.masks[layer])
            expected = torch.nn.functional.scaled_dot_product_attention(
                torch.tensor(query), torch.tensor(key), torch.tensor(value), mask, scale=found.scaling[layer],
                enable_gqa=True,
            )  # fmt: skip
            near(mixed, expected)


@pytest.mark.parametrize("name", TRACED)
@pytest.mark.sample(16)
def test_embedding_sum_gives_entry_0(name: str) -> None:
    run = family_run(name)
    assert run.traces is not None
    for found in run.traces:
        parts = embedding_sum(run.loaded, found)
        added = [part for part in (parts.word, parts.position, parts.token_type, parts.other) if part is not None]
        near(sum(added), parts.total)
        assert parts.exact == (name != "markuplm")
        if parts.exact:
            near(parts.output, found.hidden_states[0])
            assert parts.max_difference <= TOLERANCE
        else:
            assert parts.note


@pytest.mark.parametrize("name", TRACED)
@pytest.mark.sample(2)
def test_the_embeddings_are_normalised_where_a_run_passes_a_norm_before_the_first_layer(name: str) -> None:
    """The facts of the Overview name the same module, and no bar represents a missing norm."""
    run = family_run(name)
    assert run.traces is not None
    parts = embedding_sum(run.loaded, run.traces[0])
    passed = model_facts(name, tiny_config(name).to_dict()).before
    modules = dict(run.loaded.model.named_modules())  # the encoder of an encoder-decoder model
    found = [type(modules.get(path) or modules[path.removeprefix("encoder.")]).__name__ for path in passed]
    assert [each for each in found if "Norm" in each] == ([parts.norm_class] if parts.norm_class else [])
    assert (parts.normalized is None) == (parts.norm_class == "")
    assert ("norm" in parts.steps.lower()) == bool(parts.norm_class)
    lengths = embedding_lengths(parts, slice(None))
    assert any(label.startswith("after ") for label in lengths) == bool(parts.norm_class)
    assert ("sum" in lengths) == (len(parts.parts) > 1)


@pytest.mark.sample(25)
@pytest.mark.parametrize("name", TRACED)
def test_position_limit_is_what_runs(name: str) -> None:
    """A text that is too long is truncated with a notice, and runs; no row of a position table is unused."""
    run = family_run(name)
    tokens = tokenize(run.tokenizer, "love " * 60)
    cut = sum(tokens.tokens_cut)
    assert len(tokens) + cut == 62
    assert bool(cut) == any("cut off" in notice for notice in tokens.notices)
    found = trace(run.loaded, tokens)
    assert np.isfinite(found.hidden_states).all()
    parts = embedding_sum(run.loaded, found)
    if parts.position_ids is not None:
        tables = [weight for key, weight in run.loaded.model.named_parameters() if "position" in key or "wpe" in key]
        assert parts.position_ids[-1] + 1 == max(len(table) for table in tables[:1])


@pytest.mark.parametrize("name", ["albert", "bert", "distilbert", "modernbert", "roberta", "t5"])
def test_nearest_rows_are_the_brute_force_ones(name: str) -> None:
    run = family_run(name)
    table = run.loaded.model.get_input_embeddings().weight.detach().double().numpy()
    lengths = np.linalg.norm(table, axis=1)
    cosines = table @ table[7] / lengths / lengths[7]
    order = [row for row in np.argsort(-cosines) if row != 7][:5]
    found = nearest_rows(run.loaded, 7, 5)
    assert found.ids.tolist() == order
    near(found.cosine, cosines[order])
    near(found.norms, lengths[order])
    assert found.norm == pytest.approx(lengths[7], abs=TOLERANCE)


def test_document_is_what_the_runs_give() -> None:
    assert DOCUMENT.read_text(encoding="utf-8").startswith(families_part()), "python -m tests.helpers.families_document"


def test_ledger_counts_what_is_loaded() -> None:
    counted = {name: family_run(name).counted for name in FAMILIES}
    assert {name: pair for name, pair in counted.items() if pair[0] != pair[1]} == {}


def test_the_table_of_families_names_what_transformers_knows() -> None:
    assert [name for name in ROWS if type_facts(name) is None] == []


def test_at_least_25_families_are_traced() -> None:
    assert len(TRACED) >= 25
