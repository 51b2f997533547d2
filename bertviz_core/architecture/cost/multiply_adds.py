"""Multiply-adds of one forward pass as a formula in the length of the text.

A linear map of a x b weights takes a * b multiply-adds for each token that it meets, and attention takes, for each pair
of tokens and each head, one product of two vectors for the score and one for mixing the values (Kaplan et al. 2020,
section 2.1; Vaswani et al. 2017, table 1). So every module's share is a parabola in the length. It is read off short
runs without values, and holds for every length where the class treats long texts as it treats short ones. Additions of
biases, normalisations, activations and the softmax are left out: they grow with the vectors, not with their products.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from bertviz_core.architecture.capabilities import layer_facts
from bertviz_core.architecture.cost.counting import module_counts, places_of
from bertviz_core.architecture.cost.results import Crossover, Growth, LayerAttention, MultiplyAdds, OperationTerms
from bertviz_core.architecture.dataflow.derive import model_facts
from bertviz_core.architecture.dry_run import DryModel, dry_model, plain_row
from bertviz_core.architecture.structure.results import ModelFacts, Window

SHORT_RUNS, CHECKED_RUN = (6, 9, 11), 13
"""Tokens of the runs that the formula is read off, and of one more that it must foretell."""
MAX_CROSSOVER_TOKENS = 2**20
"""Longest text for which a crossover is looked for."""
STATED_TOKENS = 128
"""Tokens of a text where there is none."""
BATCHES = (1, 2, 4, 8, 16, 32)
CURVE_POINTS = 240
MAX_TIMES_LIMIT = 20
"""How far beyond what the model reads the curve goes to reach the crossing."""


def operation_terms(
    name: str, config: Mapping[str, Any], task: str = "base", facts: ModelFacts | None = None
) -> OperationTerms:
    """The formula of the class of a task; the decoder of an encoder-decoder model has one token.

    Args:
        name: name of the model.
        config: its config.
        task: task of the class.
        facts: what a run of the class tells of windows; made anew by default.

    Raises:
        UnsupportedModelError: the class cannot be run without its values.
    """
    return terms_of(dry_model(name, config, task), model_facts(name, config, task) if facts is None else facts)


def windows(facts: ModelFacts) -> tuple[Window | None, ...]:
    """How far a token sees in each layer of the encoder, or of a lone decoder; None for all of the text."""
    seen = [row.attention.window if row.attention else None for row in layer_facts(facts)]
    return tuple(window if window and window.limited else None for window in seen)


def terms_of(dry: DryModel, facts: ModelFacts | None = None) -> OperationTerms:
    """The formula of a class without values; see operation_terms."""
    where = places_of(dry)
    runs = [module_counts(dry, seq) for seq in SHORT_RUNS]
    sums = {part: [0, 0, 0] for part in ("projections", "feed_forward", "attention", "other")}
    layers: dict[str, int] = {}
    whole = True
    for path in dict.fromkeys(path for run in runs for path in run):
        per_pair, per_token, per_text = _parabola([run.get(path, 0) for run in runs])
        whole = whole and all(each.denominator == 1 for each in (per_pair, per_token, per_text))
        for degree, value in enumerate((int(per_pair), int(per_token), int(per_text))):
            mixed = degree > 0 and where.mixed(path)
            sums["projections" if mixed else where.part(path)][degree] += value
        place = where.layer(path)
        if place is not None and where.part(path) == "attention" and per_pair:
            layers[place[0]] = layers.get(place[0], 0) + int(per_pair)
    growth = {part: Growth(*values) for part, values in sums.items()}
    foretold = sum(each.at(CHECKED_RUN) for each in growth.values())
    decoder = dry.inputs([plain_row(dry.model, 1)]).get("decoder_input_ids")
    seen = {} if facts is None else {(row.stack, row.layer): row.attention for row in facts.layers}
    attended = {path: seen.get((where.layer(path) or ("", "", 0))[1:]) for path in layers}
    return OperationTerms(
        model=dry.name,
        model_class=type(dry.model).__name__,
        **growth,
        layers=tuple(
            LayerAttention(path, per_pair, _limited(each.window if (each := attended[path]) else None))
            for path, per_pair in layers.items()
        ),
        exact=whole and foretold == sum(module_counts(dry, CHECKED_RUN).values()),
        decoder_tokens=0 if decoder is None else int(decoder.shape[-1]),
    )


def _limited(window: Window | None) -> Window | None:
    return window if window and window.limited else None


def _parabola(values: Sequence[int]) -> tuple[Fraction, Fraction, Fraction]:
    """The coefficients of the parabola through the counts of the short runs."""
    (a, b, c), (at_a, at_b, at_c) = SHORT_RUNS, values
    first, second = Fraction(at_b - at_a, b - a), Fraction(at_c - at_b, c - b)
    square = (second - first) / (c - a)
    slope = first - square * (a + b)
    return square, slope, at_a - slope * a - square * a * a


def multiply_adds(terms: OperationTerms, lengths: Sequence[int]) -> MultiplyAdds:
    """The formula for some lengths; each part is a sum over the layers as often as they run."""
    hidden = [
        sum(layer.per_pair * (seq * seq - visible_pairs(seq, layer.window)) for layer in terms.layers)
        for seq in lengths
    ]
    parts = {
        part: np.array([getattr(terms, part).at(seq) for seq in lengths], dtype=np.int64)
        for part in ("projections", "attention", "feed_forward", "other")
    }
    pairs = parts.pop("attention")
    return MultiplyAdds(
        np.array(lengths, dtype=np.int64), attention=pairs - np.array(hidden, np.int64), every_pair=pairs, **parts
    )


def crossover(terms: OperationTerms, projections: bool = False) -> Crossover:
    """The length from which on attention, windows honoured, costs at least as much as the feed-forward blocks.

    Of scores and mixing alone, without windows, it is weights / width, both summed over the layers: 2 *
    intermediate_size * hidden_size / (2 * hidden_size) = intermediate_size for a plain feed-forward block.

    Args:
        terms: the formula.
        projections: count the projections of query, key, value and output as attention.
    """

    def reached(seq: int) -> bool:
        costs = multiply_adds(terms, [seq])
        own = int(costs.attention[0]) + (int(costs.projections[0]) if projections else 0)
        return own >= int(costs.feed_forward[0])

    if terms.attention == Growth():
        return Crossover(None, projections)
    powers = [2**power for power in range(MAX_CROSSOVER_TOKENS.bit_length())]
    before = [seq for seq in powers if not reached(seq)]
    if not before:
        return Crossover(1, projections)
    if before[-1] == powers[-1]:
        return Crossover(None, projections)
    low, high = before[-1] + 1, 2 * before[-1]
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle + 1, high)
    return Crossover(low, projections)


def accounts_for(terms: OperationTerms, counts: MultiplyAdds) -> bool:
    """Whether the formula gives PyTorch's own counts, at the lengths counted as at those that it was read off."""
    return terms.exact and bool((multiply_adds(terms, counts.lengths.tolist()).whole == counts.whole).all())


