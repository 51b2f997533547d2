"""Attribute every class or tag to the words of a text, from shared leave-one-out runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from bertviz_core.attribution.results import ClassAttributions, Replacement
from bertviz_core.attribution.text_units import INSTEAD, Remover, row_values, text_units, unit_names
from bertviz_core.errors import Progress, TextError
from bertviz_core.interventions.targets.target import Measure, Target, class_target, probe_target, tag_target
from bertviz_core.lazy_imports import torch
from bertviz_core.models.loading import LoadedModel
from bertviz_core.predictions.classes import (
    NEXT_SENTENCE,
    check_measure,
    class_number,
    class_place,
    output_names,
    output_scoring,
)
from bertviz_core.predictions.loading import HeadModel
from bertviz_core.predictions.probing.results import Probe
from bertviz_core.predictions.results import Scoring
from bertviz_core.predictions.run import check_task
from bertviz_core.sentences.encoding import plan_vectors
from bertviz_core.sentences.results import SentencePlan
from bertviz_core.trace.forward import forward
from bertviz_core.trace.inputs import reset_model_state
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.tokenization import TextTokenizer

MOST_CLASSES = 8
"""Maximum number of classes per text."""


@dataclass(frozen=True, slots=True, eq=False)
class ClassOutputs:
    """All classes of a head or a probe, and a function that computes their logits for a batch of rows in one run."""

    target: Target
    """Target with the logits of all classes, (batch, classes), as values."""
    labels: tuple[str, ...]
    """The classes, in the order of the logits."""
    scoring: Scoring
    """How logits become probabilities."""
    noun: str = "class"
    """Noun for an output: "class", or "tag" for one of a token."""


def head_classes(head: HeadModel, tokens: Tokens) -> ClassOutputs:
    """Return the classes of a head for a text or a pair.

    Args:
        head: a model with its head for sequence-classification or next-sentence.
        tokens: the text.

    Raises:
        TextError: the next-sentence head got a single text.
        UnsupportedModelError: the head is of another task.
    """
    check_task(head, "sequence-classification", "next-sentence")
    count = len(NEXT_SENTENCE) if head.task == "next-sentence" else int(head.model.config.num_labels)
    labels, _ = output_names(head, count)

    def values(inputs: "Mapping[str, torch.Tensor]", lengths: Sequence[int]) -> "torch.Tensor":
        reset_model_state(head.base.model, max(lengths))
        logits: torch.Tensor = forward(head.base, inputs, head.model)["logits"]
        return logits.float()

    return ClassOutputs(replace(class_target(head, tokens, labels[0]), values=values), labels, output_scoring(head))


def tag_classes(head: HeadModel, tokens: Tokens, position: int) -> ClassOutputs:
    """Return the tags of one token.

    Args:
        head: a model with its head for token-classification.
        tokens: the text.
        position: position of the token.

    Raises:
        TextError: there is no such token.
        UnsupportedModelError: the head is of another task.
    """
    check_task(head, "token-classification")
    labels, _ = output_names(head, int(head.model.config.num_labels))

    def values(inputs: "Mapping[str, torch.Tensor]", lengths: Sequence[int]) -> "torch.Tensor":
        reset_model_state(head.base.model, max(lengths))
        logits: torch.Tensor = forward(head.base, inputs, head.model)["logits"]
        return logits[:, position].float()

    return ClassOutputs(replace(tag_target(head, tokens, labels[0], position), values=values), labels, "softmax", "tag")


def probe_classes(probe: Probe, loaded: LoadedModel, tokenizer: TextTokenizer, text: str) -> ClassOutputs:
    """Return the classes of a fitted probe.

    Args:
        probe: the probe.
        loaded: the model of its vectors.
        tokenizer: the model's tokenizer.
        text: the text.

    Raises:
        UnsupportedModelError: the probe was fitted on another model.
    """
    first = probe_target(probe, loaded, tokenizer, text, probe.classes[0])
    plan = SentencePlan(probe.pooling, probe.layer)
    weight, bias = (torch.tensor(array, device=loaded.device) for array in (probe.weight, probe.bias))

    def values(inputs: "Mapping[str, torch.Tensor]", lengths: Sequence[int]) -> "torch.Tensor":
        return (plan_vectors(loaded, plan, inputs, lengths) @ weight.T + bias).float()

    return ClassOutputs(replace(first, values=values), probe.classes, "softmax")


def class_attributions(
    classes: ClassOutputs,
    tokenizer: TextTokenizer,
    labels: Sequence[str] = (),
    measure: Measure = "logit",
    whole_words: bool = True,
    replacement: Replacement = "mask",
    progress: Progress | None = None,
) -> ClassAttributions:
    """For each word and class, compute the value for the text minus that for the text without the word.

    The text is run once per word, whatever the number of classes. Law: the shares of a class equal those of
    leave_one_out for this class; for probabilities of exclusive classes, they sum to 0 over all classes.

    Args:
        classes: classes of a head or a probe.
        tokenizer: tokenizer of the model.
        labels: the classes to attribute; () for the likeliest MOST_CLASSES.
        measure: "logit", "probability" or "margin".
        whole_words: whether to remove whole words, or single tokens.
        replacement: how a removed word is replaced.
        progress: called as progress(rows done, rows); may raise to cancel.

    Raises:
        TextError: there is no such class or measure, more than MOST_CLASSES are requested, or there is no word.
        UnsupportedModelError: the tokenizer has no mask.
        BertvizError: the model cannot be run on the text.
    """
    started, target = perf_counter(), classes.target
    check_measure(measure, classes.scoring, classes.labels)
    requested = [class_place(classes.labels, label, target.loaded.name) for label in dict.fromkeys(labels)]
    if len(requested) > MOST_CLASSES:
        raise TextError(f"{len(requested)} classes are requested; choose at most {MOST_CLASSES}.")
    remover, units = Remover(target, tokenizer, replacement), text_units(target.tokens, whole_words)
    rows = [target.tokens, *(remover.without(unit.positions) for unit in units)]
    logits = torch.from_numpy(row_values(target, rows, progress)).float()
    order = logits[0].argsort(descending=True, stable=True).tolist()
    places = [place for place in order if place in requested] if requested else order[:MOST_CLASSES]
    values = np.stack([class_number(logits, place, measure, classes.scoring).numpy() for place in places], axis=1)
    wide = values.astype(np.float64)
    shares, clean = (wide[0] - wide[1:]).astype(np.float32), values[0].copy()
    for array in (shares, clean):
        array.setflags(write=False)
    return ClassAttributions(
        model=target.loaded.name,
        measure=measure,
        instead=INSTEAD[replacement],
        tokens=target.tokens,
        words=unit_names(target.tokens, units),
        positions=tuple(unit.positions for unit in units),
        labels=tuple(classes.labels[place] for place in places),
        classes=len(classes.labels),
        noun=classes.noun,
        shares=shares,
        clean=clean,
        runs=len(rows),
        seconds=perf_counter() - started,
        notices=target.notices,
    )
