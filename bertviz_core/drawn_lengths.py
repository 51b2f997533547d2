"""How many tokens the pictures of cost and memory are drawn for."""

from collections.abc import Mapping

import numpy as np

from bertviz_core.operations import multiply_adds
from bertviz_core.results.operations import OperationTerms

STATED_TOKENS = 128
"""Tokens of a text where there is none."""
BATCHES = (1, 2, 4, 8, 16, 32)
POINTS = 240
MOST_TIMES_LIMIT = 20
"""How far beyond what the model reads the curve goes to reach the crossing."""
COVERED = 0.5
"""Share of PyTorch's count that the formula must reach for its lines to be drawn."""


def doubling_lengths(limit: int | None) -> tuple[int, ...]:
    """Doubling lengths up to what the model reads; up to 512 where nothing limits it."""
    found = [limit or 512]
    while found[-1] > 32 and len(found) < 6:
        found.append(found[-1] // 2)
    return tuple(reversed(found))


def curve_lengths(limit: int | None, crossing: int | None, here: int) -> list[int]:
    """Lengths of the curve: as far as the model reads, and on to the crossing where that is not too far."""
    most = max(limit or 1024, 2 * here)
    if crossing is not None and crossing <= MOST_TIMES_LIMIT * most:
        most = max(most, int(1.3 * crossing))
    found = np.unique(np.linspace(1, most, POINTS, dtype=np.int64))
    return [int(each) for each in found]


def formula_covers(terms: OperationTerms, counts: Mapping[int, int]) -> bool:
    """Whether the formula tells most of what PyTorch counts."""
    costs = multiply_adds(terms, list(counts))
    pairs = costs.total - costs.attention + costs.every_pair
    return bool(all(mine >= COVERED * own for mine, own in zip(pairs, counts.values(), strict=True)))
