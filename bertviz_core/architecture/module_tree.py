"""The module tree, and the shapes of its modules."""

import inspect
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import get_ident
from typing import Any

from bertviz_core.architecture.dry_run import PROBE_TOKENS, DryModel, dry_model, plain_row
from bertviz_core.architecture.results import ModuleRow, ModuleShape, ModuleTree, ModuleWeight, Shape, ShapeRun
from bertviz_core.lazy_imports import torch
from bertviz_core.models.recording import children_of
from bertviz_core.models.skeleton import build_skeleton
from bertviz_core.parameters.components import ATTENTION_PARTS
from bertviz_core.parameters.ledger import module_ledger
from bertviz_core.parameters.results import Ledger, Parameter
from bertviz_core.trace.verification import ModelRow

INDENT = "  "


def module_tree(name: str, config: Mapping[str, Any], task: str = "base", fold: bool = True) -> ModuleTree:
    """The module tree of the class of a config, built on the meta device."""
    return tree_of(name, build_skeleton(name, config, task), fold)


def tree_of(name: str, module: "torch.nn.Module", fold: bool = True) -> ModuleTree:
    """The module tree of a model in memory; the row of the model has the total of its ledger.

    Args:
        fold: whether equal neighbours in a list are one row, as in print(model).
    """
    ledger = module_ledger(name, module)
    rows = tuple(_RowBuilder(ledger, fold).rows(module, ("",), "", None, 0, 1))
    return ModuleTree(name, type(module).__name__, rows, ledger.total)


def printed(tree: ModuleTree) -> str:
    """The text of print(model) for a folded tree."""
    lines: list[str] = []
    open_rows: list[ModuleRow] = []
    for row in (*tree.rows, None):
        while open_rows and (row is None or open_rows[-1].depth >= row.depth):
            closed = open_rows.pop()
            if closed.closes:
                lines.append(f"{INDENT * closed.depth})")
        if row is not None:
            name = f"({row.name}): " if row.depth else ""
            times = f"{row.repeats} x " if row.repeats > 1 else ""
            lines.append(f"{INDENT * row.depth}{name}{times}{row.head}")
            lines += [INDENT * (row.depth + row.closes) + line for line in row.extra]
            open_rows.append(row)
    return "\n".join(lines)


class _RowBuilder:
    """Builds the rows of a model; the count of a module is the sum over the parameters below its paths."""

    def __init__(self, ledger: Ledger, fold: bool) -> None:
        self.fold = fold
        self.numel: dict[str, int] = defaultdict(int)
        self.parts: dict[str, set[str]] = defaultdict(set)
        self.own: dict[str, list[Parameter]] = defaultdict(list)
        for parameter in ledger.parameters:
            path, _, _ = parameter.name.rpartition(".")
            self.own[path].append(parameter)
            modules = path.split(".") if path else []
            for end in range(len(modules) + 1):
                around = ".".join(modules[:end])
                self.numel[around] += parameter.numel if parameter.tied_to is None else 0
                self.parts[around].add(parameter.component if parameter.layer is None else parameter.part)

    def rows(
        self,
        module: "torch.nn.Module | None",
        paths: tuple[str, ...],
        row_id: str,
        parent: str | None,
        depth: int,
        repeats: int,
    ) -> Iterator[ModuleRow]:
        """The rows of a module and its children; paths are those of all modules that a row represents."""
        children = [] if module is None else list(self._children(module))
        head, extra, closes = _words(module, bool(children))
        yield ModuleRow(
            id=row_id,
            parent=parent,
            depth=depth,
            name=row_id.rpartition(".")[2],
            class_name=type(module).__name__,
            repeats=repeats,
            paths=paths,
            head=head,
            extra=extra,
            closes=closes,
            numel=sum(self.numel[path] for path in paths),
            weights=tuple(
                ModuleWeight(row.name.rpartition(".")[2], row.shape, row.tied_to) for row in self.own[paths[0]]
            ),
            part=_part(self.parts[paths[0]]),
        )
        for names, child in children:
            label = names[0] if len(names) == 1 else f"{names[0]}-{names[-1]}"
            below = tuple(f"{path}.{name}" if path else name for path in paths for name in names)
            child_id = f"{row_id}.{label}" if row_id else label
            yield from self.rows(child, below, child_id, row_id, depth + 1, len(names))

    def _children(self, module: "torch.nn.Module") -> "Iterator[tuple[list[str], torch.nn.Module | None]]":
        """(names, module) of the children; several names for folded ones."""
        if not _own_words(module):
            return
        if not (self.fold and type(module).__repr__ is torch.nn.ModuleList.__repr__):
            yield from (([name], child) for name, child in children_of(module))
            return
        equal_names: list[str] = []
        last: torch.nn.Module | None = None
        text = ""
        for name, child in children_of(module):
            printed_child = _text(child)
            if equal_names and printed_child != text:
                yield equal_names, last
                equal_names = []
            if not equal_names:
                last, text = child, printed_child
            equal_names.append(name)
        if equal_names:
            yield equal_names, last


def _own_words(module: "torch.nn.Module") -> bool:
    """Whether a module has the standard representation with its children."""
    return type(module).__repr__ in (torch.nn.Module.__repr__, torch.nn.ModuleList.__repr__)


def _text(module: "torch.nn.Module | None") -> str:
    """The repr of a module; its class names if that needs values, as for the quantized modules of I-BERT."""
    try:
        return repr(module)
    except RuntimeError:
        if module is None:
            raise
        return " ".join(f"{path}: {type(child).__name__}" for path, child in module.named_modules())


def _words(module: "torch.nn.Module | None", has_children: bool) -> tuple[str, tuple[str, ...], bool]:
    """(first line, further lines, whether a closing bracket has its own line)."""
    if module is None or not _own_words(module):
        head, *rest = _text(module).split("\n")
        head = f"{type(module).__name__}(...)" if head.startswith(":") else head
        return head, tuple(rest), False
    name, words = type(module).__name__, module.extra_repr()
    if not words or type(module).__repr__.__qualname__.startswith("ModuleList"):
        return (f"{name}(", (), True) if has_children else (f"{name}()", (), False)
    lines = tuple(words.split("\n"))
    if len(lines) == 1 and not has_children:
        return f"{name}({lines[0]})", (), False
    return f"{name}(", lines, True


def _part(names: Sequence[str] | set[str]) -> str:
    """The only component or part of a module, apart from its normalisation; "" for several."""
    parts = set(names) - {"layer_norm"} or set(names)
    if len(parts) == 1:
        (only,) = parts
        return only
    return "attention" if parts and parts <= set(ATTENTION_PARTS) else ""


ModuleCapture = dict[str, ModuleShape]
PROBE_ROWS = 5
"""Texts of the run that shows which axis is the batch."""


def module_shapes(name: str, config: Mapping[str, Any], row: ModelRow | int, task: str = "base") -> ShapeRun:
    """Shapes through every module in a run on a text, equal to those of a run with weights.

    The decoder of an encoder-decoder model has one token.
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
    if isinstance(value, torch.Tensor):
        yield tuple(value.shape)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _shapes(item)
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _shapes(item)
