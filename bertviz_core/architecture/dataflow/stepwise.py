"""An attention function for transformers that computes step by step, so that each step is heard, and notes its calls.

It is looked up by name (AttentionInterface), once for the whole process; what it notes goes into a context variable, so
that runs of several threads never mix.
"""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from bertviz_core.architecture.dry_run import DryModel
from bertviz_core.architecture.structure.results import Window
from bertviz_core.models.recording import unknown_arguments

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

NAME = "inside_bert_stepwise"
"""Name of the attention implementation."""
FULL_REACH = 8
"""Tokens to each side that are tried where a mask says nothing of a window."""


class AttentionCall(NamedTuple):
    """One call of the exchangeable attention function."""

    module: "torch.nn.Module"
    """The module that calls it."""
    queries: int
    """Tokens that look."""
    keys: int
    """Tokens that are looked at."""
    scaling: float
    """Factor of every product of a query and a key."""
    mask: "torch.Tensor | None"
    """Mask that it was given."""
    plain: bool
    """Whether nothing else is done to the scores, such as a soft cap, so that the call can be recorded."""
    sinks: bool
    """Whether a head also looks at something that is no token."""


class Calls(NamedTuple):
    """What was noted meanwhile."""

    attention: list[AttentionCall]
    """Calls of the attention function."""
    windows: "list[tuple[torch.Tensor, Window]]"
    """Masks that were made, with how far they let a token see."""


_calls: ContextVar[Calls | None] = ContextVar("inside_bert_stepwise", default=None)


@contextmanager
def noting() -> Iterator[Calls]:
    """The calls of this thread meanwhile."""
    calls = Calls([], [])
    token = _calls.set(calls)
    try:
        yield calls
    finally:
        _calls.reset(token)


@cache
def register() -> str:
    """Make the function known to transformers; its name."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import sdpa_mask

    def written_mask(*args: Any, **kwargs: Any) -> "torch.Tensor | None":
        skips = {"allow_is_causal_skip": False, "allow_is_bidirectional_skip": False}
        mask: torch.Tensor | None = sdpa_mask(*args, **{**kwargs, **skips})
        calls, seen = _calls.get(), kwargs.get("mask_function")
        if calls is not None and mask is not None and seen is not None:
            calls.windows.append((mask, window_of(seen, kwargs.get("local_size"))))
        return mask

    AttentionInterface.register(NAME, stepwise_attention)
    AttentionMaskInterface.register(NAME, written_mask)
    return NAME


def window_of(seen: Callable[..., Any], local_size: int | None) -> Window:
    """How far a mask function of transformers lets a token see, by asking it for one row of a long text."""
    import torch

    reach = 2 * local_size + 2 if local_size else FULL_REACH
    zero, middle = torch.zeros((), dtype=torch.long, device="cpu"), torch.full((), reach, device="cpu")
    row = seen(zero, zero, middle, torch.arange(2 * reach + 1, device="cpu"))
    cells = row.expand(2 * reach + 1).tolist()
    before, after = (_run(side) for side in (cells[:reach][::-1], cells[reach + 1 :]))
    return Window(None if before == reach else before, None if after == reach else after)


def _run(cells: list[bool]) -> int:
    """How many stand filled in a row from the first."""
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
    """softmax(scaling * query key^T + bias, masked) value, as a family's own eager attention; (output, weights)."""
    import torch

    calls = _calls.get()
    factor = query.shape[-1] ** -0.5 if scaling is None else float(scaling)
    if calls is not None:
        seen = query.shape[2], key.shape[2]
        plain, sinks = not unknown_arguments(kwargs), kwargs.get("s_aux") is not None
        calls.attention.append(AttentionCall(module, *seen, factor, attention_mask, plain, sinks))
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
    """Token types, all 0, where the model takes them."""
    import torch

    takes = "token_type_ids" in inspect.signature(dry.model.forward).parameters
    return {"token_type_ids": torch.zeros_like(ids)} if takes else {}


def inner_ends(dry: DryModel, ends: tuple[str, str]) -> tuple[str, str]:
    """The first and the last module inside a layer."""
    modules = dict(dry.model.named_modules())
    first, last = ([name for name, _ in modules[path].named_children()] for path in ends)
    return f"{ends[0]}.{first[0]}" if first else ends[0], f"{ends[1]}.{last[-1]}" if last else ends[1]


def encoder_path(model: "PreTrainedModel") -> str:
    """Path of the encoder of a model with a decoder; the model itself for any other."""
    config: Any = model.config
    inner: Any = model.get_encoder() if config.is_encoder_decoder else model
    return next((path for path, module in model.named_modules() if module is inner), "")
