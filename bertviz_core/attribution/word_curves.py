"""Compute comprehensiveness and sufficiency: a target without the strongest words, and with them alone.

Comprehensiveness is the drop of the target without the k strongest words, sufficiency the drop with them alone (DeYoung
et al. 2020, section 4). The strongest word raises the target most. Random orders serve as a baseline: a curve inside
their band says nothing about the words.
"""

from collections.abc import Iterable, Sequence
from time import perf_counter

import numpy as np
from jaxtyping import Float

from bertviz_core.attribution.results import WordAttributions, WordCurve, WordCurves
from bertviz_core.attribution.text_units import INSTEAD, Remover, row_values
from bertviz_core.errors import Progress
from bertviz_core.interventions.targets.target import Target
from bertviz_core.trace.tokenization import TextTokenizer

RANDOM_ORDERS = 20
MOST_STEPS = 16
"""Maximum number of steps for a long text, spread evenly over its words."""


def word_curves(
    target: Target,
    tokenizer: TextTokenizer,
    shares: Sequence[WordAttributions],
    seed: int = 0,
    progress: Progress | None = None,
) -> WordCurves:
    """Measure the target without the k strongest words and with them alone, for each method and random orders.

    Law: with no word removed every curve equals the clean target; with all removed, that of the fully masked reference.
    Keeping the first k words of an order equals removing the first n - k of its reverse, so random rows serve both
    curves.

    Args:
        target: the target.
        tokenizer: tokenizer of the model.
        shares: shares of this target's words, one per method.
        seed: seed of the random orders.
        progress: called as progress(rows done, rows); may raise to cancel.

    Raises:
        ValueError: the shares belong to different texts or choices of words.
        UnsupportedModelError: the tokenizer has no mask.
        BertvizError: the target cannot be computed.
    """
    started, positions = perf_counter(), shares[0].positions
    if any(each.positions != positions or each.target != target.name for each in shares):
        raise ValueError("curves are of the words of one text and one target")
    words = len(positions)
    counts = tuple(dict.fromkeys(np.linspace(0, words, min(words, MOST_STEPS) + 1).round().astype(int).tolist()))
    generator = np.random.default_rng(seed)
    orders = [tuple(generator.permutation(words).tolist()) for _ in range(RANDOM_ORDERS)]
    removed_sets: dict[frozenset[int], int] = {}
    removed = [_places(removed_sets, (order[:count] for count in counts)) for order in orders]
    remaining = [_places(removed_sets, (order[: words - count] for count in counts)) for order in orders]
    ranked = [each.ranked() for each in shares]
    without = [_places(removed_sets, (order[:count] for count in counts)) for order in ranked]
    alone = [_places(removed_sets, (order[count:] for count in counts)) for order in ranked]
    remover = Remover(target, tokenizer, "mask")
    rows = [remover.without(place for word in words_gone for place in positions[word]) for words_gone in removed_sets]
    values = row_values(target, rows, progress)
    return WordCurves(
        model=target.loaded.name,
        title=target.title,
        unit=target.unit,
        instead=INSTEAD["mask"],
        tokens=target.tokens,
        words=words,
        counts=counts,
        clean=float(values[removed_sets[frozenset()]]),
        reference=float(values[removed_sets[frozenset(range(words))]]),
        curves=tuple(
            WordCurve(each.method, _frozen(values[first]), _frozen(values[second]))
            for each, first, second in zip(shares, without, alone, strict=True)
        ),
        random=_frozen(values[np.array(removed)]),
        random_alone=_frozen(values[np.array(remaining)]),
        seed=seed,
        runs=len(rows),
        seconds=perf_counter() - started,
        notices=target.notices,
    )


def _places(known: dict[frozenset[int], int], rows: Iterable[tuple[int, ...]]) -> list[int]:
    """Return the index of each set of removed words among all distinct sets, which run once each."""
    return [known.setdefault(frozenset(row), len(known)) for row in rows]


def _frozen(values: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    found = values.astype(np.float32)
    found.setflags(write=False)
    return found
