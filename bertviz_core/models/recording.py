"""An attention function for transformers that computes as its SDPA does, records its inputs and can be changed.

transformers looks the function up by name (AttentionInterface), once for the whole process. What it records into, and
what changes it, are context variables: every thread has its own, so that concurrent runs never mix.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    import torch

NAME = "inside_bert"
"""Name of the attention implementation, to be given to from_pretrained or set_attn_implementation."""
WITHOUT_EFFECT = frozenset(
    {
        "cache_position",
        "cu_seq_lens_k",
        "cu_seq_lens_q",
        "deterministic",
        "dropout",
        "max_length_k",
        "max_length_q",
        "output_attentions",
        "output_hidden_states",
        "position_ids",
        "return_dict",
        "sliding_window",
        "use_cache",
    }
)
"""Arguments that models hand to their attention function and that change nothing here: the mask says what a window
hides, rotary positions are in query and key already, one text needs no packing, and nothing is trained."""


class UnknownArgumentError(RuntimeError):
    """A model hands its attention function something that may change the result and is not known here."""


class LayerRecord(NamedTuple):
    """Inputs of one layer's attention; query, key and value have the shape (batch, heads, seq, head_dim)."""

    query: "torch.Tensor"
    key: "torch.Tensor"
    value: "torch.Tensor"
    mask: "torch.Tensor | None"
    """True where a key may be attended to, or a number that is added to the scores."""
    bias: "torch.Tensor | None"
    """Added to the scores for the distance of query and key (T5)."""
    causal: bool
    """Whether a query sees only the keys up to its own position."""
    scaling: float


@runtime_checkable
class AttentionChange(Protocol):
    """What is done to the attention of a run: asked at every call, in the order of the calls."""

    def value(self, value: "torch.Tensor") -> "torch.Tensor":
        """The values (batch, key_heads, seq, value_dim) that are mixed in the place of the model's own."""

    def output(self, output: "torch.Tensor") -> "torch.Tensor":
        """What goes to the output projection (batch, seq, heads, value_dim) in the place of the heads' own outputs."""


_records: ContextVar[list[LayerRecord] | None] = ContextVar("inside_bert_records", default=None)
_progress: ContextVar[Callable[[int], None] | None] = ContextVar("inside_bert_told", default=None)
_change: ContextVar[AttentionChange | None] = ContextVar("inside_bert_change", default=None)


@contextmanager
def changing(change: AttentionChange) -> Iterator[None]:
    """Inside the block the attention of this thread's runs is changed."""
    token = _change.set(change)
    try:
        yield
    finally:
        _change.reset(token)


def present_change() -> AttentionChange | None:
    """What changes the runs of this thread; None for nothing."""
    return _change.get()


@contextmanager
def recording(progress: Callable[[int], None] | None = None) -> Iterator[list[LayerRecord]]:
    """The list into which runs of this thread record, one entry per attention call in the order of the calls.

    Args:
        progress: called after each attention call with the number of calls so far; an exception from it ends the run.
    """
    records: list[LayerRecord] = []
    tokens = _records.set(records), _progress.set(progress)
    try:
        yield records
    finally:
        _records.reset(tokens[0])
        _progress.reset(tokens[1])


@cache
def register() -> str:
    """Make the attention function known to transformers; its name."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import sdpa_mask

    def explicit_mask(*args: Any, **kwargs: Any) -> "torch.Tensor | None":
        mask: torch.Tensor | None = sdpa_mask(*args, **{**kwargs, "allow_is_causal_skip": False})
        return mask

    AttentionInterface.register(NAME, recording_attention)
    AttentionMaskInterface.register(NAME, explicit_mask)
    return NAME


def unknown_arguments(arguments: Mapping[str, Any]) -> list[str]:
    """Names of what a model hands to its attention function beyond what SDPA knows, and what may change the result."""
    return sorted(name for name, value in arguments.items() if value is not None and name not in WITHOUT_EFFECT)


def _alone(tensor: "torch.Tensor") -> "torch.Tensor":
    """The tensor without the larger one that it is a part of, such as a fused projection, which could not be freed."""
    return tensor.clone() if tensor.untyped_storage().nbytes() > tensor.nbytes else tensor


def recording_attention(
    module: Any,
    query: "torch.Tensor",
    key: "torch.Tensor",
    value: "torch.Tensor",
    attention_mask: "torch.Tensor | None",
    scaling: float | None = None,
    position_bias: "torch.Tensor | None" = None,
    is_causal: bool | None = None,
    **kwargs: Any,
) -> "tuple[torch.Tensor, torch.Tensor | None]":
    """The output of transformers' SDPA attention, and no weights; recorded or changed inside such a block.

    Without a mask every query sees every key. transformers' own function would then take a module that says nothing of
    itself (Splinter's) for a causal one; here causal masks are always written out, so no mask means none.

    Raises:
        UnknownArgumentError: an argument, such as attention sinks or a cap on the scores, that SDPA knows nothing of.
    """
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    if unknown := unknown_arguments(kwargs):
        raise UnknownArgumentError(f"attention of {type(module).__name__} depends on {', '.join(unknown)}")
    records = _records.get()
    if records is not None:
        scale = query.shape[-1] ** -0.5 if scaling is None else float(scaling)
        causal = bool(is_causal) and attention_mask is None
        tensors = (_alone(query), _alone(key), _alone(value))
        records.append(LayerRecord(*tensors, attention_mask, position_bias, causal, scale))
    change = _change.get()
    if change is not None:
        value = change.value(value)
    # output_attentions makes SDPA warn that it returns no maps; none are expected of this function.
    kwargs.pop("output_attentions", None)
    if position_bias is not None:
        kwargs["position_bias"] = position_bias
    output: tuple[torch.Tensor, None] = sdpa_attention_forward(
        module, query, key, value, attention_mask, scaling=scaling, is_causal=bool(is_causal), **kwargs
    )
    progress = _progress.get()
    if progress is not None and records is not None:
        progress(len(records))
    return output if change is None else (change.output(output[0]), None)


class RecordingCheck(NamedTuple):
    """A model's recorded attention beside its own eager attention, on a few tokens."""

    tokens: int
    """Tokens of the comparison."""
    attention_probs: float
    """Largest difference of two probabilities."""
    hidden_states: float
    """Largest difference of two hidden states, relative to the largest value of its layer."""


AttentionSource = Literal["recorded", "eager", "none"]
"""Source of the attention probabilities: the recorded query and key, the model's own maps, or none."""
