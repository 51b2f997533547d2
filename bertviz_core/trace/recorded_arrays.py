"""Convert the tensors of a run to NumPy: recorded queries, keys and values, or eager attention maps."""

import ctypes
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from bertviz_core.lazy_imports import torch
from bertviz_core.models.families import family
from bertviz_core.models.recording import LayerRecord

ROW_SUM_TOLERANCE = 1e-2
"""Largest difference from 1 of the sum of a row of probabilities (bfloat16 has 8 significant bits)."""

WORTH_TRIMMING = 4 * 1024**2
"""Size in bytes from which trimming the heap pays off."""


class Rows(NamedTuple):
    """The recorded layers of a text, as in Trace."""

    query: tuple[Any, ...]
    key: tuple[Any, ...]
    value: tuple[Any, ...]
    masks: tuple[Any, ...]
    scaling: tuple[float, ...]


def to_numpy(tensor: "torch.Tensor", copy: bool = False) -> Any:
    """Convert a tensor to a read-only float32 (or bool) array.

    On the CPU the values are not copied, except on request or if the tensor is a view that would keep a larger one
    alive.
    """
    moved = tensor.detach().cpu()
    array = moved.numpy() if moved.dtype == torch.bool else moved.float().numpy()
    same = array.ctypes.data == tensor.data_ptr() and tensor.device.type == "cpu"
    if same and (copy or tensor.untyped_storage().nbytes() > array.nbytes):
        array = array.copy()
    array.setflags(write=False)
    return array


def recorded_rows(records: list[LayerRecord]) -> Rows:
    """The recorded layers as arrays; masks that layers share stay shared."""
    masks: dict[tuple[int, int, bool], Any] = {}
    for record in records:
        key = (id(record.mask), id(record.bias), record.causal)
        if key not in masks:
            masks[key] = _mask(record)
    return Rows(
        query=tuple(to_numpy(record.query[0]) for record in records),
        key=tuple(to_numpy(record.key[0]) for record in records),
        value=tuple(to_numpy(record.value[0]) for record in records),
        masks=tuple(masks[id(record.mask), id(record.bias), record.causal] for record in records),
        scaling=tuple(record.scaling for record in records),
    )


def _mask(record: LayerRecord) -> Any:
    """Mask and bias of a layer as one array (1 or heads, seq, seq); None if nothing is masked."""
    length = record.query.shape[2]
    mask = _part(record.mask, length)
    if mask is not None and (mask.all() if mask.dtype == np.bool_ else not mask.any()):
        mask = None
    if record.causal and length > 1:
        mask = np.tri(length, dtype=np.bool_)[None]
    bias = _part(record.bias, length)
    if bias is not None:
        if mask is not None and mask.dtype == np.bool_:
            mask = np.where(mask, np.float32(0), np.float32(-np.inf))
        mask = bias if mask is None else bias + mask
    if mask is not None:
        mask.setflags(write=False)
    return mask


def _part(mask: "torch.Tensor | None", length: int) -> Any:
    if mask is None:
        return None
    rows = mask[0]
    if rows.stride(0) == 0:
        rows = rows[:1]
    array = to_numpy(rows[:, :length, :length], copy=True)
    full = (len(array), length, length)
    return array if array.shape == full else np.broadcast_to(array, full).copy()


def eager_maps(attentions: Any, layers: int, length: int, model_type: str) -> tuple[Any, ...] | None:
    """The probabilities (heads, seq, seq) of each layer; None if the model's maps cannot be read as such."""
    if not isinstance(attentions, Sequence) or len(attentions) != layers:
        return None
    if not all(hasattr(layer, "ndim") and layer.ndim == 4 for layer in attentions):
        return None
    form = family(model_type).attention_maps
    maps = []
    for layer in attentions:
        weights = layer[0].float()
        if form == "scores":
            weights = weights.softmax(dim=-1)
        elif form == "band":
            weights = _square(weights)
        weights = weights[:, :length, :length]
        if weights.shape[1:] != (length, length) or not _rows_sum_to_one(weights):
            return None
        maps.append(to_numpy(weights))
    return tuple(maps)


def _rows_sum_to_one(weights: "torch.Tensor") -> bool:
    """Whether every row sums to 1; rows of NaN, from NaN weights, are accepted."""
    off = (weights.sum(dim=-1) - 1).abs()
    return bool(((off < ROW_SUM_TOLERANCE) | torch.isnan(off)).all())


def _square(band: "torch.Tensor") -> "torch.Tensor":
    """Weights (heads, seq, window + 1) of the keys around each query as (heads, seq, seq).

    Longformer (Beltagy et al. 2020, section 3): entry w of query i belongs to key i + w - window / 2.
    """
    heads, seq, width = band.shape
    half = width // 2
    square = band.new_zeros(heads, seq, seq + 2 * half)
    keys = torch.arange(seq, device=band.device)[:, None] + torch.arange(width, device=band.device)[None, :]
    square.scatter_(2, keys.expand(heads, seq, width), band)
    return square[:, :, half : half + seq].contiguous()


def give_back_memory(nbytes: int) -> None:
    """Return freed memory to the system before large arrays are allocated.

    glibc keeps freed blocks of a few megabytes, which would double the memory of a run.
    """
    trim = _malloc_trim()
    if trim is not None and nbytes >= WORTH_TRIMMING:
        trim(0)


@cache
def _malloc_trim() -> Callable[[int], int] | None:
    """malloc_trim of glibc; None on other systems."""
    if not sys.platform.startswith("linux"):
        return None
    return getattr(ctypes.CDLL(None), "malloc_trim", None)
