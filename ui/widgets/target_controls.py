"""Controls for the target that an intervention or attribution is about."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.errors import CheckpointError, MissingFilesError, TextError, UnsupportedModelError
from bertviz_core.hidden_states.results import state_name
from bertviz_core.interventions.target_parsing import (
    OF_PLACES,
    OF_TWO_TEXTS,
    TargetKind,
    parse_target,
    predicted_position,
)
from bertviz_core.interventions.targets import BETWEEN, MEASURES, Measure
from bertviz_core.models.catalog import OFFERED
from bertviz_core.predictions.classes import output_scoring, surest_tag, token_classes
from bertviz_core.predictions.probing.results import Probe
from bertviz_core.predictions.results import ClassPrediction
from bertviz_core.predictions.run import HeadModel, head_lack, stored_tasks
from bertviz_core.questions.interventions.targets import MEASURE, TARGET
from bertviz_core.questions.interventions.targets import TARGET as TARGET_PARAM
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.predictions.labelled_texts import probe_answer
from bertviz_core.questions.predictions.masked_lm import MASK, NO_MASK, words_at_position
from bertviz_core.questions.predictions.masked_lm import POSITION as WORD_AT
from bertviz_core.questions.predictions.predict import classes, tagged_tokens
from bertviz_core.questions.predictions.ranking import own_interaction
from bertviz_core.questions.texts.hidden_states import QUERY
from bertviz_core.text import counted, escape_controls, escape_markdown, quoted
from bertviz_core.trace.tokenization import longest_piece
from ui.address.registry import param, whole
from ui.address.widgets import BOUND, choice, select, typed
from ui.cache import models
from ui.cache.models import source, source_key
from ui.cache.shared_model import SharedModel
from ui.session import TRAINED_PROBE, page_pixels, store, stored
from ui.widgets.heading import page_pair, page_text, token_select, two_texts
from ui.widgets.models import bundled_instead

UPRIGHT_PIXELS = 400
"""Width class of the widest page of a phone that is held upright."""
LONGEST_SHOWN = 60
"""Most characters of a text or name in the line above a figure."""


class ChosenTarget(NamedTuple):
    """A chosen target as plain values, which can be part of a cache key."""

    name: str
    """See bertviz_core.interventions.target_parsing: "cosine", "late-interaction", "class:NAME", "tag:LABEL@POSITION",
    "word:WORD@POSITION", "answer"; for a probe "probe:CLASS"."""
    measure: Measure
    """Measure of a class, a tag or a probe."""
    text: str
    """The text."""
    pair: str | None
    """The second text: the other text of a cosine, the query of a late interaction, the pair that a head reads, or the
    context of an answer."""
    probe: str = ""
    """Digest of the probe; "" for any other target."""

    @property
    def kind(self) -> TargetKind:
        """Kind of the target."""
        return parse_target(self.name, has_pair=True).kind


def target_words(chosen: ChosenTarget) -> str:
    """A short description of a target."""
    request = parse_target(chosen.name, has_pair=True)
    name = quoted(escape_controls(request.argument), LONGEST_SHOWN)
    if chosen.kind == "cosine":
        return f"cosine to {quoted(escape_controls(chosen.pair or ''), LONGEST_SHOWN)}"
    if chosen.kind == "late-interaction":
        return f"late-interaction score for {quoted(escape_controls(chosen.pair or ''), LONGEST_SHOWN)}"
    if chosen.kind == "answer":
        return "start + end logit of the best answer"
    if chosen.kind == "word":
        return f"log-probability of {name} at token {request.places[0]}"
    if chosen.kind == "state":
        entry, place, dimension = request.places
        return f"value of dimension {dimension} of token {place}, {state_name(entry)}"
    if chosen.kind == "direction":
        (entry, place), (first, _, second) = request.places, request.argument.partition(BETWEEN)
        ends = [quoted(escape_controls(each), LONGEST_SHOWN) for each in (first, second)]
        return f"projection of token {place}, {state_name(entry)}, on the way from {ends[0]} to {ends[1]}"
    where = {"tag": f" at token {request.places[0]}" if request.places else "", "probe": " by the probe"}
    return f"{chosen.measure} of {name}{where.get(chosen.kind, '')}"


def shared_model_of(name: str) -> SharedModel:
    """A model for questions about a target, with the session's probe where it belongs to this model."""
    return SharedModel(name).with_probe(session_probe(name))


