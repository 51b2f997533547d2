"""Ablations for one text: effects of heads and blocks, joint ablation, activation patching."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from bertviz_core.errors import Named, Progress, TextError
from bertviz_core.interventions.ablation import RANDOM_ORDERS, all_effects, gradient_nbytes
from bertviz_core.interventions.ablation import ablation_curves as curves_of
from bertviz_core.interventions.ablation import ablation_effects as effects_of
from bertviz_core.interventions.ablation import joint_ablation as joint_of
from bertviz_core.interventions.hooks import head_gates, reference_texts
from bertviz_core.interventions.hooks import mean_activations as means_of
from bertviz_core.interventions.results import (
    EFFECT_KINDS,
    AblationCurve,
    AblationEffects,
    ActivationPatching,
    EffectComparison,
    EffectKind,
    JointAblation,
    MeanActivations,
)
from bertviz_core.interventions.runs import InterventionRuns
from bertviz_core.interventions.runs import patches as patches_of
from bertviz_core.interventions.target_parsing import OF_TWO_TEXTS
from bertviz_core.predictions.results import ClassPrediction
from bertviz_core.questions.interventions.targets import (
    MEASURE,
    TARGET,
    all_classes,
    layers_and_heads,
    read_tokens,
    target,
    target_of,
)
from bertviz_core.questions.opened import Opened, answered
from bertviz_core.questions.parameters import Options, Param, choice
from bertviz_core.questions.question import SILENT, Answer, AnswerCost, AnswerJob, after, long_question, question
from bertviz_core.text import escape_controls

FIRST_REMOVED, MOST_REMOVED = 6, 16
"""Default and maximum number of heads that are removed one after the other."""
SHORT = 60
"""Number of layers, with many runs each, above which the work is queued."""
MEAN = "its mean"
KIND = choice("kind", EFFECT_KINDS, "replacement of an ablated part")
GREEDY = "heads that are removed one after the other: at each step the one that moves the target furthest"
REMOVED = Param("removed_heads", "text", "heads that are removed together, each LAYER.HEAD, with commas between them")
ZEROS = "replacement of a removed head. Nothing: zeros. Its mean: the average of its output over a reference set"
REMOVED_FOR = choice("removed_for", ("nothing", MEAN), ZEROS, "In its place")
IN_PLACE: dict[str, EffectKind] = {"nothing": "zero", MEAN: "mean"}
"""Value of REMOVED_FOR -> kind of effect in results."""
NO_GRADIENTS = "is left out: its run needs more memory than is allowed (INSIDE_BERT_MAX_GRADIENT_BYTES)."
Place = tuple[int, int]
"""Layer and head."""


def _removable(opened: Opened, options: Options) -> tuple[int, int, int]:
    layers, heads = layers_and_heads(opened)
    return 1, min(layers * heads, MOST_REMOVED), FIRST_REMOVED


COUNT = Param("count", "whole", GREEDY, label="How many", bounds=_removable)


@dataclass(frozen=True, slots=True, eq=False)
class Removal:
    """Result of removing heads one after the other."""

    curves: tuple[AblationCurve, ...]
    """The target after each step, for each order."""
    greedy: JointAblation
    """Joint ablation of the heads in the greedy order."""


@question()
def mean_activations(opened: Opened, options: Options) -> Answer[MeanActivations]:
    """Mean activations over the default reference set."""
    return answered(opened, cached_mean_activations(opened, SILENT))


def cached_mean_activations(opened: Opened, progress: Progress) -> MeanActivations:
    """Mean activations over the default reference set, cached by model.

    Args:
        opened: the model.
        progress: called with texts done and their number.
    """
    return opened.get_or_compute(
        (__name__, "means"), lambda: means_of(opened.loaded, opened.tokenizer, progress=progress)
    )


def _effects_cost(opened: Opened, options: Options) -> AnswerCost:
    kinds, steps = allowed_kinds(opened, options), len(reference_texts())
    steps += opened.loaded.num_hidden_layers * len(kinds)
    return AnswerCost(steps, read_tokens(opened, options), effect_runs(opened, len(kinds)), short=SHORT)


@question(params=(TARGET, MEASURE, KIND))
def ablation_effects(opened: Opened, options: Options) -> Answer[AblationEffects]:
    """Change of the target when each head, feed-forward block or layer is ablated."""
    kind: EffectKind = options.choice(KIND, EFFECT_KINDS)
    number, limits = target(opened, options), opened.settings
    means = cached_mean_activations(opened, SILENT) if kind == "mean" else None
    effects = effects_of(number.result, kind, means, None, limits.max_batch_bytes, limits.max_gradient_bytes)
    return number.of(effects, effects.notices)


def _zero_cost(opened: Opened, options: Options) -> AnswerCost:
    layers = opened.loaded.num_hidden_layers
    return AnswerCost(layers, read_tokens(opened, options), effect_runs(opened, 1), short=SHORT)


@long_question(_zero_cost, params=(TARGET, MEASURE))
def zero_effects(opened: Opened, options: Options, job: AnswerJob[Answer[AblationEffects]]) -> Answer[AblationEffects]:
    """Effects of all parts by zero ablation; `effects` does not measure them again."""
    number, limits = target(opened, options), opened.settings
    effects = _cached_effects(opened, options)(
        "zero", lambda: effects_of(number.result, "zero", None, job, limits.max_batch_bytes)
    )
    return number.of(effects, effects.notices)


def _cached_effects(
    opened: Opened, options: Options
) -> Callable[[EffectKind, Callable[[], AblationEffects]], AblationEffects]:
    """Cache the effects of one kind by model and options."""
    return lambda kind, measure: opened.get_or_compute((__name__, kind, options.key()), measure)


@long_question(_effects_cost, figures=("effects",), params=(TARGET, MEASURE))
def effects(opened: Opened, options: Options, job: AnswerJob[Answer[EffectComparison]]) -> Answer[EffectComparison]:
    """Effects of all parts by zero and mean ablation, and a gradient estimate if memory permits."""
    number, limits, kinds = target(opened, options), opened.settings, allowed_kinds(opened, options)
    before = len(reference_texts())
    total = before + opened.loaded.num_hidden_layers * len(kinds)
    means = cached_mean_activations(opened, after(job, 0, total))

    def on_partial(compared: EffectComparison) -> None:
        job.show(number.of(compared, effect_comparison=compared, place=None))

    bounds = limits.max_batch_bytes, limits.max_gradient_bytes
    cached = _cached_effects(opened, options)
    compared = all_effects(number.result, kinds, means, after(job, before, total), *bounds, on_partial, cached)
    left_out = () if "gradient" in kinds else (f"The gradient estimate {NO_GRADIENTS}",)
    return number.of(compared, left_out, effect_comparison=compared, place=None)


def allowed_kinds(opened: Opened, options: Options) -> tuple[EffectKind, ...]:
    """The kinds of effects, without the gradient estimate if it needs too much memory."""
    need, allowed = gradient_need(opened, options)
    return tuple(kind for kind in EFFECT_KINDS if kind != "gradient" or need <= allowed)


def gradient_need(opened: Opened, options: Options) -> tuple[int, int]:
    """Estimated bytes of a run with gradients, and the limit; computed without a run."""
    _, heads = layers_and_heads(opened)
    need = gradient_nbytes(opened.loaded, len(read_tokens(opened, options)), heads)
    return need, opened.settings.max_gradient_bytes


def effect_runs(opened: Opened, kinds: int) -> int:
    """Estimated cost of all effects in runs; the layers below a changed part are computed once."""
    layers, heads = layers_and_heads(opened)
    return (layers * (heads + 2) // 2 + 1) * kinds


def _joint_cost(opened: Opened, options: Options) -> AnswerCost:
    places = removed_places(options)
    steps = means_steps(options) or len(places)
    return AnswerCost(steps, read_tokens(opened, options), len(places) + 1, short=SHORT)


@long_question(_joint_cost, params=(TARGET, MEASURE, REMOVED, REMOVED_FOR))
def joint_ablation(opened: Opened, options: Options, job: AnswerJob[Answer[JointAblation]]) -> Answer[JointAblation]:
    """Effect of removing heads together, and each alone."""
    number, means = target(opened, options), means_in_place(opened, options, job)
    runs = InterventionRuns(number.result, opened.settings.max_batch_bytes)
    return number.of(joint_of(runs, removed_places(options), means))


def removed_places(options: Options) -> tuple[Place, ...]:
    """Parse the heads to remove.

    Raises:
        TextError: there are none, or one is invalid.
    """
    value = options.get(REMOVED.key)
    parted = [each.split(".") for each in value.split(",")]
    if not all(len(each) == 2 and all(part.isdecimal() and len(part) < 9 for part in each) for each in parted):
        what = f"={escape_controls(value[:30])} here; give each head as LAYER.HEAD, with commas between them."
        raise TextError("There is no ", Named(REMOVED.key), what)
    return tuple((int(layer), int(head)) for layer, head in parted)


def named_places(places: Sequence[Place]) -> str:
    """Format heads for removed_places."""
    return ",".join(f"{layer}.{head}" for layer, head in places)


def _removal_cost(opened: Opened, options: Options) -> AnswerCost:
    (layers, heads), before = layers_and_heads(opened), means_steps(options)
    count = removed_count(options, layers * heads)
    runs = count * heads * layers + RANDOM_ORDERS * (count + 1)
    return AnswerCost(before + count + RANDOM_ORDERS, read_tokens(opened, options), runs, short=SHORT)


@long_question(_removal_cost, figures=("removal",), params=(TARGET, MEASURE, COUNT, REMOVED_FOR))
def ablation_curves(opened: Opened, options: Options, job: AnswerJob[Answer[Removal]]) -> Answer[Removal]:
    """The target as heads are removed in several orders, and the joint ablation of the greedy order."""
    number, limits, before = target(opened, options), opened.settings, means_steps(options)
    runs = InterventionRuns(number.result, limits.max_batch_bytes)
    count = removed_count(options, len(runs.places))
    total = before + count + RANDOM_ORDERS
    means = means_in_place(opened, options, after(job, 0, total))
    curves = curves_of(runs, count, means, after(job, before, total), limits.max_gradient_bytes)
    greedy = joint_of(runs, [(int(layer), int(head)) for layer, head in curves[0].places[0]], means)
    return number.of(Removal(curves, greedy), left_out_order(curves), ablation_curves=curves)


def left_out_order(curves: Sequence[AblationCurve]) -> tuple[str, ...]:
    """A notice if the order by gradients is missing."""
    has_order = any(each.order == "gradient" for each in curves)
    return () if has_order else (f"The order by gradients {NO_GRADIENTS}",)


def removed_count(options: Options, most: int) -> int:
    """Number of heads to remove; by default at most the number of heads of the model."""
    return options.whole(COUNT.key, MOST_REMOVED + 1, min(FIRST_REMOVED, most))


def means_in_place(opened: Opened, options: Options, progress: Progress) -> MeanActivations | None:
    """Mean activations that replace removed heads; None to replace them with zero."""
    return cached_mean_activations(opened, progress) if options.choice(REMOVED_FOR) == MEAN else None


def means_steps(options: Options) -> int:
    """Number of progress steps of means_in_place."""
    return len(reference_texts()) if options.choice(REMOVED_FOR) == MEAN else 0


def _patches_cost(opened: Opened, options: Options) -> AnswerCost:
    layers, heads = layers_and_heads(opened)
    runs = layers * (len(opened.tokens(options.pair or "", None)) + heads)
    return AnswerCost(layers, opened.tokens(options.text(), None), runs, short=SHORT)


@long_question(_patches_cost, figures=("patched-heads", "patched-states"), params=(TARGET, MEASURE))
def patches(opened: Opened, options: Options, job: AnswerJob[Answer[ActivationPatching]]) -> Answer[ActivationPatching]:
    """Activation patching: each state and head output of the text is copied into a run of the second text."""
    other = options.pair
    if other is None:
        what = "A patch needs a second text, into whose run is copied; give one ("
        raise TextError(what, Named("pair"), ").")
    apart = options.get(TARGET.key, "cosine") in OF_TWO_TEXTS
    number = target_of(opened, options, options.text(), other if apart else None)
    runs = InterventionRuns(number.result, opened.settings.max_batch_bytes)
    patched = patches_of(runs, opened.tokens(other, None), job)
    return replace(number.of(patched, patches=patched), texts=(options.text(), other))


@question(params=(TARGET, REMOVED))
def classes_without(opened: Opened, options: Options) -> Answer[tuple[ClassPrediction, ClassPrediction]]:
    """Class probabilities of the unchanged model, and without some heads."""
    number, ask = target(opened, options), all_classes(opened, options)
    runs = InterventionRuns(number.result)
    gates = head_gates([removed_places(options)], runs.layers, max(runs.head_counts), number.result.loaded.device)
    with runs.removed(gates):
        without = ask()
    return number.of((ask(), without))
