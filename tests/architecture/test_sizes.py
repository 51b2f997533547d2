"""Sizes and capabilities, against transformers' own config attributes and against what is known of the families."""

import pytest
import transformers

from bertviz_core.architecture.facts.derive import model_facts
from bertviz_core.architecture.results import Architecture
from bertviz_core.architecture.sizes import describe
from bertviz_core.errors import UnsupportedModelError
from bertviz_core.models.sources import ModelSource
from bertviz_core.parameters.ledger import config_ledger
from tests.helpers.tiny import CONFIGS, tiny_config


def described(model_type: str) -> Architecture:
    config = tiny_config(model_type)
    source = ModelSource("tiny", "local", config, None, None, "1", has_weights=False)
    try:
        facts = model_facts("tiny", config)
    except UnsupportedModelError:  # Nystromformer runs on whole segments only
        facts = None
    return describe(source, config_ledger("tiny", config), facts)


def answers(model_type: str) -> dict[str, str]:
    return {each.name: each.answer for each in described(model_type).capabilities}


@pytest.mark.parametrize("model_type", sorted(CONFIGS))
def test_sizes_are_those_of_the_config_class(model_type: str) -> None:
    found = described(model_type)
    config = transformers.AutoConfig.for_model(**tiny_config(model_type))
    assert found.num_attention_heads == config.num_attention_heads == 2
    assert found.hidden_size == config.hidden_size == 8
    assert found.head_dim == 4
    assert found.vocab_size == 67
    expected = 5 if model_type == "funnel" else 3
    assert found.num_hidden_layers == expected


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