def target_options(chosen: ChosenTarget, pair: str | None = None) -> Options:
    """Options of questions about a target; a second text that is not part of it replaces its own."""
    label = chosen.name.partition(":")[2]
    name = f"probe:{chosen.probe}@{label}" if chosen.kind == "probe" else chosen.name
    return Options((chosen.text,), pair or chosen.pair, values={TARGET.key: name, MEASURE.key: chosen.measure})


def session_probe(name: str) -> Probe | None:
    """The session's probe; None if it was not fitted to this model and its current files."""
    probe = stored(TRAINED_PROBE)
    if not isinstance(probe, Probe):
        return None
    return probe if (probe.model, probe.revision) == (name, source_key(name).revision) else None


AT = "target_at"
CLASS_WIDTH, WORD_WIDTH, STATE_WIDTH, NUMBER_WIDTH = 260, 200, 170, 130
Texts = tuple[str, str | None]
"""The text, and the second one; None for none."""
LIKELIEST = ""
"""Option for the likeliest class."""


def _of_texts(kind: TargetKind, name: str, tasks: Sequence[str], texts: Texts, probe: Probe | None) -> ChosenTarget:
    return ChosenTarget(kind, "logit", *texts)


def _class(name: str, tasks: Sequence[str], texts: Texts, probe: Probe | None) -> ChosenTarget:
    head, prediction = answered_classes(name, tasks, texts)
    label, measure = _label_and_measure(prediction, output_scoring(head) != "number")
    return ChosenTarget(f"class:{label}", measure, *texts)


def answered_classes(name: str, tasks: Sequence[str], texts: Texts) -> tuple[HeadModel, ClassPrediction]:
    """Return the classification head, and its prediction for the text."""
    task = "sequence-classification" if "sequence-classification" in tasks else "next-sentence"
    head = models.with_head(name, task)
    return head, classes(SharedModel(name), Options((texts[0],), texts[1], task)).result


def _tag(name: str, tasks: Sequence[str], texts: Texts, probe: Probe | None) -> ChosenTarget:
    place, prediction = answered_tags(name, texts)
    label, measure = _label_and_measure(prediction, True, "Tag")
    return ChosenTarget(f"tag:{label}@{place}", measure, *texts)


def answered_tags(name: str, texts: Texts) -> tuple[int, ClassPrediction]:
    """Let the reader choose a token, by default the one with the surest tag; returns it and its tags."""
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
    "cosine": partial(_of_texts, "cosine"),
    "late-interaction": partial(_of_texts, "late-interaction"),
    "class": _class,
    "tag": _tag,
    "word": _word,
    "answer": partial(_of_texts, "answer"),
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
        help=f"One of the {counted(len(prediction.labels), 'output')} of the task head.",
    )
    measures = tuple(
        each
        for each in MEASURES
        if (each != "probability" or has_probability) and (each != "margin" or len(prediction.labels) > 1)
    )
    words = "Its logit; its probability; or its logit minus the greatest of the others."
    measure = choice(MEASURE, "Measured by", measures, width="content", help=words)
    return label or best, measure


ROW_TARGET = TARGET_PARAM.key
BEGAN, SET_ASIDE = "target_began", "target_set_aside"
"""Session keys: the default kind when the widget was drawn last; a chosen kind that a view does not offer, and the kind
that the view shows instead."""
CLASSES_OF: dict[TargetKind, str] = {"class": "the head", "tag": "the head", "probe": "the probe"}
"""Kind of target -> owner of its classes."""
KINDS_HELP = (
    "The number whose changes are measured. State: one number of one token's hidden state. Direction: the projection "
    "of that state on the direction from one text to another."
)
KIND_OF_TASK: dict[str, TargetKind] = {
    "sequence-classification": "class",
    "token-classification": "tag",
    "next-sentence": "class",
    "masked-lm": "word",
    "question-answering": "answer",
}
NEEDS: dict[TargetKind, str] = {
    "class": "a class",
    "tag": "a tag",
    "word": "a word at a position",
    "answer": "an answer",
}
"""Kind of target that needs a head -> its description in a sentence."""
DESCRIBED: dict[TargetKind, str] = {
    **NEEDS,
    "cosine": "the cosine of two texts",
    "late-interaction": "the late-interaction score of two texts",
    "probe": "a class of the probe",
    "state": "a number of one token's hidden state",
    "direction": "a direction of one token's hidden state",
}
"""Kind of target -> its description in a sentence."""
INSTEAD = "so what is measured is the cosine of two texts"
"""End of the sentence about a cosine in place of an answer."""
ONE_TEXT = "which belongs to one text and not to a list"
BOX = 300
"""Pixels of the popover."""


