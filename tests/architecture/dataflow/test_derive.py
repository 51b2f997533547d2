"""Facts derived from a run agree with the model's behaviour, with the papers, and with every page, for all families.

Covers `bertviz_core/architecture/dataflow/*.py`, `bertviz_core/architecture/results.py`,
`bertviz_core/architecture/sizes.py`, `bertviz_core/architecture/layer_flow.py`.
"""

import re
from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModel

from bertviz_core.architecture.dataflow.derive import model_facts
from bertviz_core.architecture.dataflow.values import window_of
from bertviz_core.architecture.results import Window
from bertviz_core.figures.architecture.drawing import Row
from bertviz_core.figures.architecture.layers import flow_rows
from bertviz_core.models.recording import recording, register
from tests.helpers.decoders import DECODERS
from tests.helpers.families_table import DOCUMENT
from tests.helpers.model_faces import TYPES, Faces, faces
from tests.helpers.tiny_models import FAMILIES, tiny_config, tiny_model

PRE_NORM = {
    *("biogpt", "blenderbot", "bloom", "ctrl", "esm", "eurobert", "gpt2", "llama", "mbart", "megatron-bert"),
    *("mistral", "modernbert", "modernbert-decoder", "mt5", "neo_bert", "opt", "pegasus", "qwen2"),
    *("roberta-prelayernorm", "starcoder2", "t5", "umt5", "xglm", "xlm-roberta-xl"),
}
"""Families with the norm first, according to their papers or cards."""
OTHER_ORDERS = {"gemma2": "norms on both sides", "gpt_neox": "parallel", "mobilebert": ""}
GATED = {
    *("eurobert", "gemma2", "gte", "jina_bert", "llama", "mistral", "modernbert", "modernbert-decoder", "mt5"),
    *("neo_bert", "nomic_bert", "qwen2", "umt5"),
}
SCALED_BEFORE = {"esm", "opt"}
"""Families that scale the queries themselves, and pass the factor 1."""
ROTARY = {
    *(
        "eurobert",
        "gemma2",
        "gpt_neox",
        "gte",
        "jina_embeddings_v3",
        "llama",
        "mistral",
        "modernbert",
        "modernbert-decoder",
    ),
    *("neo_bert", "nomic_bert", "qwen2", "roformer", "starcoder2"),
}
RELATIVE = {"bloom", "deberta", "deberta-v2", "funnel", "jina_bert", "lilt", "mpnet", "mt5", "t5", "umt5", "xlnet"}
SHORTENS = {"canine", "funnel"}


def card(derived: Faces) -> dict[str, str]:
    return {each.name: each.answer for each in derived.card.capabilities}


def order_words(rows: list[Row]) -> list[str]:
    """Norms, blocks and additions of one layer, in the order of the drawing."""
    words = []
    for row in rows:
        (label, *_) = [box.label for box in row.boxes]
        kind = "feed-forward" if "feed-forward" in label else "attention" if "attention" in label else label
        words.append("mixing" if "mixing" in kind else kind)
    return words


@pytest.mark.parametrize("model_type", TYPES)
@pytest.mark.sample(1)
def test_norms_stand_where_the_papers_have_them(model_type: str) -> None:
    expected = OTHER_ORDERS.get(model_type, "pre-norm" if model_type in PRE_NORM else "post-norm")
    assert {row.order for row in faces(model_type).facts.layers} == {expected}


@pytest.mark.parametrize("model_type", TYPES)
@pytest.mark.sample(2)
def test_positions_enter_as_the_papers_have_them(model_type: str) -> None:
    found = set(faces(model_type).facts.positions)
    assert ("rotary" in found) == (model_type in ROTARY)
    assert ("relative" in found) == (model_type in RELATIVE)


@pytest.mark.parametrize("model_type", [name for name in FAMILIES if name not in SHORTENS])
@pytest.mark.sample(1)
def test_absolute_positions_are_those_that_tell_equal_words_apart_before_the_first_layer(model_type: str) -> None:
    model: Any = tiny_model(model_type)
    model = model.get_encoder() if model.config.is_encoder_decoder else model
    with torch.no_grad():
        entered = model(input_ids=torch.full((1, 6), 20), output_hidden_states=True).hidden_states[0][0]
    apart = not torch.allclose(entered[1], entered[4], atol=1e-6)
    assert ("absolute" in faces(model_type).facts.positions) == apart


