"""Text towers and projections: states, maps and vectors are those of the whole model in transformers."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import CONFIG_MAPPING, AutoModel, AutoTokenizer, PreTrainedModel

from bertviz_core.attention.maps import attention_probs
from bertviz_core.errors import CheckpointError
from bertviz_core.models.loading import LoadedModel, load_model
from bertviz_core.models.sources import folder_source
from bertviz_core.sentences.encoding import batches, sentence_vectors, tokenized
from bertviz_core.sentences.plan import adapted, recommended
from bertviz_core.settings import Settings
from bertviz_core.trace.run import trace
from bertviz_core.trace.tokenization import TextTokenizer, load_tokenizer, tokenize
from tests.helpers.tiny_models import tiny_tokenizer, vocabulary

SETTINGS = Settings.from_environment()
TEXTS = ("I love my pet python.", "the river", "my language, the bank by the river")
POSITIONS, HIDDEN = 21, 12
TEXT: dict[str, Any] = {
    "vocab_size": len(vocabulary()), "hidden_size": HIDDEN, "intermediate_size": 14, "num_hidden_layers": 3,
    "num_attention_heads": 2, "max_position_embeddings": POSITIONS, "pad_token_id": 0, "bos_token_id": 2,
    "eos_token_id": 3,
}  # fmt: skip
IMAGE = {
    "hidden_size": 16, "intermediate_size": 22, "num_hidden_layers": 1, "num_attention_heads": 4, "image_size": 8,
    "patch_size": 4,
}  # fmt: skip
GEMMA = {
    **TEXT, "num_key_value_heads": 1, "head_dim": 6, "global_head_dim": 10, "num_global_key_value_heads": 1,
    "sliding_window": 4, "sliding_window_pattern": 2, "hidden_size_per_layer_input": 7, "embedding_dim": 26,
}  # fmt: skip
CONFIGS: dict[str, dict[str, Any]] = {
    "clip": {"text_config": TEXT, "vision_config": IMAGE, "projection_dim": 10},
    "metaclip_2": {"text_config": TEXT, "vision_config": IMAGE, "projection_dim": 10},
    "siglip": {"text_config": {**TEXT, "projection_size": 16}, "vision_config": IMAGE},
    "siglip2": {"text_config": {**TEXT, "projection_size": 16}, "vision_config": IMAGE},
    "embedding_gemma2": {"text_config": GEMMA, "vision_config": None, "audio_config": None},
    "embedding_gemma2_text": GEMMA,
}
TOWERS = ("clip", "metaclip_2", "siglip", "siglip2")
GEMMAS = ("embedding_gemma2", "embedding_gemma2_text")
PROJECTED = {"clip": 10, "metaclip_2": 10, "siglip": 16, "siglip2": 16, **dict.fromkeys(GEMMAS, 26)}


def saved(model_type: str, folder: Path) -> PreTrainedModel:
    """A random model in a folder, with a tokenizer."""
    torch.manual_seed(1)
    model: PreTrainedModel = AutoModel.from_config(CONFIG_MAPPING[model_type](**CONFIGS[model_type])).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    model.save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return model


def opened(folder: Path) -> tuple[LoadedModel, TextTokenizer]:
    source = folder_source(str(folder), folder)
    return load_model(source, SETTINGS), load_tokenizer(source, SETTINGS)


def own_inputs(folder: Path, model_type: str, text: str) -> dict[str, torch.Tensor]:
    """A text as the model's documentation has it read: SigLIP's padded to all positions, without a mask."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    if not model_type.startswith("siglip"):
        made = tokenizer(text, return_tensors="pt")
        return {"input_ids": made["input_ids"], "attention_mask": made["attention_mask"]}
    made = tokenizer(text, padding="max_length", max_length=POSITIONS, truncation=True, return_tensors="pt")
    return {"input_ids": made["input_ids"]}


@pytest.mark.parametrize("model_type", CONFIGS)
def test_states_and_maps_are_those_of_the_part_that_reads_texts(model_type: str, tmp_path: Path) -> None:
    whole = saved(model_type, tmp_path)
    loaded, tokenizer = opened(tmp_path)
    found = trace(loaded, tokenize(tokenizer, TEXTS[0]))
    part: Any = getattr(whole, "text_model", getattr(whole, "language_model", whole))
    part.set_attn_implementation("eager")
    with torch.inference_mode():
        inputs = own_inputs(tmp_path, model_type, TEXTS[0])
        own = part(**inputs, output_hidden_states=True, output_attentions=True)
    assert found.attention_source == "recorded"
    assert len(found.hidden_states) == 4
    for layer in range(3):
        np.testing.assert_allclose(attention_probs(found, layer), own.attentions[layer][0].numpy(), atol=1e-6)
        np.testing.assert_allclose(found.hidden_states[layer], own.hidden_states[layer][0].numpy(), atol=2e-5)
    last = torch.tensor(found.hidden_states[3])
    if model_type in GEMMAS:
        projected = last @ part.embedding_projection.weight.detach().T
        np.testing.assert_allclose(projected.numpy(), own.last_hidden_state[0].numpy(), atol=2e-5)
    else:
        np.testing.assert_allclose(last.numpy(), own.hidden_states[3][0].numpy(), atol=2e-5)
    assert loaded.has_pooler == (model_type in TOWERS)


