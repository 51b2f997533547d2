"""The ledger of a file's header is the ledger of the module, name by name, for classes with ties and stored buffers.

Covers `bertviz_core/parameters/naming.py`.
"""

from pathlib import Path
from typing import Any

import pytest
import transformers

from bertviz_core.models.sources import folder_source
from bertviz_core.parameters.ledger import module_ledger, source_ledger
from bertviz_core.settings import Settings

SETTINGS = Settings.from_environment(any_folder=True)
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
}


@pytest.mark.parametrize("name", CLASSES)
def test_the_header_tells_what_the_module_has(name: str, tmp_path: Path) -> None:
    model_class = getattr(transformers, name)
    module = model_class(model_class.config_class(**CLASSES[name]))
    module.save_pretrained(tmp_path)
    stored, built = source_ledger(folder_source(name, tmp_path), SETTINGS), module_ledger(name, module)
    assert stored.total == built.total == sum(parameter.numel() for parameter in module.parameters())
    assert {row.name: row.shape for row in stored.parameters} == {row.name: row.shape for row in built.parameters}
    ties = [{row.name for row in ledger.parameters if row.tied_to} for ledger in (stored, built)]
    assert len(ties[0]) == len(ties[1])
    assert stored.trainable == built.trainable
