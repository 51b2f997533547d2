"""Numbers computed by hand from a model's own weights: its pooler, and the neighbours in its vocabulary table."""

from typing import TYPE_CHECKING

import numpy as np

from bertviz_core.errors import UnsupportedModelError
from bertviz_core.loading import LoadedModel
from bertviz_core.results.hidden_states import NearestRows, PoolerCheck
from bertviz_core.results.trace import Trace
from bertviz_core.trace_arrays import to_numpy
from bertviz_core.trace_inputs import input_table

if TYPE_CHECKING:
    import torch

CHUNK_ROWS = 16_384
"""Rows of the vocabulary table that are compared at once."""


def pooler_check(loaded: LoadedModel, trace: Trace) -> PoolerCheck | None:
    """The pooler's Linear and tanh computed again on the first token; None where the model has no such pooler.

    Law (Devlin et al. 2019, appendix A): pooler_output = tanh(weight @ last_hidden_state[0] + bias).
    """
    import torch

    if trace.pooler_output is None:
        return None
    pooler = getattr(loaded.model, "pooler", None)
    dense = getattr(pooler, "dense", pooler)
    if not isinstance(dense, torch.nn.Linear) or not _ends_in_tanh(loaded):
        return None
    cls = trace.hidden_states[-1][0]
    weight, bias = to_numpy(dense.weight), to_numpy(dense.bias)
    linear = weight @ cls + bias
    output = np.tanh(linear)
    return PoolerCheck(cls, linear, output, float(np.abs(output - trace.pooler_output).max()))


def nearest_rows(loaded: LoadedModel, token_id: int, count: int = 10) -> NearestRows:
    """The rows of the vocabulary table with the largest cosine to one row; what has a zero row has cosine 0.

    Raises:
        ValueError: there is no such row.
    """
    import torch

    table = word_table(loaded)
    if not 0 <= token_id < len(table):
        raise ValueError(f"row {token_id} of {len(table)}")
    with torch.inference_mode():
        row = table[token_id].float()
        norms, cosines = torch.empty(len(table)), torch.empty(len(table))
        for start in range(0, len(table), CHUNK_ROWS):
            chunk = table[start : start + CHUNK_ROWS].float()
            lengths = chunk.norm(dim=1)
            product = (lengths * row.norm()).clamp_min(torch.finfo(torch.float32).tiny)
            norms[start : start + len(chunk)] = lengths.cpu()
            cosines[start : start + len(chunk)] = (chunk @ row / product).clamp(-1, 1).cpu()
        norm = float(norms[token_id])
        cosines[token_id] = -torch.inf
        best = cosines.topk(min(count, len(table) - 1)).indices
        return NearestRows(token_id, norm, best.numpy(), to_numpy(cosines[best]), to_numpy(norms[best]))


def word_table(loaded: LoadedModel) -> "torch.Tensor":
    """The vocabulary table (vocab, width).

    Raises:
        UnsupportedModelError: the model has none, being made of characters or hashes.
    """
    table = input_table(loaded.model)
    if table is None:
        raise UnsupportedModelError(f"{loaded.name!r} ({loaded.model_type}) has no table with one row per token.")
    return table


def _ends_in_tanh(loaded: LoadedModel) -> bool:
    import torch

    pooler = getattr(loaded.model, "pooler", None)
    if loaded.model_type == "mobilebert":
        return bool(getattr(pooler, "do_activate", False))
    places = ((pooler, "activation"), (loaded.model, "pooler_activation"), (loaded.model, "activation"))
    return any(isinstance(getattr(place, name, None), torch.nn.Tanh) for place, name in places)
