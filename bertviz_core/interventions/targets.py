"""Targets: the number that an intervention or attribution is about."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Float

from bertviz_core.errors import TextError
from bertviz_core.hidden_states.results import state_name
from bertviz_core.isolation.regular_files import open_regular
from bertviz_core.isolation.sanitized.npy_header import npy_header
from bertviz_core.lazy_imports import torch
from bertviz_core.models.loading import LoadedModel
from bertviz_core.predictions.answers import predicted_answers
from bertviz_core.predictions.classes import (
    NEXT_SENTENCE,
    check_measure,
    check_pair,
    class_number,
    class_place,
    output_names,
    output_scoring,
)
from bertviz_core.predictions.late_interaction import InteractionEncoder
from bertviz_core.predictions.probing.results import Probe
from bertviz_core.predictions.probing.scores import check_model, introduction
from bertviz_core.predictions.run import HeadModel, WordHead, check_task, head_inputs
from bertviz_core.sentences.encoding import model_states, plan_vectors, prompt_tokens, sentence_tokens, sentence_vectors
from bertviz_core.sentences.pooling import applied
from bertviz_core.sentences.results import SentencePlan
from bertviz_core.text import counted, decimals, escape_controls, quoted
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.tokenization import TextTokenizer, tokenize
from bertviz_core.trace.verification import ModelRow, forward, hidden_states, model_inputs, reset_model_state
from bertviz_core.trace.words_in_context import word_id_at

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
    unit: str
    """Unit: "cosine", "logit", "probability", "nats" or "(no unit)"."""
    loaded: LoadedModel
    model: Any
    """The model to run: the base model, or the model with a task head."""
    tokens: Tokens
    values: Values
    """Computes the number for every row of a batch; differentiable. The caller must hold RUN_LOCK and have called
    check_recording on the model. Lengths are the numbers of tokens per row; one number if all are equal."""
    inputs: "Callable[[Sequence[ModelRow]], dict[str, torch.Tensor]]"
    """Builds the inputs of the run for tokenized texts; input_ids may be replaced by inputs_embeds if the family takes
    them."""
    last_state: bool
    """Whether the target depends only on the output of the last layer, and on no layer below."""
    notices: tuple[str, ...]


def cosine_target(loaded: LoadedModel, tokenizer: TextTokenizer, text: str, pair: str, plan: SentencePlan) -> Target:
    """Target the cosine of the text's sentence vector with the pair's, which is constant; from -1 to 1."""
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
    """Target the logit, probability or margin of one class of a text or a pair."""
    check_task(head, "sequence-classification", "next-sentence")
    check_pair(head, tokens)
    count = len(NEXT_SENTENCE) if head.task == "next-sentence" else int(head.model.config.num_labels)
    labels, notices = output_names(head, count)
    place, scoring = class_place(labels, label, head.name), output_scoring(head)
    check_measure(measure, scoring, labels)

    def values(inputs: "Mapping[str, torch.Tensor]", lengths: Sequence[int]) -> "torch.Tensor":
        return class_number(_head_output(head, inputs, lengths)["logits"], place, measure, scoring)

    minus = f" minus that of {quoted(escape_controls(head.answers[1]), 40)}" if head.answers[1:] else ""
    return build_target(
        head,
        tokens,
        values,
        name=f"class:{label}",
        title=f"{measure} of {quoted(escape_controls(label), 40)}{minus if measure == 'logit' else ''}",
        unit="probability" if measure == "probability" else "logit",
        notices=notices,
    )


def tag_target(head: HeadModel, tokens: Tokens, label: str, position: int, measure: Measure = "logit") -> Target:
    """Target the logit, probability or margin of one tag of one token."""
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
        word: a single piece, as spelled in a text or in the vocabulary.
    """
    word_head = WordHead(head)
    check_place("token", position, len(tokens))
    word_id = word_id_at(tokenizer, tokens, word, position)
    read = "" if int(tokens.input_ids[position]) == tokenizer.tokenizer.mask_token_id else ", which is not masked"

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
        title=f"log-probability of {quoted(escape_controls(word), 40)} at token {position}{read}",
        unit="nats",
        model=word_head.model,
    )


