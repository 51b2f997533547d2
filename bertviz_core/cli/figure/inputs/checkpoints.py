"""Checkpoints: what loads, the values of tensors, what changed to another."""

from functools import cached_property

from bertviz_core.checkpoints.behaviour import behaviour, require_same_ids
from bertviz_core.checkpoints.comparison import change_histograms, compare_checkpoints
from bertviz_core.checkpoints.load_report.report import source_load_report
from bertviz_core.checkpoints.load_report.results import HeadDifference, LoadReport
from bertviz_core.checkpoints.load_report.task_heads import source_head_difference
from bertviz_core.checkpoints.results import (
    Behaviour,
    ChangeHistograms,
    CheckpointComparison,
    CheckpointStatistics,
    Histogram,
    TensorChange,
    TensorGrid,
    TensorStatistics,
)
from bertviz_core.checkpoints.rounding import COPIES, round_weights
from bertviz_core.checkpoints.tensor_map import tensor_grid
from bertviz_core.checkpoints.tensor_statistics import checkpoint_statistics, tensor_histogram
from bertviz_core.checkpoints.values import Checkpoint, open_checkpoint, rounded_copy, tensor_slices
from bertviz_core.cli.figure.inputs.models import ModelInputs
from bertviz_core.errors import TextError
from bertviz_core.figures.checkpoints.comparison import most_changed
from bertviz_core.figures.checkpoints.weights import (
    STATISTICS,
    drawn_deviation,
    drawn_range,
    first_matrix,
    statistic_numbers,
)
from bertviz_core.models.loading import load_model
from bertviz_core.text import escape_controls
from bertviz_core.trace.run import trace

SCALES = ("powers of ten", "even")
MAX_LABELS = 10_000


class CheckpointInputs(ModelInputs):
    """A checkpoint's names and values, and another's beside them."""

    @cached_property
    def _labels(self) -> int | None:
        return self.asked.place("labels", MAX_LABELS + 1, 0) or None

    @cached_property
    def report(self) -> LoadReport:
        """What of each component comes from the file."""
        load_report = source_load_report(self.source, self.asked.task or "base", self.settings, self._labels)
        self.notices = (load_report.suggestion,)
        return load_report

    @cached_property
    def head_difference(self) -> HeadDifference:
        """The class of a task beside the base model."""
        return source_head_difference(self.source, self.asked.task or "base", self._labels)

    @cached_property
    def _checkpoint(self) -> Checkpoint:
        return open_checkpoint(self.source, self.settings)

    @cached_property
    def _statistics(self) -> CheckpointStatistics:
        return checkpoint_statistics(self._checkpoint)

    @cached_property
    def statistic(self) -> str:
        """The number of every tensor that is drawn."""
        return self.asked.setting("statistic", list(STATISTICS))

    @cached_property
    def statistic_grid(self) -> TensorGrid:
        """That number of every tensor."""
        statistics = self._statistics
        return tensor_grid(
            [each.location for each in statistics.tensors], statistic_numbers(statistics, self.statistic)
        )

    @cached_property
    def statistic_logarithmic(self) -> bool:
        """Whether its scale is of powers of ten."""
        return self.asked.setting("weights_scale", SCALES[::-1]) == SCALES[0]

    def _tensor_name(self, setting: str, names: list[str], default: str) -> str:
        name = self.asked.more.get(setting, default)
        if name not in names:
            raise TextError(f"There is no tensor {escape_controls(name[:80])!r} here; give a name such as {default!r}.")
        return name

    @cached_property
    def tensor(self) -> TensorStatistics:
        """One tensor with finite values."""
        by_name = self._statistics.by_name()
        tensor = by_name[self._tensor_name("tensor", list(by_name), first_matrix(self._statistics))]
        if not tensor.finite:
            raise TextError(f"No value of {escape_controls(tensor.name)!r} is finite, so there is no histogram of it.")
        return tensor

    @cached_property
    def initial_deviation(self) -> float | None:
        """Standard deviation of its initialisation; None where it is not drawn."""
        return drawn_deviation(self._statistics, self.tensor)

    @cached_property
    def histogram(self) -> Histogram:
        """Its values."""
        ends = drawn_range(self.tensor, self.initial_deviation)
        return tensor_histogram(tensor_slices(self._checkpoint)[self.tensor.name], *ends)

    @cached_property
    def _other(self) -> str:
        if "other" not in self.asked.more:
            raise TextError("This figure compares two checkpoints, and one came; give --set other=MODEL.")
        return self.asked.more["other"]

    @cached_property
    def _second(self) -> Checkpoint:
        rounding = COPIES.get(self._other)
        if rounding:
            return rounded_copy(self._checkpoint, rounding)
        return open_checkpoint(self._of(self._other), self.settings)

    @cached_property
    def comparison(self) -> CheckpointComparison:
        """What changed from the first checkpoint to the second."""
        first, second = self._checkpoint, self._second
        compared = compare_checkpoints(first, second)
        if not compared.tensors:
            raise TextError(f"{self.asked.model!r} and {self._other!r} have no tensor of one name and shape.")
        self.models = tuple(dict.fromkeys((each.name, each.revision) for each in (first, second)))
        return compared

    @cached_property
    def logarithmic(self) -> bool:
        """Whether the scale is of powers of ten."""
        return self.asked.setting("scale", SCALES) == SCALES[0]

    @cached_property
    def change_grid(self) -> TensorGrid:
        """How far each tensor moved."""
        tensors = self.comparison.tensors
        return tensor_grid([each.location for each in tensors], [each.relative_change for each in tensors])

    @cached_property
    def tensor_change(self) -> TensorChange:
        """One tensor that both have."""
        by_name = {each.name: each for each in self.comparison.tensors}
        return by_name[self._tensor_name("changed", list(by_name), most_changed(self.comparison))]

    @cached_property
    def value_histograms(self) -> ChangeHistograms:
        """Its values in both, and their differences."""
        chosen = self.tensor_change
        first, second = tensor_slices(self._checkpoint), tensor_slices(self._second)
        return change_histograms(first[chosen.name], second[chosen.second_name])

    @cached_property
    def _behaviour(self) -> Behaviour:
        rounding = COPIES.get(self._other, "")
        names = (self.asked.model, self.asked.model if rounding else self._other)
        first, second = (self._read_by(name) for name in names)
        require_same_ids(names[0], first, names[1], second)
        sources = [self._of(name) for name in names]
        models = [load_model(source, self.settings) for source in sources]
        if rounding:
            models[1] = round_weights(models[1], rounding)
        one, other = (trace(model, read) for model, read in zip(models, (first, second), strict=True))
        measured = behaviour(one, other)
        self.models = tuple(dict.fromkeys((each.name, each.revision) for each in sources))
        self.texts, self.notices = (measured.tokens.text, measured.tokens.pair), measured.notices
        return measured

    @cached_property
    def state_behaviour(self) -> Behaviour:
        """Two models on a text, with hidden states that can be compared."""
        measured = self._behaviour
        if measured.cosines is None:
            raise TextError(f"The hidden states of {measured.first!r} and {measured.second!r} have no rows in common.")
        return measured

    @cached_property
    def attention_behaviour(self) -> Behaviour:
        """Two models on a text, with heads that can be compared."""
        measured = self._behaviour
        if measured.divergences is None:
            raise TextError(f"The attention of {measured.first!r} and {measured.second!r} has no heads in common.")
        return measured
