"""Classify texts and pairs: single-label, multi-label, regression and next-sentence heads; name their outputs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bertviz_core.errors import Progress, TextError
from bertviz_core.lazy_imports import torch
from bertviz_core.predictions.loading import HeadModel
from bertviz_core.predictions.results import ClassPrediction, Scoring
from bertviz_core.predictions.run import check_task, row_outputs
from bertviz_core.text import counted, quoted
from bertviz_core.trace.results import Tokens

NEXT_SENTENCE = ("is the next sentence", "is another sentence")
"""The two outputs of BERT's next-sentence head (Devlin et al. 2019)."""
ONE_OUTPUT = (
    "The head has one output and its config no problem_type: the output itself is the value here, and transformers' "
    "pipeline, as most cross-encoders, takes its sigmoid."
)


def class_predictions(
    head: HeadModel, texts: Sequence[Tokens], progress: Progress | None = None
) -> tuple[ClassPrediction, ...]:
    """Classify texts or pairs, run in batches of similar length.

    Args:
        head: a model with its head for sequence-classification or next-sentence.
        texts: tokenized texts.
        progress: called as progress(texts done, texts); may raise to cancel.

    Raises:
        TextError: the next-sentence head got a single text.
        UnsupportedModelError: the head is of another task.
    """
    check_task(head, "sequence-classification", "next-sentence")
    if head.task == "next-sentence" and any(tokens.pair is None for tokens in texts):
        raise TextError("The next-sentence head compares two sentences; give the second text, too.")
    scoring = output_scoring(head)
    single = (ONE_OUTPUT,) if scoring == "number" and head.model.config.problem_type is None else ()
    predictions: dict[int, ClassPrediction] = {}
    for index, (logits,) in row_outputs(head, texts):
        labels, notices = output_names(head, len(logits))
        for array in (logits, probabilities := _probabilities(logits, scoring)):
            if array is not None:
                array.setflags(write=False)
        predictions[index] = ClassPrediction(
            model=head.name,
            tokens=texts[index],
            labels=labels,
            logits=logits,
            scoring=scoring,
            probabilities=probabilities,
            notices=(*texts[index].notices, *head.notices, *notices, *single, *_tie(labels, logits, scoring)),
        )
        if progress is not None:
            progress(len(predictions), len(texts))
    return tuple(predictions[index] for index in range(len(texts)))


def _tie(labels: Sequence[str], logits: np.ndarray, scoring: Scoring) -> tuple[str, ...]:
    """Return a notice where the greatest logit is that of several classes that exclude each other."""
    equal = [label for label, logit in zip(labels, logits, strict=True) if logit == logits.max()]
    if scoring != "softmax" or len(equal) < 2:
        return ()
    named = ", ".join(quoted(label, 30) for label in equal[:3]) + (", ..." if len(equal) > 3 else "")
    return (f"{len(equal):,} classes have the greatest logit ({named}); the first of them is named as the answer.",)


def output_names(head: HeadModel, count: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return a name for each output of the head, and notices.

    An output without an entry in id2label is named by its index; duplicate names get the index appended.
    """
    if head.task == "next-sentence":
        return NEXT_SENTENCE, ()
    named: Mapping[Any, Any] = head.model.config.id2label or {}
    listed = [named.get(index) for index in range(count)]
    names = [str(name) if isinstance(name, str | int) and str(name).strip() else "" for name in listed]
    notices = []
    if unnamed := names.count(""):
        notices.append(
            f"id2label of {head.name!r} names {counted(count - unnamed, 'output')} of {count:,}; "
            "the others are called by their number."
        )
    repeated = {name for name, times in Counter(names).items() if times > 1 and name}
    if repeated:
        notices.append(f"id2label of {head.name!r} gives several outputs the same name; their number is added.")
    return tuple(
        f"LABEL_{index}" if not name else f"{name} ({index})" if name in repeated else name
        for index, name in enumerate(names)
    ), tuple(notices)


def output_scoring(head: HeadModel) -> Scoring:
    """Choose the scoring of a head from the config's problem_type and its number of labels.

    A single output without a problem_type is a regression, as transformers trains it.
    """
    config: Any = head.model.config
    if head.task == "next-sentence" or config.problem_type == "single_label_classification":
        return "softmax"
    if config.problem_type == "multi_label_classification":
        return "sigmoid"
    return "number" if config.problem_type == "regression" or config.num_labels == 1 else "softmax"


def softmax(logits: np.ndarray) -> Any:
    """Compute exp(logits) over their sum along the last axis, in float32."""
    shifted = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return shifted / shifted.sum(axis=-1, keepdims=True)


def class_place(labels: Sequence[str], label: str, name: str) -> int:
    """Return the index of a class among a head's outputs.

    Raises:
        TextError: there is no such class; the message calls the head `name`.
    """
    if label in labels:
        return labels.index(label)
    known = ", ".join(quoted(each, 30) for each in labels[:12]) + (", ..." if len(labels) > 12 else "")
    raise TextError(f"There is no class {quoted(label, 40)} in {quoted(name, 60)}; it has {known}.")


def check_measure(measure: str, scoring: Scoring, labels: Sequence[str]) -> None:
    """Check that a measure applies to a class.

    Raises:
        TextError: the measure does not apply.
    """
    if scoring == "number" and measure == "probability":
        raise TextError("This head gives a number and no probability; ask for its logit, which is that number.")
    if measure == "margin" and len(labels) < 2:
        raise TextError("A margin is the lead over another class, and this head has one output; ask for its logit.")


def class_number(logits: "torch.Tensor", place: int, measure: str, scoring: Scoring) -> "torch.Tensor":
    """Return the logit, probability or margin of one class, (batch,), from logits (batch, classes)."""
    logits = logits.float()
    own = logits[:, place]
    if measure == "probability":
        return own.sigmoid() if scoring == "sigmoid" else logits.softmax(dim=-1)[:, place]
    if measure == "margin":
        others = [each for each in range(logits.shape[1]) if each != place]
        return own - logits[:, others].amax(dim=1)
    return own


def _probabilities(logits: np.ndarray, scoring: Scoring) -> Any:
    if scoring == "number":
        return None
    # 1 / (1 + exp(-x)) by tanh, which does not overflow.
    return softmax(logits) if scoring == "softmax" else (0.5 + 0.5 * np.tanh(0.5 * logits)).astype(np.float32)
