"""Stages of a model: the parts that a text passes from the embeddings to the head, with their parameters."""

from collections.abc import Iterator

from bertviz_core.architecture.results import Architecture
from bertviz_core.architecture.structure.results import LayerFacts
from bertviz_core.journey.layer_steps import layer_steps
from bertviz_core.journey.results import Operation, Stage
from bertviz_core.parameters.results import LayerCount, Ledger
from bertviz_core.text import counted

POOLER = (Operation("dense", "other modules"), Operation("activation", "other modules"))


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
    stages = [Stage("embeddings", "embeddings", totals.pop("embeddings", 0), _embedding_steps(model))]
    stages += _layers(model, ledger, rows, layers)
    behind = totals.pop(stack, 0) - sum(row.total for row in rows)
    if behind:
        stages.append(
            Stage(
                "norm", "outside the layers", behind, note=f"Parameters of the {stack} that are in none of its layers."
            )
        )
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


def _stack(ledger: Ledger, layers: int) -> str:
    """Return the component with the layers that the text passes: the encoder if there is one."""
    names = [row.component for row in ledger.layers]
    return "encoder" if "encoder" in names or not names else names[0]


def _layers(model: Architecture, ledger: Ledger, rows: list[LayerCount], layers: int) -> Iterator[Stage]:
    stack = _stack(ledger, layers)
    owners = [row for row in rows for _ in range(max(row.applications, 1))]
    if len(owners) != layers:  # groups that are passed in turn are counted one after another
        owners = [rows[min(place, len(rows) - 1)] for place in range(layers)] if rows else []
    seen: set[int] = set()
    facts = [] if model.facts is None else [row for row in model.facts.layers if row.stack == stack]
    facts = facts or ([] if model.facts is None else list(model.facts.layers))
    for layer in range(layers):
        owner = owners[layer] if owners else None
        first = owner is not None and owner.layer not in seen
        numel = owner.total if owner is not None and first else 0
        stored = layer if owner is None else owner.layer
        fact = facts[min(stored, len(facts) - 1)] if facts else None
        note = (
            ""
            if owner is None or first
            else f"It has no parameters of its own: they are those of stored layer {stored}."
        )
        if owner is not None:
            seen.add(owner.layer)
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
