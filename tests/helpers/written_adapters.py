"""Adapters written by hand, without peft."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from bertviz_core.models.safetensors.folder import read_header


def write_adapter(
    folder: Path, base: str, base_folder: Path, modules: tuple[str, ...] = ("query", "value"), **settings: Any
) -> Path:
    """Write an adapter with random matrices of rank 3 for the matrices of these modules.

    Args:
        folder: its folder, which is created.
        base: name of its base.
        base_folder: folder with the weights of the base.
        modules: last names of the modules that it changes.
        settings: further entries of its config.
    """
    rng, tensors = np.random.default_rng(7), {}
    for tensor in read_header(base_folder).tensors:
        module = tensor.name.removesuffix(".weight")
        if tensor.name.endswith(".weight") and module.rpartition(".")[2] in modules:
            rows, columns = tensor.shape
            tensors[f"base_model.model.{module}.lora_A.weight"] = rng.normal(0, 0.1, (3, columns)).astype(np.float32)
            tensors[f"base_model.model.{module}.lora_B.weight"] = rng.normal(0, 0.1, (rows, 3)).astype(np.float32)
    folder.mkdir(parents=True)
    save_file(tensors, folder / "adapter_model.safetensors")
    config = {"peft_type": "LORA", "base_model_name_or_path": base, "r": 3, "lora_alpha": 6, **settings}
    (folder / "adapter_config.json").write_text(json.dumps(config))
    return folder