@pytest.mark.parametrize("model_type", [name for name in FAMILIES if name not in SHORTENS])
@pytest.mark.sample(2)
def test_token_types_are_told_where_they_change_the_answer(model_type: str) -> None:
    model: Any = tiny_model(model_type)
    model = model.get_encoder() if model.config.is_encoder_decoder else model
    derived = faces(model_type).facts
    ids = torch.tensor([[7, 8, 9, 10]])
    try:
        with torch.no_grad():
            one, other = (
                model(input_ids=ids, token_type_ids=torch.tensor([types])).last_hidden_state
                for types in ([0, 0, 0, 0], [0, 0, 1, 1])
            )
    except TypeError:  # it takes no such argument
        assert derived.types == ""
        return
    assert (derived.types != "") == (not torch.allclose(one, other, atol=1e-6))


@pytest.mark.parametrize("model_type", TYPES)
@pytest.mark.sample(2)
def test_the_factor_of_the_scores_is_what_the_family_hands_to_the_attention_function(model_type: str) -> None:
    derived = faces(model_type)
    if not derived.facts.recorded:
        return  # it does not call that function; its factor is compared below, or unknown
    model: Any = AutoModel.from_config(AutoConfig.for_model(**derived.config)).eval()
    model = model.get_encoder() if model.config.is_encoder_decoder else model
    model.set_attn_implementation(register())
    with torch.no_grad(), recording() as records:
        model(input_ids=torch.full((1, 5), 9))
    stack = [row for row in derived.facts.layers if row.stack == derived.facts.layers[0].stack]
    by_layer = [row.attention.scaling for row in stack if row.attention]
    before = derived.card.head_dim**-0.5 if model_type in SCALED_BEFORE and derived.card.head_dim else 1.0
    found = {round(before * record.scaling, 6) for record in records}
    assert found == {round(each, 6) for each in by_layer if each is not None}


@pytest.mark.slow
def test_the_factor_of_families_with_code_of_their_own() -> None:
    by_hand = {"deberta": 18**-0.5, "deberta-v2": 18**-0.5, "mpnet": 6**-0.5, "xlnet": 6**-0.5, "roformer": 6**-0.5}
    for model_type, factor in by_hand.items():
        attention = faces(model_type).facts.layers[1].attention
        assert attention is not None
        assert attention.scaling == pytest.approx(factor, abs=1e-6)


@pytest.mark.parametrize("model_type", TYPES)
@pytest.mark.sample(2)
def test_gates_are_those_of_the_papers(model_type: str) -> None:
    assert {row.gated for row in faces(model_type).facts.layers} == {model_type in GATED}


def test_windows_are_read_off_the_masks() -> None:
    assert window_of(lambda b, h, q, k: (q - k).abs() <= 3, 3) == Window(3, 3)
    assert window_of(lambda b, h, q, k: (k <= q) & (q - k < 4), 4) == Window(3, 0)
    assert window_of(lambda b, h, q, k: k <= q, None) == Window(None, 0)
    attention = [row.attention for row in faces("modernbert").facts.layers]
    assert [each.window for each in attention if each] == [Window(None, None), Window(2, 2), Window(None, None)]


def test_a_pooler_that_a_class_leaves_out_is_the_familys() -> None:
    config = tiny_config("bert").to_dict()
    derived = model_facts("bert", config, "masked-lm")
    assert (derived.pooler, derived.base_class, derived.model_class) == (True, "BertModel", "BertForMaskedLM")
    assert not model_facts("distilbert", tiny_config("distilbert").to_dict(), "masked-lm").pooler


