"""Derive the steps of a layer with their sizes, in the order of a run."""

from collections.abc import Iterator, Mapping, Sequence

from bertviz_core.architecture.results import (
    Architecture,
    Block,
    FlowRemainder,
    FlowStep,
    LayerFacts,
    LayerFlow,
    ModelFacts,
    ModuleRow,
    ModuleTree,
    ShapeRun,
)
from bertviz_core.errors import UnsupportedModelError
from bertviz_core.parameters.components import ATTENTION_PARTS, inside_layer, layer_numbers
from bertviz_core.parameters.results import Ledger, Parameter


def layer_paths(ledger: Ledger, model_type: str, stack: str = "") -> dict[int, tuple[str, ...]]:
    """Dotted paths of the modules of each layer: usually one, several if a family has a list for each part.

    XLM has a list of attentions, one of feed-forward blocks and two of normalisations; CANINE has two short encoders
    besides the deep one. Only the longest lists count.

    Args:
        stack: "encoder" or "decoder"; stack_of(ledger) by default.
    """
    lists: dict[str, dict[int, str]] = {}
    stack = stack or stack_of(ledger)
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
    """The component whose layers are drawn: the encoder, or the decoder of a decoder-only model."""
    return "encoder" if any(row.component == "encoder" for row in ledger.layers) else "decoder"


def below(name: str, paths: Sequence[str]) -> bool:
    """Whether a name belongs to one of these modules."""
    return any(name.startswith(f"{path}.") for path in paths)


ACTIVATION_WORDS = ("gelu", "relu", "silu", "swish", "mish", "tanh", "sigmoid", "activation", "geglu")
UNDRAWN_CLASSES = ("Dropout", "StableDropout", "Identity")
"""Modules without parameters that are not drawn."""


