"""Fused projections of query, key and value are split as in the family, checked with the model's own outputs.

Covers `bertviz_core/heads/projections.py`.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import CONFIG_MAPPING, AutoModel

from bertviz_core.errors import UnsupportedModelError
from bertviz_core.heads.score_breakdown import break_down_cell
from bertviz_core.heads.weights import head_projections
from bertviz_core.models import families
from bertviz_core.models.families import FAMILIES, Family
from bertviz_core.models.loading import LoadedModel, load_model
from bertviz_core.models.sources import folder_source
from bertviz_core.settings import Settings
from bertviz_core.trace.run import trace
from tests.helpers.made_traces import tokens_of

HEADS, HEAD_DIM, SEQ = 4, 8, 7
MODERN = {
    "hidden_size": HEADS * HEAD_DIM,
    "num_hidden_layers": 2,
    "num_attention_heads": HEADS,
    "intermediate_size": 14,
    "vocab_size": 37,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "initializer_range": 0.3,
}
GPT = {"n_embd": HEADS * HEAD_DIM, "n_layer": 2, "n_head": HEADS, "vocab_size": 37, "initializer_range": 0.3}
CASES: dict[str, dict[str, Any]] = {
    "bloom": {"hidden_size": HEADS * HEAD_DIM, "n_layer": 2, "n_head": HEADS, "vocab_size": 37},
    "falcon": {**MODERN, "multi_query": False, "parallel_attn": False, "bias": True},
    "falcon, one key head": {**MODERN, "multi_query": True, "alibi": True},
    "falcon, two key heads": {**MODERN, "new_decoder_architecture": True, "num_kv_heads": 2},
    "gpt2": GPT,
    "gpt_bigcode": GPT,
    "gpt_bigcode, a key head each": {**GPT, "multi_query": False},
    "gpt_neox": MODERN,
    "gpt_neox_japanese": {**MODERN, "intermediate_multiple_size": 2},
    "modernbert": {**MODERN, "cls_token_id": 1, "sep_token_id": 2},
    "mpt": {"d_model": HEADS * HEAD_DIM, "n_layers": 2, "n_heads": HEADS, "vocab_size": 37},
    "openai-gpt": GPT,
    "persimmon": MODERN,
    "phi3": {**MODERN, "num_key_value_heads": 2},
}


def made(name: str, folder: Path) -> LoadedModel:
    torch.manual_seed(0)
    model = AutoModel.from_config(CONFIG_MAPPING[name.partition(",")[0]](**CASES[name]))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    model.save_pretrained(folder)
    return load_model(folder_source(name, folder), Settings.from_environment(any_folder=True))


def own_mixes(loaded: LoadedModel, layer: int, output: str) -> tuple[np.ndarray, np.ndarray]:
    """The model's eager maps (heads, seq, seq), and the inputs of its output projection (heads, seq, head_dim)."""
    entered = []
    module = loaded.model.get_submodule(output.rpartition(".")[0])
    hook = module.register_forward_pre_hook(lambda _, args: entered.append(args[0].clone()))
    loaded.model.set_attn_implementation("eager")
    with torch.inference_mode():
        maps = loaded.model(input_ids=torch.arange(SEQ)[None], output_attentions=True).attentions[layer][0]
    hook.remove()
    return maps.numpy(), entered[0].reshape(SEQ, HEADS, HEAD_DIM).transpose(0, 1).numpy()


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", CASES)
def test_every_head_mixes_its_own_values(name: str, tmp_path: Path) -> None:
    loaded = made(name, tmp_path)
    run = trace(loaded, tokens_of(SEQ))
    for layer in range(2):
        stored = head_projections(loaded, layer).stored["output"].name
        cells = [break_down_cell(loaded, run, layer, head, SEQ - 1, 2) for head in range(HEADS)]
        maps, mixes = own_mixes(loaded, layer, stored)
        for head, cell in enumerate(cells):
            assert cell.output.rest_norm == 0
            assert cell.output.mix_difference is not None
            assert cell.output.mix_difference < 1e-5
            assert cell.score.max_difference < 1e-5
            np.testing.assert_allclose(maps[head] @ cell.output.values, mixes[head], atol=1e-4)


def test_another_order_than_the_familys_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = made("persimmon", tmp_path)
    run = trace(loaded, tokens_of(SEQ))
    for order, why in (("one after the other", "not the heads' mixes"), ("", "in an order that is not known")):
        row = Family("Persimmon", fused=order)
        monkeypatch.setattr(families, "FAMILIES", {**FAMILIES, "persimmon": row})
        with pytest.raises(UnsupportedModelError, match=why):
            break_down_cell(loaded, run, 0, 1, SEQ - 1, 2)
