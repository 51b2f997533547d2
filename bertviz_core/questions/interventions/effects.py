"""Questions about effects of heads: of one text, of many."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

from bertviz_core.errors import Named, Progress, TextError
from bertviz_core.interventions.ablation import RANDOM_ORDERS, accuracy_steps, all_effects, gradient_nbytes
from bertviz_core.interventions.ablation import ablation_curves as curves_of
from bertviz_core.interventions.ablation import ablation_effects as effects_of
from bertviz_core.interventions.ablation import accuracy_curves as accuracies_of
from bertviz_core.interventions.ablation import effect_spread as spread_of
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
    EffectSpread,
    JointAblation,
    MeanActivations,
)
from bertviz_core.interventions.runs import InterventionRuns
from bertviz_core.interventions.runs import patches as patches_of
from bertviz_core.interventions.target_parsing import OF_TWO_TEXTS, parse_target
from bertviz_core.interventions.targets import Target, class_target, probe_target
from bertviz_core.journey.changes import Change, ablated_model, ablated_trace, masked_tokens
from bertviz_core.models.loading import LoadedModel
from bertviz_core.predictions.classes import class_predictions, output_names, output_scoring
from bertviz_core.predictions.probing.reading import config_classes, drawn, example_set, fitting_set, optional_labels
from bertviz_core.predictions.probing.results import LabelledTexts, Probe
from bertviz_core.predictions.probing.scores import probe_predictions
from bertviz_core.predictions.results import ClassPrediction
from bertviz_core.questions.interventions.targets import (
    MEASURE,
    TARGET,
    all_classes,
    chosen_probe,
    layers_and_heads,
    read_tokens,
    target,
    target_of,
)
from bertviz_core.questions.models.checkpoints import ModelVariant
from bertviz_core.questions.opened import Opened, answered
from bertviz_core.questions.parameters import Options, Param, choice
from bertviz_core.questions.question import SILENT, Answer, AnswerCost, Job, after, long_question, question
from bertviz_core.sentences.lists import read_sentences
from bertviz_core.text import escape_controls, quoted
from bertviz_core.trace.results import Tokens, Trace

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
MOST_NEAR = 16
"""Most labelled texts that are classified to find one with another answer."""
IN_PLACE: dict[str, EffectKind] = {"nothing": "zero", MEAN: "mean"}
"""Value of REMOVED_FOR -> kind of effect in results."""
NO_GRADIENTS = "is left out: its run needs more memory than is allowed (INSIDE_BERT_MAX_GRADIENT_BYTES)."
Place = tuple[int, int]


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
    """Mean activations over the default reference set, cached by model."""
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
    effects = effects_of(number.result, kind, means, SILENT, limits.max_batch_bytes, limits.max_gradient_bytes)
    return number.of(effects, effects.notices)


def _zero_cost(opened: Opened, options: Options) -> AnswerCost:
    layers = opened.loaded.num_hidden_layers
    return AnswerCost(layers, read_tokens(opened, options), effect_runs(opened, 1), short=SHORT)


@long_question(_zero_cost, params=(TARGET, MEASURE))
def zero_effects(opened: Opened, options: Options, job: Job[AblationEffects]) -> Answer[AblationEffects]:
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
def effects(opened: Opened, options: Options, job: Job[EffectComparison]) -> Answer[EffectComparison]:
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


@long_question(_joint_cost, figures=("joint-ablation",), params=(TARGET, MEASURE, REMOVED, REMOVED_FOR))
def joint_ablation(opened: Opened, options: Options, job: Job[JointAblation]) -> Answer[JointAblation]:
    """Effect of removing heads together, and each alone."""
    number, means = target(opened, options), means_in_place(opened, options, job)
    runs = InterventionRuns(number.result, opened.settings.max_batch_bytes)
    removal = joint_of(runs, removed_places(options), means)
    return number.of(removal, joint_ablation=removal)


def removed_places(options: Options) -> tuple[Place, ...]:
    """Parse the heads to remove."""
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
def ablation_curves(opened: Opened, options: Options, job: Job[Removal]) -> Answer[Removal]:
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
def patches(opened: Opened, options: Options, job: Job[ActivationPatching]) -> Answer[ActivationPatching]:
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


def nearest_other_answer(opened: Opened, text: str) -> str | None:
    """The labelled text of the head's classes that has another answer and differs in the fewest tokens.

    It has as many tokens as the text, of which most are the same; None if there is none.
    """
    listed = fitting_set(config_classes(opened.source.config))
    tokens = opened.tokens(text, None)
    read = [opened.tokens(each, None) for each in listed.texts] if listed else []
    apart = {each: int((each.input_ids != tokens.input_ids).sum()) for each in read if len(each) == len(tokens)}
    near = sorted((each for each in apart if 0 < 2 * apart[each] < len(tokens)), key=apart.__getitem__)[:MOST_NEAR]
    if not near:
        return None
    first, *others = class_predictions(opened.head("sequence-classification"), [tokens, *near])
    answer = int(first.logits.argmax())
    return next((each.text for each, one in zip(near, others, strict=True) if one.logits.argmax() != answer), None)


@question(params=(TARGET, REMOVED))
def classes_without(opened: Opened, options: Options) -> Answer[tuple[ClassPrediction, ClassPrediction]]:
    """Class probabilities of the unchanged model, and without some heads."""
    number, ask = target(opened, options), all_classes(opened, options)
    runs = InterventionRuns(number.result)
    gates = head_gates([removed_places(options)], runs.layers, max(runs.head_counts), number.result.loaded.device)
    with runs.removed(gates):
        without = ask()
    return number.of((ask(), without))


T = TypeVar("T")


class ChangedModel(ModelVariant):
    """An opened model whose every run has one change; its answers are cached apart from those without it."""

    def __init__(self, opened: Opened, change: Change, heads: int, means: MeanActivations | None) -> None:
        """Change an opened model, which stays as it is.

        Args:
            change: a masked token, or an ablated head or layer.
        """
        super().__init__(opened)
        self._change, self._heads, self._means = change, heads, means

    @cached_property
    def loaded(self) -> LoadedModel:
        """The model in memory, with the change in its runs."""
        plain = self._original.loaded
        return plain if self._change.kind == "mask" else ablated_model(plain, self._change, self._heads, self._means)

    def trace(self, tokens: Tokens) -> Trace:
        """Run the model on tokens, with the change."""
        if self._change.kind == "mask":
            return self._original.trace(masked_tokens(self.tokenizer, tokens, self._change.at))
        plain, change = self._original.loaded, self._change
        return self.get_or_compute(
            (__name__, "trace", *tokens.identity),
            lambda: ablated_trace(plain, tokens, change, self._heads, self._means),
        )

    def other(self, name: str) -> Opened:
        """Open another model with the same settings, without the change."""
        return self if name == self.name else self._original.other(name)

    def get_or_compute(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return a cached value of the changed model, or compute it."""
        change = self._change
        named = (__name__, "changed", change.kind, change.at, change.head, self._means is not None, key)
        # In a tuple, since the cache of a server would put the unchanged run into an answer that contains the run.
        return self._original.get_or_compute(named, lambda: (make(),))[0]


