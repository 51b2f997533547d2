"""Widgets for each kind of target."""

from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from bertviz_core.errors import TextError
from bertviz_core.hidden_states.results import state_name
from bertviz_core.interventions.target_parsing import TargetKind, predicted_position
from bertviz_core.interventions.targets import BETWEEN, MEASURES, Measure
from bertviz_core.predictions.classes import output_scoring, surest_tag, token_classes
from bertviz_core.predictions.probing.results import Probe
from bertviz_core.predictions.results import ClassPrediction
from bertviz_core.predictions.run import HeadModel
from bertviz_core.questions.interventions.targets import MEASURE, TARGET
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.predictions.labelled_texts import probe_answer
from bertviz_core.questions.predictions.masked_lm import MASK, NO_MASK, words_at_position
from bertviz_core.questions.predictions.masked_lm import POSITION as WORD_AT
from bertviz_core.questions.predictions.task_heads import classes, tagged_tokens
from bertviz_core.questions.texts.heads import QUERY
from bertviz_core.text import counted, escape_controls
from bertviz_core.trace.tokenization import longest_piece
from ui.address.query import whole
from ui.address.registry import param
from ui.address.widgets import BOUND, choice, select, typed
from ui.cache import models
from ui.cache.shared_model import SharedModel
from ui.widgets.cell_controls import token_select
from ui.widgets.target_controls.opened import ChosenTarget

AT = "target_at"
CLASS_WIDTH, WORD_WIDTH, STATE_WIDTH, NUMBER_WIDTH = 260, 200, 170, 130
Texts = tuple[str, str | None]
"""The text, and the second one; None for none."""
LIKELIEST = ""
"""Option for the likeliest class."""


def _cosine(name: str, tasks: Sequence[str], texts: Texts, probe: Probe | None) -> ChosenTarget:
    return ChosenTarget("cosine", "logit", *texts)


def _late_interaction(name: str, tasks: Sequence[str], texts: Texts, probe: Probe | None) -> ChosenTarget:
    return ChosenTarget("late-interaction", "logit", *texts)


def _class(name: str, tasks: Sequence[str], texts: Texts, probe: Probe | None) -> ChosenTarget:
    head, prediction = answered_classes(name, tasks, texts)
    label, measure = _label_and_measure(prediction, output_scoring(head) != "number")
    return ChosenTarget(f"class:{label}", measure, *texts)


def answered_classes(name: str, tasks: Sequence[str], texts: Texts) -> tuple[HeadModel, ClassPrediction]:
    """Return the classification head, and its prediction for the text.

    Raises:
        BertvizError: the model has no such head, or it cannot read the text.
    """
    task = "sequence-classification" if "sequence-classification" in tasks else "next-sentence"
    head = models.with_head(name, task)
    return head, classes(SharedModel(name), Options((texts[0],), texts[1], task)).result


def _tag(name: str, tasks: Sequence[str], texts: Texts, probe: Probe | None) -> ChosenTarget:
    place, prediction = answered_tags(name, texts)
    label, measure = _label_and_measure(prediction, True, "Tag")
    return ChosenTarget(f"tag:{label}@{place}", measure, *texts)


def answered_tags(name: str, texts: Texts) -> tuple[int, ClassPrediction]:
    """Let the reader choose a token, by default the one with the surest tag; returns it and its tags.

    Raises:
        BertvizError: the model has no such head, or it cannot read the text.
    """
    tags = tagged_tokens(SharedModel(name), Options((texts[0],), texts[1], "token-classification")).result
    surest = surest_tag(tags)
    first = longest_piece(tags.tokens) if surest is None else surest[1]
    place = token_select("Position", tags.tokens, AT, first, "The token with the tag.")
    return place, token_classes(tags, place)


def _of_probe(name: str, tasks: Sequence[str], texts: Texts, probe: Probe | None) -> ChosenTarget:
    if probe is None:
        raise TextError("There is no probe; train one on the page Predictions, view Train a probe.")
    label, measure = _label_and_measure(probed(name, texts[0], probe), True)
    return ChosenTarget(f"probe:{label}", measure, texts[0], None, probe.digest)


def probed(name: str, text: str, probe: Probe) -> ClassPrediction:
    """The answer of the session's probe to the text."""
    options = Options((text,), values={TARGET.key: f"probe:{probe.digest}"})
    return probe_answer(SharedModel(name).with_probe(probe), options).result