def layer_flow(
    tree: ModuleTree, ledger: Ledger, run: ShapeRun, model: Architecture, facts: ModelFacts | None, layer: int
) -> LayerFlow:
    """The steps of a stored layer in the order of a run.

    Args:
        tree: the module tree, not folded.
        facts: dataflow of the same class; without it the blocks are unknown.
        layer: zero-based index among the stored layers of the encoder, or of a decoder-only model.
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
    entering = next((run.text_shapes(path)[0] for path in run.modules if path in paths), None) or ()
    hidden = entering[-1] if entering else model.hidden_size
    stack = stack_of(ledger)
    counts = {row.layer: row for row in ledger.layers if row.component == stack}
    known_facts = facts.layer(stack, layer) if facts else None
    attention = known_facts.attention if known_facts else None
    return LayerFlow(
        model=tree.model,
        title=model.title,
        layer=layer,
        paths=tuple(paths),
        class_name=", ".join(rows[path].class_name for path in paths),
        order=known_facts.order if known_facts else "",
        blocks=_drawn_blocks(known_facts, steps, paths),
        steps=steps,
        softmax=attention is not None and attention.softmax,
        scaling=attention.scaling if attention else None,
        gated=known_facts is not None and known_facts.gated,
        activation=str(model.hidden_act or ""),
        num_attention_heads=model.num_attention_heads,
        head_dim=model.head_dim,
        hidden=hidden,
        window=attention.window if attention and attention.window and attention.window.limited else None,
        positions=attention.positions if attention else (),
        seq=run.seq,
        vectors=entering[0] if len(entering) == 2 else run.seq,
        applications=counts[layer].applications,
        total=sum(rows[path].numel for path in paths),
        remainders=_remainders(paths, parameters, steps, run),
    )


def layer_steps(
    paths: Sequence[str], rows: Mapping[str, ModuleRow], parameters: Sequence[Parameter], run: ShapeRun
) -> tuple[FlowStep, ...]:
    """A step for each module with parameters of its own and for each activation, in the order of the run."""
    own: dict[str, list[Parameter]] = {}
    for row in parameters:
        own.setdefault(row.name.rpartition(".")[0], []).append(row)
    parents = {around for path in run.modules for around in _all_around(path)}
    steps = []
    for module in run.modules:
        around = next((path for path in paths if module == path or module.startswith(f"{path}.")), "")
        if not around or (module == around and len(paths) == 1) or module not in rows:
            continue  # BigBird replaces modules when it switches to full attention
        own_parameters = own.get(module, [])
        kind, part = _kind(rows[module].class_name, own_parameters, leaf=module not in parents)
        if kind:
            entering, leaving = run.text_shapes(module)
            steps.append(
                FlowStep(
                    kind=kind,
                    name=_inside(module, paths),
                    class_name=rows[module].class_name,
                    part=part,
                    weights=tuple(row.shape for row in own_parameters),
                    numel=sum(row.numel for row in own_parameters if row.tied_to is None),
                    enters=entering,
                    leaves=leaving,
                )
            )
    return tuple(_activations_behind(steps))


def _remainders(
    paths: Sequence[str], parameters: Sequence[Parameter], steps: Sequence[FlowStep], run: ShapeRun
) -> tuple[FlowRemainder, ...]:
    """The counted parameters of each module that is no step."""
    in_steps = {step.name for step in steps}
    others: dict[str, list[Parameter]] = {}
    for row in parameters:
        module = row.name.rpartition(".")[0]
        if row.tied_to is None and _inside(module, paths) not in in_steps:
            others.setdefault(module, []).append(row)
    return tuple(
        FlowRemainder(
            module=_inside(module, paths),
            names=tuple(row.name.rpartition(".")[2] for row in rows),
            numel=sum(row.numel for row in rows),
            called=module in run.modules,
        )
        for module, rows in others.items()
    )


def _inside(module: str, paths: Sequence[str]) -> str:
    """The path of a module inside its layer; the whole path if a family has a list for each part."""
    return module[len(paths[0]) + 1 :] if len(paths) == 1 else module


def _activations_behind(steps: Sequence[FlowStep]) -> list[FlowStep]:
    """Move an activation module that layers share (XLM) behind its map; its hook runs before the rest of a layer."""
    ordered = list(steps)
    while ordered and ordered[0].kind == "activation":
        first = ordered[0]
        where = "feed_forward", _around(first.name), first.enters
        index = next(
            (at for at, step in enumerate(ordered) if (step.kind, _around(step.name), step.leaves) == where), None
        )
        if index is None:
            break
        ordered.insert(index, ordered.pop(0))
    return ordered


def _around(name: str) -> str:
    return name.rpartition(".")[0]


def _all_around(path: str) -> Iterator[str]:
    while path := _around(path):
        yield path


def _kind(class_name: str, parameters: Sequence[Parameter], leaf: bool) -> tuple[str, str]:
    """(kind of step, part of the layer); ("", "") for modules that are not a step."""
    parts = {row.part for row in parameters}
    if not leaf and all(len(row.shape) == 1 for row in parameters):
        return "", ""  # a module that adds biases to the output of its children
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


def _drawn_blocks(known_facts: LayerFacts | None, steps: Sequence[FlowStep], paths: Sequence[str]) -> tuple[Block, ...]:
    """The blocks with the names of their steps; none if they are parallel or do not cover all steps."""
    if known_facts is None or not known_facts.order or known_facts.order == "parallel":
        return ()
    cut = len(paths[0]) + 1 if len(paths) == 1 else 0
    blocks = tuple(
        Block(
            block.kinds,
            *(
                tuple(name[cut:] for name in names)
                for names in (block.norms_before, block.norms_within, block.norms_behind, block.modules)
            ),
        )
        for block in known_facts.blocks
    )
    known = {name for block in blocks for name in (*block.modules, *block.norms_behind)}
    return blocks if all(step.name in known or step.kind in ("activation", "mixing") for step in steps) else ()