class TargetRow(NamedTuple):
    """The line above a figure: the target, and the view's own widgets."""

    row: DeltaGenerator
    """Container of the view's own widgets."""
    folded: DeltaGenerator
    """Container of the popover."""
    words: DeltaGenerator
    """Container of the line."""

    def say(self, target: str, *more: str) -> None:
        """Write the line: the target, and how words or heads are changed, a few words each."""
        self.words.markdown(" · ".join((f"Target: **{escape_markdown(target)}**", *more)), width="content")


@dataclass(frozen=True, slots=True)
class _Offered:
    """Kinds of targets of a model, and why others are missing."""

    kinds: tuple[TargetKind, ...]
    tasks: tuple[str, ...]
    missing: str
    no_answer: str
    """Why a cosine is measured, as a sentence without a full stop; "" where the model has an answer of its own."""


def folded_row() -> TargetRow:
    """Create the empty line, with a button that opens the widgets."""
    row = st.container(horizontal=True, vertical_alignment="center", key="target_line")
    with row:
        words = st.empty()
        with st.popover("Change", icon=":material/tune:", key="target_box"):
            folded = st.container(width=BOX)
    return TargetRow(row, folded, words)


def target_row(
    name: str, row: TargetRow, alone: bool = False, of_list: bool = False, texts: Texts | None = None
) -> ChosenTarget:
    """Show the widgets of the target, and write the chosen one into the line.

    A target of two texts reads `texts`, those of the session, or an example where there is no second one. `alone`:
    heads read the first text only, since the view uses the second one in another way; `of_list`: it is computed for
    many texts, so that positions in one text are not offered.
    """
    offered, probe = _offered(name, alone, of_list), session_probe(name)
    aside = _begin_with(offered.kinds)
    with row.folded:
        kind = choice(TARGET_PARAM, "Target", offered.kinds, help=f"{KINDS_HELP} {offered.missing}".strip())
    # Upright on a phone what is said about the target would push the picture out of sight.
    with row.folded if page_pixels() <= UPRIGHT_PIXELS else nullcontext():
        if kind == "cosine" and offered.no_answer and (aside is None or aside in NEEDS):
            bundled_instead("no_answer", f"{offered.no_answer}.", *OFFERED[:1])
        elif aside is not None:
            why = ONE_TEXT if of_list and aside in OF_PLACES else "which this view or this model does not have"
            st.caption(
                f"The chosen target is {DESCRIBED[aside]}, {why}; here it is {DESCRIBED[kind]}, elsewhere it stays."
            )
        if kind in OF_TWO_TEXTS:
            read = texts or two_texts(kind)
        else:
            read = (page_text(), None) if alone else _read_by_head(name, kind, offered.tasks)
    with row.folded:
        chosen = CHOOSERS[kind](name, offered.tasks, read, probe)
    row.say(target_words(chosen))
    return chosen


def class_kinds(name: str) -> tuple[TargetKind, ...]:
    """Kinds of targets of a model that are classes; () for a model without a probe, or a head for classes or tags."""
    return tuple(kind for kind in _offered(name, False, False).kinds if kind in CLASSES_OF)


