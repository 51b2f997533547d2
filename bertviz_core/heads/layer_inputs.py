"""Inputs and outputs of one layer's projections, recorded by hooks while the model runs on a text."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import get_ident
from typing import TYPE_CHECKING, Any

import numpy as np

from bertviz_core.errors import SupersededError
from bertviz_core.heads.projections import LayerProjections, Projection, layer_projections
from bertviz_core.heads.results import LayerRun
from bertviz_core.models.loading import LoadedModel
from bertviz_core.trace.forward import forward
from bertviz_core.trace.inputs import model_inputs, reset_model_state
from bertviz_core.trace.recorded_arrays import to_numpy
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.run import RUN_LOCK

if TYPE_CHECKING:
    import torch

LayerCapture = dict[int, tuple["torch.Tensor", "torch.Tensor | None"]]
"""By id of a module: its input and its output."""


class _LayerPassedError(SupersededError):
    """Everything wanted has been recorded: the rest of the run is not needed."""


def capture_layer_io(loaded: LoadedModel, tokens: Tokens, layer: int) -> LayerRun:
    """Inputs and outputs of the projections of one layer for a text; the run ends after the layer.

    The model is left as it was: nothing else can run meanwhile (RUN_LOCK), and the hooks are removed in any case.

    Raises:
        UnsupportedModelError: the family has no such projections, or needs more than a text.
        TextError: the tokens are not this model's.
        ValueError: there is no such layer.
    """
    import torch

    with RUN_LOCK:
        inputs = model_inputs(loaded, (tokens,))
        reset_model_state(loaded.model, len(tokens))
        projections = layer_projections(loaded, layer)
        with torch.inference_mode(), _capturing(projections, projections.shared_with.index(layer)) as capture:
            _run(loaded, inputs)
    return _captured_run(projections, capture, len(tokens))


def _run(loaded: LoadedModel, inputs: "dict[str, torch.Tensor]") -> None:
    with suppress(_LayerPassedError):
        forward(loaded, inputs)


@contextmanager
def _capturing(projections: LayerProjections, call: int) -> Iterator[LayerCapture]:
    """What is recorded at the given call of each module, until the last of them, which ends the run."""
    capture: LayerCapture = {}
    modules = {
        id(part.module): part.module
        for part in (projections.query, projections.key, projections.value, projections.output)
    }
    bare = {id(part.module) for part in (projections.query, projections.output) if part.bare}
    hear = _capture_hook(capture, call, set(modules), bare)
    hooks = [module.register_forward_hook(hear, with_kwargs=True) for module in modules.values()]
    try:
        yield capture
    finally:
        for hook in hooks:
            hook.remove()


def _capture_hook(capture: LayerCapture, call: int, modules: set[int], bare: set[int]) -> Callable[..., None]:
    thread, calls = get_ident(), dict.fromkeys(modules, -1)

    def hear(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        if get_ident() != thread:
            return
        key = id(module)
        calls[key] += 1
        if calls[key] != call:
            return
        inputs = args[0] if args else next(iter(kwargs.values()))
        product = output[0] if isinstance(output, tuple) else output
        # Copies: some families scale a product where it stands.
        capture[key] = inputs.clone(), None if key in bare else product.clone()
        if len(capture) == len(modules):
            raise _LayerPassedError

    return hear


def _captured_run(projections: LayerProjections, capture: LayerCapture, seq: int) -> LayerRun:
    inputs, products = {}, {}
    for name in ("query", "key", "value", "output"):
        projection: Projection = getattr(projections, name)
        vectors, product = capture[id(projection.module)]
        inputs[name] = _rows(projection, vectors, seq)
        products[name] = None if product is None else _product(projection, _rows(projection, product, seq))
    for name in ("key", "value"):
        # In most families the same vectors enter all three.
        if np.array_equal(inputs[name], inputs["query"]):
            inputs[name] = inputs["query"]
    return LayerRun(
        query_input=inputs["query"],
        key_input=inputs["key"],
        value_input=inputs["value"],
        query=products["query"],
        key=products["key"],
        value=products["value"],
        mixed=None if projections.output.bare else inputs["output"],
        output=products["output"],
    )


def _product(projection: Projection, rows: Any) -> Any:
    """What is this projection's of a module's product, with the bias that the family adds behind it."""
    if projection.rows is not None:
        rows = rows[:, projection.rows.numpy()]
    return rows + to_numpy(projection.bias) if projection.bias_behind and projection.bias is not None else rows


def _rows(projection: Projection, vectors: "torch.Tensor", seq: int) -> Any:
    """The vectors of a batch of one text as (seq, width), whichever axis the family puts first; padding cut off."""
    import torch

    if isinstance(projection.module, torch.nn.Conv1d):
        vectors = vectors.transpose(1, 2)
    return to_numpy(vectors.reshape(-1, vectors.shape[-1])[:seq], copy=True)
