"""The number that is looked at: one row of controls for it, shared by the pages on causes; their keys are addresses.

What a model has no head for is not offered, and one sentence says so. A cosine needs a second text: where the sidebar
has none, an example stands in for it, which is said too.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.causes.requests import TargetKind
from bertviz_core.causes.states import BETWEEN
from bertviz_core.causes.targets import MEASURES, Measure
from bertviz_core.errors import CheckpointError, MissingFilesError, TextError, UnsupportedModelError
from bertviz_core.hidden_states.results import state_name
from bertviz_core.predictions.classes import class_predictions, output_scoring
from bertviz_core.predictions.labelled.probe import probe_predictions
from bertviz_core.predictions.labelled.results import Probe
from bertviz_core.predictions.labels import NEXT_SENTENCE
from bertviz_core.predictions.loading import HeadModel, stored_tasks
from bertviz_core.predictions.results import ClassPrediction
from bertviz_core.predictions.words import predicted_words
from bertviz_core.text import counted, escape_controls, shortened
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.tokenization import longest_piece
from ui.cache import models
from ui.cache.decorator import cached_by_bytes
from ui.cache.sources import SourceKey, source, source_key
from ui.session import store, stored
from ui.widgets.cell_controls import token_select
from ui.widgets.controls import BOUND, choice, pair, text
from ui.widgets.formatting import escape_markdown
from ui.widgets.target.opened import ChosenTarget, probe_digest, second_text, session_probe

TARGET, MEASURE, CLASS, AT, WORD = "target", "measure", "target_class", "target_at", "target_word"
"""Names in the address; the word is typed, so that a link carries it only when asked to."""
LAYER, DIMENSION = "target_layer", "target_dimension"
OF, CLASSES_OF = "classes_of", {"class": "the head", "probe": "the probe"}
"""Name in the address, and kind of target -> whose classes they are."""
MOST_SAID = 120
"""Characters of the second text that the line below the controls repeats."""
CLASS_WIDTH, WORD_WIDTH, STATE_WIDTH, NUMBER_WIDTH = 260, 200, 170, 130
FROM, TO = "direction_from", "direction_to"
"""Names in the address of the two texts of a direction, which are typed, too."""
KINDS_HELP = (
    "The number whose changes are measured. State: one number of one token's hidden state. Direction: how far that "
    "state lies on the way from one text to another."
)
LIKELIEST = ""
"""What is chosen where the class is the one that the model itself names."""
KIND_OF_TASK: dict[str, TargetKind] = {
    "sequence-classification": "class",
    "next-sentence": "class",
    "masked-lm": "word",
    "question-answering": "answer",
}
NEEDS = {"class": "a class", "word": "a word at a position", "answer": "an answer"}
"""Kind of target that needs a head -> what it is, in a sentence."""


@dataclass(frozen=True, slots=True)
class _Offered:
    """Kinds of targets that a model has, and why others are missing."""

    kinds: tuple[TargetKind, ...]
    tasks: tuple[str, ...]
    missing: str


def target_row(
    name: str, alone: bool = False, row: DeltaGenerator | None = None, of_list: bool = False
) -> ChosenTarget:
    """The row of controls and, below it, what is compared or missing; what the reader chose.

    Args:
        name: name of the model.
        alone: whether heads read the text without the second one, which this view has another use for.
        row: the row, where other controls stand in it too; None for one of its own.
        of_list: whether it is asked of many texts, so that nothing at a place of one text is offered.

    Raises:
        BertvizError: the target cannot be asked for, in one sentence.
    """
    offered, probe = _offered(name, alone, of_list), session_probe(name)
    if stored(TARGET) not in (None, *offered.kinds):
        store(TARGET, None)
    with st.container(horizontal=True, vertical_alignment="bottom") if row is None else row:
        kind = choice("Target", offered.kinds, TARGET, width="content", help=KINDS_HELP)
        chosen = _CHOSEN[kind](name, offered.tasks, None if alone else pair(), probe)
    if chosen.kind == "cosine":
        example = ", an example: write your own under **Second text**" if pair() is None else ""
        other = escape_markdown(shortened(chosen.pair or "", MOST_SAID))
        st.caption(
            f"Target: the cosine of the text's sentence vector with that of “{other}”{example}. {offered.missing}"
        )
    elif offered.missing:
        st.caption(offered.missing)
    return chosen


def class_row(name: str) -> tuple[ChosenTarget, ClassPrediction, bool] | None:
    """Whose classes are looked at, the head's or the probe's, with a control where a model has both.

    Returns:
        Its likeliest class as a target, what it answers for the text, and whether it gives probabilities; None where
        the model has no classes.

    Raises:
        BertvizError: the head cannot be asked, in one sentence.
    """
    offered, probe = _offered(name, False, False), session_probe(name)
    kinds = tuple(kind for kind in ("class", "probe") if kind in offered.kinds)
    if not kinds:
        return None
    kind = choice("Classes of", tuple(CLASSES_OF[kind] for kind in kinds), OF, width="content") if kinds[1:] else ""
    if probe is not None and kind in (CLASSES_OF["probe"], "") and "probe" in kinds:
        digest = probe_digest(probe)
        answer = _probed(source_key(name), digest, text(), probe)
        best = answer.labels[answer.best]
        return ChosenTarget(f"probe:{best}", "logit", text(), None, digest), answer, True
    head, answer = _asked_head(name, offered.tasks, pair())
    best = answer.labels[answer.best]
    return ChosenTarget(f"class:{best}", "logit", text(), pair()), answer, output_scoring(head) != "number"


def _offered(name: str, alone: bool, of_list: bool) -> _Offered:
    """What the model has."""
    reason = ""
    try:
        tasks = stored_tasks(source(name))
        models.with_head(name, tasks[0])
    except MissingFilesError:
        raise
    except UnsupportedModelError:
        tasks, reason = (), f"{escape_markdown(name)} has no head for it"
    except CheckpointError:
        tasks, reason = (), f"the head of {escape_markdown(name)} is not whole in its file"
    if alone:
        tasks = tuple(task for task in tasks if task not in ("next-sentence", "question-answering"))
    kinds: list[TargetKind] = ["cosine", *dict.fromkeys(KIND_OF_TASK[task] for task in tasks if task in KIND_OF_TASK)]
    told = []
    if of_list and "word" in kinds:
        kinds.remove("word")
        told.append("A word at a position is a number of one text, so it is no target of a list.")
    if len(kinds) == 1 and reason:
        told.append(f"{', '.join(NEEDS.values()).capitalize()} would need a task head: {reason}.")
    if session_probe(name) is None:
        told.append("A probe becomes a target once you train it on the page Predictions, view Train a head.")
    else:
        kinds.append("probe")
    return _Offered((*kinds, "state", "direction"), tasks, " ".join(told))


def _cosine(name: str, tasks: Sequence[str], second: str | None, probe: Probe | None) -> ChosenTarget:
    return ChosenTarget("cosine", "logit", text(), second_text())


def _class(name: str, tasks: Sequence[str], second: str | None, probe: Probe | None) -> ChosenTarget:
    head, prediction = _asked_head(name, tasks, second)
    label, measure = _label_and_measure(prediction, output_scoring(head) != "number")
    return ChosenTarget(f"class:{label}", measure, text(), second)


def _asked_head(name: str, tasks: Sequence[str], second: str | None) -> tuple[HeadModel, ClassPrediction]:
    """The head for classes, and what it answers for the text."""
    task = "sequence-classification" if "sequence-classification" in tasks else "next-sentence"
    if task == "next-sentence" and second is None:
        raise TextError(
            f"Whether a text {NEXT_SENTENCE[0]} is asked of two texts, and there is one; write a second text in the "
            "sidebar."
        )
    head = models.with_head(name, task)
    return head, _prediction(source_key(name), task, text(), second, head)


def _of_probe(name: str, tasks: Sequence[str], second: str | None, probe: Probe | None) -> ChosenTarget:
    if probe is None:
        raise TextError("There is no probe; train one on the page Predictions, view Train a head.")
    digest = probe_digest(probe)
    prediction = _probed(source_key(name), digest, text(), probe)
    label, measure = _label_and_measure(prediction, True)
    return ChosenTarget(f"probe:{label}", measure, text(), None, digest)


def _word(name: str, tasks: Sequence[str], second: str | None, probe: Probe | None) -> ChosenTarget:
    tokens = models.tokens(name, text(), second)
    mask = models.tokenizer(name).tokenizer.mask_token_id
    ids = [int(each) for each in tokens.input_ids]
    first = ids.index(mask) if mask in ids else longest_piece(tokens)
    place = token_select("Position", tokens, AT, first, "The token in whose place the word is asked for.")
    if ids[place] == mask:
        own = _best_word(source_key(name), text(), second, place, models.with_head(name, "masked-lm"))
    else:
        own = tokens.tokens[place]
    typed = st.text_input(
        "Word",
        key=WORD,
        placeholder=escape_controls(own),
        help="A word of one piece; empty for the text's own, or at a mask for the likeliest.",
        persist_state="session",
        width=WORD_WIDTH,
    )
    return ChosenTarget(f"word:{(typed or '').strip() or own}@{place}", "logit", text(), second)


def _answer(name: str, tasks: Sequence[str], second: str | None, probe: Probe | None) -> ChosenTarget:
    if second is None:
        raise TextError("An answer is looked for in a second text, and there is none; write one in the sidebar.")
    return ChosenTarget("answer", "logit", text(), second)


def _state(name: str, tasks: Sequence[str], second: str | None, probe: Probe | None) -> ChosenTarget:
    layer, place = _state_place(name, second)
    dimension = st.number_input("Dimension", 0, None, 0, 1, key=DIMENSION, width=NUMBER_WIDTH, **BOUND)
    return ChosenTarget(f"state:{layer},{place},{dimension}", "logit", text(), second)


def _direction(name: str, tasks: Sequence[str], second: str | None, probe: Probe | None) -> ChosenTarget:
    layer, place = _state_place(name, second)
    help = "A text; the direction goes from its mean hidden state to that of the other, and has length 1."
    ends = []
    for label, key, example in (("From", FROM, "It is bad."), ("To", TO, "It is good.")):
        typed = st.text_input(label, key=key, placeholder=example, help=help, persist_state="session", width=WORD_WIDTH)
        ends.append((typed or "").strip() or example)
    if BETWEEN in ends[0]:
        raise TextError(f"The text From has {BETWEEN!r} in it, which parts the two texts; write it without.")
    return ChosenTarget(f"direction:{layer},{place},{BETWEEN.join(ends)}", "logit", text(), second)


def _state_place(name: str, second: str | None) -> tuple[int, int]:
    """A hidden state: its entry and its token."""
    tokens, last = models.tokens(name, text(), second), models.loaded(name).num_hidden_layers
    names = {state_name(entry): entry for entry in range(last + 1)}
    if stored(LAYER) not in (None, *names):
        store(LAYER, None)
    layer = st.selectbox("Hidden state", list(names), last, key=LAYER, width=STATE_WIDTH, **BOUND)
    place = token_select("Position", tokens, AT, longest_piece(tokens), "The token whose vector it is in.")
    return names[layer], place


_CHOSEN = {
    "cosine": _cosine,
    "class": _class,
    "word": _word,
    "answer": _answer,
    "probe": _of_probe,
    "state": _state,
    "direction": _direction,
}
"""Kind -> its own controls in the row, and what they say."""


def _label_and_measure(prediction: ClassPrediction, has_probability: bool) -> tuple[str, Measure]:
    """The class and what is read of it; the likeliest to begin with."""
    best = prediction.labels[prediction.best]
    options = [LIKELIEST, *prediction.labels] if len(prediction.labels) > 1 else list(prediction.labels)
    if stored(CLASS) not in (None, *options):
        store(CLASS, None)
    label: str | None = st.selectbox(
        "Class",
        options,
        0,
        key=CLASS,
        format_func=lambda each: escape_controls(each) or "the likeliest",
        width=CLASS_WIDTH,
        help=f"One of the {counted(len(prediction.labels), 'output')} of the head.",
        **BOUND,
    )
    measures = tuple(
        each
        for each in MEASURES
        if (each != "probability" or has_probability) and (each != "margin" or len(prediction.labels) > 1)
    )
    words = "Its logit; its probability; or its logit minus the greatest of the other classes."
    measure = choice("Measured by", measures, MEASURE, width="content", help=words)
    return str(label or best), measure


@cached_by_bytes("Asking the head")
def _prediction(key: SourceKey, task: str, text: str, second: str | None, _head: HeadModel) -> ClassPrediction:
    return class_predictions(_head, [models.tokens(key.name, text, second)])[0]


@cached_by_bytes("Asking the probe")
def _probed(key: SourceKey, digest: str, text: str, _probe: Probe) -> ClassPrediction:
    return probe_predictions(_probe, models.loaded(key.name), models.tokenizer(key.name), (text,))[0]


@cached_by_bytes("Asking the head")
def _best_word(key: SourceKey, text: str, second: str | None, position: int, _head: HeadModel) -> str:
    tokens: Tokens = models.tokens(key.name, text, second)
    tokenizer = models.tokenizer(key.name)
    best = int(predicted_words(_head, tokenizer, tokens, (), 1).top_ids[position, 0])
    return str(tokenizer.spelled([best])[0])
