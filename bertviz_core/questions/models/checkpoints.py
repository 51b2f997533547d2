"""Questions about checkpoints: weights, adapters, rounded copies, two of them."""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from bertviz_core.checkpoints.behaviour import behaviour, require_same_ids
from bertviz_core.checkpoints.comparison import change_histograms, compare_checkpoints
from bertviz_core.checkpoints.health import diagnose_weights
from bertviz_core.checkpoints.layer_similarity import layer_similarity as compared_layers
from bertviz_core.checkpoints.load_report.report import source_load_report
from bertviz_core.checkpoints.load_report.results import HeadDifference, LoadReport
from bertviz_core.checkpoints.load_report.task_heads import source_head_difference
from bertviz_core.checkpoints.results import (
    Behaviour,
    ChangeHistograms,
    CheckpointComparison,
    CheckpointStatistics,
    Histogram,
    LayerSimilarity,
    TensorGrid,
)
from bertviz_core.checkpoints.rounding import COPIES, Rounding, copy_name
from bertviz_core.checkpoints.tensor_map import locations, sorted_grid, tensor_grid
from bertviz_core.checkpoints.tensor_statistics import Tell, tensor_histogram
from bertviz_core.checkpoints.tensor_statistics import checkpoint_statistics as measured_statistics
from bertviz_core.checkpoints.values import Checkpoint, open_checkpoint, rounded_copy, tensor_slices
from bertviz_core.errors import BertvizError, Named, Progress, TextError
from bertviz_core.figures.checkpoints.comparison import LAYER_MEASURES, most_changed
from bertviz_core.figures.checkpoints.load_report import UPDATE_MEASURES, update_numbers
from bertviz_core.figures.checkpoints.weights import STATISTICS, drawn_range, first_matrix, statistic_numbers
from bertviz_core.models.loading import LoadedModel
from bertviz_core.models.local_files import saved_class
from bertviz_core.models.skeleton import initial_deviations
from bertviz_core.parameters.adapters.results import AdapterUpdates
from bertviz_core.parameters.adapters.updates import adapter_updates as measured_updates
from bertviz_core.predictions.probing.reading import MAX_TEXTS, example_set
from bertviz_core.predictions.probing.results import Probe
from bertviz_core.predictions.probing.scores import layer_vectors
from bertviz_core.predictions.run import HeadModel, stored_task
from bertviz_core.questions.models.architecture import count_notices
from bertviz_core.questions.opened import Opened, answered, names_of
from bertviz_core.questions.parameters import Options, Param, choice
from bertviz_core.questions.question import Answer, AnswerCost, Job, after, long_question, question
from bertviz_core.sentences.lists import read_sentences
from bertviz_core.settings import Settings
from bertviz_core.text import bytes_text, escape_controls, quoted
from bertviz_core.trace.isolated.file_tokenizer import receipt_sentence
from bertviz_core.trace.results import Tokens, Trace
from bertviz_core.trace.run import trace

SCALES = ("powers of ten", "even")
MAX_LABELS = 10_000
MEBIBYTE = 1024**2
SLOW_NBYTES = 4 * 1024**3
"""Bytes above which reading, which takes about ten seconds, is confirmed first."""
FOLLOWED_IN_PART = "Not all that decides the model's numbers is followed, though: see the notices."
LABELS = Param("labels", "whole", "labels of a classification head, those of the config by default")
OTHER = Param("other", "text", "the second model, or a rounded copy of the first")
STATISTIC = choice("statistic", tuple(STATISTICS), "the number of every tensor that is drawn", "Of each tensor")
WEIGHTS_SCALE = choice(
    "weights_scale",
    SCALES[::-1],
    "the scale of that number; powers of ten show small ones next to large ones, an even scale leaves out extreme ones",
    "Colour scale",
)
TENSOR = Param("tensor", "text", "name of a tensor")
CHANGED = Param("changed", "text", "name of a tensor that both checkpoints have")
SCALE = choice(
    "scale", SCALES, "the scale of the changes; powers of ten show small ones next to large ones", "Colour scale"
)
ORDER = choice(
    "change_order",
    ("as in the model", "modules by change", "layers by change", "both by change"),
    "what is ordered by its largest change; rows and columns keep their names",
    "Order",
)


@question(figures=("load-report",), params=(LABELS,))
def load_report(opened: Opened, options: Options) -> Answer[LoadReport]:
    """Which weights of a task class the file contains; only its header is read."""
    return load_report_of(opened, options.task or "base", _labels(options))


