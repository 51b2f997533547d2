"""Whether a weight still has the distribution that its initialiser drew it from, told from its moments."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bertviz_core.results.weights import TensorStatistics

Z = 5.0
"""Standard errors within which a moment of a sample counts as the distribution's own."""


class Spread(NamedTuple):
    """The distribution that an initialiser draws from; its mean is 0."""

    words: str
    second: float
    fourth: float
    eighth: float
    most: float = math.inf
    """Largest magnitude that it draws."""


def spreads(deviations: Sequence[float], config: Mapping[str, Any]) -> tuple[Spread, ...]:
    """The distributions that new weights of such a model are drawn from.

    Normal for most families; ModernBERT cuts its tails off at some standard deviations, and narrows what is added to
    the residual stream by the root of twice the count of layers (its _init_weights in transformers).
    """
    found = [_normal(deviation) for deviation in deviations]
    if "initializer_cutoff_factor" in config:
        cut, layers = config["initializer_cutoff_factor"] or 3.0, config.get("num_hidden_layers") or 1
        wide = [deviation / narrow for deviation in deviations for narrow in (1, math.sqrt(2 * layers))]
        found = [_cut_normal(deviation, float(cut)) for deviation in wide]
    return tuple(found)


def matches(tensor: TensorStatistics, spread: Spread) -> bool:
    """Whether mean, second and fourth moment are within Z standard errors of those of a sample of this size.

    Zeros are left out: a padding token's row is set to 0. The standard error of a mean of n values x^k is
    sqrt((E x^2k - (E x^k)^2) / n).
    """
    count = tensor.finite - tensor.zeros
    if not count or tensor.largest > spread.most * (1 + 2**-8):
        return False
    mean = tensor.mean * tensor.finite / count
    return (
        abs(mean) <= Z * math.sqrt(spread.second / count)
        and abs(tensor.second_moment - spread.second) <= Z * math.sqrt((spread.fourth - spread.second**2) / count)
        and abs(tensor.fourth_moment - spread.fourth) <= Z * math.sqrt((spread.eighth - spread.fourth**2) / count)
    )


def initial_spread(tensor: TensorStatistics, known: Sequence[Spread]) -> Spread | None:
    """The distribution that a weight still has; None for one that has another, or is no matrix."""
    return next((spread for spread in known if len(tensor.shape) > 1 and matches(tensor, spread)), None)


def _normal(deviation: float) -> Spread:
    second = deviation**2
    return Spread(f"normal, std {deviation:g}", second, 3 * second**2, 105 * second**4)


def _cut_normal(deviation: float, cut: float) -> Spread:
    """The normal distribution between -cut and cut standard deviations, its moments by integration by parts."""
    edge = 2 * math.exp(-(cut**2) / 2) / math.sqrt(2 * math.pi) / math.erf(cut / math.sqrt(2))
    moments = [1.0]
    for power in (2, 4, 6, 8):
        moments.append((power - 1) * moments[-1] - cut ** (power - 1) * edge)
    _, second, fourth, _, eighth = moments
    words = f"normal, std {deviation:g}, cut off at {cut:g} std"
    return Spread(words, second * deviation**2, fourth * deviation**4, eighth * deviation**8, cut * deviation)
