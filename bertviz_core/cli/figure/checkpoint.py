"""Figures of the command line that show checkpoints: what loads, the values of tensors, what changed to another."""

from bertviz_core.checkpoints.behaviour import behaviour, require_same_ids
from bertviz_core.checkpoints.comparison import change_histograms, compare_checkpoints
from bertviz_core.checkpoints.load_report.report import source_load_report
from bertviz_core.checkpoints.load_report.task_heads import source_head_difference
from bertviz_core.checkpoints.results import Behaviour, CheckpointComparison
from bertviz_core.checkpoints.tensor_map import tensor_grid
from bertviz_core.checkpoints.tensor_statistics import checkpoint_statistics, tensor_histogram
from bertviz_core.checkpoints.values import Checkpoint, open_checkpoint, tensor_slices
from bertviz_core.cli.figure.request import FigureOutput, FigureRequest, settings
from bertviz_core.cli.options import tokenized
from bertviz_core.errors import TextError
from bertviz_core.figures.base.picture import FigureSpec
from bertviz_core.figures.checkpoints.comparison import (
    change_picture,
    changes_picture,
    cosines_picture,
    divergences_picture,
    most_changed,
)
from bertviz_core.figures.checkpoints.load_report import head_picture, report_picture
from bertviz_core.figures.checkpoints.weights import (
    STATISTICS,
    drawn_deviation,
    drawn_range,
    first_matrix,
    statistic_numbers,
    statistic_picture,
    values_picture,
)
from bertviz_core.models.loading import load_model
from bertviz_core.models.sources import resolve
from bertviz_core.text import escape_controls
from bertviz_core.trace.run import trace

SCALES = ("powers of ten", "even")
MAX_LABELS = 10_000


def report(asked: FigureRequest) -> FigureOutput:
    """What of each component comes from the file."""
    source = resolve(asked.model, settings())
    found = source_load_report(source, asked.task or "base", settings(), _labels(asked))
    picture = report_picture(found)
    words = f"{picture.title}: {found.matched:,} of {found.wanted:,} tensors"
    return FigureOutput(picture, words, ((source.name, source.revision),), notices=(found.suggestion,))


def head(asked: FigureRequest) -> FigureOutput:
    """The class of a task beside the base model."""
    source = resolve(asked.model, settings())
    found = source_head_difference(source, asked.task or "base", _labels(asked))
    picture = head_picture(found)
    words = f"{picture.title}: {found.base_total:,} and {found.total:,} parameters."
    return FigureOutput(picture, words, ((source.name, source.revision),))


def weights(asked: FigureRequest) -> FigureOutput:
    """One number of every tensor."""
    found = _checkpoint(asked.model)
    statistic, statistics = asked.setting("statistic", list(STATISTICS)), checkpoint_statistics(found)
    grid = tensor_grid([each.location for each in statistics.tensors], statistic_numbers(statistics, statistic))
    return _of((found,), statistic_picture(grid, statistic, statistics.model))


def values(asked: FigureRequest) -> FigureOutput:
    """The values of one tensor.

    Raises:
        TextError: none of them is finite.
    """
    found = _checkpoint(asked.model)
    statistics = checkpoint_statistics(found)
    by_name = statistics.by_name()
    tensor = by_name[_tensor(asked, "tensor", list(by_name), first_matrix(statistics))]
    if not tensor.finite:
        raise TextError(f"No value of {escape_controls(tensor.name)!r} is finite, so there is no histogram of it.")
    deviation = drawn_deviation(statistics, tensor)
    histogram = tensor_histogram(tensor_slices(found)[tensor.name], *drawn_range(tensor, deviation))
    return _of((found,), values_picture(histogram, deviation, tensor, statistics.model))


def changes(asked: FigureRequest) -> FigureOutput:
    """How far each tensor moved to another checkpoint."""
    first, second, found = _compared(asked)
    logarithmic = asked.setting("scale", SCALES) == SCALES[0]
    grid = tensor_grid([each.location for each in found.tensors], [each.relative_change for each in found.tensors])
    return _of((first, second), changes_picture(grid, found, logarithmic))


def change(asked: FigureRequest) -> FigureOutput:
    """One tensor in both checkpoints."""
    first, second, found = _compared(asked)
    by_name = {each.name: each for each in found.tensors}
    chosen = by_name[_tensor(asked, "changed", list(by_name), most_changed(found))]
    drawn = change_histograms(tensor_slices(first)[chosen.name], tensor_slices(second)[chosen.second_name])
    return _of((first, second), change_picture(drawn, chosen, found))


def cosines(asked: FigureRequest) -> FigureOutput:
    """Cosine of both models' hidden states of one text."""
    found = _behaviour(asked)
    if found.cosines is None:
        raise TextError(f"The hidden states of {found.first!r} and {found.second!r} have no rows in common.")
    return _of_both(asked, found, cosines_picture(found))


def divergences(asked: FigureRequest) -> FigureOutput:
    """Divergence of both models' attention on one text."""
    found = _behaviour(asked)
    if found.divergences is None:
        raise TextError(f"The attention of {found.first!r} and {found.second!r} has no heads in common.")
    return _of_both(asked, found, divergences_picture(found))


def _labels(asked: FigureRequest) -> int | None:
    found = asked.place("labels", MAX_LABELS + 1, 0)
    return found or None


def _other(asked: FigureRequest) -> str:
    if "other" not in asked.more:
        raise TextError("This figure compares two checkpoints, and one came; give --set other=MODEL.")
    return asked.more["other"]


def _checkpoint(name: str) -> "Checkpoint":

    return open_checkpoint(resolve(name, settings()), settings())


def _compared(asked: FigureRequest) -> "tuple[Checkpoint, Checkpoint, CheckpointComparison]":

    first, second = _checkpoint(asked.model), _checkpoint(_other(asked))
    found = compare_checkpoints(first, second)
    if not found.tensors:
        raise TextError(f"{asked.model!r} and {_other(asked)!r} have no tensor of one name and shape.")
    return first, second, found


def _tensor(asked: FigureRequest, setting: str, names: list[str], default: str) -> str:
    found = asked.more.get(setting, default)
    if found not in names:
        raise TextError(f"There is no tensor {escape_controls(found[:80])!r} here; give a name such as {default!r}.")
    return found


def _behaviour(asked: FigureRequest) -> "Behaviour":

    names = (asked.model, _other(asked))
    first, second = (tokenized(name, asked.text(), asked.pair) for name in names)
    require_same_ids(names[0], first, names[1], second)
    one, other = (
        trace(load_model(resolve(name, settings()), settings()), read)
        for name, read in zip(names, (first, second), strict=True)
    )
    return behaviour(one, other)


def _of(found: "tuple[Checkpoint, ...]", picture: "FigureSpec") -> FigureOutput:
    return FigureOutput(picture, picture.title, tuple(dict.fromkeys((each.name, each.revision) for each in found)))


def _of_both(asked: FigureRequest, found: "Behaviour", picture: "FigureSpec") -> FigureOutput:

    sources = [resolve(name, settings()) for name in (asked.model, _other(asked))]
    models = tuple(dict.fromkeys((each.name, each.revision) for each in sources))
    return FigureOutput(picture, picture.title, models, (found.tokens.text, found.tokens.pair), found.notices)