OF_LISTS = ("cosine", "late-interaction", "class", "probe")
"""Kinds of targets that are supported for many texts."""
NAMED = 5
"""Maximum number of classes named in a notice."""
TEXTS_DRAWN = choice("effect_count", ("10", "25", "50"), "texts that are drawn from the example set")


def _spread_cost(opened: Opened, options: Options) -> AnswerCost:
    texts = listed_texts(opened, options).texts
    steps = means_steps(options) + opened.loaded.num_hidden_layers * len(texts)
    return AnswerCost(steps, _longest(opened, options, texts), effect_runs(opened, len(texts)), short=SHORT)


@long_question(_spread_cost, figures=("effect-spread",), params=(TARGET, MEASURE, TEXTS_DRAWN, REMOVED_FOR))
def effect_spread(opened: Opened, options: Options, job: Job[EffectSpread]) -> Answer[EffectSpread]:
    """Mean and spread of the effect of every head over a list of texts; intermediate results cover the first texts."""
    pair, listed = options.pair, listed_texts(opened, options)
    texts = listed.texts
    if parse_target(options.values.get(TARGET.key), pair is not None).kind not in OF_LISTS:
        raise TextError(
            "This figure is of many texts; take the cosine, the late interaction, a class or a probe as the target."
        )
    kind, layers, before = IN_PLACE[options.choice(REMOVED_FOR)], opened.loaded.num_hidden_layers, means_steps(options)
    total = before + layers * len(texts)
    means = means_in_place(opened, options, after(job, 0, total))
    found: list[AblationEffects] = []
    for text in texts:
        number = target_of(opened, options, text, pair).result
        done = after(job, before + len(found) * layers, total)
        found.append(effects_of(number, kind, means, done, opened.settings.max_batch_bytes))
        if len(found) > 1:
            so_far = spread_of(found)
            job.show(answered(opened, so_far, effect_spread=so_far))
    spread = spread_of(found)
    return answered(opened, spread, listed.notices, effect_spread=spread)


