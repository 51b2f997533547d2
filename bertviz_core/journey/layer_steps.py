"""Operations of a layer in the order of the run, each with its parameters."""

from collections.abc import Iterator, Mapping, Sequence

from bertviz_core.architecture.structure.results import Block, LayerFacts
from bertviz_core.journey.results import Operation
from bertviz_core.parameters.results import Parameter

KINDS: Mapping[str, str] = {
    "attention": "attention",
    "cross-attention": "cross-attention",
    "feed-forward": "feed-forward",
    "mixing": "mixing of tokens",
    "other": "other modules",
}
ROLES: Mapping[str, str] = {"feed_forward": "feed-forward", "layer_norm": "norm", "other": "other modules"}
"""Role of a parameter -> step without a recorded run; every other role belongs to the attention."""


def layer_steps(fact: LayerFacts | None, owned: Sequence[Parameter]) -> tuple[Operation, ...]:
    """Return the operations of a layer.

    Law: their parameters sum to those of the layer. A parameter belongs to the operation whose module owns it; one that
    no recorded module owns, such as a bias that a layer adds by itself, belongs to the first operation of its role.

    Args:
        fact: blocks of the layer from a recorded run; without blocks, the steps are in no order.
        owned: parameters of the layer, tied ones excluded.
    """
    steps = [step for block in (() if fact is None else fact.blocks) for step in _block_steps(block, fact)]
    numels: dict[int | str, int] = {}
    for parameter in owned:
        owner = _owner(steps, parameter)
        numels[owner] = numels.get(owner, 0) + parameter.numel
    known = [
        Operation(name, kind, None if kind == "add" else numels.get(at, 0)) for at, (name, kind, _) in enumerate(steps)
    ]
    rest = [Operation(name, name, numel, placed=False) for name, numel in numels.items() if isinstance(name, str)]
    return (*known, *rest)


def _block_steps(block: Block, fact: LayerFacts | None) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield name, kind and modules of each operation of a block."""
    norms = {*block.norms_before, *block.norms_within, *block.norms_behind}
    if block.norms_before:
        yield "norm", "norm", block.norms_before
    names = [KINDS[kind] for kind in block.kinds]
    if fact is not None and fact.gated:
        names = [f"gated {name}" if name == "feed-forward" else name for name in names]
    yield " beside ".join(names), KINDS[block.kinds[0]], tuple(name for name in block.modules if name not in norms)
    if block.norms_within:
        yield "norm", "norm", block.norms_within
    yield "add what entered", "add", ()
    if block.norms_behind:
        yield "norm", "norm", block.norms_behind


def _owner(steps: Sequence[tuple[str, str, tuple[str, ...]]], parameter: Parameter) -> int | str:
    """Index of the step of a parameter, or the name of a further step."""
    module = parameter.name.rpartition(".")[0]
    for at, (_, _, modules) in enumerate(steps):
        if any(module == each or module.startswith(f"{each}.") for each in modules):
            return at
    role = ROLES.get(parameter.part, "attention")
    kinds = [kind for _, kind, _ in steps]
    return kinds.index(role) if role in kinds and role != "norm" else role
