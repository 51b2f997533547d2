"""Shapes of modules without weights equal those recorded by hooks in a real run, for every family.

Covers `bertviz_core/architecture/module_tree.py`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import torch

from bertviz_core.architecture.dry_run import PlainRow
from bertviz_core.architecture.module_tree import module_shapes, shapes_of
from bertviz_core.errors import TextError, UnsupportedModelError
from tests.helpers.dry_models import dry_tiny
from tests.helpers.tiny_models import FAMILIES, PAIR, TEXT, tiny_config, tiny_model, tiny_tokenizer

SEQ = 9


def first_shape(value: Any) -> tuple[int, ...] | None:
    """Shape of the first tensor in a module's inputs or outputs."""
    if isinstance(value, torch.Tensor):
        return tuple(value.shape)
    inside = value.values() if isinstance(value, Mapping) else value if isinstance(value, tuple | list) else ()
    return next((found for found in map(first_shape, inside) if found is not None), None)


def real_shapes(model: torch.nn.Module, inputs: dict[str, torch.Tensor]) -> dict[str, list[Any]]:
    """Path -> [first input shape, first output shape] of every call, recorded in a run with weights."""
    heard: dict[str, list[Any]] = {}
    hooks = []
    for path, module in model.named_modules():

        def hear(module: Any, args: Any, kwargs: Any, output: Any, path: str = path) -> None:
            heard.setdefault(path, []).append((first_shape((*args, *kwargs.values())), first_shape(output)))

        hooks.append(module.register_forward_hook(hear, with_kwargs=True))
    with torch.no_grad():
        model(**inputs)
    for hook in hooks:
        hook.remove()
    return heard


def ids_of(seq: int) -> dict[str, torch.Tensor]:
    ids = torch.arange(seq).remainder(20)[None] + 5
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


@pytest.mark.parametrize("model_type", FAMILIES)
@pytest.mark.sample(5)
def test_shapes_equal_hooks_on_a_real_run(model_type: str) -> None:
    model = tiny_model(model_type)
    inputs = ids_of(SEQ)
    if model.config.is_encoder_decoder:
        inputs["decoder_input_ids"] = torch.zeros((1, 1), dtype=torch.long)
    own = real_shapes(model, inputs)
    row = PlainRow(inputs["input_ids"][0].numpy())
    run = shapes_of(dry_tiny(model_type), row)
    assert run.seq == SEQ
    found = {path: moved for path, moved in run.modules.items() if moved.calls and path in own}
    assert set(own) - set(found) <= {path for path in own if "dropout" in path}
    for path, moved in found.items():
        came_in = moved.inputs[0][1] if moved.inputs else None
        came_out = moved.outputs[0] if moved.outputs else None
        assert (came_in, came_out) == own[path][0], path
        assert [shape or None for shape in moved.entered] == [first for first, _ in own[path]], path


@pytest.mark.parametrize("pair", [None, PAIR])
def test_a_typed_text_has_its_own_count_of_tokens(pair: str | None) -> None:
    ids = tiny_tokenizer()(TEXT, pair)
    row = PlainRow(np.array(ids["input_ids"]))
    run = module_shapes("bert", tiny_config("bert").to_dict(), row)
    assert run.modules["embeddings"].outputs[0] == (1, len(ids["input_ids"]), 12)
    assert run.modules["encoder.layer.2.intermediate.dense"].outputs[0] == (1, len(ids["input_ids"]), 14)
    assert run.device_mode == "meta"


def test_a_shared_layer_is_called_as_often_as_it_is_applied() -> None:
    run = module_shapes("albert", tiny_config("albert").to_dict(), SEQ)
    assert run.modules["encoder.albert_layer_groups.0.albert_layers.0"].calls == 3


def test_a_decoder_gets_one_token() -> None:
    run = module_shapes("t5", tiny_config("t5").to_dict(), SEQ)
    assert run.decoder_tokens == 1
    assert run.modules["decoder.block.0.layer.0"].outputs[0] == (1, 1, 12)
    assert run.modules["encoder.block.0.layer.0"].outputs[0] == (1, SEQ, 12)


def test_heads_are_run_too() -> None:
    config = tiny_config("bert").to_dict()
    run = module_shapes("bert", config, SEQ, "masked-lm")
    assert run.modules[""].outputs[0] == (1, SEQ, config["vocab_size"])
    assert module_shapes("bert", config, SEQ, "multiple-choice").modules["classifier"].outputs[0] == (1, 1)


def test_no_memory_is_taken_by_a_family_that_cannot_run_on_meta() -> None:
    dry = dry_tiny("megatron-bert")
    assert dry.device_mode == "zeros"
    weights = list(dry.model.parameters())
    assert len({weight.untyped_storage().data_ptr() for weight in weights}) == 1  # all are views of the same zeros
    assert weights[0].untyped_storage().nbytes() == max(weight.numel() * weight.element_size() for weight in weights)
    assert shapes_of(dry, PlainRow(np.full(4, 5))).seq == 4


def test_a_run_on_the_processor_that_would_take_minutes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    config = tiny_config("megatron-bert").to_dict()
    assert module_shapes("megatron", config, 20).seq == 20
    monkeypatch.setattr("bertviz_core.architecture.dry_run.MAX_WEIGHT_TOKENS", 19 * config["vocab_size"])
    with pytest.raises(TextError, match="too long"):
        module_shapes("megatron", config, 20)


def test_ids_beyond_the_vocabulary_are_refused() -> None:
    with pytest.raises(TextError, match="vocabulary"):
        module_shapes("bert", tiny_config("bert").to_dict(), PlainRow(np.array([5, 99_999])))


def test_a_family_that_needs_more_than_a_text_says_so() -> None:
    from transformers import CONFIG_MAPPING

    config = CONFIG_MAPPING["vit"](hidden_size=12, num_hidden_layers=1, num_attention_heads=2, intermediate_size=14)
    with pytest.raises(UnsupportedModelError, match="cannot be run"):
        module_shapes("vit", config.to_dict(), 4)


def test_a_vocabulary_of_padding_alone_cannot_be_run() -> None:
    config = {**tiny_config("bert").to_dict(), "vocab_size": 1, "pad_token_id": 0}
    with pytest.raises(UnsupportedModelError, match="no token beside the padding"):
        module_shapes("mine", config, 3)
