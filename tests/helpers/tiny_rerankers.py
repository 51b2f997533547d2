"""Tiny rerankers: causal models with a byte-level tokenizer that has yes and no, chat templates, and cross-encoders."""

from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

TEMPLATE = """<|im_start|>system
Judge the text.<|im_end|>
<|im_start|>user
<Instruct>: {{ messages | selectattr("role", "eq", "system") | map(attribute="content") | first | default("none") }}
<Query>: {{ messages | selectattr("role", "eq", "query") | map(attribute="content") | first }}
<Document>: {{ messages | selectattr("role", "eq", "document") | map(attribute="content") | first }}<|im_end|>
<|im_start|>assistant
"""
STRUCTURED_TEMPLATE = """{{ bos_token }}{% for message in messages %}{% if message.role == "document" -%}
Text: {{ message.content[0].text | trim }} {% else %}{{ message.role }}: {{ message.content[0].text | trim }}
{% endif %}{% endfor %}
Answer:"""
WORDS = (
    *("yes", "no", "the", "river", "bank", "of", "a", "money", "flows", "into", "my", "pet", "python", "judge", "text"),
    *("query", "document", "instruct", "search", "answer", "retrieve", "relevant", "passages", "meets", "provided"),
)
SIZES: dict[str, Any] = {
    "hidden_size": 24,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 10,
    "intermediate_size": 36,
    "max_position_embeddings": 251,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}


def byte_tokenizer(words: tuple[str, ...] = WORDS, **options: Any) -> transformers.PreTrainedTokenizerFast:
    """A byte-level tokenizer with a token for each word, alone and after a space, and the marks of a chat."""
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    trainer = trainers.BpeTrainer(vocab_size=409, initial_alphabet=alphabet, special_tokens=special)
    backend.train_from_iterator([*words, *(f" {word}" for word in words)] * 3, trainer)
    roles = {"pad_token": special[0], "bos_token": special[1], "eos_token": special[2]}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=backend, **roles, **options)


def save_causal(folder: Path, model_type: str = "qwen3", template: str = "", **options: Any) -> Path:
    """Write a causal model like save_pretrained, with a chat template if one is given."""
    tokenizer = byte_tokenizer(**options)
    torch.manual_seed(0)
    config = transformers.CONFIG_MAPPING[model_type](vocab_size=len(tokenizer) + 13, **SIZES)
    _save(transformers.AutoModelForCausalLM.from_config(config), tokenizer, folder, template)
    return folder


def save_classifier(folder: Path, model_type: str = "qwen3", template: str = "", **changes: Any) -> Path:
    """Write a model with a classification head of one output, with a chat template if one is given."""
    tokenizer = byte_tokenizer()
    torch.manual_seed(0)
    sizes = {**SIZES, "num_labels": 1, **changes}
    config = transformers.CONFIG_MAPPING[model_type](vocab_size=len(tokenizer) + 13, **sizes)
    _save(transformers.AutoModelForSequenceClassification.from_config(config), tokenizer, folder, template)
    return folder


def _save(model: Any, tokenizer: Any, folder: Path, template: str) -> None:
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    tokenizer.chat_template = template or None
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
