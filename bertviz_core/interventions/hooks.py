"""Intervene in a run at heads, feed-forward blocks and layers, for every attention implementation.

Heads are changed before the output projection, which is linear, so that exactly the contribution of the head changes;
the bias of the projection belongs to no head. Families with recorded attention are changed inside the attention
function, others by a hook on the input of the output projection. Calls are counted, not modules: ALBERT calls its only
layer many times.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from bertviz_core.interventions.parts import Parts, is_convolution
from bertviz_core.lazy_imports import torch
from bertviz_core.models.recording import changing, present_change

Hook = Callable[..., Any]


class Intervention:
    """Changes to the parts of a run; the default changes nothing, subclasses override."""

    def begin(self) -> None:
        """Prepare for a run."""

    def value(self, layer: int, value: "torch.Tensor") -> "torch.Tensor":
        """Change the values (batch, key_heads, seq, value_dim) of a layer; called for recorded families only."""
        return value

    def heads(self, layer: int, output: "torch.Tensor") -> "torch.Tensor":
        """Change the outputs of the heads (batch, seq, heads, value_dim) of a layer."""
        return output

    def feed_forward(self, layer: int, output: "torch.Tensor") -> "torch.Tensor":
        """Change the output of the last linear map of a feed-forward block, (batch, seq, hidden)."""
        return output

    def state(self, layer: int, state: "torch.Tensor") -> "torch.Tensor":
        """Change the input state (batch, seq, hidden) of a layer."""
        return state

    def layer(self, layer: int, before: "torch.Tensor", after: "torch.Tensor") -> "torch.Tensor":
        """Change the output state (batch, seq, hidden) of a layer, given its input state."""
        return after


class _Run:
    """One run of an intervention, called by the attention function and the hooks; counts the calls."""

    def __init__(self, intervention: Intervention, layers: int) -> None:
        self.intervention = intervention
        self._layers, self._calls = layers, Counter[Any]()
        self._before: dict[int, torch.Tensor] = {}

    def begin(self) -> None:
        self._calls.clear()
        self._before.clear()
        self.intervention.begin()

    def value(self, value: "torch.Tensor") -> "torch.Tensor":
        layer = self._calls["attention"]
        # A decoder after the encoder calls the same function.
        return self.intervention.value(layer, value) if layer < self._layers else value

    def output(self, output: "torch.Tensor") -> "torch.Tensor":
        layer = self._calls["attention"]
        self._calls["attention"] += 1
        return self.intervention.heads(layer, output) if layer < self._layers else output

    def next_layer(self, module: "torch.nn.Module", served: tuple[int, ...], kind: str) -> int | None:
        """Return the layer that a call of a module belongs to; None after the last."""
        call = self._calls[kind, id(module)]
        self._calls[kind, id(module)] += 1
        return served[call] if call < len(served) else None

    def went_in(self, layer: int, state: "torch.Tensor") -> "torch.Tensor":
        self._before[layer] = self.intervention.state(layer, state)
        return self._before[layer]

    def came_out(self, layer: int, state: "torch.Tensor") -> "torch.Tensor":
        return self.intervention.layer(layer, self._before.pop(layer), state)


@contextmanager
def intervening(model: "torch.nn.Module", parts: Parts, layers: int, intervention: Intervention) -> Iterator[None]:
    """Apply an intervention to this thread's runs of a model inside the block; restore the model afterwards.

    Args:
        model: the base model, or the model with a task head.
        parts: modules of the base model to intervene at.
        layers: number of layers of the base model.
        intervention: the changes to make.
    """
    run = _Run(intervention, layers)
    with ExitStack() as hooks:
        hooks.enter_context(changing(run))
        _add(hooks, model.register_forward_pre_hook(_begins))
        for module, served in parts.projections.items():
            hook = _projection_hook(parts, served)
            _add(hooks, module.register_forward_pre_hook(hook))
        for module, served in parts.feed_forward.items():
            _add(hooks, module.register_forward_hook(_feed_forward_hook(served)))
        for module, served in parts.layers.items():
            _add(hooks, module.register_forward_pre_hook(_layer_begins(parts, served), with_kwargs=True))
            _add(hooks, module.register_forward_hook(_layer_ends(parts, served)))
        yield


def _add(hooks: ExitStack, handle: Any) -> None:
    hooks.callback(handle.remove)


def _present() -> _Run | None:
    """Return the run of the intervention; None in another thread."""
    change = present_change()
    return change if isinstance(change, _Run) else None


def _begins(module: "torch.nn.Module", args: Any) -> None:
    if (run := _present()) is not None:
        run.begin()


def _projection_hook(parts: Parts, served: tuple[int, ...]) -> Hook:
    def hook(module: "torch.nn.Module", args: tuple[Any, ...]) -> Any:
        run = _present()
        layer = None if run is None else run.next_layer(module, served, "projection")
        if run is None or layer is None:
            return None
        across = is_convolution(module)
        mixed = args[0].transpose(1, 2) if across else args[0]
        own = mixed[..., : parts.columns].unflatten(-1, (parts.heads, -1))
        changed = run.intervention.heads(layer, own)
        if changed is own:
            return None
        rest = mixed[..., parts.columns :].expand(len(changed), *[-1] * (mixed.ndim - 1))
        whole = torch.cat((changed.flatten(-2), rest), dim=-1)
        return (whole.transpose(1, 2) if across else whole, *args[1:])

    return hook


def _feed_forward_hook(served: tuple[int, ...]) -> Hook:
    def hook(module: "torch.nn.Module", args: Any, output: Any) -> Any:
        run = _present()
        layer = None if run is None else run.next_layer(module, served, "feed-forward")
        if run is None or layer is None:
            return None
        product = output[0] if isinstance(output, tuple) else output
        across = is_convolution(module)
        changed = run.intervention.feed_forward(layer, product.transpose(1, 2) if across else product)
        changed = changed.transpose(1, 2) if across else changed
        return (changed, *output[1:]) if isinstance(output, tuple) else changed

    return hook


def _layer_begins(parts: Parts, served: tuple[int, ...]) -> Hook:
    def hook(module: "torch.nn.Module", args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        run = _present()
        layer = None if run is None else run.next_layer(module, served, "layer in")
        if run is None or layer is None:
            return None
        if args:
            return (_turned(parts, run.went_in(layer, _turned(parts, args[0]))), *args[1:]), kwargs
        name = next(iter(kwargs))
        return args, {**kwargs, name: _turned(parts, run.went_in(layer, _turned(parts, kwargs[name])))}

    return hook


def _layer_ends(parts: Parts, served: tuple[int, ...]) -> Hook:
    def hook(module: "torch.nn.Module", args: Any, output: Any) -> Any:
        run = _present()
        layer = None if run is None else run.next_layer(module, served, "layer out")
        if run is None or layer is None:
            return None
        key = next(iter(output)) if isinstance(output, dict) else 0
        state = output[key] if isinstance(output, tuple | dict) else output
        state = _turned(parts, run.came_out(layer, _turned(parts, state)))
        if isinstance(output, dict):
            return {**output, key: state}
        return (state, *output[1:]) if isinstance(output, tuple) else state

    return hook


def _turned(parts: Parts, state: "torch.Tensor") -> "torch.Tensor":
    """Transpose a state to (batch, seq, hidden), and back."""
    return state.transpose(1, 2) if parts.across else state
