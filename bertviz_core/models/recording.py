"""An attention function for transformers that computes SDPA attention, records its inputs and can be modified.

transformers looks the function up by name in a registry of the whole process (AttentionInterface). The list to record
into and the modification are context variables, so that concurrent runs do not mix.
"""

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from bertviz_core.lazy_imports import torch, transformers

NAME = "inside_bert"
"""Name of the attention implementation, for from_pretrained and set_attn_implementation."""
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
"""Arguments that models pass to their attention function without effect here: windows are part of the mask, rotary
positions are already in query and key, a single text is not packed, and nothing is trained."""


class UnknownArgumentError(RuntimeError):
    """A model passes an unsupported argument to its attention function that may change the result."""


class LayerRecord(NamedTuple):
    """Inputs of one layer's attention; query, key and value have the shape (batch, heads, seq, head_dim)."""

    query: "torch.Tensor"
    key: "torch.Tensor"
    value: "torch.Tensor"
    mask: "torch.Tensor | None"
    """True where a key may be attended to, or numbers that are added to the scores."""
    bias: "torch.Tensor | None"
    """Relative position bias that is added to the scores (T5)."""
    causal: bool
    """Whether a query attends only to keys up to its own position."""
    scaling: float
    sink: "torch.Tensor | None"
    """A learned score of every head that takes part in the softmax without a token or a value: the attention sink."""


@runtime_checkable
class AttentionChange(Protocol):
    """A modification of the attention of a run; its methods are called once per attention call, in order."""

    def value(self, value: "torch.Tensor") -> "torch.Tensor":
        """Return the values (batch, key_heads, seq, value_dim) to use instead of those of the model."""

    def output(self, output: "torch.Tensor") -> "torch.Tensor":
        """Return the head outputs (batch, seq, heads, value_dim) to use instead of those of the model."""


_records: ContextVar[list[LayerRecord] | None] = ContextVar("inside_bert_records", default=None)
_progress: ContextVar[Callable[[int], None] | None] = ContextVar("inside_bert_progress", default=None)
_change: ContextVar[AttentionChange | None] = ContextVar("inside_bert_change", default=None)


@contextmanager
def changing(change: AttentionChange) -> Iterator[None]:
    """Apply a modification to the attention of all runs of this thread inside the block."""
    token = _change.set(change)
    try:
        yield
    finally:
        _change.reset(token)


def present_change() -> AttentionChange | None:
    """The modification that is active in this thread, if any."""
    return _change.get()


