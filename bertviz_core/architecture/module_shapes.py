"""Record the shapes through every module in a run without weights."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import get_ident
from typing import Any

from bertviz_core.architecture.dry_run import PROBE_TOKENS, DryModel, dry_model, plain_row
from bertviz_core.architecture.results import ModuleShape, Shape, ShapeRun
from bertviz_core.lazy_imports import torch
from bertviz_core.trace.inputs import ModelRow

ModuleCapture = dict[str, ModuleShape]
PROBE_ROWS = 5
"""Texts of the run that shows which axis is the batch."""


def module_shapes(name: str, config: Mapping[str, Any], row: ModelRow | int, task: str = "base") -> ShapeRun:
    """Shapes through every module in a run on a text, equal to those of a run with weights.

    The decoder of an encoder-decoder model has one token.

    Args:
        name: name of the model.
        config: its config.
        row: the tokens of the text, or their number.
        task: task of the class.

    Raises:
        TextError: the tokens do not belong to this model.
        UnsupportedModelError: the family cannot be run without weights.
    """
    dry = dry_model(name, config, task)
    return shapes_of(dry, plain_row(dry.model, row) if isinstance(row, int) else row)


def shapes_of(dry: DryModel, row: ModelRow) -> ShapeRun:
    """Shapes through the modules of a dry model; see module_shapes."""
    batch, _ = _captured(dry, [plain_row(dry.model, PROBE_TOKENS)] * PROBE_ROWS)
    capture, inputs = _captured(dry, [row])
    axes = {path: _batch_axes(shapes, batch[path]) for path, shapes in capture.items() if path in batch}
    decoder = inputs.get("decoder_input_ids")
    return ShapeRun(capture, len(row), dry.device_mode, 0 if decoder is None else decoder.shape[-1], axes)


def _captured(dry: DryModel, rows: list[ModelRow]) -> "tuple[ModuleCapture, dict[str, torch.Tensor]]":
    """The shapes of a run on some texts, and its inputs."""
    inputs = dry.inputs(rows)
    with torch.no_grad(), capture_modules(dry.model) as capture:
        dry.run(inputs)
    return capture, inputs


def _batch_axes(one: ModuleShape, several: ModuleShape) -> tuple[int | None, int | None]:
    """The axis of size 1 for one text that has size PROBE_ROWS for so many, of the first input and output."""

    def axis(single: Sequence[Shape], batch: Sequence[Shape]) -> int | None:
        if not single or not batch:
            return None
        pairs = enumerate(zip(single[0], batch[0], strict=False))
        return next((index for index, sizes in pairs if sizes == (1, PROBE_ROWS)), None)

    inputs = (tuple(shape for _, shape in each.inputs) for each in (one, several))
    return axis(*inputs), axis(one.outputs, several.outputs)


@contextmanager
def capture_modules(model: "torch.nn.Module") -> Iterator[ModuleCapture]:
    """Record the shapes of every module inside the block, by path, in the order of the calls."""
    capture: ModuleCapture = {}
    paths: dict[int, list[str]] = {}
    modules = {}
    for path, module in model.named_modules(remove_duplicate=False):
        paths.setdefault(id(module), []).append(path)
        modules[id(module)] = module
    hooks = []
    for key, module in modules.items():
        enter, leave = _capture_hooks(capture, paths[key], module)
        hooks.append(module.register_forward_pre_hook(enter, with_kwargs=True))
        hooks.append(module.register_forward_hook(leave, with_kwargs=True))
    try:
        yield capture
    finally:
        for hook in hooks:
            hook.remove()


def _capture_hooks(
    capture: ModuleCapture, paths: list[str], module: "torch.nn.Module"
) -> tuple[Callable[..., None], ...]:
    # Some families share an activation module among all their models, so that hooks also see other threads.
    thread = get_ident()
    names = list(inspect.signature(module.forward).parameters)

    def enter(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        for path in paths if get_ident() == thread else ():
            capture.setdefault(path, ModuleShape((), (), ()))

    def leave(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        for path in paths if get_ident() == thread else ():
            before = capture[path]
            positional = zip([*names, *[""] * len(args)], args, strict=False)
            named = [*positional, *kwargs.items()]
            inputs = tuple((name, shape) for name, value in named for shape in _shapes(value))
            entered = (*before.entered, inputs[0][1] if inputs else ())
            if before.calls:
                capture[path] = ModuleShape(before.inputs, before.outputs, entered)
            else:
                capture[path] = ModuleShape(inputs, tuple(_shapes(output)), entered)

    return enter, leave


def _shapes(value: Any) -> Iterator[Shape]:
    """Shapes of all tensors in a nested value."""
    if isinstance(value, torch.Tensor):
        yield tuple(value.shape)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _shapes(item)
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _shapes(item)
