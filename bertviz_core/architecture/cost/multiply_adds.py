"""Derive the multiply-adds of a forward pass as a formula in the length of the text.

A linear map with a x b weights takes a * b multiply-adds for each token, and attention takes two products of vectors
for each pair of tokens and each head (Kaplan et al. 2020, section 2.1; Vaswani et al. 2017, table 1). The cost of every
module is therefore a parabola in the length, which is fitted to short runs without weights; it is exact if the class
treats long texts like short ones. Biases, normalisations, activations and the softmax are not counted.
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
"""Tokens of the runs that the formula is fitted to, and of one that it must predict."""
MAX_CROSSOVER_TOKENS = 2**20
"""Maximum length for the search of a crossover."""
STATED_TOKENS = 128
"""Tokens if there is no text."""
BATCHES = (1, 2, 4, 8, 16, 32)
CURVE_POINTS = 240
MAX_TIMES_LIMIT = 20
"""Maximum length of the curve, as a multiple of the limit of the model."""


def operation_terms(
    name: str, config: Mapping[str, Any], task: str = "base", facts: ModelFacts | None = None
) -> OperationTerms:
    """Derive the formula for the class of a task; the decoder of an encoder-decoder model has one token.

    Args:
        name: name of the model.
        config: its config.
        task: task of the class.
        facts: dataflow of the class, for its windows; derived by default.

    Raises:
        UnsupportedModelError: the class cannot be run without weights.
    """
    return terms_of(dry_model(name, config, task), model_facts(name, config, task) if facts is None else facts)


def windows(facts: ModelFacts) -> tuple[Window | None, ...]:
    """The window of each layer of the encoder, or of a decoder-only model; None for full attention."""
    layer_windows = [row.attention.window if row.attention else None for row in layer_facts(facts)]
    return tuple(window if window and window.limited else None for window in layer_windows)


def terms_of(dry: DryModel, facts: ModelFacts | None = None) -> OperationTerms:
    """The formula for a dry model; see operation_terms."""
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
    predicted = sum(each.at(CHECKED_RUN) for each in growth.values())
    decoder = dry.inputs([plain_row(dry.model, 1)]).get("decoder_input_ids")
    attention_of_layer = {} if facts is None else {(row.stack, row.layer): row.attention for row in facts.layers}
    attended = {path: attention_of_layer.get((where.layer(path) or ("", "", 0))[1:]) for path in layers}
    return OperationTerms(
        model=dry.name,
        model_class=type(dry.model).__name__,
        **growth,
        layers=tuple(
            LayerAttention(path, per_pair, _limited(each.window if (each := attended[path]) else None))
            for path, per_pair in layers.items()
        ),
        exact=whole and predicted == sum(module_counts(dry, CHECKED_RUN).values()),
        decoder_tokens=0 if decoder is None else int(decoder.shape[-1]),
    )


def _limited(window: Window | None) -> Window | None:
    return window if window and window.limited else None


def _parabola(values: Sequence[int]) -> tuple[Fraction, Fraction, Fraction]:
    """Coefficients of the parabola through the counts of the short runs."""
    (a, b, c), (at_a, at_b, at_c) = SHORT_RUNS, values
    first, second = Fraction(at_b - at_a, b - a), Fraction(at_c - at_b, c - b)
    square = (second - first) / (c - a)
    slope = first - square * (a + b)
    return square, slope, at_a - slope * a - square * a * a


def multiply_adds(terms: OperationTerms, lengths: Sequence[int]) -> MultiplyAdds:
    """Evaluate the formula for some lengths."""
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
    """The length from which attention, considering windows, costs at least as much as the feed-forward blocks.

    Without projections and windows it is weights / width: 2 * intermediate_size * hidden_size / (2 * hidden_size) =
    intermediate_size for a plain feed-forward block.

    Args:
        terms: the formula.
        projections: whether the projections count as attention.
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
    """Whether the formula agrees with PyTorch's counts at all lengths."""
    return terms.exact and bool((multiply_adds(terms, counts.lengths.tolist()).whole == counts.whole).all())


def doubling_lengths(limit: int | None) -> tuple[int, ...]:
    """Doubling lengths up to the limit of the model, or up to 512."""
    lengths = [limit or 512]
    while lengths[-1] > 32 and len(lengths) < 6:
        lengths.append(lengths[-1] // 2)
    return tuple(reversed(lengths))


def checked_lengths(limit: int | None, tokens: int) -> tuple[int, ...]:
    """Lengths to compare with PyTorch: that of a text, and the longest of doubling_lengths."""
    return tuple(sorted({tokens, *doubling_lengths(limit)[-3:]}))


def curve_lengths(limit: int | None, crossing: int | None, tokens: int) -> list[int]:
    """Lengths of the curve: up to the limit of the model, or to the crossing if it is not too far."""
    longest = max(limit or 1024, 2 * tokens)
    if crossing is not None and crossing <= MAX_TIMES_LIMIT * longest:
        longest = max(longest, int(1.3 * crossing))
    lengths = np.unique(np.linspace(1, longest, CURVE_POINTS, dtype=np.int64))
    return [int(length) for length in lengths]


def visible_pairs(seq: int, window: Window | None) -> int:
    """Number of pairs of tokens within a window; all pairs without one.

    A window of w <= seq - 1 tokens to one side has w * (2 * seq - w - 1) / 2 pairs.
    """
    if window is None or not window.limited:
        return seq * seq
    sides = (min(seq - 1 if side is None else side, seq - 1) for side in (window.before, window.after))
    return seq + sum(side * (2 * seq - side - 1) // 2 for side in sides)