def answer_target(
    head: HeadModel, tokenizer: TextTokenizer, question: str, context: str, span: tuple[int, int] | None = None
) -> Target:
    """Target the start logit + end logit of one answer to a question.

    Args:
        span: first and last token of the answer; None for the best answer of the unchanged run.
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
    probe: Probe, loaded: LoadedModel, tokenizer: TextTokenizer, text: str, label: str, measure: Measure = "logit"
) -> Target:
    """Target the logit, probability or margin of one class of a fitted probe."""
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
    """Check that the layer or position exists."""
    if not 0 <= number < count:
        raise TextError(f"There is no {what} {number}; here are {what}s 0 to {count - 1}.")


def _head_output(head: HeadModel, inputs: "Mapping[str, torch.Tensor]", lengths: Sequence[int]) -> Mapping[str, Any]:
    reset_model_state(head.base.model, max(lengths))
    return forward(head.base, inputs, head.model)


BETWEEN = "->"
"""Stands between the two texts of a direction."""
MAX_DIMENSIONS = 1_000_000
"""Maximum size of a direction in a file."""


def state_target(
    loaded: LoadedModel,
    tokenizer: TextTokenizer,
    text: str,
    pair: str | None,
    layer: int,
    position: int,
    dimension: int,
) -> Target:
    """Target one value of one hidden state."""
    tokens = _tokens_of(loaded, tokenizer, text, pair, layer, position)

    def values(inputs: "Mapping[str, torch.Tensor]", lengths: Sequence[int]) -> "torch.Tensor":
        state = _state(loaded, layer, inputs, lengths)
        check_place("dimension", dimension, state.shape[-1])
        return state[:, position, dimension].float()

    return build_target(
        loaded,
        tokens,
        values,
        name=f"state:{layer},{position},{dimension}",
        title=f"value of dimension {dimension} of token {position}, {state_name(layer)}",
        unit="(no unit)",
        layer=layer,
    )


def direction_target(
    loaded: LoadedModel,
    tokenizer: TextTokenizer,
    text: str,
    pair: str | None,
    layer: int,
    position: int,
    direction: Float[np.ndarray, " hidden"],
    name: str,
) -> Target:
    """Target the projection of a hidden state on a direction: the dot product with the unit vector.

    Args:
        name: origin of the direction: two texts separated by ->, or a file name.
    """
    tokens = _tokens_of(loaded, tokenizer, text, pair, layer, position)
    wide = np.asarray(direction, dtype=np.float64)
    length, spelled = float(np.linalg.norm(wide)), _named_state(name)
    if not np.isfinite(length) or length == 0:
        raise TextError(f"A direction is needed, and {spelled} has length {length}; give another.")
    unit = torch.tensor(wide / length, dtype=torch.float32, device=loaded.device)

    def values(inputs: "Mapping[str, torch.Tensor]", lengths: Sequence[int]) -> "torch.Tensor":
        state = _state(loaded, layer, inputs, lengths)
        if state.shape[-1] != len(unit):
            raise TextError(
                f"A hidden state of {loaded.name!r} has {state.shape[-1]:,} numbers, {spelled} has {len(unit):,}; give "
                "one of this model."
            )
        return state[:, position].float() @ unit

    return build_target(
        loaded,
        tokens,
        values,
        name=f"direction:{layer},{position},{name}",
        title=f"projection of token {position}, {state_name(layer)}, on {spelled}",
        unit="(no unit)",
        layer=layer,
        notices=(f"Scaled to length 1: {spelled}; its own length is {decimals(length)}.",),
    )


def text_direction(
    loaded: LoadedModel, tokenizer: TextTokenizer, first: str, second: str, layer: int
) -> Float[np.ndarray, " hidden"]:
    """Return the mean hidden state of one text minus that of another, over all tokens."""
    check_place("hidden state", layer, loaded.num_hidden_layers + 1)
    vectors = sentence_vectors(loaded, tokenizer, [first, second], SentencePlan("mean", layer)).vectors
    return np.asarray(vectors[1] - vectors[0])


def file_direction(path: str) -> Float[np.ndarray, " hidden"]:
    """Read the vector of a file written by np.save."""
    direction = f"The direction {quoted(escape_controls(path), 60)}"
    form = f"give a .npy file of one vector, or two texts as TEXT{BETWEEN}TEXT."
    try:
        with open_regular(Path(path)) as file:
            shape, _, dtype = npy_header(file)
            if len(shape) != 1 or dtype.kind not in "fiu":
                raise TextError(f"{direction} is no vector of numbers; {form}")
            if shape[0] > MAX_DIMENSIONS:
                raise TextError(f"{direction} says it has {shape[0]:,} numbers; at most {MAX_DIMENSIONS:,} are read.")
            vector = np.fromfile(file, dtype, shape[0])
    except (OSError, ValueError) as error:
        raise TextError(f"{direction} cannot be read; {form}") from error
    if len(vector) < shape[0]:
        raise TextError(f"{direction} is cut off: it has {len(vector):,} of its {counted(shape[0], 'number')}; {form}")
    return vector.astype(np.float64)


def _named_state(name: str) -> str:
    first, _, second = (quoted(escape_controls(part), 40) for part in name.partition(BETWEEN))
    return f"the way from {first} to {second}" if BETWEEN in name else f"the vector of {first}"


def _tokens_of(
    loaded: LoadedModel, tokenizer: TextTokenizer, text: str, pair: str | None, layer: int, position: int
) -> Tokens:
    """Tokenize the text, and check that the hidden state and the token exist."""
    tokens = tokenize(tokenizer, text, pair)
    check_place("hidden state", layer, loaded.num_hidden_layers + 1)
    check_place("token", position, len(tokens))
    return tokens


def _state(
    loaded: LoadedModel, layer: int, inputs: "Mapping[str, torch.Tensor]", lengths: Sequence[int]
) -> "torch.Tensor":
    reset_model_state(loaded.model, max(lengths))
    return hidden_states(loaded, forward(loaded, inputs, output_hidden_states=True))[layer]


LATE_INTERACTION = "late-interaction"


def interaction_target(encoder: InteractionEncoder, text: str, query: str) -> Target:
    """Target the sum, over the tokens of a query, of the largest cosine with a token of the text (MaxSim).

    Tokens of the text that the checkpoint does not score, such as punctuation, are left out; a mask in the place of a
    scored token is scored.
    """
    plan, loaded, tokens = encoder.plan, encoder.loaded, encoder.document_tokens(text)
    encoded_query = encoder.query(query)
    fixed = torch.tensor(encoded_query.vectors, device=loaded.device)
    own = torch.tensor(encoder.is_scored(tokens.input_ids), device=loaded.device)
    if not bool(own.any()):
        raise TextError(f"No token of the document {quoted(text, 40)} is scored; write a word.")

    def values(inputs: "Mapping[str, torch.Tensor]", lengths: Sequence[int]) -> "torch.Tensor":
        output, mask = model_states(loaded, inputs, lengths, 0, None, inside=False)
        states = output["last_hidden_state"].float()
        vectors = applied(states.reshape(-1, states.shape[-1]), plan.dense).reshape(*states.shape[:2], -1)
        if plan.normalize:
            vectors = torch.nn.functional.normalize(vectors, dim=-1)
        scored = own
        if mask.shape[1] != len(own):  # tokens were dropped
            ids = inputs["input_ids"]
            scored = torch.tensor(encoder.is_scored(ids.cpu().numpy()), device=loaded.device)
        products = (vectors @ fixed.T).masked_fill(~(mask & scored)[..., None], -torch.inf)
        largest = products.amax(dim=1).sum(dim=-1)
        return largest / len(fixed) if plan.mean else largest

    notices = (
        plan.reason,
        *(["The query was cut to the length that the model reads."] if encoded_query.truncated else []),
    )
    title = f"late-interaction score for {quoted(escape_controls(query), 40)}"
    return build_target(loaded, tokens, values, name=LATE_INTERACTION, title=title, unit="(no unit)", notices=notices)
