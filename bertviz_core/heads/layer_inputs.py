"""Record the inputs and outputs of the projections of a layer with hooks."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from threading import get_ident
from typing import Any

import numpy as np

from bertviz_core.errors import SupersededError
from bertviz_core.heads.projections import LayerProjections, Projection, layer_projections
from bertviz_core.heads.results import LayerRun
from bertviz_core.lazy_imports import torch
from bertviz_core.models.loading import LoadedModel
from bertviz_core.trace.forward import forward
from bertviz_core.trace.inputs import model_inputs, reset_model_state
from bertviz_core.trace.recorded_arrays import to_numpy
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.run import RUN_LOCK

LayerCapture = dict[int, tuple["torch.Tensor", "torch.Tensor | None"]]
"""id of a module -> its input and output."""


class _LayerPassedError(SupersededError):
    """Ends the run after everything was recorded."""


def capture_layer_io(loaded: LoadedModel, tokens: Tokens, layer: int) -> LayerRun:
    """Inputs and outputs of the projections of a layer for a text; the run ends after the layer.

    Raises:
        UnsupportedModelError: the family has no such projections, or needs more inputs than a text.
        TextError: the tokens do not belong to this model.
        ValueError: there is no such layer.
    """
    with RUN_LOCK:
        inputs = model_inputs(loaded, (tokens,))
        reset_model_state(loaded.model, len(tokens))
        projections = layer_projections(loaded, layer)
        with torch.inference_mode(), _capturing(projections, projections.shared_with.index(layer)) as capture:
            _run(loaded, inputs)
    run = _captured_run(projections, capture, len(tokens))
    return run if loaded.intervention is None else replace(run, mixed=None)


def _run(loaded: LoadedModel, inputs: "dict[str, torch.Tensor]") -> None:
    with suppress(_LayerPassedError):
        forward(loaded, inputs)


@contextmanager
def _capturing(projections: LayerProjections, call: int) -> Iterator[LayerCapture]:
    """Record call number `call` of each module; the last one ends the run."""
    capture: LayerCapture = {}
    modules = {
        id(part.module): part.module
        for part in (projections.query, projections.key, projections.value, projections.output)
    }
    bare = {id(part.module) for part in (projections.query, projections.output) if part.bare}
    hook = _capture_hook(capture, call, set(modules), bare)
    hooks = [module.register_forward_hook(hook, with_kwargs=True) for module in modules.values()]
    try:
        yield capture
    finally:
        for handle in hooks:
            handle.remove()


def _capture_hook(capture: LayerCapture, call: int, modules: set[int], bare: set[int]) -> Callable[..., None]:
    thread, calls = get_ident(), dict.fromkeys(modules, -1)

    def record(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        if get_ident() != thread:
            return
        key = id(module)
        calls[key] += 1
        if calls[key] != call:
            return
        inputs = args[0] if args else next(iter(kwargs.values()))
        product = output[0] if isinstance(output, tuple) else output
        # Copies, since some families scale a product in place.
        capture[key] = inputs.clone(), None if key in bare else product.clone()
        if len(capture) == len(modules):
            raise _LayerPassedError

    return record


def _captured_run(projections: LayerProjections, capture: LayerCapture, seq: int) -> LayerRun:
    inputs, products = {}, {}
    for name in ("query", "key", "value", "output"):
        projection: Projection = getattr(projections, name)
        vectors, product = capture[id(projection.module)]
        inputs[name] = _rows(projection, vectors, seq)
        products[name] = None if product is None else _product(projection, _rows(projection, product, seq))
    for name in ("key", "value"):
        # In most families all three have the same inputs.
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
    """The rows of this projection in a module's product, with the bias that the family adds separately."""
    if projection.rows is not None:
        rows = rows[:, projection.rows.numpy()]
    return rows + to_numpy(projection.bias) if projection.bias_behind and projection.bias is not None else rows


def _rows(projection: Projection, vectors: "torch.Tensor", seq: int) -> Any:
    """The vectors of a batch of one text as (seq, width), without padding, whatever the family's axis order."""
    if isinstance(projection.module, torch.nn.Conv1d):
        vectors = vectors.transpose(1, 2)
    return to_numpy(vectors.reshape(-1, vectors.shape[-1])[:seq], copy=True)
