"""An attention function for transformers that computes attention in single operations and records its calls.

It is registered for the whole process (AttentionInterface) and records into a context variable, so that concurrent runs
do not mix.
"""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, NamedTuple

from bertviz_core.architecture.dry_run import DryModel
from bertviz_core.architecture.structure.results import Window
from bertviz_core.lazy_imports import torch, transformers
from bertviz_core.models.recording import unknown_arguments

NAME = "inside_bert_stepwise"
"""Name of the attention implementation."""
FULL_REACH = 8
"""Tokens to each side that are tested if the window size of a mask is unknown."""


class AttentionCall(NamedTuple):
    """One call of the exchangeable attention function."""

    module: "torch.nn.Module"
    """The module that calls it."""
    queries: int
    """Number of queries."""
    keys: int
    """Number of keys."""
    scaling: float
    """Factor of the product of query and key."""
    mask: "torch.Tensor | None"
    """Mask."""
    plain: bool
    """Whether it has no unsupported arguments, such as a soft cap, so that it can be recorded."""
    sinks: bool
    """Whether heads have attention sinks."""


class Calls(NamedTuple):
    """Recorded calls."""

    attention: list[AttentionCall]
    """Calls of the attention function."""
    windows: "list[tuple[torch.Tensor, Window]]"
    """Masks and their windows."""


_calls: ContextVar[Calls | None] = ContextVar("inside_bert_stepwise", default=None)


@contextmanager
def recording_calls() -> Iterator[Calls]:
    """Record the calls of this thread inside the block."""
    calls = Calls([], [])
    token = _calls.set(calls)
    try:
        yield calls
    finally:
        _calls.reset(token)


@cache
def register() -> str:
    """Register the function with transformers and return its name."""

    def written_mask(*args: Any, **kwargs: Any) -> "torch.Tensor | None":
        skips = {"allow_is_causal_skip": False, "allow_is_bidirectional_skip": False}
        mask: torch.Tensor | None = transformers.masking_utils.sdpa_mask(*args, **{**kwargs, **skips})
        calls, mask_function = _calls.get(), kwargs.get("mask_function")
        if calls is not None and mask is not None and mask_function is not None:
            calls.windows.append((mask, window_of(mask_function, kwargs.get("local_size"))))
        return mask

    transformers.AttentionInterface.register(NAME, stepwise_attention)
    transformers.AttentionMaskInterface.register(NAME, written_mask)
    return NAME


def window_of(mask_function: Callable[..., Any], local_size: int | None) -> Window:
    """The window of a mask function of transformers, from one row of a long text."""
    reach = 2 * local_size + 2 if local_size else FULL_REACH
    zero, middle = torch.zeros((), dtype=torch.long, device="cpu"), torch.full((), reach, device="cpu")
    row = mask_function(zero, zero, middle, torch.arange(2 * reach + 1, device="cpu"))
    cells = row.expand(2 * reach + 1).tolist()
    before, after = (_run(side) for side in (cells[:reach][::-1], cells[reach + 1 :]))
    return Window(None if before == reach else before, None if after == reach else after)


def _run(cells: list[bool]) -> int:
    """Number of leading True cells."""
    return next((place for place, filled in enumerate(cells) if not filled), len(cells))


def stepwise_attention(
    module: Any,
    query: "torch.Tensor",
    key: "torch.Tensor",
    value: "torch.Tensor",
    attention_mask: "torch.Tensor | None",
    scaling: float | None = None,
    position_bias: "torch.Tensor | None" = None,
    **kwargs: Any,
) -> "tuple[torch.Tensor, torch.Tensor]":
    """Eager attention: softmax(scaling * query key^T + bias, masked) value; (output, weights)."""
    calls = _calls.get()
    factor = query.shape[-1] ** -0.5 if scaling is None else float(scaling)
    if calls is not None:
        lengths = query.shape[2], key.shape[2]
        plain, sinks = not unknown_arguments(kwargs), kwargs.get("s_aux") is not None
        calls.attention.append(AttentionCall(module, *lengths, factor, attention_mask, plain, sinks))
    groups = query.shape[1] // key.shape[1]
    if groups > 1:
        key, value = (each.repeat_interleave(groups, dim=1) for each in (key, value))
    scores = torch.matmul(query, key.transpose(-1, -2)) * factor
    if position_bias is not None:
        scores = scores + position_bias
    if attention_mask is not None:
        shown = attention_mask[..., : key.shape[2]]
        lowest = torch.finfo(scores.dtype).min
        scores = scores.masked_fill(~shown, lowest) if shown.dtype == torch.bool else scores + shown
    weights = torch.softmax(scores, dim=-1)
    return torch.matmul(weights, value).transpose(1, 2).contiguous(), weights


def token_types(dry: DryModel, ids: "torch.Tensor") -> "dict[str, torch.Tensor]":
    """Zero token types, if the model accepts them."""
    takes = "token_type_ids" in inspect.signature(dry.model.forward).parameters
    return {"token_type_ids": torch.zeros_like(ids)} if takes else {}


def inner_ends(dry: DryModel, ends: tuple[str, str]) -> tuple[str, str]:
    """The first and the last module inside a layer."""
    modules = dict(dry.model.named_modules())
    first, last = ([name for name, _ in modules[path].named_children()] for path in ends)
    return f"{ends[0]}.{first[0]}" if first else ends[0], f"{ends[1]}.{last[-1]}" if last else ends[1]


def encoder_path(model: "transformers.PreTrainedModel") -> str:
    """Path of the encoder of an encoder-decoder model; that of the model itself otherwise."""
    config: Any = model.config
    inner: Any = model.get_encoder() if config.is_encoder_decoder else model
    return next((path for path, module in model.named_modules() if module is inner), "")
