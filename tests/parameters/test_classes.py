"""The ledger of a file's header equals that of the module, name by name, for classes with ties and stored buffers.

Covers `bertviz_core/parameters/naming.py`.
"""

from pathlib import Path
from typing import Any

import pytest
import transformers
from transformers import CONFIG_MAPPING

from tests.helpers.every_class import differences

VOCAB = {"vocab_size": 99}
SEQ2SEQ = {
    **VOCAB,
    "d_model": 24,
    "encoder_layers": 2,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 3,
    "encoder_ffn_dim": 32,
    "decoder_ffn_dim": 40,
}
T5 = {**VOCAB, "d_model": 24, "d_kv": 12, "d_ff": 32, "num_layers": 2, "num_heads": 2, "num_decoder_layers": 1}
GPT = {**VOCAB, "n_embd": 24, "n_layer": 2, "n_head": 2}
FNET = {**VOCAB, "hidden_size": 24, "num_hidden_layers": 2, "intermediate_size": 32}
TPU = {"use_tpu_fourier_optimizations": True, "tpu_short_seq_length": 16}
MARIAN = {
    "decoder_vocab_size": 98,
    "share_encoder_decoder_embeddings": False,
    "tie_word_embeddings": False,
    "pad_token_id": 5,
    "decoder_start_token_id": 5,
}
ULTRABERT = ("UltrabertModel", "UltrabertForMaskedLM", "UltrabertForSequenceClassification")
"""Classes that the lowest supported transformers lacks."""
CLASSES: dict[str, dict[str, Any]] = {
    **dict.fromkeys(
        [
            f"{family}{head}"
            for family in ("Bart", "MBart", "BlenderbotSmall", "Pegasus", "PLBart", "Mvp")
            for head in ("ForConditionalGeneration", "Model", "ForCausalLM")
        ],
        SEQ2SEQ,
    ),
    "LEDForConditionalGeneration": {**SEQ2SEQ, "attention_window": 4},
    **dict.fromkeys(
        [
            f"{family}{head}"
            for family in ("T5", "MT5", "UMT5")
            for head in (
                "EncoderModel",
                "ForConditionalGeneration",
                "ForTokenClassification",
                "ForSequenceClassification",
            )
        ],
        T5,
    ),
    "LongT5EncoderModel": T5,
    "SwitchTransformersEncoderModel": {
        **T5,
        "num_experts": 2,
        "num_sparse_encoder_layers": 1,
        "num_sparse_decoder_layers": 1,
    },
    **dict.fromkeys(("OpenAIGPTDoubleHeadsModel", "OpenAIGPTLMHeadModel", "GPT2DoubleHeadsModel"), GPT),
    "FNetForMaskedLM": {**FNET, **TPU},
    "FNetModel": FNET,
    **dict.fromkeys(("MarianMTModel", "MarianModel"), {**SEQ2SEQ, **MARIAN}),
    **dict.fromkeys(
        (
            *(
                "DPRContextEncoder",
                "DPRQuestionEncoder",
                "DPRReader",
                "FunnelBaseModel",
                "GPTNeoXForCausalLM",
                "LlamaForQuestionAnswering",
            ),
            "VisualBertForPreTraining",
            *(ULTRABERT if "ultrabert" in CONFIG_MAPPING else ()),
        ),
        {},
    ),
}
"""Class -> sizes; {} for the smallest of its config."""


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", CLASSES)
def test_the_header_tells_what_the_module_has(name: str, tmp_path: Path) -> None:
    assert differences(name, getattr(transformers, name), CLASSES[name], tmp_path) == []
