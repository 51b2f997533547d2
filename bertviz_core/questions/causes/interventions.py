"""What changes without a part of the model: effects of heads and blocks, heads removed one by one, patches."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from bertviz_core.causes.effects import all_effects
from bertviz_core.causes.effects import effect_spread as spread_of
from bertviz_core.causes.effects import part_effects as effects_of
from bertviz_core.causes.means import part_means as means_of
from bertviz_core.causes.patches import patches as patches_of
from bertviz_core.causes.removal import accuracy_curves as accuracies_of
from bertviz_core.causes.removal import removal_curves as curves_of
from bertviz_core.causes.requests import target_request
from bertviz_core.causes.results import (
    EFFECT_KINDS,
    EffectComparison,
    EffectKind,
    EffectSpread,
    PartEffects,
    PartMeans,
    Patches,
    RemovalCurve,
)
from bertviz_core.causes.runs import InterventionRuns
from bertviz_core.causes.targets import Target, class_target, probe_target
from bertviz_core.errors import Named, TextError
from bertviz_core.predictions.classes import class_predictions
from bertviz_core.predictions.labelled.probe import probe_predictions
from bertviz_core.predictions.labelled.reading import drawn, example_set, optional_labels
from bertviz_core.predictions.labelled.results import LabelledTexts, Probe
from bertviz_core.questions.causes.targets import MEASURE, TARGET, chosen_probe, target, target_of
from bertviz_core.questions.opened import Opened, answered
from bertviz_core.questions.parameters import Options, Param, choice
from bertviz_core.questions.question import Answer, question
from bertviz_core.sentences.reading.files import read_sentences

FIRST_REMOVED, MOST_REMOVED = 6, 16
"""Heads that are removed one after the other where no count is given, and at most."""
MEAN = "its mean"
KIND = choice("kind", EFFECT_KINDS, "what stands in the place of a part")
COUNT = Param("count", "whole", "heads that are removed one after the other")
REMOVED_FOR = choice("removed_for", ("nothing", MEAN), "what stands in the place of a removed head")
TEXTS_DRAWN = choice("effect_count", ("10", "25", "50"), "texts that are drawn from the example set")


@question()
def part_means(opened: Opened, options: Options) -> Answer[PartMeans]:
    """Means of the model's parts over the default reference set."""
    return answered(opened, means_of(opened.loaded, opened.tokenizer))


@question(params=(TARGET, MEASURE, KIND))
def part_effects(opened: Opened, options: Options) -> Answer[PartEffects]:
    """How much a number of the model changes without each head, feed-forward block and layer."""
    kind: EffectKind = options.choice(KIND, EFFECT_KINDS)
    number, limits = target(opened, options), opened.settings
    means = part_means(opened, Options()).result if kind == "mean" else None
    effects = effects_of(number.result, kind, means, None, limits.max_batch_bytes, limits.max_gradient_bytes)
    return number.of(effects, effects.notices)


@question(figures=("effects",), params=(TARGET, MEASURE))
def effects(opened: Opened, options: Options) -> Answer[EffectComparison]:
    """The effects of every part, measured twice and estimated."""
    number, limits = target(opened, options), opened.settings
    means = part_means(opened, Options()).result
    bounds = limits.max_batch_bytes, limits.max_gradient_bytes
    compared = all_effects(number.result, EFFECT_KINDS, means, None, *bounds)
    return number.of(compared, effect_comparison=compared)


@question(figures=("removal",), params=(TARGET, MEASURE, COUNT, REMOVED_FOR))
def removal_curves(opened: Opened, options: Options) -> Answer[tuple[RemovalCurve, ...]]:
    """The target as heads are removed one after the other."""
    number, limits = target(opened, options), opened.settings
    runs = InterventionRuns(number.result, limits.max_batch_bytes)
    count, means = _removed(options, runs), _in_place(opened, options)
    curves = curves_of(runs, count, means, None, limits.max_gradient_bytes)
    return number.of(curves, removal_curves=curves)


