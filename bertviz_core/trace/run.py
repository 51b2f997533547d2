"""Run a model on a text and record hidden states, attention and projections; runs wait in a queue."""

import ctypes
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache, partial
from threading import Condition, local
from time import perf_counter
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np

from bertviz_core.errors import BusyError, Progress, UnsupportedModelError
from bertviz_core.lazy_imports import torch
from bertviz_core.models.families import family
from bertviz_core.models.loading import LoadedModel
from bertviz_core.models.recording import AttentionSource, LayerRecord, recording
from bertviz_core.models.skeleton import set_attention
from bertviz_core.trace.results import Tokens, Trace
from bertviz_core.trace.verification import (
    check_recording,
    forward,
    hidden_states,
    may_wait,
    model_inputs,
    reset_model_state,
)

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
    sinks: tuple[Any, ...] | None


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
    sinks = tuple(None if record.sink is None else to_numpy(record.sink, copy=True) for record in records)
    return Rows(
        query=tuple(to_numpy(record.query[0]) for record in records),
        key=tuple(to_numpy(record.key[0]) for record in records),
        value=tuple(to_numpy(record.value[0]) for record in records),
        masks=tuple(masks[id(record.mask), id(record.bias), record.causal] for record in records),
        scaling=tuple(record.scaling for record in records),
        sinks=None if all(sink is None for sink in sinks) else sinks,
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


class QueueTicket(AbstractContextManager["QueueTicket"]):
    """A place in the queue; it is given up at the end of its `with` block."""

    def __init__(self, queue: "RunQueue") -> None:
        """Join the end of a queue."""
        self._queue = queue

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for its turn; returns whether it came within this many seconds (None waits without limit)."""
        return self._queue._wait(self, seconds)

    @property
    def ahead(self) -> int:
        """Number of tickets ahead, including the running one."""
        return self._queue._ahead(self)

    def leave(self) -> None:
        """Leave the queue; a second call has no effect."""
        self._queue._leave(self)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the queue."""
        self.leave()


class RunQueue:
    """A fair lock: `with queue:` waits for all earlier tickets."""

    def __init__(self) -> None:
        """An empty queue."""
        self._places: deque[QueueTicket] = deque()
        self._changed = Condition()
        self._mine = local()

    def place(self, most_waiting: int | None = None) -> QueueTicket:
        """A new ticket at the end of the queue.

        Args:
            most_waiting: how many tickets may wait, not counting the running one; None for any number.
        """
        with self._changed:
            waiting = len(self._places) - 1
            if most_waiting is not None and waiting >= most_waiting:
                runs = "1 run waits" if waiting == 1 else f"{waiting:,} runs wait"
                raise BusyError(
                    f"The model is busy: {runs} for it already, and no more may wait here; try again in a moment."
                )
            place = QueueTicket(self)
            self._places.append(place)
            return place

    @property
    def length(self) -> int:
        """Number of tickets, including the running one."""
        with self._changed:
            return len(self._places)

    def __enter__(self) -> None:
        """Wait for a turn."""
        place = self.place()
        try:
            place.wait()
        except BaseException:  # such as Ctrl + C; a ticket that nobody holds would end every later run
            place.leave()
            raise
        self._mine.place = place

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the turn."""
        self._leave(self._mine.place)

    def _wait(self, place: QueueTicket, seconds: float | None) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self._places[0] is place, seconds)

    def _ahead(self, place: QueueTicket) -> int:
        with self._changed:
            return self._places.index(place)

    def _leave(self, place: QueueTicket) -> None:
        with self._changed:
            if place in self._places:
                self._places.remove(place)
                self._changed.notify_all()


RUN_LOCK = RunQueue()
"""Only one run at a time: a run uses all cores and much memory."""
RECORDED = "Query, key and value were recorded in the attention function; attention is computed from them."
EAGER = "{} computes attention in its own code: its maps are as it returns them; query, key and value are not recorded."
IN_PART = "What can be recorded of {} is not the whole of its attention: its own maps are shown, without query and key."
NO_MAPS = "For this text {} returns no attention maps of one row per token that sums to 1."


def trace(loaded: LoadedModel, tokens: Tokens, progress: Progress | None = None) -> Trace:
    """Run the model on a text.

    Args:
        progress: called as progress(layers run, layers) if attention is recorded; may raise to stop the run.
    """
    with RUN_LOCK:
        return trace_unlocked(loaded, tokens, progress)


def trace_unlocked(
    loaded: LoadedModel, tokens: Tokens, progress: Progress | None = None, check_later: bool = False
) -> Trace:
    """Like trace, for callers that hold RUN_LOCK; falls back from recorded to eager attention and to none.

    Args:
        progress: see trace.
        check_later: whether the caller runs check_recording afterwards, if the family permits that.
    """
    started = perf_counter()
    inputs = model_inputs(loaded, (tokens,))
    if not (check_later and may_wait(loaded)):
        check_recording(loaded)
    reset_model_state(loaded.model, len(tokens))
    progress = None if progress is None else partial(_report_layers, progress, loaded.num_hidden_layers)
    with torch.inference_mode(), recording(progress) as records:
        output = _forward(loaded, inputs)
        layers = len(hidden_states(loaded, output)) - 1
        rows: Rows | None = None
        if loaded.attention_source == "recorded":
            if _complete(records, layers, len(tokens)):
                rows = recorded_rows(records)
            else:
                # Some layers do not call the attention function: from now on the eager maps are used.
                set_attention(loaded.model, "eager")
                loaded.attention_source, loaded.recorded_in_part = "eager", True
                output = _forward(loaded, inputs)
        records.clear()
        maps = None
        if loaded.attention_source == "eager":
            maps = eager_maps(output.get("attentions"), layers, len(tokens), loaded.model_type)
        pooled, states = _pooled(loaded, output), hidden_states(loaded, output)
        del output
        hidden = _hidden_states(loaded, states, len(tokens))
    return _trace(loaded, tokens, hidden, pooled, rows, maps, perf_counter() - started)


def _report_layers(progress: Progress, layers: int, calls: int) -> None:
    progress(min(calls, layers), layers)


def _forward(loaded: LoadedModel, inputs: "Mapping[str, torch.Tensor]") -> Mapping[str, Any]:
    outputs = {"output_hidden_states": True}
    if loaded.attention_source == "eager":
        outputs["output_attentions"] = True
    return forward(loaded, inputs, **outputs)


def _complete(records: Sequence[LayerRecord], layers: int, seq: int) -> bool:
    """Whether every layer was recorded once, over all tokens."""
    return len(records) == layers and all(
        record.query.shape[0] == 1 and record.query.shape[2] == record.key.shape[2] == seq for record in records
    )


def _hidden_states(loaded: LoadedModel, states: list[Any], length: int) -> Any:
    """One array (states, seq, hidden)."""
    widths = {tuple(state.shape[2:]) for state in states}
    short = sorted({int(state.shape[1]) for state in states if state.shape[1] < length})
    if short or len(widths) > 1 or states[0].shape[0] != 1:
        problem = f"{short[0]} of {length} tokens" if short else f"the widths {sorted(widths)}"
        raise UnsupportedModelError(
            f"{_title(loaded)} does not keep one row of equal width per token in every layer (a layer has {problem}), "
            "so no token can be followed through it."
        )
    give_back_memory(sum(state.nbytes for state in states))
    array = np.empty((len(states), length, *states[0].shape[2:]), dtype=np.float32)
    for index in range(len(states)):
        array[index] = to_numpy(states[index][0, :length])
        states[index] = None  # so that the states are not in memory twice
    array.setflags(write=False)
    return array


def _pooled(loaded: LoadedModel, output: Mapping[str, Any]) -> Any:
    vectors = output.get("pooler_output") if loaded.has_pooler else None
    return to_numpy(vectors[0], copy=True) if isinstance(vectors, torch.Tensor) and vectors.ndim == 2 else None


def _title(loaded: LoadedModel) -> str:
    return family(loaded.model_type).title


def _attention_note(loaded: LoadedModel, source: AttentionSource) -> str:
    """A sentence about the source of the attention."""
    title = _title(loaded)
    if source == "none":
        return (family(loaded.model_type).no_maps or NO_MAPS).format(title)
    if source == "eager":
        return (IN_PART if loaded.recorded_in_part else EAGER).format(title)
    return RECORDED


def _trace(
    loaded: LoadedModel, tokens: Tokens, hidden: Any, pooled: Any, rows: Rows | None, maps: Any, seconds: float
) -> Trace:
    notices = loaded.notices
    broken = [state for state in range(len(hidden)) if not np.isfinite(hidden[state]).all()]
    if broken:
        notices = (*notices, f"The hidden states hold NaN or infinity from entry {broken[0]} on.")
    source: AttentionSource = "recorded" if rows else "eager" if maps else "none"
    return Trace(
        model=loaded.name,
        revision=loaded.revision,
        model_type=loaded.model_type,
        tokens=tokens,
        hidden_states=hidden,
        pooler_output=pooled,
        query=rows.query if rows else None,
        key=rows.key if rows else None,
        value=rows.value if rows else None,
        masks=rows.masks if rows else None,
        scaling=rows.scaling if rows else None,
        sinks=rows.sinks if rows else None,
        attentions=maps,
        attention_source=source,
        attention_note=_attention_note(loaded, source),
        device=loaded.device,
        dtype=loaded.dtype,
        seconds=seconds,
        notices=notices,
    )
