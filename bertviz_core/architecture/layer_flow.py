"""The data's way through one layer, read off a run: which steps it takes, in which order, with which sizes."""

from collections.abc import Mapping, Sequence
from typing import Any

from bertviz_core.architecture.multiply_adds import layer_windows
from bertviz_core.architecture.results import Architecture, FlowStep, LayerFlow, ModuleRow, ModuleTree, ShapeRun
from bertviz_core.errors import UnsupportedModelError
from bertviz_core.models import catalog
from bertviz_core.models.families import family
from bertviz_core.parameters.components import ATTENTION_PARTS, inside_layer, layer_numbers
from bertviz_core.parameters.results import Ledger, Parameter

ACTIVATION_WORDS = ("gelu", "relu", "silu", "swish", "mish", "tanh", "sigmoid", "activation", "geglu")
UNDRAWN_CLASSES = ("Dropout", "StableDropout", "Identity")
"""Modules without parameters that a drawing leaves out."""
PARALLEL_BLOCKS_KEYS = ("use_parallel_residual", "parallel_attn")
"""Config words of families whose attention and feed-forward block read the same vectors, so that neither comes first
(Wang and Komatsuzaki 2021, GPT-J); their order in a run says nothing."""


def layer_flow(
    tree: ModuleTree, ledger: Ledger, run: ShapeRun, model: Architecture, config: Mapping[str, Any], layer: int
) -> LayerFlow:
    """The steps of one stored layer in the order in which a run took them.

    Args:
        tree: the module tree, not folded.
        ledger: the ledger of the same class.
        run: shapes of a run of the same class.
        model: sizes of the model.
        config: its config, defaults included.
        layer: zero-based index among the stored layers of the encoder, or of a decoder that stands alone.

    Raises:
        UnsupportedModelError: no layers are found among the names, so there is no way through one.
    """
    module_paths = layer_paths(ledger, model.model_type)
    rows = {row.paths[0]: row for row in tree.rows}
    paths = [path for path in module_paths.get(layer, ()) if path in rows]
    if not paths:
        raise UnsupportedModelError(
            f"The layers of {model.model!r} ({model.model_type}) are no modules of their own, so no layer can be "
            "drawn; the module tree shows all that there is."
        )
    parameters = [row for row in ledger.parameters if below(row.name, paths)]
    steps = layer_steps(paths, rows, parameters, run)
    order, first_norm = _order(steps)
    if any(config.get(word) is True for word in PARALLEL_BLOCKS_KEYS):
        order = ""
    entering = next((run.modules[path].inputs for path in run.modules if path in paths), ())
    hidden = entering[0][1][-1] if entering else model.hidden_size
    windows = layer_windows(config)
    counts = {row.layer: row for row in ledger.layers if row.component == stack_of(ledger)}
    return LayerFlow(
        model=tree.model,
        title=model.title,
        layer=layer,
        paths=tuple(paths),
        class_name=", ".join(rows[path].class_name for path in paths),
        order=order,
        first_norm=first_norm,
        steps=steps,
        softmax=_softmax(model.model_type),
        gated=_gated(steps),
        activation=str(model.hidden_act or ""),
        num_attention_heads=model.num_attention_heads,
        head_dim=model.head_dim,
        hidden=hidden,
        window=windows[layer] if layer < len(windows) else None,
        positions=next((fact.answer for fact in model.capabilities if fact.name == "Positions"), ""),
        seq=run.seq,
        vectors=entering[0][1][1] if entering and len(entering[0][1]) == 3 else run.seq,
        applications=counts[layer].applications,
        total=sum(rows[path].numel for path in paths),
    )


def layer_paths(ledger: Ledger, model_type: str) -> dict[int, tuple[str, ...]]:
    """Dotted paths of the modules that make each layer: mostly one; several where a family lists its parts one by one.

    XLM has a list of attentions, one of feed-forward blocks and two of normalisations; CANINE has, beside its deep
    encoder, two short ones: of lists that number the same layers those count that reach as far as the longest.
    """
    lists: dict[str, dict[int, str]] = {}
    stack = stack_of(ledger)
    for row in layer_numbers([row for row in ledger.parameters if row.component == stack]):
        location = inside_layer(row.name, model_type) if row.layer is not None else None
        if location is not None and row.layer is not None:
            numbers = location[0]
            lists.setdefault(row.name[: numbers[0].start], {})[row.layer] = row.name[: numbers[-1].stop]
    longest = max(map(len, lists.values()), default=0)
    paths_by_layer: dict[int, tuple[str, ...]] = {}
    for modules in lists.values():
        for layer, path in modules.items() if len(modules) == longest else ():
            paths_by_layer[layer] = (*paths_by_layer.get(layer, ()), path)
    return paths_by_layer


def stack_of(ledger: Ledger) -> str:
    """The component whose layers are drawn: the encoder's, or those of a decoder that stands alone."""
    return "encoder" if any(row.component == "encoder" for row in ledger.layers) else "decoder"


