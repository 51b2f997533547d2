"""Values of a layer run, step by step."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from threading import get_ident
from typing import Any, NamedTuple

from bertviz_core.architecture.dry_run import DryModel
from bertviz_core.architecture.results import Window
from bertviz_core.lazy_imports import torch, transformers
from bertviz_core.models.recording import dispatch_mode, tree_leaves, unknown_arguments

IDS, TYPE, POSITION, STREAM = "ids", "type", "position", "stream"
"""Sources of a tensor: token ids, token types, positions, and the inputs of a layer."""
TURNED, DISTANCE = "turned", "distance"
"""How positions affect the vectors of a layer: by elementwise products (rotary), or in any other way."""
SAME_VALUES = frozenset((
    "view", "_unsafe_view", "reshape", "_reshape_alias", "transpose", "t", "permute", "expand", "unsqueeze", "squeeze",
    "contiguous", "clone", "_to_copy", "alias", "detach", "movedim", "lift_fresh", "to",
))  # fmt: skip
"""Operations that preserve all values of their first argument."""
COUNTS_UP = frozenset(("arange", "cumsum", "linspace"))
PRODUCTS = frozenset(("bmm", "baddbmm", "_softmax", "_fft_c2c", "_fft_r2c"))
"""Operations that mix tokens; a module with one of them is not a single step."""


@dataclass(slots=True, eq=False)
class Value:
    """A tensor of the run, with its operation and operands."""

    op: str
    """"norm", "map" (with parameters) or "activation" for a module, "layer" for the input of a layer, "parameter",
    "scale" for a product with a number, otherwise the name of the operation."""
    parents: "tuple[Value, ...]" = ()
    """Operands."""
    sources: frozenset[str] = frozenset()
    name: str = ""
    """Path of the module or name of the parameter."""
    factor: float = 1.0
    """Factor of "scale"."""
    shape: tuple[int, ...] = ()
    window: Window | None = None


@dataclass(slots=True, eq=False)
class Flow:
    """The dataflow of a run."""

    values: "dict[int, tuple[torch.Tensor, Value]]" = field(default_factory=dict)
    """id of a tensor -> tensor and value; the reference keeps the id unique."""
    names: dict[int, str] = field(default_factory=dict)
    """id -> name of a parameter or buffer."""
    entries: dict[str, tuple[Value, Value]] = field(default_factory=dict)
    """Input of a layer at its first call, and the value that represents it inside the layer."""
    exits: dict[str, tuple[Value, Value]] = field(default_factory=dict)
    """Output of a layer at its first and last call."""
    lookups: list[Value] = field(default_factory=list)
    """Lookups in tables of parameters."""
    softmaxes: list[Value] = field(default_factory=list)
    """Softmaxes, in the order of the run."""

    def value(self, tensor: "torch.Tensor") -> Value:
        """The value of a tensor; tensors that existed before the run are parameters, buffers or constants."""
        known = self.values.get(id(tensor))
        if known is not None:
            return known[1]
        name = self.names.get(id(tensor), "")
        sources = frozenset((POSITION,)) if name.endswith("position_ids") else frozenset[str]()
        kind = "parameter" if isinstance(tensor, torch.nn.Parameter) else "constant"
        return self.put(tensor, Value(kind, (), sources, name, shape=tuple(tensor.shape)))

    def put(self, tensor: "torch.Tensor", value: Value) -> Value:
        """Set the value of a tensor."""
        self.values[id(tensor)] = tensor, value
        return value


def record_inputs(flow: Flow, inputs: "Mapping[str, torch.Tensor]") -> None:
    """Record the inputs of a run."""
    for key, tensor in inputs.items():
        source = {"input_ids": IDS, "decoder_input_ids": IDS, "token_type_ids": TYPE, "position_ids": POSITION}.get(key)
        flow.put(tensor, Value("input", (), frozenset((source,) if source else ()), key, shape=tuple(tensor.shape)))


def _operation(func: Any) -> str:
    """The base name of an operation: "add" of "aten::add.Tensor"."""
    name: str = func.name()
    return name.partition("::")[2].partition(".")[0]


@contextmanager
def flow_of(model: "torch.nn.Module", begins: set[str], ends: set[str]) -> Iterator[Flow]:
    """Record the dataflow of a model in this thread inside the block.

    Args:
        begins: paths of the first modules of layers.
        ends: paths of the last modules of layers.
    """
    mode: Any = dispatch_mode()
    flow, thread = Flow(), get_ident()
    flow.names = {id(value): name for name, value in [*model.named_buffers(), *model.named_parameters()]}

    class _Listener(mode):  # type: ignore[misc]  # torch leaves the class without types
        """Records the operands of every operation."""

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            parents = tuple(flow.value(each) for each in tree_leaves((args, kwargs or {})) if _is_tensor(each))
            out = func(*args, **(kwargs or {}))
            for tensor in tree_leaves(out):
                if _is_tensor(tensor):
                    flow.put(tensor, _value_of(flow, _operation(func), args, kwargs or {}, tensor, parents))
            return out

    hooks = []
    for path, module in model.named_modules():
        if _is_norm(module) or not any(True for _ in module.children()):
            hooks.append(module.register_forward_hook(_step_hook(flow, path, thread), with_kwargs=True))
        if path in begins:
            hooks.append(module.register_forward_pre_hook(_entry_hook(flow, path, module, thread), with_kwargs=True))
        if path in ends:
            hooks.append(module.register_forward_hook(_exit_hook(flow, path, thread)))
    try:
        with _Listener():
            yield flow
    finally:
        for hook in hooks:
            hook.remove()


def ancestors(value: Value, stop: Value | None = None) -> dict[int, Value]:
    """A value and all its ancestors, up to `stop`."""
    visited: dict[int, Value] = {}
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if id(each) not in visited:
            visited[id(each)] = each
            if each is not stop:
                waiting.extend(each.parents)
    return visited


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def _value_of(
    flow: Flow, op: str, args: Any, kwargs: Mapping[str, Any], tensor: "torch.Tensor", parents: tuple[Value, ...]
) -> Value:
    op = op.removesuffix("_") if not op.startswith("_") else op
    shape = tuple(tensor.shape)
    union = frozenset[str]().union(*(parent.sources for parent in parents))
    if op in SAME_VALUES and parents and tensor.dtype != torch.bool:
        return parents[0]
    if tensor.dtype == torch.bool:  # comparisons of positions define visibility, not distance
        return Value("test", parents, union & {TYPE}, shape=shape)
    if op in COUNTS_UP:
        return Value(op, parents, frozenset((POSITION,)), shape=shape)
    if op in ("embedding", "index") and parents and parents[0].op == "parameter" and len(parents) > 1:
        value = Value("lookup", parents, union, parents[0].name, shape=shape)
        flow.lookups.append(value)
        return value
    factor = _factor(op, args)
    if factor is not None and parents:
        return Value("scale", parents[:1], parents[0].sources, factor=factor, shape=shape)
    if op == "baddbmm":  # the sum of a tensor and a product, such as scores with a bias
        product = Value("bmm", parents[1:], _mixed("bmm", parents[1:]), shape=shape)
        scaled = Value("scale", (product,), product.sources, factor=float(kwargs.get("alpha", 1)), shape=shape)
        return Value("add", (parents[0], scaled), _mixed("add", (parents[0], scaled)), shape=shape)
    value = Value(op, parents, _mixed(op, parents), shape=shape)
    if op == "_softmax":
        flow.softmaxes.append(value)
    return value


def _factor(op: str, args: Any) -> float | None:
    """The number by which an operation multiplies its first argument; None for any other operation."""
    if op not in ("mul", "div") or len(args) < 2:
        return None
    number = args[1]
    if _is_tensor(number):
        if number.ndim or number.device.type == "meta" or not number.is_floating_point():
            return None
        number = float(number)
    return float(number) if op == "mul" else 1 / float(number) if number else None


def _mixed(op: str, parents: tuple[Value, ...]) -> frozenset[str]:
    """Sources of a result; positions become TURNED or DISTANCE when combined with vectors of a layer."""
    union = frozenset[str]().union(*(parent.sources for parent in parents))
    if STREAM in union and any(POSITION in each.sources and STREAM not in each.sources for each in parents):
        return (union - {POSITION}) | {TURNED if op == "mul" else DISTANCE}
    return union


def _entry_hook(flow: Flow, path: str, module: "torch.nn.Module", thread: int) -> Callable[..., None]:
    """The input of a layer becomes a new value without operands."""
    names = list(inspect.signature(module.forward).parameters)

    def enter(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        tensor = next((each for each in (*args, *(kwargs.get(name) for name in names)) if _is_vectors(each)), None)
        if get_ident() != thread or tensor is None:
            return
        entered = flow.value(tensor)
        start = flow.put(tensor, Value("layer", (), frozenset((STREAM,)), path, shape=tuple(tensor.shape)))
        flow.entries.setdefault(path, (entered, start))

    return enter


def _exit_hook(flow: Flow, path: str, thread: int) -> Callable[..., None]:
    """Record the output of a layer at its first and last call."""

    def leave(module: Any, args: tuple[Any, ...], output: Any) -> None:
        tensor = next((each for each in tree_leaves(output) if _is_vectors(each)), None)
        if get_ident() == thread and tensor is not None:
            value = flow.value(tensor)
            flow.exits[path] = (flow.exits[path][0] if path in flow.exits else value, value)

    return leave


def _is_norm(module: "torch.nn.Module") -> bool:
    """Whether a module is a normalisation: by its class name, and without children with parameters."""
    return "norm" in type(module).__name__.lower() and not any(
        True for child in module.children() for _ in child.parameters()
    )


def _is_vectors(value: Any) -> bool:
    return _is_tensor(value) and value.is_floating_point()


def _step_hook(flow: Flow, path: str, thread: int) -> Callable[..., None]:
    """A leaf module is a single step, unless it mixes tokens or looks up rows."""

    def leave(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        outputs = [each for each in output if _is_tensor(each)] if isinstance(output, tuple) else [output]
        inputs = [each for each in (*args, *kwargs.values()) if _is_tensor(each)]
        if get_ident() != thread or len(outputs) != 1 or not inputs or isinstance(module, torch.nn.Embedding):
            return
        output = outputs[0]
        if output is inputs[0] or not _is_vectors(output) or not _is_vectors(inputs[0]):
            return
        before, after = flow.value(inputs[0]), flow.value(output)
        is_norm = _is_norm(module)
        if after is before or (len(inputs) > 1 and not is_norm):
            return
        inside = ancestors(after, stop=before)
        if not is_norm and any(each.op in PRODUCTS and _of_two(each) for each in inside.values() if each is not before):
            return
        has_weights = any(True for _ in module.parameters(recurse=False))
        kind = "norm" if is_norm else "map" if has_weights else "activation"
        flow.put(output, Value(kind, (before,), after.sources, path, shape=tuple(output.shape)))

    return leave


def _of_two(value: Value) -> bool:
    """Whether both factors are results of the run, not weights."""
    return value.op != "bmm" or not any(parent.op == "parameter" for parent in value.parents)


NAME = "inside_bert_stepwise"
"""Name of the attention implementation."""
FULL_REACH = 8
"""Tokens to each side that are tested if the window size of a mask is unknown."""


class AttentionCall(NamedTuple):
    """One call of the exchangeable attention function."""

    module: "torch.nn.Module"
    queries: int
    keys: int
    scaling: float
    """Factor of the product of query and key."""
    mask: "torch.Tensor | None"
    plain: bool
    """Whether it has no unsupported arguments, such as a soft cap, so that it can be recorded."""
    sinks: bool


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
    sides = cells[:reach][::-1], cells[reach + 1 :]
    before, after = (next((at for at, filled in enumerate(side) if not filled), len(side)) for side in sides)
    return Window(None if before == reach else before, None if after == reach else after)


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
