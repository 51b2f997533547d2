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

LAYOUTS: Mapping[str, Mapping[str, Any]] = {
    "fsmt": {**BOTH_STACKS, "src_vocab_size": 37, "tgt_vocab_size": 37, "langs": ["en", "de"]},
    "led": {
        **BOTH_STACKS,
        "attention_window": [4, 8, 4],
        "max_encoder_position_embeddings": POSITIONS,
        "max_decoder_position_embeddings": POSITIONS,
    },
    "longt5": {
        "d_model": HIDDEN, "d_kv": 6, "d_ff": INTERMEDIATE, "num_layers": LAYERS, "num_heads": HEADS, "local_radius": 3,
    },
    "prophetnet": {
        "hidden_size": HIDDEN,
        "num_encoder_layers": LAYERS,
        "num_decoder_layers": 1,
        "num_encoder_attention_heads": HEADS,
        "num_decoder_attention_heads": HEADS,
        "encoder_ffn_dim": INTERMEDIATE,
        "decoder_ffn_dim": 16,
        "max_position_embeddings": POSITIONS,
    },
    "reformer": {
        "attention_head_size": 6,
        "num_attention_heads": HEADS,
        "hidden_size": HIDDEN,
        "feed_forward_size": INTERMEDIATE,
        "attn_layers": ["local", "lsh", "local"],
        "local_attn_chunk_length": 4,
        "lsh_attn_chunk_length": 4,
        "num_hashes": 1,
        "num_buckets": 2,
        "axial_pos_shape": [4, 8],
        "axial_pos_embds_dim": [4, 8],
        "max_position_embeddings": 32,
        "is_decoder": False,
    },
}  # fmt: skip
"""Families that have the tokens before the batch, pad the text, attend in chunks, or name their sizes differently."""


def decoder_config(model_type: str, **changes: Any) -> PreTrainedConfig:
    """The smallest config of a decoder-only family."""
    return _config(model_type, {**DECODERS[model_type], **changes})


def writer_config(model_type: str) -> PreTrainedConfig:
    """The smallest config of an encoder with a decoder, 3 layers and 1, or of one of LAYOUTS."""
    return _config(model_type, LAYOUTS.get(model_type, BOTH_STACKS))


def _config(model_type: str, sizes: Mapping[str, Any]) -> PreTrainedConfig:
    ids = {"vocab_size": 37, "pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
    return CONFIG_MAPPING[model_type](**{**ids, **sizes})
