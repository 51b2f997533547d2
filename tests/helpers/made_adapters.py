"""Adapters of tiny models, made by peft, and what peft itself makes of them."""

from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, get_peft_model
from transformers import PreTrainedModel

from tests.helpers.tiny_models import FAMILIES, tiny_config, tiny_tokenizer


def saved_base(model: PreTrainedModel, folder: Path) -> Path:
    """Save a model with its tokenizer."""
    model.save_pretrained(folder)
    tiny_tokenizer(FAMILIES[model.config.model_type].pad).save_pretrained(folder)
    return folder


def random_class(auto_class: Any, model_type: str, **changes: Any) -> PreTrainedModel:
    """A tiny random model of a class, with spread biases too."""
    torch.manual_seed(3)
    model: PreTrainedModel = auto_class.from_config(tiny_config(model_type, **changes))
    return model.eval()


def save_adapter(
    model: PreTrainedModel, base: Path | str, folder: Path, *, save_embedding_layers: bool | str = False, **options: Any
) -> PreTrainedModel:
    """Wrap a model with peft, draw all trained numbers at random, save the adapter, and return the merged model.

    Its attribute peft_counts is peft's number of trained and of all parameters.
    """
    wrapped = get_peft_model(model, LoraConfig(**{"r": 3, "lora_alpha": 5, **options}))
    torch.manual_seed(5)
    with torch.no_grad():
        for parameter in wrapped.parameters():
            if parameter.requires_grad:
                parameter.copy_(torch.randn_like(parameter) * 0.3)
    wrapped.peft_config["default"].base_model_name_or_path = str(base)
    wrapped.save_pretrained(folder, save_embedding_layers=save_embedding_layers)  # "auto" may ask the Hub
    counts = wrapped.get_nb_trainable_parameters()
    merged: PreTrainedModel = wrapped.merge_and_unload()
    merged.peft_counts = counts
    return merged.eval()
