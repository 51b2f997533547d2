"""Ablations over many texts: mean and spread of the effects of heads, and accuracy as heads are removed."""

from collections.abc import Callable
from dataclasses import replace

from bertviz_core.errors import TextError
from bertviz_core.interventions.ablation import RANDOM_ORDERS, accuracy_steps
from bertviz_core.interventions.ablation import ablation_effects as effects_of
from bertviz_core.interventions.ablation import accuracy_curves as accuracies_of
from bertviz_core.interventions.ablation import effect_spread as spread_of
from bertviz_core.interventions.results import AblationCurve, AblationEffects, EffectSpread
from bertviz_core.interventions.runs import InterventionRuns
from bertviz_core.interventions.target_parsing import parse_target
from bertviz_core.interventions.targets import Target, class_target, probe_target
from bertviz_core.predictions.classes import class_predictions, output_names, output_scoring
from bertviz_core.predictions.probing.reading import config_classes, drawn, example_set, fitting_set, optional_labels
from bertviz_core.predictions.probing.results import LabelledTexts, Probe
from bertviz_core.predictions.probing.scores import probe_predictions
from bertviz_core.questions.interventions.single_text import (
    COUNT,
    IN_PLACE,
    REMOVED_FOR,
    SHORT,
    effect_runs,
    left_out_order,
    means_in_place,
    means_steps,
    removed_count,
)
from bertviz_core.questions.interventions.targets import (
    MEASURE,
    TARGET,
    chosen_probe,
    layers_and_heads,
    read_tokens,
    target_of,
)
from bertviz_core.questions.opened import Opened, answered
from bertviz_core.questions.parameters import Options, choice
from bertviz_core.questions.question import Answer, AnswerCost, AnswerJob, after, long_question
from bertviz_core.sentences.lists import read_sentences
from bertviz_core.text import quoted
from bertviz_core.trace.results import Tokens

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
def effect_spread(opened: Opened, options: Options, job: AnswerJob[Answer[EffectSpread]]) -> Answer[EffectSpread]:
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
    opened: Opened, options: Options, job: AnswerJob[Answer[tuple[AblationCurve, ...]]]
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
    notice = (
        f"The sentences of {examples.name} are about {', '.join(examples.classes)}, and the classes of this head are "
        f"{named}: its effects may have another sign on texts like those of its training. Give a list of your own."
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
    """The texts with a label, and their labels."""
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
