"""A folder of the library gliner opens as its encoder, with the numbers of that encoder alone."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from bertviz_core.errors import CheckpointError
from bertviz_core.models.loading import load_model
from bertviz_core.models.sources import folder_source, resolve
from bertviz_core.parameters.ledger import config_ledger, source_ledger
from bertviz_core.settings import Settings
from bertviz_core.trace.run import trace
from bertviz_core.trace.tokenization import load_tokenizer, tokenize
from tests.helpers.tiny_models import TEXT, save_tiny, tiny_model

SETTINGS = Settings.from_environment()
PREFIX = "token_rep_layer.bert_layer.model."


def gliner(model_type: str, folder: Path, **given: Any) -> Path:
    """A folder as gliner writes it: no config.json, the encoder's tensors below a prefix, further layers beside it."""
    save_tiny(model_type, folder)
    tensors = {PREFIX + name: values for name, values in load_file(folder / "model.safetensors").items()}
    tensors["token_rep_layer.projection.weight"] = torch.randn(9, 12)
    tensors["span_rep_layer.span_rep_layer.project_start.0.weight"] = torch.randn(5, 9)
    save_file(tensors, folder / "model.safetensors")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").unlink()
    listed = {"model_name": "someone/encoder", "encoder_config": {**config, "vocab_size": 3}, "max_width": 12, **given}
    (folder / "gliner_config.json").write_text(json.dumps(listed))
    return folder


@pytest.mark.parametrize("model_type", ["deberta-v2", "bert", "modernbert"])
def test_the_encoder_has_its_own_numbers(model_type: str, tmp_path: Path) -> None:
    source = folder_source("tagger", gliner(model_type, tmp_path / "gliner"), SETTINGS)
    alone = folder_source("alone", save_tiny(model_type, tmp_path / "alone"), SETTINGS)
    assert any("GLiNER" in each and "neither computed" in each for each in source.notices)
    runs = []
    for each in (source, alone):
        loaded, tokenizer = load_model(each, SETTINGS), load_tokenizer(each, SETTINGS)
        runs.append(trace(loaded, tokenize(tokenizer, TEXT)))
    np.testing.assert_array_equal(runs[0].hidden_states, runs[1].hidden_states)
    counted = sum(parameter.numel() for parameter in tiny_model(model_type).parameters())
    assert source_ledger(source, SETTINGS).total == config_ledger("alone", alone.config).total == counted


def test_without_the_encoders_config_the_catalogue_is_asked(tmp_path: Path) -> None:
    folder = gliner("bert", tmp_path, encoder_config=None, model_name="bert-base-uncased")
    source = folder_source("tagger", folder, SETTINGS)
    assert source.model_type == "bert"
    assert source.config["vocab_size"] == 37
    folder = gliner("bert", tmp_path / "other", encoder_config=None)
    with pytest.raises(CheckpointError, match="GLiNER model whose gliner_config.json has no encoder_config"):
        folder_source("tagger", folder, SETTINGS)


def test_a_file_without_an_encoder_is_refused_as_gliner(tmp_path: Path) -> None:
    folder = gliner("bert", tmp_path)
    save_file({"rnn.lstm.weight_ih_l0": torch.zeros(4, 3)}, folder / "model.safetensors")
    with pytest.raises(CheckpointError, match="GLiNER model without an encoder"):
        folder_source("tagger", folder, SETTINGS)
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(b"x")
    with pytest.raises(CheckpointError, match=r"holds its weights only as pytorch_model\.bin"):
        folder_source("tagger", folder, SETTINGS)


def test_its_folder_is_offered_and_found_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gliner("bert", tmp_path / "tagger")
    monkeypatch.setenv("INSIDE_BERT_MODELS_DIR", str(tmp_path))
    assert resolve("tagger", Settings.from_environment()).model_type == "bert"
