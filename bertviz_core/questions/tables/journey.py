"""A journey as JSON and as lines of a terminal."""

from collections.abc import Sequence
from typing import Any

from bertviz_core.journey.results import Journey
from bertviz_core.questions.tables.lines import aligned


def journey_json(way: Journey) -> dict[str, Any]:
    """Stages, tokens and numbers [layers][tokens]."""
    stages = [{"name": each.name, "kind": each.kind, "numel": each.numel, "run": each.run} for each in way.stages]
    known = {"turn": way.turn, "length": way.length, "entropy": way.entropy}
    tokens = list(way.labels)
    return {"stages": stages, "tokens": tokens, **known, "missing": way.missing or None}


def journey_lines(way: Journey) -> Sequence[str]:
    """How much each layer turned every token, a row a token."""
    if way.turn is None:
        return (way.missing, *(f"{each.name}: {each.numel:,} parameters" for each in way.stages))
    head = ("token", *(f"layer {layer}" for layer in range(way.layers)))
    rows = [(label, *(f"{value:.3f}" for value in way.turn[:, at])) for at, label in enumerate(way.labels)]
    title = "Turn of every token's vector by each layer (1 − cosine of before and after):"
    return (title, *aligned([head, *rows], "l" + "r" * way.layers))
