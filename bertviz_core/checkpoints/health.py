"""Diagnose untrained or broken weights; each finding names the tensors.

A finding is reported only if training or ordinary use cannot explain it: a module counts as untrained if its weights
have the moments of the initialiser's distribution and its bias is exactly 0, which a single training step would change.
"""

import math
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bertviz_core.checkpoints.results import CheckpointStatistics, Finding, Problem, TensorStatistics
from bertviz_core.parameters.components import NORM
from bertviz_core.text import all_of, counted, quoted

MAX_STANDARD_ERRORS = 5.0
"""Maximum deviation of a sample moment from the distribution's, in standard errors."""


class Spread(NamedTuple):
    """A distribution of mean 0 that an initialiser draws from."""

    words: str
    second: float
    fourth: float
    eighth: float
    most: float = math.inf
    """Largest magnitude in the distribution."""


def spreads(deviations: Sequence[float], config: Mapping[str, Any]) -> tuple[Spread, ...]:
    """Return the distributions of newly initialised weights of such a model.

    Normal for most families; ModernBERT truncates it at some standard deviations, and divides it by the square root of
    twice the number of layers for additions to the residual stream (its _init_weights in transformers).
    """
    distributions = [_normal(deviation) for deviation in deviations]
    if "initializer_cutoff_factor" in config:
        cutoff, layers = config["initializer_cutoff_factor"] or 3.0, config.get("num_hidden_layers") or 1
        widths = [deviation / narrow for deviation in deviations for narrow in (1, math.sqrt(2 * layers))]
        distributions = [_cut_normal(deviation, float(cutoff)) for deviation in widths]
    return tuple(distributions)


def matches(tensor: TensorStatistics, spread: Spread) -> bool:
    """Test whether mean, second and fourth moment are within MAX_STANDARD_ERRORS of the distribution's.

    Zeros are excluded: the row of a padding token is set to 0. The standard error of a mean of n values x^k is sqrt((E
    x^2k - (E x^k)^2) / n).
    """
    count = tensor.finite - tensor.zeros
    if not count or tensor.largest > spread.most * (1 + 2**-8):
        return False
    mean = tensor.mean * tensor.finite / count
    return (
        abs(mean) <= MAX_STANDARD_ERRORS * math.sqrt(spread.second / count)
        and abs(tensor.second_moment - spread.second)
        <= MAX_STANDARD_ERRORS * math.sqrt((spread.fourth - spread.second**2) / count)
        and abs(tensor.fourth_moment - spread.fourth)
        <= MAX_STANDARD_ERRORS * math.sqrt((spread.eighth - spread.fourth**2) / count)
    )


def initial_spread(tensor: TensorStatistics, known: Sequence[Spread]) -> Spread | None:
    """Return the initial distribution that a weight still has; None if it has another or is no matrix."""
    return next((spread for spread in known if len(tensor.shape) > 1 and matches(tensor, spread)), None)


def _normal(deviation: float) -> Spread:
    second = deviation**2
    return Spread(f"normal, std {deviation:.4g}", second, 3 * second**2, 105 * second**4)


def _cut_normal(deviation: float, cut: float) -> Spread:
    """Return the normal distribution truncated at ±cut standard deviations, its moments by integration by parts."""
    edge = 2 * math.exp(-(cut**2) / 2) / math.sqrt(2 * math.pi) / math.erf(cut / math.sqrt(2))
    moments = [1.0]
    for power in (2, 4, 6, 8):
        moments.append((power - 1) * moments[-1] - cut ** (power - 1) * edge)
    _, second, fourth, _, eighth = moments
    words = f"normal, std {deviation:.4g}, cut off at {cut:g} std"
    return Spread(words, second * deviation**2, fourth * deviation**4, eighth * deviation**8, cut * deviation)


MIN_NUMBERS_WITH_BIAS, MIN_NUMBERS_WITHOUT_BIAS = 64, 4096
"""Minimum size of a weight to be recognised as untrained: with a bias of exactly 0, and without a bias."""
TYPE_TABLE = "token_type"
"""RoBERTa contains an unused table of token types, all zero."""
MAX_NAMED_TENSORS = 3
CHECKED = (
    "weights that still have the mean, spread and shape of their initialiser (within 5 standard errors for a sample of "
    "their size) and a bias of exactly 0",
    "normalisations that are still 1 and 0",
    "NaN",
    "infinities",
    "matrices and normalisations that are all zero",
    "layers with identical values",
)


def diagnose_weights(
    statistics: CheckpointStatistics, config: Mapping[str, Any], drawn: Mapping[str, float]
) -> tuple[Finding, ...]:
    """Diagnose a checkpoint; returns findings by descending severity, () if nothing is suspicious.

    `drawn` has the standard deviations of parameters for which the class has one of their own, as T5 does.
    """
    tensors = [tensor for tensor in statistics.tensors if not tensor.location.is_buffer]
    return (
        *_not_finite("NaN", tensors, lambda tensor: tensor.nan),
        *_not_finite("infinity", tensors, lambda tensor: tensor.infinite),
        *_untrained(tensors, _initial_spreads(tensors, spreads(statistics.standard_deviations, config), drawn)),
        *_all_zero(tensors),
        *_identical_layers(tensors),
    )


def _initial_spreads(
    tensors: Iterable[TensorStatistics], usual: Sequence[Spread], drawn: Mapping[str, float]
) -> dict[str, Spread]:
    """Tensor -> initial distribution that it still has, its own or one usual in its model; without other tensors."""
    own = {name: (_normal(deviation),) for name, deviation in drawn.items()}
    found = ((each.name, initial_spread(each, (*own.get(each.location.module_name, ()), *usual))) for each in tensors)
    return {name: spread for name, spread in found if spread is not None}


