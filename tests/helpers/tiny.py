"""Tiny configs of many families with pairwise different sizes, for models with random weights."""

from typing import Any

from bertviz_core.models.own import own_classes

own_classes()

COMMON: dict[str, Any] = {
    "vocab_size": 67,
    "hidden_size": 8,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "intermediate_size": 22,
    "max_position_embeddings": 41,
    "type_vocab_size": 2,
    "pad_token_id": 0,
}
ROBERTA_LIKE = {**COMMON, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
CONFIGS: dict[str, dict[str, Any]] = {
    "albert": {**COMMON, "embedding_size": 6, "num_hidden_groups": 1, "inner_group_num": 1},
    "bert": COMMON,
    "big_bird": {**COMMON, "attention_type": "original_full"},
    "camembert": ROBERTA_LIKE,
    "convbert": {**COMMON, "embedding_size": 6, "head_ratio": 1, "conv_kernel_size": 3},
    "data2vec-text": ROBERTA_LIKE,
    "deberta": {**COMMON, "relative_attention": True, "pos_att_type": ["c2p", "p2c"], "type_vocab_size": 0},
    "deberta-v2": {**COMMON, "relative_attention": True, "pos_att_type": ["c2p", "p2c"], "position_buckets": 5},
    "distilbert": {
        "vocab_size": 67,
        "dim": 8,
        "n_layers": 3,
        "n_heads": 2,
        "hidden_dim": 22,
        "max_position_embeddings": 41,
    },
    "electra": {**COMMON, "embedding_size": 6},
    "ernie": {**COMMON, "task_type_vocab_size": 3, "use_task_id": True},
    "esm": {**ROBERTA_LIKE, "position_embedding_type": "rotary"},
    "eurobert": {**COMMON, "num_key_value_heads": 2, "head_dim": 4},
    "fnet": COMMON,
    "funnel": {
        "vocab_size": 67,
        "block_sizes": [2, 1],
        "block_repeats": [1, 3],
        "d_model": 8,
        "n_head": 2,
        "d_head": 4,
        "d_inner": 22,
    },
    "gte": COMMON,
    "ibert": ROBERTA_LIKE,
    "jina_bert": {**COMMON, "position_embedding_type": "alibi", "feed_forward_type": "geglu", "qk_post_norm": True},
    "layoutlm": {**COMMON, "max_2d_position_embeddings": 53},
    "longformer": {**ROBERTA_LIKE, "attention_window": 4},
    "luke": {**ROBERTA_LIKE, "entity_vocab_size": 13, "entity_emb_size": 6},
    "megatron-bert": COMMON,
    "mobilebert": {**COMMON, "embedding_size": 6, "intra_bottleneck_size": 8, "true_hidden_size": 8},
    "modernbert": {**COMMON, "local_attention": 6, "global_attn_every_n_layers": 2},
    "mpnet": {**COMMON, "relative_attention_num_buckets": 9},
    "neo_bert": COMMON,
    "nomic_bert": COMMON,
    "nystromformer": {**COMMON, "num_landmarks": 4, "segment_means_seq_len": 40},
    "pegasus": {
        "vocab_size": 67,
        "d_model": 8,
        "encoder_layers": 3,
        "decoder_layers": 3,
        "encoder_attention_heads": 2,
        "decoder_attention_heads": 2,
        "encoder_ffn_dim": 22,
        "decoder_ffn_dim": 26,
        "max_position_embeddings": 41,
        "pad_token_id": 0,
    },
    "rembert": {**COMMON, "input_embedding_size": 6, "output_embedding_size": 10},
    "roberta": ROBERTA_LIKE,
    "roberta-prelayernorm": ROBERTA_LIKE,
    "roc_bert": {
        **COMMON,
        "pronunciation_embed_dim": 6,
        "pronunciation_vocab_size": 17,
        "shape_embed_dim": 10,
        "shape_vocab_size": 19,
    },
    "roformer": {**COMMON, "embedding_size": 6},
    "splinter": COMMON,
    "squeezebert": {
        **COMMON,
        "embedding_size": 8,
        **{f"{part}_groups": 1 for part in ("q", "k", "v", "post_attention", "intermediate", "output")},
    },
    "t5": {"vocab_size": 67, "d_model": 8, "d_kv": 4, "d_ff": 22, "num_layers": 3, "num_heads": 2},
    "xlm": {"vocab_size": 67, "emb_dim": 8, "n_layers": 3, "n_heads": 2, "max_position_embeddings": 41},
    "xlm-roberta": ROBERTA_LIKE,
    "xlm-roberta-xl": ROBERTA_LIKE,
    "xlnet": {"vocab_size": 67, "d_model": 8, "n_layer": 3, "n_head": 2, "d_inner": 22},
    "yoso": COMMON,
}


def tiny_config(model_type: str) -> dict[str, Any]:
    """The config.json of a tiny model of this type."""
    return {"model_type": model_type, **CONFIGS[model_type]}