@contextmanager
def recording(progress: Callable[[int], None] | None = None) -> Iterator[list[LayerRecord]]:
    """Record the attention calls of this thread into a list, one entry per call, in order.

    Args:
        progress: called after each attention call with the number of calls so far; may raise to stop the run.
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
    """Register the attention function with transformers and return its name."""
    masked = transformers.masking_utils.sdpa_mask

    def explicit_mask(*args: Any, **kwargs: Any) -> "torch.Tensor | None":
        mask: torch.Tensor | None = masked(*args, **{**kwargs, "allow_is_causal_skip": False})
        return mask

    transformers.AttentionInterface.register(NAME, recording_attention)
    transformers.AttentionMaskInterface.register(NAME, explicit_mask)
    return NAME


def unknown_arguments(arguments: Mapping[str, Any]) -> list[str]:
    """Names of unsupported attention arguments that may change the result."""
    return sorted(name for name, value in arguments.items() if value is not None and name not in WITHOUT_EFFECT)


def _alone(tensor: "torch.Tensor") -> "torch.Tensor":
    """A copy if the tensor is part of a larger one, such as a fused projection, so that that can be freed."""
    return tensor.clone() if tensor.untyped_storage().nbytes() > tensor.nbytes else tensor


def _with_sink(
    sink: "torch.Tensor",
    query: "torch.Tensor",
    key: "torch.Tensor",
    value: "torch.Tensor",
    mask: "torch.Tensor | None",
    causal: bool,
) -> "tuple[torch.Tensor, torch.Tensor, torch.Tensor]":
    """Key, value and mask with the sink as one more key: key and value are 0, the mask adds its score."""
    batch, heads, seq, _ = query.shape
    keys = key.shape[2]
    added = query.new_zeros(batch, heads, seq, keys)
    if causal:
        mask = torch.ones(seq, keys, dtype=torch.bool, device=query.device).tril()
    if mask is not None:
        mask = mask[..., :keys]
        added = added.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else added + mask
    added = torch.cat((added, sink.to(added).view(1, -1, 1, 1).expand(batch, heads, seq, 1)), dim=-1)
    one_more = (0, 0, 0, 1)
    return torch.nn.functional.pad(key, one_more), torch.nn.functional.pad(value, one_more), added


def recording_attention(
    module: Any,
    query: "torch.Tensor",
    key: "torch.Tensor",
    value: "torch.Tensor",
    attention_mask: "torch.Tensor | None",
    scaling: float | None = None,
    position_bias: "torch.Tensor | None" = None,
    is_causal: bool | None = None,
    s_aux: "torch.Tensor | None" = None,
    **kwargs: Any,
) -> "tuple[torch.Tensor, torch.Tensor | None]":
    """The output of transformers' SDPA attention without weights; recorded and modified inside the blocks above.

    Without a mask every query attends to every key. transformers' own function would treat a module without an
    is_causal attribute (Splinter's) as causal then; here causal masks are always explicit.

    Args:
        s_aux: the attention sink, which transformers' own function ignores.
    """
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    if unknown := unknown_arguments(kwargs):
        raise UnknownArgumentError(f"attention of {type(module).__name__} depends on {', '.join(unknown)}")
    records = _records.get()
    causal = bool(is_causal) and attention_mask is None
    if records is not None:
        scale = query.shape[-1] ** -0.5 if scaling is None else float(scaling)
        tensors = (_alone(query), _alone(key), _alone(value))
        records.append(LayerRecord(*tensors, attention_mask, position_bias, causal, scale, s_aux))
    change = _change.get()
    if change is not None:
        value = change.value(value)
    if s_aux is not None:
        key, value, attention_mask = _with_sink(s_aux, query, key, value, attention_mask, causal)
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
    """Comparison of the recorded attention of a model with its eager attention on a few tokens."""

    tokens: int
    """Number of tokens compared."""
    attention_probs: float
    """Largest difference between two probabilities."""
    hidden_states: float
    """Largest difference between two hidden states, relative to the largest value of the layer."""


AttentionSource = Literal["recorded", "eager", "none"]
"""Source of the attention probabilities: recorded query and key, the model's own maps, or none."""


INTERNALS = (
    *("_attn_implementation", "_cdata", "_modules", "_overloadpacket"),
    *("_forward_hooks", "_python_dispatch", "_pytree"),
)
"""Private attributes and modules that are used nowhere else."""


def attention_implementation(config: "transformers.PreTrainedConfig") -> Any:
    """Name of the attention implementation in use."""
    return config._attn_implementation


def children_of(module: "torch.nn.Module") -> "Iterable[tuple[str, torch.nn.Module | None]]":
    """Names and direct children of a module, including None and repeats, which named_children leaves out."""
    return module._modules.items()


def with_child(module: "torch.nn.Module", name: str, child: "torch.nn.Module") -> Any:
    """A shallow copy of a module with one direct child replaced."""
    other = copy.copy(module)
    vars(other)["_modules"] = {**module._modules, name: child}
    return other


def remove_hooks(module: "torch.nn.Module", defined_in: str) -> None:
    """Remove the forward hooks whose functions are defined in a given Python module."""
    for key, hook in list(module._forward_hooks.items()):
        if getattr(hook, "__module__", "") == defined_in:
            del module._forward_hooks[key]


def storage_key(tensor: "torch.Tensor") -> int:
    """A key shared by all tensors of the same storage, also on the meta device, where there are no addresses."""
    return int(tensor.untyped_storage()._cdata)


def operator_of(overload: Any) -> Any:
    """The operator of an overload; torch registers its FLOP formulas by operator."""
    return overload._overloadpacket


def dispatch_mode() -> Any:
    """The class TorchDispatchMode, whose subclasses see every operation."""
    return torch.utils._python_dispatch.TorchDispatchMode


def tree_leaves(value: Any) -> list[Any]:
    """The values inside tuples, lists and dicts."""
    return torch.utils._pytree.tree_leaves(value)
