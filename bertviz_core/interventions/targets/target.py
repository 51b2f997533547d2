"""Targets: one number per row of a batch, whose change under an intervention is measured.

Every target runs under inference mode and under gradients alike, on inputs from its caller.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from bertviz_core.errors import TextError
from bertviz_core.hidden_states.results import state_name
from bertviz_core.lazy_imports import torch
from bertviz_core.models.loading import LoadedModel
from bertviz_core.predictions.answers import predicted_answers
from bertviz_core.predictions.classes import (
    NEXT_SENTENCE,
    check_measure,
    class_number,
    class_place,
    output_names,
    output_scoring,
)
from bertviz_core.predictions.loading import HeadModel
from bertviz_core.predictions.probing.probe import check_model, introduction
from bertviz_core.predictions.probing.results import Probe
from bertviz_core.predictions.run import WordHead, check_task, head_inputs
from bertviz_core.sentences.batches import prompt_tokens, sentence_tokens
from bertviz_core.sentences.encoding import plan_vectors, sentence_vectors
from bertviz_core.sentences.results import SentencePlan
from bertviz_core.text import escape_controls, quoted
from bertviz_core.trace.forward import forward
from bertviz_core.trace.inputs import ModelRow, model_inputs, reset_model_state
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.subwords.words_in_context import word_id_at
from bertviz_core.trace.tokenization import TextTokenizer, tokenize

Measure = Literal["logit", "probability", "margin"]
"""Measured quantity of a class or a tag: its logit, its probability, or its logit minus the greatest other logit."""
MEASURES: tuple[Measure, ...] = get_args(Measure)
Values = Callable[["Mapping[str, torch.Tensor]", Sequence[int]], "torch.Tensor"]
"""Called as values(inputs, lengths): runs the model on a batch and returns one number per row."""


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """A number computed from a run of a model, and a function that computes it for a batch of rows."""

    name: str
    """Name: "cosine", "late-interaction", "class:NAME", "tag:LABEL@POSITION", "word:WORD@POSITION",
    "answer:FIRST-LAST", "probe:FILE", "state:ENTRY,TOKEN,DIMENSION" or "direction:ENTRY,TOKEN,DIRECTION"."""
    title: str
    """Title of the number."""
    unit: str
    """Unit: "cosine", "logit", "probability", "nats" or "(no unit)"."""
    loaded: LoadedModel
    """The base model."""
    model: Any
    """The model to run: the base model, or the model with a task head."""
    tokens: Tokens
    """The tokenized text."""
    values: Values
    """Computes the number for every row of a batch; differentiable. The caller must hold RUN_LOCK and have called
    check_recording on the model. Lengths are the numbers of tokens per row; one number if all are equal."""
    inputs: "Callable[[Sequence[ModelRow]], dict[str, torch.Tensor]]"
    """Builds the inputs of the run for tokenized texts; input_ids may be replaced by inputs_embeds if the family takes
    them."""
    last_state: bool
    """Whether the target depends only on the output of the last layer, and on no layer below."""
    notices: tuple[str, ...]
    """Notices, one sentence each."""


def cosine_target(loaded: LoadedModel, tokenizer: TextTokenizer, text: str, pair: str, plan: SentencePlan) -> Target:
    """Target the cosine of the text's sentence vector with the pair's, which is constant; from -1 to 1.

    Args:
        loaded: the model.
        tokenizer: tokenizer of the model.
        text: the text to intervene on.
        pair: the other text.
        plan: pooling plan for sentence vectors (bertviz_core.sentences.plan.recommended).

    Raises:
        BertvizError: a text cannot be encoded, or the vector of the pair is zero, or not finite.
    """
    tokens = sentence_tokens(tokenizer, text, plan)
    other = sentence_vectors(loaded, tokenizer, [pair], plan)
    fixed = torch.tensor(other.vectors[0], device=loaded.device)
    if not bool(fixed.isfinite().all()):
        raise TextError(
            f"The sentence vector of {quoted(pair, 40)} holds NaN or infinity, so there is no cosine to it."
        )
    if not bool(fixed.any()):
        raise TextError(
            f"The sentence vector of {quoted(pair, 40)} has no direction, so no cosine to it; give another."
        )
    skipped = prompt_tokens(tokenizer, plan)

    def values(inputs: "Mapping[str, torch.Tensor]", lengths: Sequence[int]) -> "torch.Tensor":
        vectors = plan_vectors(loaded, plan, inputs, lengths, skipped)[:, : plan.truncate_dim]
        return torch.nn.functional.cosine_similarity(vectors, fixed[None], dim=1)

    return build_target(
        loaded,
        tokens,
        values,
        name="cosine",
        title=f"cosine to {quoted(escape_controls(pair), 40)}",
        unit="cosine",
        layer=plan.layer,
        notices=other.notices,
    )


def class_target(head: HeadModel, tokens: Tokens, label: str, measure: Measure = "logit") -> Target:
    """Target the logit, probability or margin of one class of a text or a pair.

    Args:
        head: a model with its head for sequence-classification or next-sentence.
        tokens: the text.
        label: name of the class.
        measure: quantity to measure.

    Raises:
        TextError: there is no such class, the next-sentence head got a single text, or the measure does not apply.
        UnsupportedModelError: the head is of another task.
    """
    check_task(head, "sequence-classification", "next-sentence")
    if head.task == "next-sentence" and tokens.pair is None:
        raise TextError("The next-sentence head compares two sentences; give the second text, too.")
    count = len(NEXT_SENTENCE) if head.task == "next-sentence" else int(head.model.config.num_labels)
    labels, notices = output_names(head, count)
    place, scoring = class_place(labels, label, head.name), output_scoring(head)
    check_measure(measure, scoring, labels)

    def values(inputs: "Mapping[str, torch.Tensor]", lengths: Sequence[int]) -> "torch.Tensor":
        return class_number(_head_output(head, inputs, lengths)["logits"], place, measure, scoring)

    return build_target(
        head,
        tokens,
        values,
        name=f"class:{label}",
        title=f"{measure} of {quoted(escape_controls(label), 40)}",
        unit="probability" if measure == "probability" else "logit",
        notices=notices,
    )


def tag_target(head: HeadModel, tokens: Tokens, label: str, position: int, measure: Measure = "logit") -> Target:
    """Target the logit, probability or margin of one tag of one token.

    Args:
        head: a model with its head for token-classification.
        tokens: the text.
        label: name of the tag.
        position: position of the token.
        measure: quantity to measure.

    Raises:
        TextError: there is no such tag, token or measure.
        UnsupportedModelError: the head is of another task.
    """
    check_task(head, "token-classification")
    check_place("token", position, len(tokens))
    labels, notices = output_names(head, int(head.model.config.num_labels))
    place = class_place(labels, label, head.name)
    check_measure(measure, "softmax", labels)

    def values(inputs: "Mapping[str, torch.Tensor]", lengths: Sequence[int]) -> "torch.Tensor":
        return class_number(_head_output(head, inputs, lengths)["logits"][:, position], place, measure, "softmax")

    return build_target(
        head,
        tokens,
        values,
        name=f"tag:{label}@{position}",
        title=f"{measure} of {quoted(escape_controls(label), 40)} at token {position}",
        unit="probability" if measure == "probability" else "logit",
        notices=notices,
    )


def word_target(head: HeadModel, tokenizer: TextTokenizer, tokens: Tokens, word: str, position: int) -> Target:
    """Target the log-probability, in nats, of a word at a position of the text, masked or not.

    Args:
        head: a model with its masked-LM head.
        tokenizer: tokenizer of the model.
        tokens: the text.
        word: a single piece, as spelled in a text or in the vocabulary.
        position: position of the token.

    Raises:
        TextError: there is no such position, or the word is not one piece.
        UnsupportedModelError: the head is of another task.
    """
    word_head = WordHead(head)
    check_place("token", position, len(tokens))
    word_id = word_id_at(tokenizer, tokens, word, position)

    def values(inputs: "Mapping[str, torch.Tensor]", lengths: Sequence[int]) -> "torch.Tensor":
        reset_model_state(head.base.model, max(lengths))
        output = forward(head.base, inputs, word_head.model)
        logits = word_head.logits_unlocked(output, word_head.states(output)[:, position])
        return logits.log_softmax(dim=-1)[:, word_id]

    return build_target(
        head,
        tokens,
        values,
        name=f"word:{word}@{position}",
        title=f"log-probability of {quoted(escape_controls(word), 40)} at token {position}",
        unit="nats",
        model=word_head.model,
    )


def answer_target(
    head: HeadModel, tokenizer: TextTokenizer, question: str, context: str, span: tuple[int, int] | None = None
) -> Target:
    """Target the start logit + end logit of one answer to a question.

    Args:
        head: a model with its head for question-answering.
        tokenizer: tokenizer of the model.
        question: the question.
        context: the text with the answer.
        span: first and last token of the answer; None for the best answer of the unchanged run.

    Raises:
        TextError: there is no such span, or question and context do not fit into one run.
        UnsupportedModelError: the head is of another task.
    """
    check_task(head, "question-answering")
    tokens = tokenize(tokenizer, question, context)
    if any(tokens.tokens_cut):
        raise TextError("Question and context are longer than the model reads at once; give a shorter context.")
    notices: tuple[str, ...] = ()
    if span is None or tokenizer.tokenizer.is_fast:
        found = predicted_answers(head, tokenizer, question, context, top=1)
        span = span or (found.answers[0].first, found.answers[0].last)
        notices = (found.null_words(),) if found.is_null else ()
    first, last = span
    if not 0 <= first <= last < len(tokens):
        raise TextError(f"There is no answer from token {first} to {last}; the text has tokens 0 to {len(tokens) - 1}.")

    def values(inputs: "Mapping[str, torch.Tensor]", lengths: Sequence[int]) -> "torch.Tensor":
        output = _head_output(head, inputs, lengths)
        score: torch.Tensor = output["start_logits"][:, first] + output["end_logits"][:, last]
        return score.float()

    spelled_words = " ".join(tokens.tokens[first : last + 1])
    return build_target(
        head,
        tokens,
        values,
        name=f"answer:{first}-{last}",
        title=f"start + end logit of {quoted(escape_controls(spelled_words), 40)}",
        unit="logit",
        notices=notices,
    )


def probe_target(
    probe: Probe,
    loaded: LoadedModel,
    tokenizer: TextTokenizer,
    text: str,
    label: str,
    measure: Measure = "logit",
) -> Target:
    """Target the logit, probability or margin of one class of a fitted probe.

    Args:
        probe: the probe.
        loaded: the model of its vectors.
        tokenizer: the model's tokenizer.
        text: the text.
        label: name of the class.
        measure: quantity to measure.

    Raises:
        UnsupportedModelError: the probe was fitted on another model.
        TextError: there is no such class.
    """
    check_model(probe, loaded)
    place, plan = class_place(probe.classes, label, probe.texts), SentencePlan(probe.pooling, probe.layer)
    weight, bias = (torch.tensor(array, device=loaded.device) for array in (probe.weight, probe.bias))
    tokens = sentence_tokens(tokenizer, text, plan)

    def values(inputs: "Mapping[str, torch.Tensor]", lengths: Sequence[int]) -> "torch.Tensor":
        logits = plan_vectors(loaded, plan, inputs, lengths) @ weight.T + bias
        return class_number(logits, place, measure, "softmax")

    return build_target(
        loaded,
        tokens,
        values,
        name=f"probe:{probe.texts}@{label}",
        title=f"{measure} of {quoted(escape_controls(label), 40)} by a probe on {state_name(probe.layer)}",
        unit="probability" if measure == "probability" else "logit",
        layer=probe.layer,
        notices=(introduction(probe), *loaded.notices),
    )


def build_target(
    of: LoadedModel | HeadModel,
    tokens: Tokens,
    values: Values,
    *,
    name: str,
    title: str,
    unit: str,
    layer: int | None = None,
    notices: tuple[str, ...] = (),
    model: Any = None,
) -> Target:
    """Build a target from a base model or a task head and a hidden state, by default the last."""
    head, loaded = (of, of.base) if isinstance(of, HeadModel) else (None, of)
    run = model or of.model
    return Target(
        name=name,
        title=title,
        unit=unit,
        loaded=loaded,
        model=run,
        tokens=tokens,
        values=values,
        inputs=lambda rows: model_inputs(loaded, rows) if head is None else head_inputs(head, rows, run),
        last_state=layer in (None, loaded.num_hidden_layers),
        notices=(*tokens.notices, *(head.notices if head is not None else ()), *notices),
    )


def check_place(what: str, number: int, count: int) -> None:
    """Check that the layer or position exists.

    Raises:
        TextError: there is no such place.
    """
    if not 0 <= number < count:
        raise TextError(f"There is no {what} {number}; here are {what}s 0 to {count - 1}.")


def _head_output(head: HeadModel, inputs: "Mapping[str, torch.Tensor]", lengths: Sequence[int]) -> Mapping[str, Any]:
    reset_model_state(head.base.model, max(lengths))
    return forward(head.base, inputs, head.model)
