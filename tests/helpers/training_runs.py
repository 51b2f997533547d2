"""A tiny classifier that is really fine-tuned, in a folder as transformers.Trainer leaves it."""

import json
import shutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import torch
from safetensors.numpy import load_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from tests.helpers.tiny_heads import save_tiny_head

STEPS, EVERY, CUT_OFF = 8, 2, 10
"""Steps of the optimizer, and between two checkpoints; step of a checkpoint that is only half written."""
SAVED = (2, 4, 6, 8)
FROZEN_LAYER = 1
TEXTS = ("i love my pet", "the bank , the river", "my language", "the python bank")
GOLD = (0, 1, 0, 1)
RATE = 0.01


def save_run(folder: Path, cut_off: bool = True) -> Path:
    """Copy the run into a folder: checkpoint-2 to -8, a final model beside them, and checkpoint-10 cut off."""
    shutil.copytree(_trained(), folder)
    if cut_off:
        shutil.copytree(folder / f"checkpoint-{STEPS}", folder / f"checkpoint-{CUT_OFF}")
        weights = folder / f"checkpoint-{CUT_OFF}" / "model.safetensors"
        weights.write_bytes(weights.read_bytes()[:-100])
    return folder


def weights(folder: Path) -> dict[str, np.ndarray]:
    """The tensors of a checkpoint in float64."""
    return {name: value.astype(np.float64) for name, value in load_file(folder / "model.safetensors").items()}


def state_of(folder: Path) -> dict[str, Any]:
    """The trainer_state.json of a folder."""
    state: dict[str, Any] = json.loads((folder / "trainer_state.json").read_text())
    return state


def write_state(folder: Path, step: int, history: list[Mapping[str, Any]], **more: Any) -> None:
    """Write a trainer_state.json with the keys of transformers."""
    state = {"epoch": step / 4, "global_step": step, "is_local_process_zero": True, "log_history": history}
    state |= {"max_steps": STEPS, "save_steps": EVERY, "stateful_callbacks": {}, "total_flos": 1234.0, **more}
    (folder / "trainer_state.json").write_text(json.dumps(state, indent=2, sort_keys=True))


@cache
def _trained() -> Path:
    """Train once per process; the folder is copied by the tests."""
    root = Path(mkdtemp(prefix="training"))
    start, run = save_tiny_head("bert", "sequence-classification", root / "start"), root / "run"
    torch.manual_seed(0)
    model, tokenizer = AutoModelForSequenceClassification.from_pretrained(start), AutoTokenizer.from_pretrained(start)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(f"layer.{FROZEN_LAYER}." not in name)
    optimizer = torch.optim.AdamW([each for each in model.parameters() if each.requires_grad], lr=RATE)
    batch, gold = tokenizer(list(TEXTS), padding=True, return_tensors="pt"), torch.tensor(GOLD)
    history: list[Mapping[str, Any]] = []
    for step in range(1, STEPS + 1):
        output = model(**batch, labels=gold)
        optimizer.zero_grad()
        output.loss.backward()
        optimizer.step()
        row = {"epoch": step / 4, "grad_norm": 1.5, "learning_rate": RATE, "loss": float(output.loss.detach())}
        history.append({**row, "step": step})
        if step % EVERY:
            continue
        with torch.no_grad():
            right = (model(**batch).logits.argmax(-1) == gold).float().mean().item()
        history.append({"epoch": step / 4, "eval_accuracy": right, "eval_runtime": 0.25, "step": step})
        _save(model, tokenizer, run / f"checkpoint-{step}")
        write_state(run / f"checkpoint-{step}", step, history)
    history.append({"epoch": STEPS / 4, "step": STEPS, "total_flos": 1234.0, "train_loss": 0.5, "train_runtime": 3.0})
    _save(model, tokenizer, run)
    write_state(run, STEPS, history)
    return run


def _save(model: Any, tokenizer: Any, folder: Path) -> None:
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    (folder / "training_args.bin").write_bytes(b"pickled")
