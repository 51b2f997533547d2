"""Stages of a model: the parts that a text passes from the embeddings to the head, with their parameters."""

from collections.abc import Iterator, Mapping, Sequence

from bertviz_core.architecture.results import Architecture
from bertviz_core.architecture.structure.results import LayerFacts
from bertviz_core.journey.layer_steps import layer_steps
from bertviz_core.journey.results import Operation, Stage
from bertviz_core.parameters.results import LayerCount, Ledger, Parameter
from bertviz_core.text import counted

POOLER = (Operation("dense", "other modules"), Operation("activation", "other modules"))
MODULES: Mapping[str, str] = {
    "embedding_hidden_mapping_in": "projection",
    "rel_embeddings": "relative positions",
    "relative_attention_bias": "relative positions",
    "emb_layer_norm_after": "norm",
    "ln_f": "norm",
    "ln": "norm",
    "conv": "convolution",
}
"""Name of a module outside the layers -> its description; a name that contains "norm" is a norm."""
AFTER = "{} after the last layer"


def stages_of(model: Architecture, ledger: Ledger, layers: int) -> tuple[Stage, ...]:
    """Return the stages of a model in the order of a run.

    Law: their parameters sum to the ledger's total. Layers that share parameters are counted at the first of them; a
    decoder beside an encoder is counted and not run.

    Args:
        model: sizes of the model, and the record of a run of its modules.
        ledger: parameters of the model.
        layers: number of layers that a text passes.
    """
    totals = {component.name: component.total for component in ledger.components}
    stack = _stack(ledger, layers)
    rows = [row for row in ledger.layers if row.component == stack]
    outside = _outside(model, ledger, stack)
    first = (
        *_embedding_steps(model),
        *(Operation(name, "embeddings", count) for name, count in outside["before"].items()),
    )
    before = sum(outside["before"].values())
    stages = [Stage("embeddings", "embeddings", totals.pop("embeddings", 0) + before, first)]
    if outside["inside"]:
        note = "The layers use it: it is neither before the first nor after the last."
        stages.append(Stage("shared", ", ".join(outside["inside"]), sum(outside["inside"].values()), note=note))
    stages += _layers(model, ledger, rows, layers)
    stages += [Stage("norm", AFTER.format(name), numel) for name, numel in outside["after"].items()]
    note = "It reads the attention of the layers and changes no vector."
    stages += [Stage("aside", name, numel, note=note, run=False) for name, numel in outside["head"].items()]
    totals.pop(stack, 0)
    for name, numel in totals.items():
        if name in ("encoder", "decoder"):
            note = f"The {name} is counted, but a text alone does not pass it."
            stages.append(Stage("decoder", name, numel, note=note, run=False))
        elif name == "pooler":
            stages.append(Stage("pooler", "pooler", numel, POOLER, run=model.has_pooler))
        else:
            stages.append(
                Stage("task head", name, numel, run=False, note="The head reads what comes out of the layers.")
            )
    return tuple(stages)


def _outside(model: Architecture, ledger: Ledger, stack: str) -> dict[str, dict[str, int]]:
    """Count the parameters of a stack that are in none of its layers, by their place in the run and their description.

    The place comes from the recorded run; without one, norms are after the last layer, projections before the first.
    Modules that are neither before nor after the layers are used inside them, except heads, such as that of ESM, which
    reads the attention of all layers.
    """
    found: dict[str, dict[str, int]] = {"before": {}, "inside": {}, "after": {}, "head": {}}
    facts = model.facts
    recorded = {} if facts is None else {"before": facts.before, "after": getattr(facts, f"{stack}_behind")}
    for parameter in ledger.parameters:
        if (parameter.component, parameter.layer, parameter.tied_to) != (stack, None, None):
            continue
        name = _description(parameter)
        place = next((place for place, modules in recorded.items() if _inside(parameter, modules)), "inside")
        if facts is None:
            place = {"norm": "after", "projection": "before"}.get(name, "inside")
        if name.endswith(" head"):
            place = "head"
        found[place][name] = found[place].get(name, 0) + parameter.numel
    # A norm that the layers use is that of their relative positions.
    if len(found["inside"]) > 1 and "norm" in found["inside"]:
        numel = found["inside"].pop("norm")
        found["inside"][next(iter(found["inside"]))] += numel
    return found


def _inside(parameter: Parameter, modules: Sequence[str]) -> bool:
    return any(parameter.name.startswith(f"{module}.") for module in modules)


def _description(parameter: Parameter) -> str:
    """Describe a module outside the layers, such as "projection"."""
    parts = [part for part in parameter.name.split(".")[:-1] if part not in ("encoder", "decoder")]
    module = parts[0] if parts else parameter.name
    known = "norm" if "norm" in module.lower() else module.replace("_", " ")
    return MODULES.get(module, known)


def _stack(ledger: Ledger, layers: int) -> str:
    """Return the component with the layers that the text passes: the encoder if there is one."""
    names = [row.component for row in ledger.layers]
    return "encoder" if "encoder" in names or not names else names[0]


def _layers(model: Architecture, ledger: Ledger, rows: list[LayerCount], layers: int) -> Iterator[Stage]:
    stack = _stack(ledger, layers)
    owners = [row for row in rows for _ in range(max(row.applications, 1))]
    if len(owners) != layers:  # groups that are passed in turn are counted one after another
        owners = [rows[min(place, len(rows) - 1)] for place in range(layers)] if rows else []
    visited: set[int] = set()
    facts = [] if model.facts is None else [row for row in model.facts.layers if row.stack == stack]
    facts = facts or ([] if model.facts is None else list(model.facts.layers))
    for layer in range(layers):
        owner = owners[layer] if owners else None
        first = owner is not None and owner.layer not in visited
        numel = owner.total if owner is not None and first else 0
        stored = layer if owner is None else owner.layer
        fact = facts[min(stored, len(facts) - 1)] if facts else None
        note = (
            ""
            if owner is None or first
            else f"It has no parameters of its own: they are those of stored layer {stored}."
        )
        if owner is not None:
            visited.add(owner.layer)
        owned = [row for row in ledger.parameters if (row.component, row.layer, row.tied_to) == (stack, stored, None)]
        yield Stage("layer", f"layer {layer}", numel, layer_steps(fact, owned), _build(fact, owner), note)


def _build(fact: LayerFacts | None, owner: LayerCount | None) -> str:
    """Describe the design of a layer, as far as it distinguishes layers."""
    if fact is None:
        return "" if owner is None else counted(owner.total, "parameter")
    attention = fact.attention
    if attention is None:
        words = (
            "without attention"
            if any("mixing" in block.kinds for block in fact.blocks)
            else "no softmax attention seen"
        )
    elif attention.window is not None and not attention.window.limited and attention.window.after == 0:
        words = "attention to earlier tokens"
    elif attention.window is not None and attention.window.limited:
        words = f"local attention, {attention.window.before} tokens before"
        words += "" if attention.window.after is None else f" and {attention.window.after} after"
    else:
        words = "attention over the whole text"
    parts = [words, *(f"{position} positions" for position in attention.positions)] if attention else [words]
    if fact.gated:
        parts.append("gated feed-forward")
    if owner is not None:
        parts.append(counted(owner.total, "parameter"))
    return ", ".join(parts)


def _embedding_steps(model: Architecture) -> tuple[Operation, ...]:
    """Return the components of the first vector."""
    if model.facts is None:
        return ()
    tables = tuple(dict.fromkeys(table.role for table in model.facts.tables))
    added = Operation(" + ".join(tables), "embeddings")
    return (added, *([Operation("norm", "norm")] if model.facts.before else [])) if tables else ()
