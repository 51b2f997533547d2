"""Inputs and forward pass of a model, and their verification."""

import inspect
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from typing import Any, Protocol, runtime_checkable

import numpy as np

from bertviz_core.errors import (
    BertvizError,
    OutOfMemoryError,
    SupersededError,
    TextError,
    UnsupportedModelError,
    is_out_of_memory,
)
from bertviz_core.lazy_imports import torch, transformers
from bertviz_core.models.families import family
from bertviz_core.models.loading import BatchOf, LoadedModel
from bertviz_core.models.recording import LayerRecord, RecordingCheck, recording, register
from bertviz_core.models.skeleton import capture_anew, set_attention
from bertviz_core.text import counted, first_line


def forward(
    loaded: LoadedModel, inputs: "Mapping[str, torch.Tensor]", model: Any = None, **outputs: bool
) -> Mapping[str, Any]:
    """The outputs of a model by name.

    Args:
        inputs: tensors by argument name.
        outputs: further outputs by the names of transformers (output_hidden_states, output_attentions).
    """
    _check_inputs(loaded, inputs)
    try:
        with nullcontext() if loaded.intervention is None else loaded.intervention():
            output = (model or loaded.model)(**inputs, **outputs, return_dict=True)
    except (BertvizError, SupersededError):
        raise
    except Exception as error:  # a missing input may lead to any exception
        if is_out_of_memory(error):
            where = "this machine" if loaded.device == "cpu" else loaded.device
            raise OutOfMemoryError(
                f"A text is too long for the memory of {where} ({first_line(error)}); give a shorter one."
            ) from error
        # What Python says of a missing image ("'NoneType' object has no attribute 'shape'") tells a reader nothing.
        why = "" if isinstance(error, AttributeError | TypeError) else f": {first_line(error).rstrip('.')}"
        raise UnsupportedModelError(
            f"{loaded.name!r} ({loaded.model_type}) cannot be run on a text alone{why}. It needs more than a text, "
            "such as an image, or its config does not fit its class; choose another model."
        ) from error
    if not isinstance(output, Mapping):
        raise UnsupportedModelError(
            f"{loaded.name!r} ({loaded.model_type}) gives no outputs by name, such as its hidden states."
        )
    return output


def _check_inputs(loaded: LoadedModel, inputs: Mapping[str, object]) -> None:
    parameters = inspect.signature(loaded.model.forward).parameters.values()
    plain = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    needed = [each.name for each in parameters if each.default is each.empty and each.kind in plain]
    if lacking := [name for name in needed if name not in inputs]:
        raise UnsupportedModelError(
            f"{loaded.name!r} ({loaded.model_type}) cannot be run on a text alone: it needs {', '.join(lacking)}. "
            "Its parameters and modules can be looked at."
        )


def hidden_states(loaded: LoadedModel, output: Mapping[str, Any]) -> "list[torch.Tensor]":
    """The hidden states (batch, seq, hidden) of the embeddings and of every layer."""
    states = output.get("hidden_states")
    if (
        not isinstance(states, Sequence)
        or not states
        or not all(isinstance(state, torch.Tensor) and state.ndim == 3 for state in states)
    ):
        raise UnsupportedModelError(f"{loaded.name!r} ({loaded.model_type}) returns no hidden states of its layers.")
    return list(states)


def pooler_output(loaded: LoadedModel, output: Mapping[str, Any]) -> "torch.Tensor":
    """The output of the pooler (batch, pooled)."""
    vectors = output.get("pooler_output")
    if not isinstance(vectors, torch.Tensor) or vectors.ndim != 2:
        raise UnsupportedModelError(f"{loaded.name!r} ({loaded.model_type}) returns no output of its pooler.")
    return vectors


@runtime_checkable
class ModelRow(Protocol):
    """One text as a row of a batch: Tokens, or just the ids of a sentence."""

    def __len__(self) -> int:
        """Count of tokens."""

    @property
    def input_ids(self) -> Any:
        """Vocabulary ids."""

    @property
    def token_type_ids(self) -> Any:
        """Which text each token belongs to; None if the tokenizer has no token types."""

    @property
    def other_inputs(self) -> Mapping[str, Any]:
        """Further ids per token."""