def _word(name: str, tasks: Sequence[str], texts: Texts, probe: Probe | None) -> ChosenTarget:
    tokens, tokenizer = models.tokens(name, *texts), models.tokenizer(name)
    first, _ = predicted_position(tokenizer, tokens)
    place = token_select("Position", tokens, AT, first, "The position of the word.")
    if int(tokens.input_ids[place]) == tokenizer.tokenizer.mask_token_id:
        here = Options((texts[0],), texts[1], values={MASK.key: NO_MASK, WORD_AT.key: str(place)})
        best = words_at_position(SharedModel(name), here).result.top_ids[place, 0]
        own = str(tokenizer.spelled([int(best)])[0])
    else:
        own = tokens.tokens[place]
    word = typed(
        param("target_word"),
        "Word",
        placeholder=escape_controls(own),
        help="A word of one piece; empty for the text's own, or at a mask for the likeliest.",
        width=WORD_WIDTH,
    )
    return ChosenTarget(f"word:{word or own}@{place}", "logit", *texts)


def _answer(name: str, tasks: Sequence[str], texts: Texts, probe: Probe | None) -> ChosenTarget:
    return ChosenTarget("answer", "logit", *texts)


def _state(name: str, tasks: Sequence[str], texts: Texts, probe: Probe | None) -> ChosenTarget:
    layer, place = _state_place(name, texts)
    dimension = st.number_input(
        "Dimension", 0, None, 0, 1, key=param("target_dimension").key, width=NUMBER_WIDTH, **BOUND
    )
    return ChosenTarget(f"state:{layer},{place},{dimension}", "logit", *texts)


def _direction(name: str, tasks: Sequence[str], texts: Texts, probe: Probe | None) -> ChosenTarget:
    layer, place = _state_place(name, texts)
    help_text = "A text; the direction goes from its mean hidden state to that of the other, and has length 1."
    ends = []
    for label, key, example in (("From", "direction_from", "It is bad."), ("To", "direction_to", "It is good.")):
        end = typed(param(key), label, placeholder=example, help=help_text, width=WORD_WIDTH)
        ends.append(end or example)
    if BETWEEN in ends[0]:
        raise TextError(f"The text From has {BETWEEN!r} in it, which parts the two texts; write it without.")
    return ChosenTarget(f"direction:{layer},{place},{BETWEEN.join(ends)}", "logit", *texts)


def _state_place(name: str, texts: Texts) -> tuple[int, int]:
    """A hidden state: its entry and its token."""
    tokens, last = models.tokens(name, *texts), models.loaded(name).num_hidden_layers
    names = {state_name(entry): entry for entry in range(last + 1)}
    layer = select(param("target_layer"), "Hidden state", list(names), state_name(last), width=STATE_WIDTH)
    chosen = whole(st.query_params.get(QUERY.key))  # on the Journey
    first = longest_piece(tokens) if chosen is None or chosen >= len(tokens) else chosen
    place = token_select("Position", tokens, AT, first, "The token of the hidden state.")
    return names[layer], place


CHOOSERS: Mapping[TargetKind, Callable[[str, Sequence[str], Texts, Probe | None], ChosenTarget]] = {
    "cosine": _cosine,
    "late-interaction": _late_interaction,
    "class": _class,
    "tag": _tag,
    "word": _word,
    "answer": _answer,
    "probe": _of_probe,
    "state": _state,
    "direction": _direction,
}
"""Kind of target -> function of model, tasks, texts and probe that draws its widgets and returns the target."""


def _label_and_measure(prediction: ClassPrediction, has_probability: bool, noun: str = "Class") -> tuple[str, Measure]:
    """The class or tag, by default the likeliest, and its measure."""
    best = prediction.labels[prediction.best]
    options = [LIKELIEST, *prediction.labels] if len(prediction.labels) > 1 else list(prediction.labels)
    label = select(
        param("target_class"),
        noun,
        options,
        format_func=lambda each: escape_controls(each) or "the likeliest",
        width=CLASS_WIDTH,
        help=f"One of the {counted(len(prediction.labels), 'output')} of the head.",
    )
    measures = tuple(
        each
        for each in MEASURES
        if (each != "probability" or has_probability) and (each != "margin" or len(prediction.labels) > 1)
    )
    words = "Its logit; its probability; or its logit minus the greatest of the others."
    measure = choice(MEASURE, "Measured by", measures, width="content", help=words)
    return label or best, measure
