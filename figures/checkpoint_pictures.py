"""Pictures of checkpoints as pages and the command line name them: load report, values of tensors, two checkpoints."""

import math
from functools import partial

from bertviz_core.results.compare import Behaviour, ChangeHistograms, CheckpointComparison, TensorChange
from bertviz_core.results.load_report import LoadReport
from bertviz_core.results.task_heads import HeadDifference
from bertviz_core.results.weights import CheckpointStatistics, Histogram, TensorGrid, TensorStatistics
from figures.compare import change_figure, divergence_map, token_cosine_map
from figures.load_report import share_bars
from figures.picture import Picture
from figures.task_heads import head_tree
from figures.tokens_axis import labels
from figures.weights import tensor_map, weight_histogram

STATISTICS = {
    "std": ("std", "standard deviation", False),
    "mean": ("mean", "mean", True),
    "largest": ("largest", "largest magnitude", False),
    "zeros": ("zeros", "share of zeros", False),
    "not finite": ("not_finite", "share of NaN and infinity", False),
}
"""Name of a choice -> field, words, whether it has a sign."""
SHOWN_SPREADS = 6
"""Standard deviations around the mean that a histogram covers."""
PLACES = "places in a layer by layers, and what stands outside the layers"


def report_picture(report: LoadReport) -> Picture:
    """What of each component comes from the file."""
    title = f"What {report.architecture} takes from the file - {report.model}"
    alt = f"Bars of the components of {report.model} by what comes from the file"
    return Picture(title, alt, lambda look: share_bars(report.shares, title, look))


def head_picture(difference: HeadDifference) -> Picture:
    """The tree of a class with a head beside that of the base model."""
    title = f"{difference.architecture} beside {difference.base_architecture} - {difference.model}"
    alt = f"Module tree of {difference.architecture}, the lines of the head marked"
    return Picture(title, alt, lambda look: head_tree(difference, title, look))


def statistic_picture(grid: TensorGrid, statistic: str, model: str) -> Picture:
    """One number of every tensor; statistic is a key of STATISTICS."""
    _, words, signed = STATISTICS[statistic]
    title = f"{words.capitalize()} of every tensor - {model}"
    return Picture(title, f"{title}: {PLACES}", partial(tensor_map, grid, title, words, signed=signed))


def statistic_numbers(statistics: CheckpointStatistics, statistic: str) -> list[float]:
    """That number of every tensor."""
    field = STATISTICS[statistic][0]
    if field == "zeros":
        return [each.zeros / max(each.numel, 1) for each in statistics.tensors]
    if field == "not_finite":
        return [(each.nan + each.infinite) / max(each.numel, 1) for each in statistics.tensors]
    return [float(getattr(each, field)) for each in statistics.tensors]


def values_picture(histogram: Histogram, deviation: float | None, tensor: TensorStatistics, model: str) -> Picture:
    """The values of one tensor; deviation is that of its initialisation, None for no curve."""
    title = f"{tensor.name} - {model}"
    alt = f"{title}: {tensor.numel:,} numbers in {len(histogram.counts)} bins"
    return Picture(title, alt, partial(weight_histogram, histogram, deviation, tensor.numel, title))


def first_matrix(statistics: CheckpointStatistics) -> str:
    """The tensor shown to begin with: a matrix of the first layer where there is one."""
    matrices = [each for each in statistics.tensors if each.location.layer is not None and len(each.shape) > 1]
    return (matrices or statistics.tensors)[0].name


def drawn_deviation(statistics: CheckpointStatistics, tensor: TensorStatistics) -> float | None:
    """Standard deviation of the initialisation that a tensor's values are compared with; None for what has none."""
    matrix = len(tensor.shape) > 1 and tensor.location.component != "buffer"
    return statistics.standard_deviations[0] if matrix else None


def drawn_range(tensor: TensorStatistics, deviation: float | None) -> tuple[float, float]:
    """Ends of a histogram: six standard deviations around the mean, no further than values or the curve go."""
    spread = SHOWN_SPREADS * tensor.std
    curve = 3 * deviation if deviation is not None else 0.0
    low = max(tensor.minimum, tensor.mean - spread)
    high = min(tensor.maximum, tensor.mean + spread)
    found = (min(low, -curve), max(high, curve)) if curve else (low, high)
    return found if all(map(math.isfinite, found)) else (tensor.minimum, tensor.maximum)


def changes_picture(grid: TensorGrid, found: CheckpointComparison, logarithmic: bool) -> Picture:
    """How far each tensor moved."""
    title = f"Relative change, {found.first} to {found.second}"
    draw = partial(tensor_map, grid, title, "relative change", logarithmic=logarithmic)
    return Picture(title, f"{title}: {PLACES}", draw)


def change_picture(drawn: ChangeHistograms, change: TensorChange, found: CheckpointComparison) -> Picture:
    """One tensor in both checkpoints."""
    title = f"{change.name}, first and second"
    names = (f"first: {found.first}", f"second: {found.second}")
    alt = f"{title}: values in both, and their differences"
    return Picture(title, alt, partial(change_figure, drawn, names, title))


def most_changed(found: CheckpointComparison) -> str:
    """The tensor shown to begin with: the one that moved most."""
    finite = [each for each in found.tensors if math.isfinite(each.relative_change) and each.first_norm > 0]
    return max(finite or found.tensors, key=lambda each: each.relative_change).name


def cosines_picture(found: Behaviour) -> Picture:
    """Cosine of both models' hidden states, token by token.

    Raises:
        ValueError: there are none.
    """
    if found.cosines is None:
        raise ValueError("no cosines")
    title = f"Cosine of hidden states, {found.first} to {found.second}"
    draw = partial(token_cosine_map, found.cosines, labels(found.tokens), title)
    return Picture(title, f"{title}, a row per layer", draw)


def divergences_picture(found: Behaviour) -> Picture:
    """Divergence of both models' attention, head by head.

    Raises:
        ValueError: there are none.
    """
    if found.divergences is None:
        raise ValueError("no divergences")
    title = f"Divergence of attention, {found.first} to {found.second}"
    return Picture(title, f"{title}, layers by heads", partial(divergence_map, found.divergences, title))
