"""Estimated cost of a run: memory from the sizes of its arrays, time from the speed of this machine."""

from dataclasses import dataclass
from functools import cache
from time import perf_counter
from typing import Any

from bertviz_core.models.families import family
from bertviz_core.models.loading import LoadedModel

SOFTMAX_FLOPS = 12
"""Work per attention score besides its two products, in multiply-add pairs: scale, mask, exponential, sum."""


@dataclass(frozen=True, slots=True)
class RunCost:
    """Estimated memory and time of one run of a model on one text."""

    tokens: int
    """Tokens of the text."""
    nbytes: int
    """Bytes that the trace keeps."""
    seconds: float
    """Duration on this machine, estimated from the speed of one matrix product."""


def run_cost(loaded: LoadedModel, tokens: int) -> RunCost:
    """Estimated cost of a run on a text of this many tokens.

    The operations are those of a transformer's forward pass: two per weight and token for the projections (Kaplan et
    al. 2020, section 2.1), and for every pair of tokens two products and a softmax.
    """
    config: Any = loaded.model.config
    layers, hidden = loaded.num_hidden_layers, int(getattr(config, "hidden_size", 768))
    weights = _weights_run(loaded, layers)
    heads = int(getattr(config, "num_attention_heads", 12))
    pairs = layers * tokens * tokens
    operations = 2 * tokens * weights + pairs * (4 * hidden + 2 * SOFTMAX_FLOPS * heads)
    nbytes = 4 * tokens * hidden * (4 * layers + 1)
    nbytes += 4 * pairs * heads if loaded.attention_source == "eager" else _mask_nbytes(config, tokens)
    return RunCost(tokens, nbytes, operations / _operations_per_second(loaded.device))


def _weights_run(loaded: LoadedModel, layers: int) -> int:
    """Weights that every token passes through: all layers, shared ones once per use, embedding tables excluded."""
    tables = {id(module.weight) for module in loaded.model.modules() if type(module).__name__ == "Embedding"}
    stored: int = sum(weight.numel() for weight in loaded.model.parameters() if id(weight) not in tables)
    return stored * layers if family(loaded.model_type).shared_layers else stored


def _mask_nbytes(config: Any, tokens: int) -> int:
    """Bytes of the mask of those layers that look at a window; where every token sees all there is none."""
    windowed = getattr(config, "sliding_window", None) or getattr(config, "local_attention", None)
    return tokens * tokens if windowed else 0


@cache
def _operations_per_second(device: str) -> float:
    """Floating point operations of this machine, from a product of the size that a BERT-base layer has."""
    import torch

    rows, weights = torch.ones(256, 768, device=device), torch.ones(768, 3072, device=device)
    best = float("inf")
    for _ in range(4):
        start = perf_counter()
        (rows @ weights).sum().item()
        best = min(best, perf_counter() - start)
    return 2 * rows.numel() * weights.shape[1] / best