def _untrained(tensors: Sequence[TensorStatistics], known: Mapping[str, Spread]) -> Iterator[Finding]:
    biases = {tensor.name.removesuffix(".bias"): tensor for tensor in tensors if tensor.name.endswith(".bias")}
    untrained = [tensor for tensor in tensors if _is_untrained(tensor, biases.get(_module(tensor)), known)]
    weights = [tensor for tensor in tensors if not tensor.name.endswith(".bias")]
    if not untrained:
        return
    if 2 * len(untrained) >= len(weights):
        yield _untrained_finding("The model appears to be untrained", untrained, known, biases)
        return
    for component in dict.fromkeys(tensor.location.component for tensor in untrained):
        words = {"task head": "The task head", "pooler": "The pooler"}.get(component, f"Part of the {component}")
        own = [tensor for tensor in untrained if tensor.location.component == component]
        yield _untrained_finding(f"{words} appears to be untrained", own, known, biases)


def _untrained_finding(
    subject: str, untrained: Sequence[TensorStatistics], known: Mapping[str, Spread], biased: Container[str]
) -> Finding:
    initialised = [tensor for tensor in untrained if tensor.name in known]
    facts = []
    if initialised:
        has_bias = [_module(tensor) in biased for tensor in initialised]
        first = initialised[0].name
        several = len({known[tensor.name] for tensor in initialised}) > 1
        words = f"{first}: {known[first].words}" if several else known[first].words
        beside = " with a bias of exactly 0" if all(has_bias) else " with any bias exactly 0" if any(has_bias) else ""
        facts.append(f"the numbers still follow the initialiser ({words}){beside}")
    if len(initialised) < len(untrained):
        facts.append("normalisations are still exactly 1 and 0")
    verb = "is" if len(untrained) == 1 else "are"
    sentence = (
        f"{subject}: {_named(untrained)} {verb} still at initial values, {'; '.join(facts)}. Train it before use."
    )
    return Finding("never trained", sentence, tuple(tensor.name for tensor in untrained))


def _is_untrained(weight: TensorStatistics, bias: TensorStatistics | None, known: Container[str]) -> bool:
    if weight.name.endswith(".bias") or weight.finite < weight.numel:
        return False
    if bias is not None and not _is_constant(bias, 0.0):
        return False
    if NORM.search(weight.location.module_name):
        return len(weight.shape) == 1 and _is_constant(weight, 1.0)
    enough = weight.numel >= (MIN_NUMBERS_WITHOUT_BIAS if bias is None else MIN_NUMBERS_WITH_BIAS)
    return enough and weight.name in known


def _all_zero(tensors: Sequence[TensorStatistics]) -> Iterator[Finding]:
    zero = [
        tensor
        for tensor in tensors
        if _is_constant(tensor, 0.0)
        and not tensor.name.endswith("bias")
        and (len(tensor.shape) > 1 or tensor.name.endswith(".weight"))
        and TYPE_TABLE not in tensor.name
    ]
    if zero:
        verb = "holds" if len(zero) == 1 else "hold"
        words = f"{_named(zero)} {verb} only zeros, which training does not produce; save the checkpoint again."
        yield Finding("all zero", words, tuple(tensor.name for tensor in zero))


def _not_finite(
    problem: Problem, tensors: Sequence[TensorStatistics], count: Callable[[TensorStatistics], int]
) -> Iterator[Finding]:
    affected = [tensor for tensor in tensors if count(tensor)]
    if affected:
        total = sum(count(tensor) for tensor in affected)
        what = "NaN" if problem == "NaN" else "infinite"
        verb, is_or_are = "holds" if len(affected) == 1 else "hold", "is" if total == 1 else "are"
        values = f"{counted(total, 'value')} that {is_or_are} {what}"
        words = f"{_named(affected)} {verb} {values}; results computed with them are invalid."
        yield Finding(problem, words, tuple(tensor.name for tensor in affected))


def _identical_layers(tensors: Sequence[TensorStatistics]) -> Iterator[Finding]:
    """Find layers of a stack with byte-identical tensors, at least one of them a matrix that is not constant."""
    layers: dict[tuple[str, int], dict[str, bytes]] = {}
    varied = set()
    for tensor in tensors:
        if tensor.location.layer is not None:
            key = (tensor.location.component, tensor.location.layer)
            layers.setdefault(key, {})[tensor.location.inside] = tensor.digest
            if tensor.std > 0 and len(tensor.shape) > 1:
                varied.add(key)
    groups: dict[tuple[str, frozenset[tuple[str, bytes]]], list[int]] = {}
    for (component, layer), digests in layers.items():
        if (component, layer) in varied:
            groups.setdefault((component, frozenset(digests.items())), []).append(layer)
    for (component, _), same in groups.items():
        if len(same) > 1:
            named = f"{', '.join(map(str, same[:-1]))} and {same[-1]}"
            own = [
                tensor.name
                for tensor in tensors
                if tensor.location.component == component and tensor.location.layer in same
            ]
            words = f"The layers {named} of the {component} are identical in {all_of(len(own) // len(same), 'tensor')}"
            yield Finding(
                "identical layers", f"{words}; they are copies of one another or were never trained.", tuple(own)
            )


def _module(tensor: TensorStatistics) -> str:
    return tensor.name.removesuffix(".weight")


def _is_constant(tensor: TensorStatistics, value: float) -> bool:
    return tensor.numel > 0 and tensor.finite == tensor.numel and tensor.minimum == tensor.maximum == value


def _named(tensors: Sequence[TensorStatistics]) -> str:
    names = [quoted(tensor.name).strip("'") for tensor in tensors[:MAX_NAMED_TENSORS]]
    rest = len(tensors) - len(names)
    return f"{', '.join(names)} and {rest:,} more" if rest else ", ".join(names)
