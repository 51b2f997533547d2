"""Analyse the values of a run: residual additions, the product behind scores, the role of lookups."""

from collections.abc import Iterable
from typing import Literal

from bertviz_core.architecture.dataflow.values import IDS, POSITION, STREAM, TYPE, Flow, Value, ancestors
from bertviz_core.architecture.structure.results import LayerFacts, StreamTable, Types

ADDITIONS = ("add", "sub")
STEPS = frozenset(("norm", "map"))
"""Normalisations, and maps with parameters."""


def modules_between(value: Value, start: Value | None) -> tuple[str, ...]:
    """Maps and normalisations between `start` and a value, in the order of the run."""
    inside = ancestors(value, stop=start)
    if start is not None and id(start) not in inside:
        return ()
    names = [each.name for each in inside.values() if each.op in STEPS and each is not start]
    return tuple(dict.fromkeys(reversed(names)))


def crosses(value: Value, from_start: set[int]) -> bool:
    """Whether a product combines vectors of the layer with those of another stack."""
    own = [id(each) in from_start for each in value.parents]
    others = [STREAM in each.sources for each in value.parents if id(each) not in from_start]
    return value.op == "bmm" and any(own) and any(others)


def descendants(values: Iterable[Value], start: Value) -> set[int]:
    """Ids of the values that depend on `start`, including itself."""
    reached = {id(start)}
    waiting = [each for each in values if each is not start]
    while True:
        new = [each for each in waiting if any(id(parent) in reached for parent in each.parents)]
        if not new:
            return reached
        reached |= {id(each) for each in new}
        waiting = [each for each in waiting if id(each) not in reached]


def residual(added: Value, from_start: set[int]) -> tuple[Value, list[Value]] | None:
    """(residual stream, branches added to it) of a sum; the branches depend on the stream."""
    terms = _terms(added, from_start)
    for stream in terms:
        others = [each for each in terms if each is not stream]
        if others and all(id(stream) in ancestors(each) for each in others):
            return stream, others
    return None


def _terms(value: Value, from_start: set[int]) -> list[Value]:
    """The terms of a sum of results of the layer; sums of independent branches are expanded.

    In x + (attention + feed-forward) neither term of the inner sum depends on the other.
    """
    if value.op not in ADDITIONS or not all(id(each) in from_start for each in value.parents):
        return [value]
    terms = [each for each in value.parents if id(each) in from_start]
    if len(terms) != 2 or id(terms[0]) in ancestors(terms[1]) or id(terms[1]) in ancestors(terms[0]):
        inner = terms
    else:
        return [each for term in terms for each in _terms(term, from_start)]
    # (x + attention) + feed-forward, with both computed from x: the first term is a sum, not the stream.
    expanded: list[Value] = []
    for term in inner:
        is_sum = term.op in ADDITIONS and len(inner) == 2
        other = next((each for each in inner if each is not term), None)
        apart = is_sum and other is not None and id(term) not in ancestors(other)
        expanded += _terms(term, from_start) if apart else [term]
    return expanded


def product(scores: Value, from_start: set[int]) -> tuple[Value | None, float]:
    """(the product of queries and keys behind scores, the total scaling factor)."""
    waiting: list[tuple[Value, float]] = [(scores, 1.0)]
    visited: set[int] = set()
    while waiting:
        value, factor = waiting.pop(0)
        if id(value) in visited or id(value) not in from_start:
            continue
        visited.add(id(value))
        if value.op == "bmm" and all(id(each) in from_start for each in value.parents):
            for operand in value.parents:
                factor *= _scale_behind(operand)
            return value, factor
        if value.op in STEPS:
            continue
        waiting += [(parent, factor * (value.factor if value.op == "scale" else 1.0)) for parent in value.parents]
    return None, 1.0


def _scale_behind(value: Value) -> float:
    """Scaling factor of queries or keys after their projection."""
    factor = 1.0
    while value.op not in STEPS and value.op != "layer" and value.parents:
        factor *= value.factor if value.op == "scale" else 1.0
        value = value.parents[0]
    return factor


def role(lookup: Value) -> Literal["word", "position", "token type", "other"]:
    """The role of a lookup by the sources of its indices."""
    sources = lookup.parents[1].sources
    if IDS in sources and POSITION not in sources:
        return "word"
    if POSITION in sources:
        return "position"
    return "token type" if TYPE in sources else "other"


def types_enter(tables: Iterable[StreamTable], layers: Iterable[LayerFacts], flow: Flow) -> Types:
    """How token types enter the model."""
    looked_up = [value for value in flow.lookups if TYPE in value.parents[1].sources]
    words = {table.name for table in tables if table.role == "word"}
    if any(value.name not in words for value in looked_up):
        return "table"
    if looked_up:
        return "words"
    return "scores" if any(row.attention and row.attention.types for row in layers) else ""
