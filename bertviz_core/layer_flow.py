"""The data's way through one layer, read off a run: which steps it takes, in which order, with which sizes."""

from collections.abc import Mapping, Sequence
from typing import Any

from bertviz_core import catalog
from bertviz_core.errors import UnsupportedModelError
from bertviz_core.families import family, layer_numbers
from bertviz_core.parts import ATTENTION_PARTS, inside_layer
from bertviz_core.results import Architecture, Ledger, Parameter
from bertviz_core.results.module_tree import FlowStep, LayerFlow, ModuleRow, ModuleTree, Shape, ShapeRun
from bertviz_core.text_families import text_family
from bertviz_core.windows import layer_windows

OWN_ATTENTION: frozenset[str] = frozenset(
    [
        "bart",
        "deberta",
        "deberta-v2",
        "flaubert",
        "funnel",
        "ibert",
        "layoutlm",
        "luke",
        "markuplm",
        "megatron-bert",
        "mpnet",
        "mt5",
        "rembert",
        "roformer",
        "splinter",
        "squeezebert",
        "t5",
        "umt5",
        "xlm",
        "xlnet",
    ]
)
"""Families with ordinary softmax attention in code of their own."""
ACTIVATIONS = ("gelu", "relu", "silu", "swish", "mish", "tanh", "sigmoid", "activation", "geglu")
SILENT = ("Dropout", "StableDropout", "Identity")
"""Modules without parameters that a drawing leaves out."""
Moved = tuple[Shape | None, Shape | None]


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
        layer: zero-based index among the stored encoder layers.

    Raises:
        UnsupportedModelError: the layers are no modules of their own, so there is no way through one.
    """
    paths = layer_paths(ledger, model.model_type)
    rows = {row.paths[0]: row for row in tree.rows}
    if layer not in paths or paths[layer] not in rows:
        raise UnsupportedModelError(
            f"The layers of {model.model!r} ({model.model_type}) are no modules of their own, so no layer can be "
            "drawn; the module tree shows all that there is."
        )
    path = paths[layer]
    parameters = [row for row in ledger.parameters if row.name.startswith(f"{path}.")]
    steps = _steps(path, rows, parameters, run)
    order, first_norm = _order(steps)
    around = run.modules.get(path)
    windows = layer_windows(config)
    counts = {row.layer: row for row in ledger.layers if row.component == "encoder"}
    return LayerFlow(
        model=tree.model,
        title=model.title,
        layer=layer,
        path=path,
        class_name=rows[path].class_name,
        order=order,
        first_norm=first_norm,
        steps=steps,
        softmax=_softmax(model.model_type),
        gated=_gated(steps),
        activation=str(model.hidden_act or ""),
        num_attention_heads=model.num_attention_heads,
        head_dim=model.head_dim,
        hidden=around.inputs[0][1][-1] if around and around.inputs else model.hidden_size,
        window=windows[layer] if layer < len(windows) else None,
        positions=next((each.answer for each in model.capabilities if each.name == "Positions"), ""),
        seq=run.seq,
        applications=counts[layer].applications,
        total=rows[path].numel,
    )


def layer_paths(ledger: Ledger, model_type: str) -> dict[int, str]:
    """Dotted paths of the modules that are the encoder's layers; empty where layers are no modules of their own."""
    found: dict[int, str] = {}
    shared: set[str] = set()
    for row in layer_numbers([row for row in ledger.parameters if row.component == "encoder"]):
        place = inside_layer(row.name, model_type) if row.layer is not None else None
        if place is None or row.layer is None:
            continue
        path = row.name[: place[0][-1].stop]
        if found.setdefault(row.layer, path) != path:
            shared.add(path)
    return {} if shared else found


def _steps(
    path: str, rows: Mapping[str, ModuleRow], parameters: Sequence[Parameter], run: ShapeRun
) -> tuple[FlowStep, ...]:
    """One step per module that holds parameters itself, or is an activation, in the order of the run."""
    own: dict[str, list[Parameter]] = {}
    for row in parameters:
        own.setdefault(row.name.rpartition(".")[0], []).append(row)
    steps = []
    for module, moved in run.modules.items():
        if not module.startswith(f"{path}.") or module not in rows:
            continue  # BigBird makes modules anew when it goes over to full attention
        held = own.get(module, [])
        kind, part = _kind(rows[module].class_name, held, leaf=not _has_children(module, run))
        if kind:
            entered = moved.inputs[0][1][1:] if moved.inputs else None
            steps.append(
                FlowStep(
                    kind=kind,
                    name=module[len(path) + 1 :],
                    class_name=rows[module].class_name,
                    part=part,
                    weights=tuple(row.shape for row in held),
                    numel=sum(row.numel for row in held if row.tied_to is None),
                    enters=entered,
                    leaves=moved.outputs[0][1:] if moved.outputs else None,
                )
            )
    return tuple(steps)


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
    ordinary = text_family(model_type).attention_maps in ("probabilities", "scores")
    own = model_type in OWN_ATTENTION or (facts is not None and facts.records_attention)
    return ordinary and own and family(model_type).attention != "none"


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