def model_inputs(loaded: LoadedModel, batch: Sequence[ModelRow]) -> "dict[str, torch.Tensor]":
    """The padded inputs of a batch that the forward method of the model accepts."""
    accepted = inspect.signature(loaded.model.forward).parameters
    columns: dict[str, list[Any]] = {"input_ids": [tokens.input_ids for tokens in batch]}
    columns["attention_mask"] = [np.ones(len(tokens), dtype=np.int64) for tokens in batch]
    if all(tokens.token_type_ids is not None for tokens in batch):
        columns["token_type_ids"] = [tokens.token_type_ids for tokens in batch]
    for name in batch[0].other_inputs:
        columns[name] = [tokens.other_inputs[name] for tokens in batch]
    _check_ids(loaded, columns)
    seq = max(len(tokens) for tokens in batch)
    fill = {"input_ids": getattr(loaded.model.config, "pad_token_id", None) or 0}
    inputs = {}
    for name, values in columns.items():
        if name in accepted:
            padded = np.full((len(batch), seq), fill.get(name, 0), dtype=np.int64)
            for row, value in zip(padded, values, strict=True):
                row[: len(value)] = value
            inputs[name] = torch.from_numpy(padded).to(loaded.device)
    return inputs


def _check_ids(loaded: LoadedModel, columns: dict[str, list[Any]]) -> None:
    """Refuse ids beyond the vocabulary table (a CUDA device would fail for good); drop types beyond the type table."""
    table = input_table(loaded.model)
    highest = max(int(ids.max(initial=0)) for ids in columns["input_ids"])
    if table is not None and highest >= (size := len(table)):
        raise TextError(
            f"The tokenizer returned the id {highest:,}, but the vocabulary table of {loaded.name!r} has {size:,} "
            "rows; use the tokenizer that belongs to the model, or the model that was resized for its added tokens."
        )
    types = columns.get("token_type_ids", ())
    known = getattr(loaded.model.config, "type_vocab_size", None)
    if known is not None and any(int(type_ids.max(initial=0)) >= known for type_ids in types):
        del columns["token_type_ids"]


def reset_model_state(model: "transformers.PreTrainedModel", seq: int) -> None:
    """Undo changes of the model's state by earlier texts.

    BigBird switches from sparse to full attention at the first short text, and does not switch back for long ones. The
    switch replaces the modules with transformers' output capturing hooks, so these are installed again.

    Args:
        model: a base model, or a class with a task head.
        seq: tokens of the next text.
    """
    config, base = model.config, model.base_model
    set_type = getattr(base, "set_attention_type", None)
    if set_type is None or getattr(config, "attention_type", "") != "block_sparse":
        return
    full = seq <= (5 + 2 * config.num_random_blocks) * config.block_size
    attention_type = "original_full" if full else "block_sparse"
    if base.attention_type != attention_type:
        set_type(attention_type)
        capture_anew(base)


def input_table(model: "transformers.PreTrainedModel") -> "torch.Tensor | None":
    """The vocabulary table (vocab, width); None for a model without one row per token, such as CANINE."""
    try:
        weight: Any = getattr(model.get_input_embeddings(), "weight", None)
    except NotImplementedError:
        return None
    return weight if weight is not None and weight.ndim == 2 else None


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


def left_padding_acts(loaded: LoadedModel) -> bool:
    """Whether padding in front of a text changes its hidden states, as where positions are counted from the padding.

    The caller holds RUN_LOCK.
    """
    text = _inputs(loaded)["input_ids"][0][: TOKENS // 2]
    pad = torch.full_like(text, getattr(loaded.model.config, "pad_token_id", None) or 0)
    with suppress(Exception):  # the run itself reports that the model needs more than ids
        alone = _last_states(loaded, [text], [len(text)])
        padded = _last_states(loaded, [torch.cat((pad, text))], [len(text)], left=True)
        return not _same(loaded, padded[len(text) :], alone)
    return False


def _last_states(
    loaded: LoadedModel, rows: "list[torch.Tensor]", lengths: list[int], left: bool = False
) -> "torch.Tensor":
    """The last hidden states (seq, hidden) of the first row of a batch, with its padding behind it or in front."""
    ids = torch.stack(rows)
    mask = torch.tensor([[int(place < length) for place in range(ids.shape[1])] for length in lengths])
    mask = mask.flip(1) if left else mask
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
    differences = []
    for record, one, other in zip(records, probs, own["attentions"], strict=True):
        if record.sink is not None and bool(((other.sum(dim=-1) - 1).abs() < 1e-3).all()):
            one = one / one.sum(dim=-1, keepdim=True)  # Granite's maps leave the sink out; its states do not
        differences.append(_difference(one, other))
    return RecordingCheck(
        TOKENS,
        max(differences),
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
    """softmax(query key^T * scaling + mask + bias), shape (1, heads, seq, seq), without the column of a sink."""
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
    if record.sink is not None:
        sink = record.sink.float().view(1, -1, 1, 1).expand(*scores.shape[:-1], 1)
        return torch.cat((scores, sink), dim=-1).softmax(dim=-1)[..., :-1]
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