def load_report_of(opened: Opened, task: str, labels: int | None) -> Answer[LoadReport]:
    """The load report for a number of labels; None for that of the config."""
    report = source_load_report(opened.source, task, opened.settings, labels)
    try:
        compared = opened.tokenizer.receipt
    except BertvizError:  # the report is about the weights, and the tokenizer may be elsewhere, or in no file
        compared = None
    sentences = [report.suggestion, *([FOLLOWED_IN_PART] if opened.notices else [])]
    sentences += [] if compared is None else [receipt_sentence(compared)]
    notices = (*opened.notices, *(() if compared is None else opened.tokenizer.notices))
    report = replace(report, suggestion=" ".join(sentences), notices=notices)
    return answered(opened, report, (report.suggestion, *notices), report=report)


@question(figures=("task-head",), params=(LABELS,))
def task_head(opened: Opened, options: Options) -> Answer[HeadDifference]:
    """Comparison of a task class with the base model."""
    difference = source_head_difference(opened.source, options.task or "base", _labels(options))
    return answered(opened, difference, head_difference=difference)


def _drawn_deviations(opened: Opened) -> Mapping[str, float]:
    """Standard deviations of what the saved class draws for its parameters."""
    read = opened_checkpoint(opened)
    named = saved_class(read.config)
    return opened.get_or_compute((__name__, "drawn"), lambda: initial_deviations(read.name, read.config, named))


def _statistics_cost(opened: Opened, options: Options) -> AnswerCost:
    return _read_cost(opened_checkpoint(opened))


@long_question(_statistics_cost, noun="MiB")
def checkpoint_statistics(
    opened: Opened, options: Options, job: Job[CheckpointStatistics]
) -> Answer[CheckpointStatistics]:
    """Mean, spread, extremes, zeros and NaN of every tensor, and signs of untrained or broken weights."""
    statistics = statistics_of(opened, _reading(job))
    signs = diagnose_weights(statistics, opened_checkpoint(opened).config, _drawn_deviations(opened))
    return answered(opened, statistics, (*count_notices(opened), *(each.sentence for each in signs)), signs=signs)


@question(figures=("weights",), params=(STATISTIC, WEIGHTS_SCALE))
def tensor_statistics(opened: Opened, options: Options) -> Answer[TensorGrid]:
    """A statistic of every tensor, by layer and name."""
    statistic, statistics = options.choice(STATISTIC), statistics_of(opened)
    grid = tensor_grid([each.location for each in statistics.tensors], statistic_numbers(statistics, statistic))
    logarithmic = options.choice(WEIGHTS_SCALE) == SCALES[0]
    drawn = {"statistic": statistic, "model_name": opened.source.name, "statistic_logarithmic": logarithmic}
    return answered(opened, grid, count_notices(opened), statistic_grid=grid, statistics=statistics, **drawn)


@question(figures=("values",), params=(TENSOR,))
def tensor_values(opened: Opened, options: Options) -> Answer[Histogram]:
    """Histogram of the values of a tensor."""
    checkpoint, statistics = opened_checkpoint(opened), statistics_of(opened)
    by_name = statistics.by_name()
    tensor = by_name[_tensor_name(options, TENSOR, list(by_name), first_matrix(statistics))]
    if not tensor.finite:
        raise TextError(f"No value of {escape_controls(tensor.name)!r} is finite, so there is no histogram of it.")
    deviation = _drawn_deviations(opened).get(tensor.location.module_name)
    values = tensor_histogram(tensor_slices(checkpoint)[tensor.name], *drawn_range(tensor, deviation))
    drawn = {"initial_deviation": deviation, "tensor": tensor, "model_name": opened.source.name}
    return answered(opened, values, histogram=values, **drawn)


def _comparison_cost(opened: Opened, options: Options) -> AnswerCost:
    return _read_cost(*both_checkpoints(opened, options))


@long_question(_comparison_cost, params=(OTHER,), noun="MiB")
def checkpoint_comparison(
    opened: Opened, options: Options, job: Job[CheckpointComparison]
) -> Answer[CheckpointComparison]:
    """Comparison of two checkpoints: tensors added, removed and resized, and the change of the others."""
    compared = comparison_of(opened, options, _reading(job))
    counts = (f"{each.name}: {notice}" for each in both_models(opened, options) for notice in count_notices(each))
    notices = tuple(dict.fromkeys((*compared.notices, *counts)))
    first, second = both_checkpoints(opened, options)
    models = tuple(dict.fromkeys((each.name, each.revision) for each in (first, second)))
    return Answer(compared, models, notices=notices)