def class_row(name: str, row: TargetRow) -> ChosenTarget:
    """Choose the head or the probe whose classes are shown; returns its likeliest class as a target."""
    offered, probe, kinds = _offered(name, False, False), session_probe(name), class_kinds(name)
    with row.folded:
        owners = tuple(CLASSES_OF[kind] for kind in kinds)
        owner = choice(param("classes_of"), "Classes of", owners) if owners[1:] else owners[0]
    if probe is not None and owner == CLASSES_OF["probe"]:
        answer = probed(name, page_text(), probe)
        return ChosenTarget(f"probe:{answer.labels[answer.best]}", "logit", page_text(), None, probe.digest)
    if "tag" in kinds:
        with row.row:
            place, answer = answered_tags(name, (page_text(), page_pair()))
        return ChosenTarget(f"tag:{answer.labels[answer.best]}@{place}", "logit", page_text(), page_pair())
    texts = _read_by_head(name, "class", offered.tasks)
    answer = answered_classes(name, offered.tasks, texts)[1]
    return ChosenTarget(f"class:{answer.labels[answer.best]}", "logit", *texts)


def _begin_with(kinds: tuple[TargetKind, ...]) -> TargetKind | None:
    """Choose the kind that is shown first; returns the one that is set aside for it, if any.

    A kind that the view or the model does not offer is set aside, since other pages share the choice: it comes back
    where it is offered again, unless the reader has chosen another one meanwhile. An untouched default of another model
    is replaced by that of this one.
    """
    chosen, began = stored(ROW_TARGET), stored(BEGAN)
    aside, instead = stored(SET_ASIDE) or (None, None)
    if aside is not None and chosen != instead:
        aside = None
    if aside in kinds:
        chosen, aside = aside, None
        store(ROW_TARGET, chosen)
    untouched = chosen == began != kinds[0] and ROW_TARGET not in st.query_params
    if chosen is not None and (chosen not in kinds or untouched):
        aside = aside or (None if untouched else chosen)
        store(ROW_TARGET, kinds[0])
    store(SET_ASIDE, None if aside is None else (aside, kinds[0]))
    store(BEGAN, kinds[0])
    return aside


def _read_by_head(name: str, kind: TargetKind, tasks: tuple[str, ...]) -> Texts:
    """The text and the second one; an example where the head needs a second text and there is none."""
    if kind == "answer":
        return two_texts("question-answering")
    if kind == "class" and "sequence-classification" not in tasks:
        return two_texts("next-sentence")
    if kind == "class" and models.with_head(name, tasks[0]).answers:
        return two_texts("sequence-classification")
    return page_text(), page_pair()


def _offered(name: str, alone: bool, of_list: bool) -> _Offered:
    """Kinds of targets of a model, its own answers first."""
    reason, own = "", ""
    try:
        tasks = stored_tasks(source(name))
        models.with_head(name, tasks[0])
    except MissingFilesError:
        raise
    except UnsupportedModelError:
        tasks, reason = (), f"{escape_markdown(name)} has no head for it"
        own = escape_markdown(f"{name} {head_lack(source(name))}")
    except CheckpointError:
        tasks, reason = (), f"the head of {escape_markdown(name)} is not whole in its file"
        own = f"The task head of {escape_markdown(name)} is not whole in its file"
    if alone:
        tasks = tuple(task for task in tasks if task not in ("next-sentence", "question-answering"))
    kinds: list[TargetKind] = [*dict.fromkeys(KIND_OF_TASK[task] for task in tasks if task in KIND_OF_TASK)]
    reasons = []
    if of_list:
        kinds = [kind for kind in kinds if kind not in OF_PLACES]
        whats = " or ".join(DESCRIBED[kind] for kind in OF_PLACES)
        reasons.append(f"{whats.capitalize()} belongs to one text, so it is not a target for a list.")
    if not kinds and reason:
        reasons.append(f"{', '.join(NEEDS.values()).capitalize()} would need a task head: {reason}.")
    if session_probe(name) is None:
        reasons.append("To use a probe as a target, train one on the page Predictions, view Train a probe.")
    probes: tuple[TargetKind, ...] = () if session_probe(name) is None else ("probe",)
    compared: tuple[TargetKind, ...] = ("late-interaction", "cosine") if _is_late_interaction(name) else ("cosine",)
    no_answer = f"{own}, {INSTEAD}" if own and compared[0] == "cosine" else ""
    states: tuple[TargetKind, ...] = () if of_list else ("state", "direction")
    return _Offered((*kinds, *compared, *probes, *states), tasks, " ".join(reasons), no_answer)


def _is_late_interaction(name: str) -> bool:
    """Whether the checkpoint was trained for late interaction and its files are whole."""
    try:
        return own_interaction(SharedModel(name)).trained
    except CheckpointError:
        return False