@question(figures=("patched-heads", "patched-states"), params=(TARGET, MEASURE))
def patches(opened: Opened, options: Options) -> Answer[Patches]:
    """Every state and head of the text, copied into the run of the second text; a head reads the text alone."""
    other = options.pair
    if other is None:
        what = "A patch needs a second text, into whose run is copied; give one ("
        raise TextError(what, Named("pair"), ").")
    of_cosine = options.get(TARGET.key, "cosine") == "cosine"
    number = target_of(opened, options, options.text(), other if of_cosine else None)
    runs = InterventionRuns(number.result, opened.settings.max_batch_bytes)
    patched = patches_of(runs, opened.tokens(other, None))
    return replace(number.of(patched, patches=patched), texts=(options.text(), other))


@question(figures=("effect-spread",), params=(TARGET, MEASURE, TEXTS_DRAWN, REMOVED_FOR))
def effect_spread(opened: Opened, options: Options) -> Answer[EffectSpread]:
    """Mean and spread of every head's effect over a list of texts."""
    pair = options.pair
    if target_request(options.values.get(TARGET.key), pair is not None).kind not in ("cosine", "class", "probe"):
        raise TextError("This figure is of many texts; take the cosine, a class or a probe as the target.")
    means = _in_place(opened, options)
    kind: EffectKind = "zero" if means is None else "mean"

    def each() -> Iterator[PartEffects]:
        for text in _listed(opened, options).texts:
            number = target_of(opened, options, text, pair).result
            yield effects_of(number, kind, means, None, opened.settings.max_batch_bytes)

    spread = spread_of(each())
    return answered(opened, spread, effect_spread=spread)


@question(figures=("accuracy",), params=(TARGET, COUNT, TEXTS_DRAWN, REMOVED_FOR))
def accuracy_curves(opened: Opened, options: Options) -> Answer[tuple[RemovalCurve, ...]]:
    """The share of right answers of the model's own head, or of a probe, as heads are removed."""
    listed = [pair for pair in zip(*_texts_and_labels(opened, options), strict=True) if pair[1]]
    if not listed:
        raise TextError("This figure counts right answers; give each text its label behind a tab.")
    texts, labels = [text for text, _ in listed], [label for _, label in listed]
    probe, limits = chosen_probe(options), opened.settings
    targets, answers = _of_head(opened, texts, labels) if probe is None else _of_probe(opened, probe, texts, labels)
    runs = [InterventionRuns(each, limits.max_batch_bytes) for each in targets]
    count, means = _removed(options, runs[0]), _in_place(opened, options)
    curves = accuracies_of(runs, count, answers, labels, means, None, limits.max_gradient_bytes)
    return answered(opened, curves, accuracy_curves=curves)


def _of_head(opened: Opened, texts: list[str], labels: list[str]) -> tuple[list[Target], Callable[[], list[str]]]:
    """A target for each text, and what the model's own head answers to all of them."""
    head = opened.head("sequence-classification")
    read = [opened.tokens(text, None) for text in texts]
    targets = [class_target(head, each, label, "margin") for each, label in zip(read, labels, strict=True)]
    return targets, lambda: [each.labels[each.best] for each in class_predictions(head, read)]


def _of_probe(
    opened: Opened, probe: Probe, texts: list[str], labels: list[str]
) -> tuple[list[Target], Callable[[], list[str]]]:
    """The same of a probe."""
    model, tokenizer = opened.loaded, opened.tokenizer
    targets = [
        probe_target(probe, model, tokenizer, text, label, "margin") for text, label in zip(texts, labels, strict=True)
    ]
    return targets, lambda: [each.labels[each.best] for each in probe_predictions(probe, model, tokenizer, texts)]


def _removed(options: Options, runs: InterventionRuns) -> int:
    return options.whole(COUNT.key, MOST_REMOVED + 1, min(FIRST_REMOVED, len(runs.places)))


def _in_place(opened: Opened, options: Options) -> PartMeans | None:
    """What stands in the place of a removed head; None for nothing."""
    return part_means(opened, Options()).result if options.choice(REMOVED_FOR) == MEAN else None


def _listed(opened: Opened, options: Options) -> LabelledTexts:
    """The texts of a list, each a sentence or a sentence, a tab and its label; else some of the example set."""
    if options.texts:
        return optional_labels(read_sentences("The list", "\n".join(options.texts), opened.settings))
    return drawn(example_set(), int(options.choice(TEXTS_DRAWN)))


def _texts_and_labels(opened: Opened, options: Options) -> tuple[tuple[str, ...], tuple[str, ...]]:
    listed = _listed(opened, options)
    return tuple(listed.texts), tuple(listed.labels)