def _accuracy_cost(opened: Opened, options: Options) -> AnswerCost:
    texts, _ = _labelled(opened, options)
    layers, heads = layers_and_heads(opened)
    count = removed_count(options, layers * heads)
    runs = len(texts) * (count * heads * layers + (2 + RANDOM_ORDERS) * (count + 1))
    steps = means_steps(options) + accuracy_steps(len(texts), count)
    return AnswerCost(steps, _longest(opened, options, texts), runs, short=SHORT)


@long_question(_accuracy_cost, figures=("accuracy",), params=(TARGET, COUNT, TEXTS_DRAWN, REMOVED_FOR))
def accuracy_curves(
    opened: Opened, options: Options, job: Job[tuple[AblationCurve, ...]]
) -> Answer[tuple[AblationCurve, ...]]:
    """Accuracy of the head of the model, or of a probe, as heads are removed."""
    texts, labels = _labelled(opened, options)
    probe, limits, before = chosen_probe(opened, options), opened.settings, means_steps(options)
    targets, answers = _of_head(opened, texts, labels) if probe is None else _of_probe(opened, probe, texts, labels)
    runs = [InterventionRuns(each, limits.max_batch_bytes) for each in targets]
    count = removed_count(options, len(runs[0].places))
    total = before + accuracy_steps(len(texts), count)
    means, done = means_in_place(opened, options, after(job, 0, total)), after(job, before, total)
    curves = accuracies_of(runs, count, answers, labels, means, done, limits.max_gradient_bytes)
    return answered(opened, curves, left_out_order(curves), accuracy_curves=curves)


def listed_texts(opened: Opened, options: Options) -> LabelledTexts:
    """The given texts, each a sentence with an optional tab and label; by default a part of an example set."""
    if options.texts:
        return optional_labels(read_sentences("The list", "\n".join(options.texts), opened.settings))
    return drawn(listed_examples(opened, options), int(options.choice(TEXTS_DRAWN)))


def listed_examples(opened: Opened, options: Options) -> LabelledTexts:
    """The example set whose labels are the classes of the target; if there is none, the first, with a notice."""
    kind, _, argument = options.get(TARGET.key).partition(":")
    if kind not in ("", "class", "probe"):
        return example_set()
    classes = opened.probe(argument)[0].classes if kind == "probe" else config_classes(opened.source.config)
    examples, fitting = example_set(), fitting_set(classes)
    if fitting is not None or kind != "class":
        return fitting or examples
    named = ", ".join(quoted(each, 40) for each in classes[:NAMED]) or "not named in its config"
    own = f"the classes of this task head are {named}" if classes[1:] else "this task head gives one number"
    notice = (
        f"The sentences of {examples.name} are about {', '.join(examples.classes)}, and {own}: its effects may have "
        "another sign on texts like those of its training. Give a list of your own."
    )
    return replace(examples, notices=(*examples.notices, notice))


def list_classes(opened: Opened, options: Options) -> tuple[str, ...]:
    """Classes of the target's head or probe; () for any other target."""
    spec = parse_target(options.get(TARGET.key), has_pair=True)
    if spec.kind == "probe":
        return opened.probe(spec.argument)[0].classes
    if spec.kind != "class":
        return ()
    head = opened.head("sequence-classification")
    return output_names(head, int(head.model.config.num_labels))[0] if output_scoring(head) == "softmax" else ()


def _labelled(opened: Opened, options: Options) -> tuple[list[str], list[str]]:
    listed = listed_texts(opened, options)
    pairs = [pair for pair in zip(listed.texts, listed.labels, strict=True) if pair[1]]
    if not pairs:
        raise TextError("This figure counts right answers; give each text its label behind a tab.")
    return [text for text, _ in pairs], [label for _, label in pairs]


def _longest(opened: Opened, options: Options, texts: tuple[str, ...] | list[str]) -> Tokens:
    return max((read_tokens(opened, options, text) for text in texts), key=len)


def _of_head(opened: Opened, texts: list[str], labels: list[str]) -> tuple[list[Target], Callable[[], list[str]]]:
    """A target for each text, and a function that predicts all labels with the head of the model."""
    head = opened.head("sequence-classification")
    read = [opened.tokens(text, None) for text in texts]
    targets = [class_target(head, each, label, "margin") for each, label in zip(read, labels, strict=True)]
    return targets, lambda: [each.labels[each.best] for each in class_predictions(head, read)]


def _of_probe(
    opened: Opened, probe: Probe, texts: list[str], labels: list[str]
) -> tuple[list[Target], Callable[[], list[str]]]:
    """A target for each text, and a function that predicts all labels with a probe."""
    model, tokenizer = opened.loaded, opened.tokenizer
    targets = [
        probe_target(probe, model, tokenizer, text, label, "margin") for text, label in zip(texts, labels, strict=True)
    ]
    return targets, lambda: [each.labels[each.best] for each in probe_predictions(probe, model, tokenizer, texts)]
