"""Sizes and capabilities agree with transformers' own config attributes and with known facts about the families."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from bertviz_core.architecture.dataflow.derive import model_facts
from bertviz_core.architecture.results import Architecture
from bertviz_core.architecture.sizes import describe
from bertviz_core.errors import UnsupportedModelError
from bertviz_core.heads.score_breakdown import break_down_cell
from bertviz_core.models.loading import load_model
from bertviz_core.models.sources import ModelSource, folder_source
from bertviz_core.parameters.ledger import config_ledger
from bertviz_core.settings import Settings
from bertviz_core.trace.run import trace
from tests.helpers.made_traces import tokens_of
from tests.helpers.tiny import CONFIGS, tiny_config
from tests.helpers.tiny_models import save_tiny


def described(model_type: str, **changes: Any) -> Architecture:
    config = {**tiny_config(model_type), **changes}
    source = ModelSource("tiny", "local", config, None, None, "1", has_weights=False)
    try:
        facts = model_facts("tiny", config)
    except UnsupportedModelError:  # Nystromformer runs on whole segments only
        facts = None
    return describe(source, config_ledger("tiny", config), facts)


def answers(model_type: str) -> dict[str, str]:
    return {each.name: each.answer for each in described(model_type).capabilities}


@pytest.mark.parametrize("model_type", sorted(CONFIGS))
@pytest.mark.sample(4)
def test_sizes_are_those_of_the_config_class(model_type: str) -> None:
    found = described(model_type)
    config = transformers.AutoConfig.for_model(**tiny_config(model_type))
    assert config.num_attention_heads == 2
    assert found.num_attention_heads == (None if model_type == "fnet" else 2), "FNet has none, whatever its config says"
    assert found.hidden_size == config.hidden_size == 8
    convolved = transformers.ConvBertModel(config).encoder.layer[0] if model_type == "convbert" else None
    head_dim = None if model_type == "fnet" else 4
    assert found.head_dim == (convolved.attention.self.attention_head_size if convolved else head_dim)
    assert found.vocab_size == 67
    expected = 5 if model_type == "funnel" else 3
    assert found.num_hidden_layers == expected


@pytest.mark.sample(1)
@pytest.mark.parametrize(("layers", "groups", "inner"), [(4, 2, 3), (2, 1, 2), (3, 3, 1)])
def test_every_layer_of_an_albert_group_counts(layers: int, groups: int, inner: int, tmp_path: Path) -> None:
    sizes = {"num_hidden_layers": layers, "num_hidden_groups": groups, "inner_group_num": inner}
    save_tiny("albert", tmp_path, **sizes)
    own = transformers.AutoModel.from_pretrained(tmp_path, attn_implementation="eager")
    run = own(input_ids=torch.arange(5)[None], output_hidden_states=True, output_attentions=True)
    loaded = load_model(folder_source("albert", tmp_path), Settings.from_environment(any_folder=True))
    assert loaded.num_hidden_layers == len(run.hidden_states) - 1 == layers * inner
    assert described("albert", **sizes).num_hidden_layers == layers * inner
    found = trace(loaded, tokens_of(5))
    for layer in range(layers * inner):
        cell = break_down_cell(loaded, found, layer, 1, 3, 2)
        np.testing.assert_allclose(cell.score.weights, run.attentions[layer][0, 1, 3].detach().numpy(), atol=1e-5)


def test_layers_of_a_model_that_sees_are_the_texts() -> None:
    text = {**tiny_config("modernbert"), "num_hidden_layers": 3}
    vision = {"hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 14}
    config = transformers.ModernVBertConfig(text_config=text, vision_config=vision).to_dict()
    ledger = config_ledger("seeing", config)
    assert [(row.component, row.layer) for row in ledger.layers] == [("encoder", index) for index in range(3)]
    source = ModelSource("seeing", "local", config, None, None, "1", has_weights=False)
    found = describe(source, ledger)
    assert (found.num_hidden_layers, found.num_attention_heads, found.hidden_size) == (3, 2, 8)


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("model_type", "expected"),
    [
        ("bert", {"Pooler": "yes", "Token types": "2", "Positions": "absolute", "Shared layers": "no"}),
        ("distilbert", {"Pooler": "no", "Token types": "no", "Positions": "absolute"}),
        ("modernbert", {"Pooler": "no", "Positions": "rotary", "Projections": "fused"}),
        ("albert", {"Shared layers": "3 applications of 1 layer"}),
        ("deberta-v2", {"Positions": "absolute and relative", "Attention maps": "maps only"}),
        ("mpnet", {"Positions": "absolute and relative"}),
        ("fnet", {"Attention maps": "none", "Projections": "none"}),
        ("roformer", {"Positions": "rotary"}),
        ("roberta", {"Token types": "2", "Attention maps": "exact, with q, k and v"}),
    ],
)
def test_the_capability_card_says_what_is_known_of_the_family(model_type: str, expected: dict[str, str]) -> None:
    found = answers(model_type)
    assert {name: found[name] for name in expected} == expected