@question(figures=("changes",), params=(OTHER, SCALE, ORDER))
def changes(opened: Opened, options: Options) -> Answer[CheckpointComparison]:
    """Relative change of each tensor between two checkpoints."""
    answer = _with_common_tensors(opened, options)
    compared, tensors = answer.result, answer.result.tensors
    grid = tensor_grid([each.location for each in tensors], [each.relative_change for each in tensors])
    order = options.choice(ORDER)
    grid = sorted_grid(grid, order.startswith(("modules", "both")), order.startswith(("layers", "both")))
    drawn = {"change_grid": grid, "comparison": compared, "logarithmic": options.choice(SCALE) == SCALES[0]}
    return answer.of(compared, **drawn)


@question(figures=("change",), params=(OTHER, CHANGED))
def tensor_change(opened: Opened, options: Options) -> Answer[ChangeHistograms]:
    """Histograms of a tensor in two checkpoints, and of the differences."""
    answer, (first, second) = _with_common_tensors(opened, options), both_checkpoints(opened, options)
    compared = answer.result
    by_name = {each.name: each for each in compared.tensors}
    chosen = by_name[_tensor_name(options, CHANGED, list(by_name), most_changed(compared))]
    values = change_histograms(tensor_slices(first)[chosen.name], tensor_slices(second)[chosen.second_name])
    drawn = {"value_histograms": values, "tensor_change": chosen, "comparison": compared}
    return answer.of(values, **drawn)


def _behaviours_cost(opened: Opened, options: Options) -> AnswerCost:
    read = require_same_text(opened, options)
    return AnswerCost(opened.loaded.num_hidden_layers, read, 2)


@long_question(_behaviours_cost, params=(OTHER,), noun="layers")
def behaviours(opened: Opened, options: Options, job: Job[Behaviour]) -> Answer[Behaviour]:
    """Comparison of two models on a text: cosines of hidden states, divergence of attention."""
    read, other = require_same_text(opened, options), other_name(options)
    first = opened.trace(read)
    if other in COPIES:
        second = trace(opened.rounded(COPIES[other]), read)
    else:
        second = opened.other(other).trace(opened.other(other).tokens(options.text(), options.pair))
    measured, models = behaviour(first, second, job), names_of(*both_models(opened, options))
    drawn = {"device": first.device, "dtype": first.dtype}
    return Answer(measured, models, (measured.tokens.text, measured.tokens.pair), measured.notices, drawn)


def require_same_text(opened: Opened, options: Options) -> Tokens:
    """Tokens of the text, which must be the same for both models."""
    other, read = other_name(options), opened.tokens(options.text(), options.pair)
    if other not in COPIES:
        require_same_ids(opened.name, read, other, opened.other(other).tokens(options.text(), options.pair))
    return read


@question(figures=("cosines",), params=(OTHER,))
def state_cosines(opened: Opened, options: Options) -> Answer[Behaviour]:
    """Cosines of the hidden states of two models."""
    answer = behaviours(opened, options)
    if answer.result.cosines is None:
        both = f"{answer.result.first!r} and {answer.result.second!r}"
        raise TextError(f"The hidden states of {both} have no rows in common.")
    return answer.of(answer.result, state_behaviour=answer.result)


@question(figures=("divergences",), params=(OTHER,))
def attention_divergences(opened: Opened, options: Options) -> Answer[Behaviour]:
    """Divergence of the attention of two models."""
    answer = behaviours(opened, options)
    if answer.result.divergences is None:
        both = f"{answer.result.first!r} and {answer.result.second!r}"
        raise TextError(f"The attention of {both} has no heads in common.")
    return answer.of(answer.result, attention_behaviour=answer.result)


def _labels(options: Options) -> int | None:
    return options.whole(LABELS.key, MAX_LABELS + 1, 0) or None


def opened_checkpoint(opened: Opened) -> Checkpoint:
    """Read the headers of the checkpoint in its current state."""
    return open_checkpoint(opened.source, opened.settings)