def doubling_lengths(limit: int | None) -> tuple[int, ...]:
    """Doubling lengths up to what the model reads; up to 512 where nothing limits it."""
    lengths = [limit or 512]
    while lengths[-1] > 32 and len(lengths) < 6:
        lengths.append(lengths[-1] // 2)
    return tuple(reversed(lengths))


def checked_lengths(limit: int | None, tokens: int) -> tuple[int, ...]:
    """Lengths at which PyTorch counts: that of a text, and the longest that the model reads."""
    return tuple(sorted({tokens, *doubling_lengths(limit)[-3:]}))


def curve_lengths(limit: int | None, crossing: int | None, tokens: int) -> list[int]:
    """Lengths of the curve: as far as the model reads, and on to the crossing where that is not too far."""
    longest = max(limit or 1024, 2 * tokens)
    if crossing is not None and crossing <= MAX_TIMES_LIMIT * longest:
        longest = max(longest, int(1.3 * crossing))
    lengths = np.unique(np.linspace(1, longest, CURVE_POINTS, dtype=np.int64))
    return [int(length) for length in lengths]


def visible_pairs(seq: int, window: Window | None) -> int:
    """Pairs of tokens (i, j) with j at most so many before and behind i; all of them without a window.

    Of pairs that look to one side there are w * (2 * seq - w - 1) / 2 for w tokens, with w at most seq - 1.
    """
    if window is None or not window.limited:
        return seq * seq
    sides = (min(seq - 1 if side is None else side, seq - 1) for side in (window.before, window.after))
    return seq + sum(side * (2 * seq - side - 1) // 2 for side in sides)
