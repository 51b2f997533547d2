"""Stages of a model: every parameter is counted in exactly one, in every family; layers are described as built."""

import numpy as np
import pytest
from transformers import AutoModel

from bertviz_core.interventions.hooks import model_parts
from bertviz_core.journey.results import Journey
from bertviz_core.models.catalog import OFFERED
from bertviz_core.questions.models.architecture import parameters
from bertviz_core.questions.opened import OpenedModel
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.texts.journey import journey
from bertviz_core.settings import Settings
from bertviz_core.trace.run import trace
from tests.helpers.tiny_heads import save_tiny_head
from tests.helpers.tiny_models import FAMILIES, LAYERS, save_tiny

TEXT = Options(("i love my pet python",))
WITHOUT_BLOCKS = {"canine", "flaubert", "funnel", "squeezebert", "xlm"}
"""Families without one module for each layer, or one whose output has another shape."""


def travelled(family: str, settings: Settings) -> tuple[Journey, int]:
    """The journey of a text through a tiny model, and the number of parameters in its ledger."""
    save_tiny(family, settings.models_dir / family)
    opened = OpenedModel(family, settings)
    return journey(opened, TEXT).result, parameters(opened, Options()).result.total


@pytest.mark.sample(2)
@pytest.mark.parametrize("family", list(FAMILIES))
def test_every_parameter_is_counted_in_one_stage(family: str, settings: Settings) -> None:
    way, total = travelled(family, settings)
    assert sum(stage.numel for stage in way.stages) == total
    assert [stage.name for stage in way.stages if stage.kind == "layer"] == [f"layer {at}" for at in range(way.layers)]
    assert way.stages[0].kind == "embeddings"
    assert way.missing or way.layers == LAYERS
    for stage in way.stages:
        if stage.kind == "layer" and stage.numel:
            assert sum(step.numel or 0 for step in stage.steps) == stage.numel


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("family", "module", "kind", "name"),
    [
        ("albert", "embedding_hidden_mapping_in", "embeddings", "embeddings"),
        ("deberta-v2", "rel_embeddings", "shared", "relative positions"),
        ("mpnet", "relative_attention_bias", "shared", "relative positions"),
        ("gpt2", "ln_f", "norm", "norm after the last layer"),
        ("t5", "final_layer_norm", "norm", "norm after the last layer"),
        ("modernbert", "final_norm", "norm", "norm after the last layer"),
        ("canine", "projection", "norm", "projection after the last layer"),
        ("esm", "contact_head", "aside", "contact head"),
    ],
)
def test_what_is_in_no_layer_stands_where_the_run_passes_it(
    family: str, module: str, kind: str, name: str, settings: Settings
) -> None:
    way, _ = travelled(family, settings)
    rows = parameters(OpenedModel(family, settings), Options()).result.parameters
    numel = sum(row.numel for row in rows if module in row.name and row.component == "encoder")
    numel += sum(row.numel for row in rows if kind == "embeddings" and row.component == "embeddings")
    (stage,) = [stage for stage in way.stages if stage.kind == kind and stage.name == name]
    assert stage.numel == numel > 0
    kinds = [stage.kind for stage in way.stages]
    first, last = kinds.index("layer"), len(kinds) - 1 - kinds[::-1].index("layer")
    at = way.stages.index(stage)
    assert at > last if kind in ("norm", "aside") else at < first
    assert stage.run == (kind != "aside")


def test_shared_layers_are_counted_once_and_say_so(settings: Settings) -> None:
    way, _ = travelled("albert", settings)
    layers = [stage for stage in way.stages if stage.kind == "layer"]
    assert [stage.numel > 0 for stage in layers] == [True, False, False]
    assert "stored layer 0" in layers[1].note