def _read_cost(*files: Checkpoint) -> AnswerCost:
    """The cost of reading all weights, one step for each MiB."""
    nbytes = sum(each.nbytes for each in files)
    reason = f"{bytes_text(nbytes)} of weights are read for this, piece by piece."
    slow = reason if nbytes > SLOW_NBYTES else ""
    return AnswerCost(max(nbytes // MEBIBYTE, 1), slow=slow, action="Read the weights")


def _reading(job: Progress) -> Tell:
    """Convert bytes read to steps."""
    return lambda done, total, _: job(done // MEBIBYTE, max(total // MEBIBYTE, 1))


def statistics_of(opened: Opened, progress: Tell | None = None) -> CheckpointStatistics:
    """Compute statistics of every tensor, which reads all weights."""
    checkpoint = opened_checkpoint(opened)
    return opened.get_or_compute(read_key(checkpoint), lambda: measured_statistics(checkpoint, progress))


def comparison_of(opened: Opened, options: Options, progress: Tell | None = None) -> CheckpointComparison:
    """Compare two checkpoints, which reads all weights of both."""
    first, second = both_checkpoints(opened, options)
    return opened.get_or_compute(read_key(first, second), lambda: compare_checkpoints(first, second, progress))


def copied_from(rounding: Rounding) -> Options:
    """Options for the comparison of a model with its own copy in a format."""
    return Options(values={OTHER.key: next(name for name, each in COPIES.items() if each == rounding)})


def other_name(options: Options) -> str:
    """Name of the other checkpoint; raises TextError if none is given."""
    if not options.get(OTHER.key):
        raise TextError("This figure compares two checkpoints, and one came; give ", Named(OTHER.key), "=MODEL.")
    return options.get(OTHER.key)


def read_key(*files: Checkpoint) -> Hashable:
    """Cache key of the statistics of a checkpoint, or of the comparison of two."""
    return (__name__, "read", *((each.name, each.revision) for each in files))


def both_checkpoints(opened: Opened, options: Options) -> tuple[Checkpoint, Checkpoint]:
    """Both checkpoints, of which the second changed from the first.

    The second is the other model or a copy with reduced precision; but the base of an adapter is always the first, so
    that its change is relative to the same norms as in the run that trained it.
    """
    own, other = opened_checkpoint(opened), other_name(options)
    rounding = COPIES.get(other)
    if rounding:
        return own, rounded_copy(own, rounding)
    second, adapter = opened.other(other), opened.source.adapter
    both = own, opened_checkpoint(second)
    return both[::-1] if adapter is not None and adapter.base.folder == second.source.folder else both


def both_models(opened: Opened, options: Options) -> tuple[Opened, ...]:
    """Both models; the opened one alone where the other is a rounded copy of it."""
    other = other_name(options)
    return (opened,) if other in COPIES else (opened, opened.other(other))


def _with_common_tensors(opened: Opened, options: Options) -> Answer[CheckpointComparison]:
    answer = checkpoint_comparison(opened, Options(values={OTHER.key: other_name(options)}))
    if not answer.result.tensors:
        raise TextError(f"{opened.name!r} and {other_name(options)!r} have no tensor of one name and shape.")
    return answer


def _tensor_name(options: Options, param: Param, names: Sequence[str], default: str) -> str:
    name = options.get(param.key, default)
    if name not in names:
        raise TextError(f"There is no tensor {escape_controls(name[:80])!r} here; give a name such as {default!r}.")
    return name


UPDATE_MEASURE = choice(
    "update_measure",
    UPDATE_MEASURES,
    "the number of every update of an adapter that is drawn; the stable rank says over how many directions it has",
    "Of each update",
)


@question(figures=("adapter-updates",), params=(UPDATE_MEASURE,))
def adapter_updates(opened: Opened, options: Options) -> Answer[AdapterUpdates]:
    """Norm, rank and singular values of what an adapter adds to each matrix of its base."""
    measure = options.choice(UPDATE_MEASURE)
    updates = opened.get_or_compute((__name__, "updates"), lambda: measured_updates(opened.source, opened.settings))
    grid = update_grid(opened, updates, measure)
    drawn = {"update_grid": grid, "adapter_updates": updates, "update_measure": measure}
    return answered(opened, updates, _notices(updates), **drawn)


def update_grid(opened: Opened, updates: AdapterUpdates, measure: str) -> TensorGrid:
    """Arrange one number of every update by modules and layers."""
    places = opened.get_or_compute(
        (__name__, "places"), lambda: locations(open_checkpoint(opened.source, opened.settings))
    )
    numbers = dict(zip((each.name for each in updates.updates), update_numbers(updates, measure), strict=True))
    changed = [place for place in places if place.name in numbers]
    return tensor_grid(changed, [numbers[place.name] for place in changed])


def _notices(updates: AdapterUpdates) -> tuple[str, ...]:
    """Notices about the adapter, and about updates that are not finite."""
    bad = [each.name for each in updates.updates if not math.isfinite(each.norm)]
    if not bad:
        return updates.notices
    broken = (f"{len(bad):,} of the updates hold NaN or infinity ({quoted(bad[0])}, ...); they have no norm.",)
    return (*updates.notices, *broken)


T = TypeVar("T")


class ModelVariant(Opened):
    """A model that takes from an opened model whatever it does not change."""

    def __init__(self, original: Opened) -> None:
        """Refer to the opened model, which stays as it is."""
        self._original = original

    name = property(lambda self: self._original.name)
    settings = property(lambda self: self._original.settings)
    source = property(lambda self: self._original.source)
    tokenizer = property(lambda self: self._original.tokenizer)

    def rounded(self, rounding: Rounding) -> LoadedModel:
        """A copy of the original with rounded weights."""
        return self._original.rounded(rounding)

    def head(self, task: str | None) -> HeadModel:
        """The original with the head of a task."""
        return self._original.head(task)

    def probe(self, argument: str) -> tuple[Probe, str]:
        """The probe of a target "probe:FILE", and the class in it."""
        return self._original.probe(argument)

    def tokens(self, text: str, pair: str | None) -> Tokens:
        """Tokenize a text or pair."""
        return self._original.tokens(text, pair)

    def other(self, name: str) -> Opened:
        """Open another model with the same settings."""
        return self._original.other(name)


class RoundedModel(ModelVariant):
    """A model whose weights are rounded to a number format; tokenizer, settings and cache are those of the original."""

    def __init__(self, original: Opened, rounding: Rounding) -> None:
        """Refer to the copy without loading it."""
        super().__init__(original)
        self._rounding = rounding
        self._heads: dict[str, HeadModel] = {}

    name = property(lambda self: copy_name(self._original.name, self._rounding))

    @property
    def loaded(self) -> LoadedModel:
        """The copy in memory."""
        return self._original.rounded(self._rounding)

    def head(self, task: str | None) -> HeadModel:
        """The copy with the head of a task, loaded once."""
        known = task or stored_task(self.source)
        if known not in self._heads:
            self._heads[known] = self._original.rounded_head(known, self._rounding)
        return self._heads[known]

    def trace(self, tokens: Tokens) -> Trace:
        """Run the copy on tokens."""
        return trace(self.loaded, tokens)

    def get_or_compute(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return a cached value of the copy, or compute it."""
        return self._original.get_or_compute((__name__, self._rounding, key), make)


def second_model(opened: Opened, options: Options) -> Opened:
    """The other model of a comparison, which may be a rounded copy of the first."""
    other = other_name(options)
    if other in COPIES:
        return RoundedModel(opened, COPIES[other])
    second = opened.other(other)
    _ = second.source  # fail early if there is no such model
    return second


LAYER_MEASURE = choice("layer_measure", LAYER_MEASURES, "the number of two layers that is drawn", "Of two layers")


def compared_texts(settings: Settings, options: Options) -> tuple[str, ...]:
    """The given texts, one on each line; by default the example set."""
    if not options.texts:
        return example_set().texts
    texts = read_sentences("The list", "\n".join(options.texts), settings).sentences
    if len(texts) > MAX_TEXTS:
        raise TextError(f"The list has {len(texts):,} texts; at most {MAX_TEXTS:,} are compared. Give some of it.")
    return tuple(texts)


def _cost(opened: Opened, options: Options) -> AnswerCost:
    return AnswerCost(2 * len(compared_texts(opened.settings, options)))


@long_question(_cost, figures=("layer-similarity", "text-cosines"), params=(OTHER, LAYER_MEASURE), noun="texts")
def layer_similarity(opened: Opened, options: Options, job: Job[LayerSimilarity]) -> Answer[LayerSimilarity]:
    """CKA and shared neighbours of all layers of two models over many texts, and the mean cosine of the texts."""
    texts, other = compared_texts(opened.settings, options), other_name(options)
    measure, total = options.choice(LAYER_MEASURE), 2 * len(texts)
    second = both_models(opened, options)[-1]
    sides = []
    for place, (subject, rounding) in enumerate(((opened, None), (second, COPIES.get(other)))):
        loaded = subject.loaded if rounding is None else subject.rounded(rounding)
        done = after(job, place * len(texts), total)
        sides.append((loaded.name, layer_vectors(loaded, subject.tokenizer, texts, "mean", done)))
    (first_name, first), (second_name, vectors) = sides
    compared = compared_layers((first_name, second_name), first, vectors)
    models = names_of(opened, second)
    return Answer(compared, models, (), compared.notices, {"layer_similarity": compared, "layer_measure": measure})
