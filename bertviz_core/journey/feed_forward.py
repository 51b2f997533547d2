"""Record what the blocks of a layer add with a hook: the feed-forward block, and a mixing of tokens without weights."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from threading import get_ident
from typing import Any

import numpy as np
from jaxtyping import Float

from bertviz_core.errors import SupersededError
from bertviz_core.interventions.parts import feed_forward_maps, is_convolution, model_parts
from bertviz_core.lazy_imports import torch
from bertviz_core.models.loading import LoadedModel
from bertviz_core.trace.forward import forward
from bertviz_core.trace.inputs import model_inputs, reset_model_state
from bertviz_core.trace.recorded_arrays import to_numpy
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.run import RUN_LOCK


@dataclass(frozen=True, slots=True, eq=False)
class FeedForwardRun:
    """Input and output of the last linear map of a feed-forward block."""

    activations: Float[np.ndarray, "seq intermediate"]
    """Inner activations: after the activation function, and after the product with the gate if there is one."""
    output: Float[np.ndarray, "seq hidden"]
    """Output of the block with its bias, before any norm: what is added to the residual stream."""


class _BlockPassedError(SupersededError):
    """Ends the run after the block was recorded."""


def feed_forward_run(loaded: LoadedModel, tokens: Tokens, layer: int) -> FeedForwardRun | None:
    """Run a text up to the feed-forward block of a layer; None if that is not a single known one, a row per token.

    Args:
        loaded: the model.
        tokens: the text.
        layer: zero-based.

    Raises:
        UnsupportedModelError: the model needs more inputs than a text.
        TextError: the tokens do not belong to this model.
    """
    served = feed_forward_maps(loaded)
    module, layers = next(((module, layers) for module, layers in served.items() if layer in layers), (None, ()))
    if module is None:
        return None

    def both(module: Any, entered: Any, left: Any) -> tuple[Any, Any]:
        return _rows(module, entered), _rows(module, left)

    seq, recorded = len(tokens), _recorded(loaded, tokens, module, layers.index(layer), both)
    if recorded is None or len(recorded[0]) < seq:  # Funnel and CANINE pool their tokens
        return None
    return FeedForwardRun(*(rows[:seq] for rows in recorded))  # without padding


def mixing_output(loaded: LoadedModel, tokens: Tokens, layer: int) -> Float[np.ndarray, "seq hidden"] | None:
    """Run a text up to the Fourier transform of a layer and return what it adds to the residual stream; None without.

    Args:
        loaded: the model.
        tokens: the text.
        layer: zero-based.

    Raises:
        UnsupportedModelError: the model needs more inputs than a text.
        TextError: the tokens do not belong to this model.
    """
    blocks = model_parts(loaded, heads_needed=False).layers
    block = next((block for block, layers in blocks.items() if layer in layers), None)
    module = None if block is None else next(filter(_is_transform, block.modules()), None)
    if module is None:
        return None
    recorded = _recorded(loaded, tokens, module, 0, lambda module, _, left: (_rows(module, left),))
    return None if recorded is None else recorded[0][: len(tokens)]


def _is_transform(module: Any) -> bool:
    return "Fourier" in type(module).__name__ and not any(True for _ in module.children())


def _recorded(
    loaded: LoadedModel, tokens: Tokens, module: Any, call: int, read: Callable[[Any, Any, Any], tuple[Any, ...]]
) -> tuple[Any, ...] | None:
    """Read from the input and the output of one call of a module, where the run ends; None if it is not reached."""
    thread, calls = get_ident(), [0]
    recorded: list[Any] = []

    def record(module: Any, args: tuple[Any, ...], output: Any) -> None:
        if get_ident() != thread:
            return
        calls[0] += 1
        if calls[0] > call:
            recorded.extend(read(module, args[0], output[0] if isinstance(output, tuple) else output))
            raise _BlockPassedError

    with RUN_LOCK:
        inputs = model_inputs(loaded, (tokens,))
        reset_model_state(loaded.model, len(tokens))
        handle = module.register_forward_hook(record)
        try:
            with torch.inference_mode(), suppress(_BlockPassedError):
                forward(loaded, inputs)
        finally:
            handle.remove()
    return tuple(recorded) or None


def _rows(module: Any, vectors: "torch.Tensor") -> Any:
    """The vectors of one text as (seq, width)."""
    if is_convolution(module):
        vectors = vectors.transpose(1, 2)
    return to_numpy(vectors.reshape(-1, vectors.shape[-1]), copy=True)
