"""Verify once per model that the recorded attention is its own, and whether texts of a batch affect each other."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from bertviz_core.lazy_imports import torch
from bertviz_core.models.families import family
from bertviz_core.models.loading import BatchOf, LoadedModel
from bertviz_core.models.recording import LayerRecord, RecordingCheck, recording, register
from bertviz_core.models.transformers_internals import set_attention
from bertviz_core.text import counted
from bertviz_core.trace.forward import forward, hidden_states
from bertviz_core.trace.inputs import input_table, reset_model_state

TOKENS = 12
"""Tokens of the comparison: enough to exercise every part of the attention, at negligible cost."""
SMALLEST_SHOWN = 1e-8
"""Smaller differences are reported as this one."""
TOLERANCES = {"float32": (1e-4, 1e-3)}
"""Number format -> tolerated difference of two probabilities, and of two hidden states relative to the largest value of
their layer."""
HALF = (3e-2, 1e-1)
"""The same for 16-bit formats."""

RECEIPT = (
    "Recorded attention checked once for this model, on {} spread over its vocabulary and not on this text: its hidden "
    "states and maps are the model's own within {}."
)


def may_wait(loaded: LoadedModel) -> bool:
    """Whether the comparison may run after the first trace of a model."""
    return loaded.attention_source == "recorded" and family(loaded.model_type).heads_compared


def receipt(check: RecordingCheck) -> str:
    """The result of a comparison as a sentence; the difference is rounded up to one digit."""
    largest = max(check.attention_probs, check.hidden_states, SMALLEST_SHOWN)
    exponent = int(np.floor(np.log10(largest)))
    digit = int(np.ceil(round(largest / 10.0**exponent, 6)))
    return RECEIPT.format(counted(check.tokens, "token"), f"{digit * 10.0**exponent:.0e}".replace("e-0", "e-"))


def check_recording(loaded: LoadedModel) -> None:
    """Compare the recorded attention with the eager attention, once per model; if they differ, use eager attention.

    The caller holds RUN_LOCK. The result is stored in the model: `recording_check`, or `attention_source` "eager".
    """
    if loaded.attention_source != "recorded" or loaded.recording_check is not None:
        return
    check = None
    with suppress(Exception):  # the run itself reports what the model lacks
        check = _compared(loaded)
    probs, states = TOLERANCES.get(loaded.dtype, HALF)
    if check is not None and check.attention_probs <= probs and check.hidden_states <= states:
        loaded.recording_check = check
        set_attention(loaded.model, register())
    else:
        set_attention(loaded.model, "eager")
        loaded.attention_source, loaded.recorded_in_part = "eager", True


def check_batches(loaded: LoadedModel) -> BatchOf:
    """Test once on a few tokens which texts can share a batch without changing each other's results.

    A text must have the same hidden states alone, with a text of its length and with a longer one; expert routing with
    limited capacity, or pooling over the whole batch, changes them. The caller holds RUN_LOCK.
    """
    if loaded.batch_of is None:
        loaded.batch_of = "one text"
        with suppress(Exception):  # the run itself reports that the model needs more than ids
            loaded.batch_of = _batch_of(loaded)
    return loaded.batch_of


def _batch_of(loaded: LoadedModel) -> BatchOf:
    ids = _inputs(loaded)["input_ids"][0]
    text, like, longer = ids[: TOKENS // 2], ids.flip(0)[: TOKENS // 2], ids.flip(0)
    pad = torch.full_like(text, getattr(loaded.model.config, "pad_token_id", None) or 0)
    alone = _last_states(loaded, [text], [len(text)])
    if not _same(loaded, _last_states(loaded, [text, like], [len(text), len(like)]), alone):
        return "one text"
    padded = _last_states(loaded, [torch.cat((text, pad)), longer], [len(text), len(longer)])
    return "any length" if _same(loaded, padded[: len(text)], alone) else "one length"


def _last_states(loaded: LoadedModel, rows: "list[torch.Tensor]", lengths: list[int]) -> "torch.Tensor":
    """The last hidden states (seq, hidden) of the first row of a batch."""
    ids = torch.stack(rows)
    mask = torch.tensor([[int(place < length) for place in range(ids.shape[1])] for length in lengths])
    reset_model_state(loaded.model, ids.shape[1])
    with torch.inference_mode():
        output = forward(loaded, {"input_ids": ids, "attention_mask": mask.to(ids.device)}, output_hidden_states=True)
    return hidden_states(loaded, output)[-1][0]


def _same(loaded: LoadedModel, one: "torch.Tensor", other: "torch.Tensor") -> bool:
    return _relative_difference(one, other) <= TOLERANCES.get(loaded.dtype, HALF)[1]


def _compared(loaded: LoadedModel) -> RecordingCheck:
    """Run both kinds of attention on the same tokens; raises whatever the model raises."""
    inputs = _inputs(loaded)
    reset_model_state(loaded.model, TOKENS)
    with torch.inference_mode():
        with recording() as records:
            recorded = forward(loaded, inputs, output_hidden_states=True)
            probs = [_probs(record) for record in records]
        set_attention(loaded.model, "eager")
        own = forward(loaded, inputs, output_hidden_states=True, output_attentions=True)
    if len(probs) != len(own["attentions"]):
        raise ValueError("not every layer was recorded")
    return RecordingCheck(
        TOKENS,
        max(_difference(one, other) for one, other in zip(probs, own["attentions"], strict=True)),
        max(
            _relative_difference(one, other)
            for one, other in zip(recorded["hidden_states"], own["hidden_states"], strict=True)
        ),
    )


def _inputs(loaded: LoadedModel) -> "Mapping[str, torch.Tensor]":
    """Ids spread over the vocabulary."""
    table = input_table(loaded.model)
    rows = len(table) if table is not None else int(loaded.model.config.vocab_size)
    ids = torch.linspace(1, rows - 1, TOKENS).long()[None].to(loaded.device)
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def _probs(record: LayerRecord) -> "torch.Tensor":
    """softmax(query key^T * scaling + mask + bias), shape (1, heads, seq, seq)."""
    query, key = record.query.float(), record.key.float()
    key = key.repeat_interleave(query.shape[1] // key.shape[1], dim=1)
    scores = query @ key.transpose(-1, -2) * record.scaling
    seq = scores.shape[-1]
    if record.mask is not None:
        mask = record.mask[:, :, :seq, :seq]
        scores = scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
    elif record.causal:
        scores = scores.masked_fill(~torch.ones(seq, seq, dtype=torch.bool, device=scores.device).tril(), -torch.inf)
    if record.bias is not None:
        scores = scores + record.bias[:, :, :seq, :seq]
    return scores.softmax(dim=-1)


def _relative_difference(one: "torch.Tensor", other: "torch.Tensor") -> float:
    """The largest difference, relative to the largest value of the second."""
    return _difference(one, other) / max(float(other.abs().max()), float(np.finfo(np.float32).tiny))


def _difference(one: "torch.Tensor", other: Any) -> float:
    """The largest difference; infinite if only one of two values is finite."""
    if one.shape != other.shape:
        raise ValueError(f"shapes {tuple(one.shape)} and {tuple(other.shape)}")
    both = torch.isnan(one) & torch.isnan(other)
    away = (one.float() - other.float()).abs().masked_fill(both, 0)
    return float(away.nan_to_num(nan=torch.inf).max())