@pytest.mark.parametrize("family", ["bart", "t5"])
def test_a_decoder_beside_the_encoder_is_not_passed(family: str, settings: Settings) -> None:
    """Also its own tables; the words that it shares with the encoder are embeddings of the text."""
    way, _ = travelled(family, settings)
    model = AutoModel.from_pretrained(settings.models_dir / family)
    (decoder,) = [stage for stage in way.stages if stage.kind == "decoder"]
    own = sum(each.numel() for each in model.decoder.parameters() if each is not model.shared.weight)
    assert decoder.numel == own > 0
    assert not decoder.run


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("family", "step", "build"),
    [
        ("gpt2", "norm", "attention to earlier tokens"),
        ("bert", "attention", "attention over the whole text"),
        ("t5", "norm", "relative positions"),
        ("nomic_bert", "attention", "gated feed-forward"),
        ("fnet", "mixing of tokens", "without attention"),
        ("longformer", "attention", "local attention, 2 tokens before and 2 after"),
    ],
)
def test_a_layer_is_described_as_it_is_built(family: str, step: str, build: str, settings: Settings) -> None:
    way, _ = travelled(family, settings)
    layer = next(stage for stage in way.stages if stage.kind == "layer")
    assert layer.steps[0].name == step
    assert build in layer.build


def test_layers_that_an_adapter_changes_are_told_from_the_others(settings: Settings) -> None:
    opened = OpenedModel(OFFERED[0], settings)
    stages = [stage for stage in journey(opened, TEXT).result.stages if stage.kind == "layer"]
    held = [
        any(f".{at}." in row.name and "lora_" in row.name for row in parameters(opened, Options()).result.parameters)
        for at in range(6)
    ]
    assert ["LoRA" in stage.build for stage in stages] == held == [False, False, False, True, True, True]


def test_local_layers_are_told_from_those_that_see_everything(settings: Settings) -> None:
    way, _ = travelled("modernbert", settings)
    builds = [stage.build for stage in way.stages if stage.kind == "layer"]
    assert ["local" in build for build in builds] == [False, True, False]


def test_a_model_without_weights_has_its_stages_and_one_sentence(settings: Settings) -> None:
    opened = OpenedModel("bert-base-uncased", settings)  # known from its config and its file's header only
    way = journey(opened, TEXT).result
    assert "is not on this machine" in way.missing
    assert way.turn is None
    assert way.layers == 12
    assert sum(stage.numel for stage in way.stages) == 109_482_240


def test_a_family_without_a_row_per_token_is_drawn_without_numbers(settings: Settings) -> None:
    way, total = travelled("funnel", settings)
    assert "one row" in way.missing
    assert sum(stage.numel for stage in way.stages) == total


@pytest.mark.parametrize(
    ("family", "task", "used"),
    [
        (
            "bert",
            "sequence-classification",
            {"pooler": "reads the first token, for the task head", "task head": "run on Predictions"},
        ),
        ("bert", "token-classification", {"task head": "run on Predictions"}),
        ("roberta", "sequence-classification", {"task head": "run on Predictions"}),
        ("bert", "", {"pooler": ""}),
    ],
)
def test_the_end_says_what_reads_the_pooler_and_where_the_head_is_run(
    family: str, task: str, used: dict[str, str], settings: Settings
) -> None:
    folder = settings.models_dir / family
    (save_tiny_head(family, task, folder) if task else save_tiny(family, folder))
    way = journey(OpenedModel(family, settings), TEXT).result
    assert {each.kind: each.used for each in way.stages if each.kind in ("pooler", "task head")} == used


@pytest.mark.sample(3)
@pytest.mark.parametrize("family", sorted({*FAMILIES} - WITHOUT_BLOCKS))
def test_it_is_told_where_the_last_state_is_not_what_the_last_layer_returns(family: str, settings: Settings) -> None:
    save_tiny(family, settings.models_dir / family)
    opened = OpenedModel(family, settings)
    answer, outputs = journey(opened, TEXT), list[np.ndarray]()
    blocks = model_parts(opened.loaded, heads_needed=False).layers
    block = next(block for block, layers in blocks.items() if LAYERS - 1 in layers)
    handle = block.register_forward_hook(
        lambda _, __, output: outputs.append((output[0] if isinstance(output, tuple) else output).detach().numpy())
    )
    run = trace(opened.loaded, opened.tokens(*TEXT.texts, None))
    handle.remove()
    last = run.hidden_states[-1]
    same = np.allclose(outputs[-1].reshape(-1, last.shape[-1])[: len(last)], last, atol=1e-5)
    assert any(f"what is shown of layer {LAYERS - 1} includes it" in each for each in answer.notices) is not same
