"""The steps of one layer: its modules that hold parameters, and the activation, in the order of a run."""

from collections.abc import Mapping, Sequence

from bertviz_core.parts import ATTENTION_PARTS
from bertviz_core.results import Parameter
from bertviz_core.results.module_tree import FlowStep, ModuleRow, ShapeRun

ACTIVATIONS = ("gelu", "relu", "silu", "swish", "mish", "tanh", "sigmoid", "activation", "geglu")
SILENT = ("Dropout", "StableDropout", "Identity")
"""Modules without parameters that a drawing leaves out."""


def below(name: str, paths: Sequence[str]) -> bool:
    """Whether a name stands below one of these modules."""
    return any(name.startswith(f"{path}.") for path in paths)


def layer_steps(
    paths: Sequence[str], rows: Mapping[str, ModuleRow], parameters: Sequence[Parameter], run: ShapeRun
) -> tuple[FlowStep, ...]:
    """One step per module that holds parameters itself, or is an activation, in the order of the run."""
    own: dict[str, list[Parameter]] = {}
    for row in parameters:
        own.setdefault(row.name.rpartition(".")[0], []).append(row)
    steps = []
    for module, moved in run.modules.items():
        around = next((path for path in paths if module == path or module.startswith(f"{path}.")), "")
        if not around or (module == around and len(paths) == 1) or module not in rows:
            continue  # BigBird makes modules anew when it goes over to full attention
        held = own.get(module, [])
        kind, part = _kind(rows[module].class_name, held, leaf=not _has_children(module, run))
        if kind:
            entered = moved.inputs[0][1][1:] if moved.inputs else None
            steps.append(
                FlowStep(
                    kind=kind,
                    name=module[len(around) + 1 :] if len(paths) == 1 else module,
                    class_name=rows[module].class_name,
                    part=part,
                    weights=tuple(row.shape for row in held),
                    numel=sum(row.numel for row in held if row.tied_to is None),
                    enters=entered,
                    leaves=moved.outputs[0][1:] if moved.outputs else None,
                )
            )
    return tuple(_activations_behind(steps))


def _activations_behind(steps: Sequence[FlowStep]) -> list[FlowStep]:
    """The steps in order; an activation that all layers share is heard in the first alone, and stands behind its map.

    XLM's layers use one function: it is heard before anything else of a later layer.
    """
    found = list(steps)
    while found and found[0].kind == "activation":
        first = found[0]
        maps = (place for place, step in enumerate(found) if step.kind == "feed_forward" and _beside(step, first))
        place = next(maps, None)
        if place is None:
            break
        found.insert(place, found.pop(0))
    return found


def _beside(step: FlowStep, activation: FlowStep) -> bool:
    return _around(step.name) == _around(activation.name) and step.leaves == activation.enters


def _around(name: str) -> str:
    return name.rpartition(".")[0]


def _has_children(module: str, run: ShapeRun) -> bool:
    return any(path.startswith(f"{module}.") for path in run.modules)


def _kind(class_name: str, held: Sequence[Parameter], leaf: bool) -> tuple[str, str]:
    """(kind of step, part of the layer); ("", "") for what is no step of its own."""
    parts = {row.part for row in held}
    if not leaf and all(len(row.shape) == 1 for row in held):
        return "", ""  # biases that a module adds to what the ones inside it give
    if not held:
        lower = class_name.lower()
        if not leaf or class_name in SILENT or "dropout" in lower or "rotary" in lower:
            return "", ""
        if any(word in lower for word in ACTIVATIONS):
            return "activation", "feed_forward"
        return ("mixing", "other") if "fourier" in lower else ("", "")
    if parts <= {"query", "key", "value", "query_key_value"}:
        return "projection", sorted(parts)[0]
    if len(parts) > 1 and parts <= set(ATTENTION_PARTS):
        return "projection", "query_key_value"
    (part,) = parts if len(parts) == 1 else ("other",)
    kinds = {"layer_norm": "norm", "attention_output": "attention_output", "feed_forward": "feed_forward"}
    return kinds.get(part, part if part == "attention_other" else "other"), part
