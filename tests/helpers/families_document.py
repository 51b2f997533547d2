"""Run adapters and late interaction of every family, and write docs/families.md.

`python -m tests.helpers.families_document` writes the file.
"""

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Shaped
from transformers import AutoModel, AutoTokenizer

from bertviz_core import open_model
from bertviz_core.errors import BertvizError, CheckpointError
from bertviz_core.models.families import family
from bertviz_core.models.local_files import weights_folder
from bertviz_core.models.safetensors.folder import read_header
from bertviz_core.models.safetensors.values import TensorReader
from bertviz_core.models.sources import resolve
from bertviz_core.settings import Settings
from tests.helpers.families_table import DOCUMENT, EXACT, families_part, head_cell, heads_part, own_model
from tests.helpers.known_names import known_part
from tests.helpers.made_adapters import random_class, save_adapter, saved_base
from tests.helpers.tiny_models import FAMILIES, TEXT, save_tiny

BROUGHT_HEAD = """
## Models that people bring

From the runs of `tests/models/test_models_that_people_bring.py`, with a tiny random model of every family.

* **adapter**: a LoRA adapter of all linear maps, made by peft and opened with its base: all weights equal those of
  peft's `merge_and_unload` (1e-6). "no" where this family's files have other names for their matrices than the class
  that peft trains: merge it with peft and open the result. "-" where peft itself makes none.
* **reranker**: a head of classes, which scores a query with a text (the column "classes" of the table above).
* **late interaction**: the map of two texts equals the cosines of the last hidden states of transformers' own class
  (1e-5).

"""
BROUGHT = ("family", "adapter", "reranker", "late interaction")
MERGED = 1e-6


def document() -> str:
    """The text of docs/families.md."""
    return families_part() + heads_part() + brought_part() + known_part()


def brought_part() -> str:
    """The table of the models that people bring."""
    rows = [list(BROUGHT), ["---"] * len(BROUGHT)]
    rows += (
        [
            family(name).title,
            adapter_cell(name),
            head_cell(name, "sequence-classification"),
            late_interaction_cell(name),
        ]
        for name in FAMILIES
    )
    return BROUGHT_HEAD + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def adapter_cell(name: str) -> str:
    """Whether a merged adapter equals that of peft."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        settings = replace(Settings.from_environment(), models_dir=folder)
        model = random_class(AutoModel, name)
        saved_base(model, folder / "base")
        try:
            merged = save_adapter(model, "base", folder / "adapter", target_modules="all-linear")
        except (AttributeError, NotImplementedError, TypeError, ValueError):
            return "-"
        merged.save_pretrained(folder / "merged")
        try:
            folders = [weights_folder(resolve(each, settings), settings) for each in ("adapter", "merged")]
        except CheckpointError:
            return "no"
        ours, theirs = (_tensors(each) for each in folders)
        same = all(key in ours and np.abs(ours[key] - each).max(initial=0) <= MERGED for key, each in theirs.items())
        return "exact" if same else "differ"


def _tensors(folder: Path) -> dict[str, Shaped[np.ndarray, "..."]]:
    tensors = read_header(folder).tensors
    with TensorReader(folder) as reader:
        return {tensor.name: reader.read(tensor) for tensor in tensors if "float" in tensor.dtype}


def late_interaction_cell(name: str) -> str:
    """Whether the map of a text with itself equals the cosines of the model's own last hidden states."""
    with tempfile.TemporaryDirectory() as made:
        folder = save_tiny(name, Path(made))
        try:
            found = open_model(folder).late_interaction(TEXT, TEXT).cosines
        except BertvizError:
            return "no"
        inputs = AutoTokenizer.from_pretrained(folder)(TEXT, return_tensors="pt")
        model = own_model(folder, inputs["input_ids"].shape[1])
        with torch.no_grad():
            model = model.get_encoder() if model.config.is_encoder_decoder else model
            states = model(**inputs).last_hidden_state[0]
        units = torch.nn.functional.normalize(states, dim=-1).numpy()
        return "exact" if np.abs(units @ units.T - found).max() <= EXACT else "differ"


if __name__ == "__main__":
    DOCUMENT.parent.mkdir(exist_ok=True)
    DOCUMENT.write_text(document(), encoding="utf-8")
