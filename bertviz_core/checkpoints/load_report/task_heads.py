"""List the parameters that a task head adds to the base model, from two classes on the meta device without any file."""

from collections.abc import Iterator, Mapping
from typing import Any

from bertviz_core.checkpoints.load_report.report import LABELLED, with_labels
from bertviz_core.checkpoints.load_report.results import HeadDifference, HeadMark, HeadNode
from bertviz_core.lazy_imports import torch, transformers
from bertviz_core.models.skeleton import build_skeleton
from bertviz_core.models.sources import ModelSource
from bertviz_core.parameters.ledger import module_ledger
from bertviz_core.parameters.results import Ledger, Parameter

SAME_DEPTH = 2
"""Depth down to which modules of the base model are listed."""


def source_head_difference(source: ModelSource, task: str, num_labels: int | None = None) -> HeadDifference:
    """Compare a task's class of a model with its base model.

    Law: base_total - removed + added = total, unless a shape changes.
    """
    config = with_labels(source.config, task, num_labels)
    base, model = build_skeleton(source.name, source.config), build_skeleton(source.name, config, task)
    base_ledger = module_ledger(source.name, base, source="config")
    ledger = module_ledger(source.name, model, source="config")
    images = _images(base_ledger, ledger, model.base_model_prefix)
    inside = _Descendants(ledger, {image: name for name, image in images.items() if image})
    removed = [row for row in base_ledger.parameters if row.tied_to is None and not images[row.name]]
    nodes = [
        HeadNode("changed" if inside.added or removed else "same", 0, "", ledger.architecture, None, ledger.total, None)
    ]
    nodes += _below(model, "", 1, inside)
    nodes += _removed(base, removed)
    return HeadDifference(
        model=source.name,
        task=task,
        architecture=ledger.architecture,
        base_architecture=base_ledger.architecture,
        num_labels=int(model.config.num_labels) if task in LABELLED else None,
        base_total=base_ledger.total,
        total=ledger.total,
        added=sum(row.numel for row in inside.added),
        removed=sum(row.numel for row in removed),
        nodes=tuple(nodes),
    )


class _Descendants:
    def __init__(self, ledger: Ledger, known: Mapping[str, str]) -> None:
        self.rows = {row.name: row for row in ledger.parameters}
        self.added = [row for row in ledger.parameters if row.tied_to is None and row.name not in known]
        self.numel: dict[str, int] = {}
        self.marks: dict[str, set[HeadMark]] = {}
        for row in ledger.parameters:
            mark: HeadMark = "same" if row.name in known else "added"
            for path in _paths(row.name):
                self.numel[path] = self.numel.get(path, 0) + (row.numel if row.tied_to is None else 0)
                self.marks.setdefault(path, set()).add(mark)

    def mark(self, path: str) -> HeadMark:
        """Return the relation of a module or parameter to the base model."""
        marks = self.marks[path]
        return next(iter(marks)) if len(marks) == 1 else "changed"


def _images(base: Ledger, ledger: Ledger, prefix: str) -> dict[str, str]:
    """Return name in the base model -> name in the class with the head; "" if that has none."""
    names = {row.name for row in ledger.parameters}
    images = {}
    for row in base.parameters:
        under = f"{prefix}.{row.name}"
        images[row.name] = under if under in names else row.name if row.name in names else ""
    return images


def _below(module: "torch.nn.Module", path: str, depth: int, inside: _Descendants) -> Iterator[HeadNode]:
    """Yield modules and parameters in the order of the class; those of the base model only to a depth."""
    for name, child in module.named_children():
        at = f"{path}.{name}" if path else name
        if at not in inside.marks:
            continue  # no parameters: dropout, activations
        mark = inside.mark(at)
        kind, folded = _kind(child)
        yield HeadNode(mark, depth, at, kind, None, inside.numel[at], None)
        if not folded and (mark != "same" or depth < SAME_DEPTH):
            yield from _below(child, at, depth + 1, inside)
    for name, _ in module.named_parameters(recurse=False, remove_duplicate=False):
        at = f"{path}.{name}" if path else name
        if inside.mark(at) == "added":
            yield _parameter(inside.rows[at], "added", depth)


def _kind(module: "torch.nn.Module") -> tuple[str, bool]:
    """Return the class of a module, and whether it represents folded equal layers."""
    children = [child for child in module.children() if any(True for _ in child.parameters())]
    layers = module if isinstance(module, torch.nn.ModuleList) else children[0] if len(children) == 1 else None
    if isinstance(layers, torch.nn.ModuleList) and len(layers) > 1:
        classes = {type(layer).__name__ for layer in layers}
        if len(classes) == 1:
            return f"{len(layers)} × {classes.pop()}", True
    return type(module).__name__, False


def _removed(base: "transformers.PreTrainedModel", rows: list[Parameter]) -> Iterator[HeadNode]:
    """Yield the parameters of the base model that the class leaves out, and the modules above them once each."""
    names = {row.name for row in rows}
    tops: dict[str, list[Parameter]] = {}
    for row in rows:
        tops.setdefault(row.name.partition(".")[0], []).append(row)
    for top, below in tops.items():
        module: Any = getattr(base, top)
        if below[0].name != top:
            numel = sum(row.numel for row in below)
            whole = {f"{top}.{name}" for name, _ in module.named_parameters()} <= names
            yield HeadNode("removed" if whole else "changed", 1, top, type(module).__name__, None, numel, None)
        for row in below:
            yield _parameter(row, "removed", 2)


def _parameter(row: Parameter, mark: HeadMark, depth: int) -> HeadNode:
    numel = row.numel if row.tied_to is None else 0
    return HeadNode(mark, depth, row.name, "parameter", row.shape, numel, row.tied_to)


def _paths(name: str) -> Iterator[str]:
    """Yield a name and the names of all modules above it."""
    yield name
    for position, letter in enumerate(name):
        if letter == ".":
            yield name[:position]
