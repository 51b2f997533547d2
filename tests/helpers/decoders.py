"""Tiny configs of generative families: decoders, and encoders with a decoder."""

from collections.abc import Mapping
from typing import Any

from transformers import CONFIG_MAPPING, PreTrainedConfig

from tests.helpers.tiny_models import HEADS, HIDDEN, INTERMEDIATE, LAYERS, POSITIONS

MODERN: Mapping[str, Any] = {
    "hidden_size": HIDDEN,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "num_key_value_heads": 1,
    "intermediate_size": INTERMEDIATE,
    "max_position_embeddings": POSITIONS,
}
GPT: Mapping[str, Any] = {"n_embd": HIDDEN, "n_layer": LAYERS, "n_head": HEADS, "n_positions": POSITIONS}
DECODERS: Mapping[str, Mapping[str, Any]] = {
    "biogpt": MODERN,
    "bloom": {"hidden_size": HIDDEN, "n_layer": LAYERS, "n_head": HEADS},
    "ctrl": {**GPT, "dff": INTERMEDIATE},
    "gemma2": {**MODERN, "head_dim": 6, "sliding_window": 4},
    "gpt2": GPT,
    "gpt_neox": MODERN,
    "llama": MODERN,
    "mistral": {**MODERN, "sliding_window": 4},
    "modernbert-decoder": {**MODERN, "cls_token_id": 2, "sep_token_id": 3},
    "openai-gpt": GPT,
    "opt": {
        "hidden_size": HIDDEN,
        "word_embed_proj_dim": HIDDEN,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "ffn_dim": INTERMEDIATE,
        "max_position_embeddings": POSITIONS,
    },
    "qwen2": MODERN,
    "starcoder2": MODERN,
    "xglm": {"d_model": HIDDEN, "num_layers": LAYERS, "attention_heads": HEADS, "ffn_dim": INTERMEDIATE},
}
BOTH_STACKS: Mapping[str, Any] = {
    "d_model": HIDDEN,
    "encoder_layers": LAYERS,
    "decoder_layers": 1,
    "encoder_attention_heads": HEADS,
    "decoder_attention_heads": HEADS,
    "encoder_ffn_dim": INTERMEDIATE,
    "decoder_ffn_dim": 16,
    "max_position_embeddings": POSITIONS,
    "decoder_start_token_id": 2,
}
WRITERS = ("bart", "blenderbot", "marian", "mbart", "pegasus", "plbart")


def decoder_config(model_type: str, **changes: Any) -> PreTrainedConfig:
    """The smallest config of a decoder-only family."""
    return _config(model_type, {**DECODERS[model_type], **changes})


def writer_config(model_type: str) -> PreTrainedConfig:
    """The smallest config of an encoder with a decoder, 3 layers and 1."""
    return _config(model_type, BOTH_STACKS)


def _config(model_type: str, sizes: Mapping[str, Any]) -> PreTrainedConfig:
    ids = {"vocab_size": 37, "pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
    return CONFIG_MAPPING[model_type](**{**ids, **sizes})