def layer_steps(
    paths: Sequence[str], rows: Mapping[str, ModuleRow], parameters: Sequence[Parameter], run: ShapeRun
) -> tuple[FlowStep, ...]:
    """One step per module that holds parameters itself, or is an activation, in the order of the run."""
    own: dict[str, list[Parameter]] = {}
    for row in parameters:
        own.setdefault(row.name.rpartition(".")[0], []).append(row)
    steps = []
    for module, shapes in run.modules.items():
        around = next((path for path in paths if module == path or module.startswith(f"{path}.")), "")
        if not around or (module == around and len(paths) == 1) or module not in rows:
            continue  # BigBird makes modules anew when it goes over to full attention
        own_parameters = own.get(module, [])
        kind, part = _kind(rows[module].class_name, own_parameters, leaf=not _has_children(module, run))
        if kind:
            entering = shapes.inputs[0][1][1:] if shapes.inputs else None
            steps.append(
                FlowStep(
                    kind=kind,
                    name=module[len(around) + 1 :] if len(paths) == 1 else module,
                    class_name=rows[module].class_name,
                    part=part,
                    weights=tuple(row.shape for row in own_parameters),
                    numel=sum(row.numel for row in own_parameters if row.tied_to is None),
                    enters=entering,
                    leaves=shapes.outputs[0][1:] if shapes.outputs else None,
                )
            )
    return tuple(_activations_behind(steps))


def below(name: str, paths: Sequence[str]) -> bool:
    """Whether a name stands below one of these modules."""
    return any(name.startswith(f"{path}.") for path in paths)


def _activations_behind(steps: Sequence[FlowStep]) -> list[FlowStep]:
    """The steps in order; an activation that all layers share is heard in the first alone, and stands behind its map.

    XLM's layers use one function: it is heard before anything else of a later layer.
    """
    ordered = list(steps)
    while ordered and ordered[0].kind == "activation":
        first = ordered[0]
        maps = (index for index, step in enumerate(ordered) if step.kind == "feed_forward" and _beside(step, first))
        index = next(maps, None)
        if index is None:
            break
        ordered.insert(index, ordered.pop(0))
    return ordered


def _beside(step: FlowStep, activation: FlowStep) -> bool:
    return _around(step.name) == _around(activation.name) and step.leaves == activation.enters


def _around(name: str) -> str:
    return name.rpartition(".")[0]


def _has_children(module: str, run: ShapeRun) -> bool:
    return any(path.startswith(f"{module}.") for path in run.modules)


def _kind(class_name: str, parameters: Sequence[Parameter], leaf: bool) -> tuple[str, str]:
    """(kind of step, part of the layer); ("", "") for what is no step of its own."""
    parts = {row.part for row in parameters}
    if not leaf and all(len(row.shape) == 1 for row in parameters):
        return "", ""  # biases that a module adds to what the ones inside it give
    if not parameters:
        lower = class_name.lower()
        if not leaf or class_name in UNDRAWN_CLASSES or "dropout" in lower or "rotary" in lower:
            return "", ""
        if any(word in lower for word in ACTIVATION_WORDS):
            return "activation", "feed_forward"
        return ("mixing", "other") if "fourier" in lower else ("", "")
    if parts <= {"query", "key", "value", "query_key_value"}:
        return "projection", sorted(parts)[0]
    if len(parts) > 1 and parts <= set(ATTENTION_PARTS):
        return "projection", "query_key_value"
    (part,) = parts if len(parts) == 1 else ("other",)
    kinds = {"layer_norm": "norm", "attention_output": "attention_output", "feed_forward": "feed_forward"}
    return kinds.get(part, part if part == "attention_other" else "other"), part


def _order(steps: Sequence[FlowStep]) -> tuple[Any, bool]:
    """("post-norm", "pre-norm" or "", whether a normalisation comes first), from the order of blocks in the run."""
    blocks: list[str] = []
    kinds = {"projection": "a", "attention_output": "a", "attention_other": "a", "mixing": "a", "feed_forward": "f"}
    for step in steps:
        block = {**kinds, "norm": "n", "activation": ""}.get(step.kind, "?")
        if block and (not blocks or blocks[-1] != block):
            blocks.append(block)
    shape = "".join(blocks)
    known = {"anfn": "post-norm", "nanf": "pre-norm", "anf": "pre-norm"}
    return known.get(shape, ""), shape.startswith("n")


def _softmax(model_type: str) -> bool:
    facts = catalog.type_facts(model_type)
    row = family(model_type)
    ordinary = row.has_attention and row.attention_maps in ("probabilities", "scores")
    return ordinary and (row.own_softmax or (facts is not None and facts.records_attention))


def _gated(steps: Sequence[FlowStep]) -> bool:
    """Whether what leaves the wide half is not what enters the narrow one: two maps in, or one of twice the width."""
    maps = [step for step in steps if step.kind == "feed_forward" and step.enters and step.leaves]
    if len(maps) == 3:
        return maps[0].leaves == maps[1].leaves == maps[2].enters
    return (
        len(maps) == 2
        and maps[0].leaves is not None
        and maps[1].enters is not None
        and (maps[0].leaves[-1] == 2 * maps[1].enters[-1])
    )
