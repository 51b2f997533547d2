"""A tiny classifier that peft really fine-tunes, in a folder as transformers.Trainer leaves it: adapters alone."""

import shutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModel, AutoModelForSequenceClassification

from tests.helpers.made_adapters import random_class, saved_base
from tests.helpers.tiny_models import FAMILIES, tiny_tokenizer
from tests.helpers.training_runs import GOLD, RATE, SAVED, STEPS, TEXTS, write_state

ALONE = 1
"""The layer whose matrices have no update."""
BASE = "base"


def save_adapter_run(models: Path, final: bool = False) -> Path:
    """Copy the base and the run of its adapters into a models folder; with `final` also an adapter beside them."""
    if not (models / BASE).exists():
        shutil.copytree(_trained() / BASE, models / BASE)
    folder = models / "lora"
    shutil.copytree(_trained() / "lora", folder)
    if final:
        for path in (folder / f"checkpoint-{STEPS}").iterdir():
            shutil.copy(path, folder / path.name)
    return folder


def merged_by_peft(models: Path, step: int) -> dict[str, np.ndarray]:
    """The weights of the model at a step, merged by peft, by the names of the base's files, in float64."""
    model = AutoModelForSequenceClassification.from_pretrained(models / BASE, num_labels=2)
    merged = PeftModel.from_pretrained(model, models / "lora" / f"checkpoint-{step}").merge_and_unload()
    named = {name.removeprefix("bert."): value for name, value in merged.state_dict().items()}
    return {name: value.numpy().astype(np.float64) for name, value in named.items()}


def base_weights(models: Path) -> dict[str, np.ndarray]:
    """The weights of the base, in float64."""
    model = AutoModel.from_pretrained(models / BASE)
    return {name: value.numpy().astype(np.float64) for name, value in model.state_dict().items()}


@cache
def _trained() -> Path:
    """Train once per process; the folders are copied by the tests."""
    root = Path(mkdtemp(prefix="adapters"))
    base = saved_base(random_class(AutoModel, "bert"), root / BASE)
    torch.manual_seed(1)
    model = AutoModelForSequenceClassification.from_pretrained(base, num_labels=2)
    layers = [at for at in range(model.config.num_hidden_layers) if at != ALONE]
    options: dict[str, Any] = {"target_modules": ["query", "value"], "layers_to_transform": layers}
    wrapped = get_peft_model(model, LoraConfig(r=3, lora_alpha=5, task_type="SEQ_CLS", **options))
    wrapped.peft_config["default"].base_model_name_or_path = BASE
    optimizer = torch.optim.AdamW([each for each in wrapped.parameters() if each.requires_grad], lr=10 * RATE)
    tokenizer = tiny_tokenizer(FAMILIES["bert"].pad)
    batch, gold = tokenizer(list(TEXTS), padding=True, return_tensors="pt"), torch.tensor(GOLD)
    history: list[Mapping[str, Any]] = []
    for step in range(1, STEPS + 1):
        loss = wrapped(**batch, labels=gold).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append({"epoch": step / 4, "loss": float(loss.detach()), "step": step})
        if step in SAVED:
            wrapped.save_pretrained(root / "lora" / f"checkpoint-{step}", save_embedding_layers=False)
            write_state(root / "lora" / f"checkpoint-{step}", step, history)
    return root
