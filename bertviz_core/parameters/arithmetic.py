"""Write the total of a component as sums and products of shapes."""

import math
from collections.abc import Sequence
from itertools import groupby

from bertviz_core.parameters.results import Parameter

MAX_TERMS = 6
"""Maximum terms of a sum."""


def component_arithmetic(layers: Sequence[int], outside: Sequence[Parameter]) -> str:
    """The total of a component as sums and products, such as "12 × 7,087,872"; long sums are abbreviated.

    Args:
        layers: totals of its layers.
        outside: its rows outside the layers.
    """
    runs = [(size, len(list(run))) for size, run in groupby(layers)]
    terms = [(f"{count:,} × {size:,}" if count > 1 else f"{size:,}", count * size) for size, count in runs]
    terms += module_terms(outside)
    return _joined(terms)


def module_terms(rows: Sequence[Parameter]) -> list[tuple[str, int]]:
    """(term, value) of every module; equal neighbours become a product."""
    modules: dict[str, list[Parameter]] = {}
    for row in rows:
        modules.setdefault(row.name.rpartition(".")[0], []).append(row)
    terms = []
    for shapes, run in groupby(tuple(row.shape for row in module) for module in modules.values()):
        count = len(list(run))
        product = " + ".join(" × ".join(f"{size:,}" for size in shape) or "1" for shape in shapes)
        value = sum(math.prod(shape) for shape in shapes)
        terms.append((f"{count} × ({product})" if count > 1 else product, count * value))
    return terms


def _joined(terms: list[tuple[str, int]]) -> str:
    if len(terms) > MAX_TERMS:
        rest = terms[MAX_TERMS - 1 :]
        terms = [*terms[: MAX_TERMS - 1], (f"{sum(value for _, value in rest):,} in {len(rest):,} more", 0)]
    return " + ".join(text for text, _ in terms)
