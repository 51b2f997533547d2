"""Interventions: all heads of BERT base, zeroed and set to their means, and their effects beside those of the CPU."""

import tempfile
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.device import agreement, extra_nbytes
from benchmarks.models import causes
from benchmarks.timing import Row
from bertviz_core.interventions.ablation import ablation_effects
from bertviz_core.interventions.hooks import mean_activations


def rows(device: str) -> list[Row]:
    """Rows of the table for interventions."""
    (zero, mean, nbytes), (zero_of_cpu, mean_of_cpu, _) = _effects(device), _effects("cpu")
    return [
        *causes.base_rows(device),
        Row("extra memory of the zeros", f"{nbytes / 1e6:.0f} MB", "", "told, no budget", True),
        agreement("the effects of all heads, zero", [(zero, zero_of_cpu)]),
        agreement("the effects of all heads, mean", [(mean, mean_of_cpu)]),
    ]


def _effects(device: str) -> tuple[np.ndarray, np.ndarray, int]:
    """Zero and mean effects (layers, heads), and the extra memory of the former."""
    with tempfile.TemporaryDirectory() as folder:
        target, tokenizer = causes.opened_target(Path(folder), causes.TOKENS, device)
        means = mean_activations(target.loaded, tokenizer)
        zero, mean = ablation_effects(target), ablation_effects(target, "mean", means)
        return zero.heads, mean.heads, extra_nbytes(partial(ablation_effects, target), device)