@pytest.mark.parametrize("model_type", TOWERS)
def test_text_vectors_are_those_of_get_text_features(model_type: str, tmp_path: Path) -> None:
    whole: Any = saved(model_type, tmp_path)
    loaded, tokenizer = opened(tmp_path)
    plan = recommended(folder_source("m", tmp_path), SETTINGS)
    found = sentence_vectors(loaded, tokenizer, TEXTS, plan)
    with torch.inference_mode():
        own = [whole.get_text_features(**own_inputs(tmp_path, model_type, text)).pooler_output for text in TEXTS]
    assert found.vectors.shape == (len(TEXTS), PROJECTED[model_type])
    np.testing.assert_allclose(found.vectors, torch.cat(own).numpy(), atol=1e-5)
    assert plan.from_checkpoint
    mean = sentence_vectors(loaded, tokenizer, TEXTS, adapted(plan, "mean", None))
    assert mean.vectors.shape == (len(TEXTS), HIDDEN)


@pytest.mark.parametrize("model_type", TOWERS)
def test_the_tower_alone_is_that_of_the_whole_model(model_type: str, tmp_path: Path) -> None:
    whole: Any = saved(model_type, tmp_path / "whole")
    whole.text_model.save_pretrained(tmp_path / "alone")
    AutoTokenizer.from_pretrained(tmp_path / "whole").save_pretrained(tmp_path / "alone")
    (one, reader), (other, own_reader) = (opened(tmp_path / name) for name in ("alone", "whole"))
    states = [trace(each, tokenize(by, TEXTS[0])).hidden_states for each, by in ((one, reader), (other, own_reader))]
    np.testing.assert_array_equal(*states)
    makes_vectors = model_type.startswith("siglip")
    assert one.has_pooler == makes_vectors
    plan = recommended(folder_source("m", tmp_path / "alone"), SETTINGS)
    found = sentence_vectors(one, reader, TEXTS, plan).vectors
    with torch.inference_mode():
        inputs = [own_inputs(tmp_path / "whole", model_type, text) for text in TEXTS]
        own = [whole.text_model(**each) for each in inputs]
    vectors = [each.pooler_output if makes_vectors else each.last_hidden_state.mean(dim=1) for each in own]
    np.testing.assert_allclose(found, torch.cat(vectors).numpy(), atol=1e-5)
    assert plan.pooling == ("pooler" if makes_vectors else "mean")


@pytest.mark.parametrize("model_type", GEMMAS)
def test_embedding_gemma_2_in_a_folder_of_sentence_transformers(model_type: str, tmp_path: Path) -> None:
    whole: Any = saved(model_type, tmp_path)
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode": "mean", "embedding_dimension": 26}))
    prefix = "sentence_transformers.models."
    parts = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    modules = [
        {"idx": at, "name": str(at), "path": path, "type": prefix + name} for at, (path, name) in enumerate(parts)
    ]
    (tmp_path / "modules.json").write_text(json.dumps(modules))
    loaded, tokenizer = opened(tmp_path)
    plan = recommended(folder_source("m", tmp_path), SETTINGS)
    found = sentence_vectors(loaded, tokenizer, TEXTS, plan).vectors
    with torch.inference_mode():
        own = [whole(**own_inputs(tmp_path, model_type, text)).last_hidden_state[0].mean(dim=0) for text in TEXTS]
    expected = torch.nn.functional.normalize(torch.stack(own), dim=-1).numpy()
    assert found.shape == (len(TEXTS), PROJECTED[model_type])
    np.testing.assert_allclose(found, expected, atol=1e-6)
    if model_type == "embedding_gemma2_text":
        library = pytest.importorskip("sentence_transformers").SentenceTransformer(str(tmp_path), device="cpu")
        np.testing.assert_allclose(found, library.encode(list(TEXTS)), atol=1e-6)


def test_siglip_reads_every_text_at_its_full_length_and_says_so(tmp_path: Path) -> None:
    saved("siglip", tmp_path)
    loaded, tokenizer = opened(tmp_path)
    tokens = tokenize(tokenizer, "the river")
    assert len(tokens) == POSITIONS
    assert tokens.tokens[:5] == ("[CLS]", "the", "river", "[SEP]", "[PAD]")
    assert tokens.special[4:].all()
    assert any(f"padded to {POSITIONS} tokens" in each for each in tokens.notices)
    rows = next(tokenized(tokenizer, TEXTS, recommended(folder_source("m", tmp_path), SETTINGS)))
    assert [len(row) for row in rows] == [POSITIONS] * 3
    assert batches(loaded, [POSITIONS] * 3)
    long = tokenize(tokenizer, "the river " * 30)
    assert len(long) == POSITIONS
    assert long.tokens_cut[0] > 0


def test_a_folder_without_the_projection_is_refused_in_words(tmp_path: Path) -> None:
    whole: Any = saved("clip", tmp_path)
    weights = {name: each for name, each in whole.state_dict().items() if name != "text_projection.weight"}
    whole.save_pretrained(tmp_path, state_dict=weights)
    with pytest.raises(CheckpointError, match=r"lack the matrix 'text_projection.weight'"):
        recommended(folder_source("m", tmp_path), SETTINGS)
