"""Load of a LoRA adapter with its base of 90 MB, against the load of the base alone.

The adapter has rank 8 on the queries and values of every layer. It is new in each round, so that it is merged and
written each time; the files are in the system's cache.
"""

import dataclasses
import json
import shutil
import tempfile
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from benchmarks.timing import Row, medians_s
from bertviz_core.models.catalog import bundled_folder
from bertviz_core.models.loading import load_model
from bertviz_core.models.safetensors.folder import read_header
from bertviz_core.models.sources import resolve
from bertviz_core.settings import DEFAULT_MODEL, Settings

ROUNDS, RANK, BUDGET = 7, 8, 1.1


def rows() -> list[Row]:
    """The load of an adapter and its base over that of the base."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        settings = dataclasses.replace(Settings.from_environment(), models_dir=folder, allow_hub=False)
        shutil.copytree(bundled_folder(DEFAULT_MODEL), folder / "base")
        _write_adapter(folder / "adapter", folder / "base")
        names = [f"adapter-{number}" for number in range(ROUNDS + 1)]  # one for the warm-up
        for name in names:
            shutil.copytree(folder / "adapter", folder / name)
        unused = iter(names)

        def with_adapter() -> None:
            load_model(resolve(next(unused), settings), settings)

        ours, base = medians_s(with_adapter, lambda: load_model(resolve("base", settings), settings), ROUNDS)
    times = ours / base
    work = f"load of an adapter of rank {RANK} with its base of 90 MB"
    return [
        Row(work, f"{ours:.2f} s", f"{base:.2f} s the base alone", f"<= {BUDGET} x ({times:.2f} x)", times <= BUDGET)
    ]


def _write_adapter(folder: Path, base: Path) -> None:
    rng, tensors = np.random.default_rng(0), {}
    for tensor in read_header(base).tensors:
        module = tensor.name.removesuffix(".weight")
        if module.endswith(("self.query", "self.value")):
            outputs, inputs = tensor.shape
            halves = {"A": (RANK, inputs), "B": (outputs, RANK)}
            for letter, shape in halves.items():
                values = rng.normal(0, 0.02, shape).astype(np.float32)
                tensors[f"base_model.model.{module}.lora_{letter}.weight"] = values
    folder.mkdir()
    save_file(tensors, folder / "adapter_model.safetensors")
    config = {"peft_type": "LORA", "base_model_name_or_path": "base", "r": RANK, "lora_alpha": 16}
    (folder / "adapter_config.json").write_text(json.dumps(config))