@pytest.mark.parametrize("model_type", TYPES)
@pytest.mark.sample(4)
def test_every_face_tells_the_same_norms(model_type: str) -> None:
    derived = faces(model_type)
    order = derived.facts.layers[0].order
    assert card(derived).get("Normalisation", "") == derived.design.order == order
    for flow in derived.flows:
        assert flow.order == order
    typical = derived.flows[len(derived.flows) // 2]
    if typical.blocks:
        (heading, _), *_ = derived.stack.sums
        drawn = [row for row in derived.stack.rows if row.group == heading and not row.apart]
        assert [word for word in order_words(flow_rows(typical)) if word in KEPT] == [
            word for word in order_words(drawn) if word in KEPT
        ]
        assert [row.begins for row in drawn].count(True) == [row.joins for row in drawn].count(True)
        assert [row.joins for row in flow_rows(typical)].count(True) == [row.joins for row in drawn].count(True)


KEPT = ("norm", "add", "add & norm")


@pytest.mark.parametrize("model_type", TYPES)
@pytest.mark.sample(4)
def test_every_face_tells_the_same_positions_and_types(model_type: str) -> None:
    derived = faces(model_type)
    boxes = [box.label for row in derived.stack.rows if not row.apart for box in row.boxes]
    positions = card(derived)["Positions"]
    assert positions == " and ".join(derived.facts.positions)
    shown = [table for table in derived.facts.tables[:3] if table.role in ("position", "token type")]
    few = len(derived.facts.tables) <= 3
    assert not few or ("position" in boxes) == any(table.role == "position" for table in shown)
    assert "position" not in boxes or "absolute" in positions
    types = card(derived)["Token types"]
    assert not few or ("token type" in boxes) == types.isdecimal()
    for flow in derived.flows:
        assert set(flow.positions) <= set(derived.facts.positions)


@pytest.mark.parametrize("model_type", TYPES)
@pytest.mark.sample(4)
def test_every_face_tells_the_same_gate_windows_pooler_and_class(model_type: str) -> None:
    derived = faces(model_type)
    answers, labels = card(derived), [box.label for row in derived.stack.rows for box in row.boxes]
    gated = answers.get("Feed-forward") == "gated"
    assert all(flow.gated is gated for flow in derived.flows)
    assert any(label == "gated feed-forward" for label in labels) is gated
    local = re.match(r"in (\d+) of", answers.get("Local attention", ""))
    count = int(local[1]) if local else 0
    assert sum(flow.window is not None for flow in derived.flows) == count
    assert derived.design.kind == "encoder-decoder" or derived.design.local_layers == count
    if derived.terms.layers:
        assert sum(each.window is not None for each in derived.terms.layers) == count
    assert (answers["Pooler"] == "yes") == ("pooler" in labels) == derived.card.has_pooler
    assert derived.card.has_pooler == any(row.part == "pooler" for row in derived.tree.rows if row.depth == 1)
    assert (
        derived.tree.architecture
        == derived.card.architecture
        == derived.ledger.architecture
        == derived.facts.model_class
    )


@pytest.mark.parametrize("model_type", TYPES)
@pytest.mark.sample(4)
def test_drawn_counts_add_up_to_the_model(model_type: str) -> None:
    derived = faces(model_type)
    layers = {"encoder": [row for row in derived.ledger.layers if row.component == "encoder"]}
    layers["decoder"] = [row for row in derived.ledger.layers if row.component == "decoder"]
    both = [name for name, rows in layers.items() if rows]
    inside = {
        name: sum(row.count or 0 for row in derived.stack.rows if row.group == heading)
        for name, (heading, _) in zip(both, derived.stack.sums, strict=True)
    }
    for name, drawn in inside.items():
        assert drawn == layers[name][len(layers[name]) // 2].total
    headings = [heading for heading, _ in derived.stack.sums]
    outside = sum(row.count or 0 for row in derived.stack.rows if row.group not in headings)
    assert outside + sum(row.total for rows in layers.values() for row in rows) == derived.ledger.total


@pytest.mark.parametrize(("model_type", "module"), [("t5", "EncDecAttention"), ("bart", "encoder_attn")])
def test_a_decoder_beside_an_encoder_reads_its_own_tokens_and_crosses_with_all_its_matrices(
    model_type: str, module: str
) -> None:
    derived = faces(model_type)
    decoder = [row for row in derived.ledger.layers if row.component == "decoder"]
    rows = [row for row in derived.ledger.parameters if (row.component, row.layer) == ("decoder", len(decoder) // 2)]
    across = sum(row.numel for row in rows if f".{module}." in row.name)
    assert [row.count for row in derived.stack.rows if row.boxes[0].label == "cross-attention"] == [across]
    (enters,) = [row for row in derived.stack.rows if row.enters]
    assert enters.group in ("embeddings of the decoder", derived.stack.sums[1][0])
    assert not any("read inside" in box.detail for row in derived.stack.rows for box in row.boxes)


@pytest.mark.slow
def test_the_document_of_families_tells_the_same() -> None:
    table = DOCUMENT.read_text(encoding="utf-8").partition("| family |")[2].partition("\n\n")[0]
    lines = [line.split(" | ") for line in f"| family |{table}".splitlines()]
    columns, rows = lines[0], {line[1].strip("`"): line for line in lines[2:]}
    pooler, attention, qkv = (columns.index(name) for name in ("pooler", "attention", "q/k/v"))
    assert set(rows) == set(FAMILIES)
    maps = {"exact, with q, k and v": ("recorded", "yes"), "maps only": ("eager", "no"), "none": ("none", "no")}
    for model_type, row in rows.items():
        derived = faces(model_type)
        assert (row[attention], row[qkv]) == maps[card(derived)["Attention maps"]], model_type
        if row[pooler] != "-":
            assert (row[pooler] != "no") == derived.card.has_pooler, model_type


def test_at_least_sixty_types_are_compared() -> None:
    assert len(TYPES) >= 60
    assert len(DECODERS) > 10
