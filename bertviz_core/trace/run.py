"""Run a model on a text and return a Trace of NumPy arrays."""

from collections.abc import Mapping, Sequence
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from bertviz_core.errors import Progress, UnsupportedModelError
from bertviz_core.lazy_imports import torch
from bertviz_core.models.families import family
from bertviz_core.models.loading import LoadedModel
from bertviz_core.models.recording import AttentionSource, LayerRecord, recording
from bertviz_core.models.transformers_internals import set_attention
from bertviz_core.trace.forward import forward, hidden_states
from bertviz_core.trace.inputs import model_inputs, reset_model_state
from bertviz_core.trace.recorded_arrays import Rows, eager_maps, give_back_memory, recorded_rows, to_numpy
from bertviz_core.trace.results import Tokens, Trace
from bertviz_core.trace.run_queue import RunQueue
from bertviz_core.trace.verification import check_recording, may_wait

RUN_LOCK = RunQueue()
"""Only one run at a time: a run uses all cores and much memory."""
RECORDED = "Query, key and value were recorded in the attention function; attention is computed from them."
EAGER = "{} computes attention in its own code: its maps are known, its query, key and value are not."
IN_PART = "What can be recorded of {} is not the whole of its attention: its own maps are shown, without query and key."
NO_MAPS = "For this text {} returns no attention maps of one row per token that sums to 1."


def trace(loaded: LoadedModel, tokens: Tokens, progress: Progress | None = None) -> Trace:
    """Run the model on a text.

    Args:
        loaded: the model.
        tokens: the text, tokenized by the model's tokenizer.
        progress: called as progress(layers run, layers) if attention is recorded; may raise to stop the run.

    Raises:
        TextError: the tokens do not belong to this model, or are too many for the memory.
        UnsupportedModelError: the model needs more inputs than a text, or a layer does not have one row per token.
    """
    with RUN_LOCK:
        return trace_unlocked(loaded, tokens, progress)


def trace_unlocked(
    loaded: LoadedModel, tokens: Tokens, progress: Progress | None = None, check_later: bool = False
) -> Trace:
    """Like trace, for callers that hold RUN_LOCK; falls back from recorded to eager attention and to none.

    Args:
        loaded: the model.
        tokens: the text, tokenized by the model's tokenizer.
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
        attentions=maps,
        attention_source=source,
        attention_note=_attention_note(loaded, source),
        device=loaded.device,
        dtype=loaded.dtype,
        seconds=seconds,
        notices=notices,
    )
