"""The number that is looked at: one row of controls for it, shared by the pages on causes; their keys are addresses.

What a model has no head for is not offered, and one sentence says so. A cosine needs a second text: where the sidebar
has none, an example stands in for it, which is said too.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.causes.requests import TargetKind, open_target, target_request
from bertviz_core.causes.targets import MEASURES, Measure, Target, probe_target
from bertviz_core.causes.words.classes import ClassOutputs, head_classes, probe_classes
from bertviz_core.errors import CheckpointError, MissingFilesError, TextError, UnsupportedModelError
from bertviz_core.predictions.classes import class_predictions, output_scoring
from bertviz_core.predictions.labelled.probe import probe_predictions
from bertviz_core.predictions.labelled.results import Probe
from bertviz_core.predictions.labels import NEXT_SENTENCE
from bertviz_core.predictions.loading import HeadModel, stored_tasks
from bertviz_core.predictions.results import ClassPrediction
from bertviz_core.predictions.words import predicted_words
from bertviz_core.text import counted, escape_controls
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.tokenization import longest_piece
from ui.cache import models
from ui.cache.decorator import cached_by_bytes
from ui.cache.ledgers import SourceKey, source, source_key
from ui.session import SECOND_TEXT, TRAINED_PROBE, settings, store, stored
from ui.widgets.cell_controls import token_select
from ui.widgets.controls import BOUND, choice, pair, text
from ui.widgets.formatting import escape_markdown

TARGET, MEASURE, CLASS, AT, WORD = "target", "measure", "target_class", "target_at", "target_word"
"""Names in the address; the word is typed, so that a link carries it only when asked to."""
OF, CLASSES_OF = "classes_of", {"class": "the head", "probe": "the probe"}
"""Name in the address, and kind of target -> whose classes they are."""
CLASS_WIDTH, WORD_WIDTH = 260, 200
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


class ChosenTarget(NamedTuple):
    """A target as it is chosen: plain values by which results can be kept."""

    name: str
    """As bertviz_core.causes.requests has it: "cosine", "class:NAME", "word:WORD@POSITION", "answer"; of a probe
    "probe:CLASS"."""
    measure: Measure
    """Of a class or a probe."""
    text: str
    """The text."""
    pair: str | None
    """The second text: the cosine's other one, the pair that a head reads, or an answer's context."""
    probe: str = ""
    """Digest of the probe; "" for any other target."""

    @property
    def kind(self) -> TargetKind:
        """Which kind it is."""
        return target_request(self.name, has_pair=True).kind


@dataclass(frozen=True, slots=True)
class _Offered:
    """Kinds of targets that a model has, and why others are missing."""

    kinds: tuple[TargetKind, ...]
    tasks: tuple[str, ...]
    missing: str


def target_row(name: str, alone: bool = False, row: DeltaGenerator | None = None) -> ChosenTarget:
    """The row of controls and, below it, what is compared or missing; what the reader chose.

    Args:
        name: name of the model.
        alone: whether heads read the text without the second one, which this view has another use for.
        row: the row, where other controls stand in it too; None for one of its own.

    Raises:
        BertvizError: the target cannot be asked for, in one sentence.
    """
    offered, probe = _offered(name, alone), session_probe(name)
    if stored(TARGET) not in (None, *offered.kinds):
        store(TARGET, None)
    with st.container(horizontal=True, vertical_alignment="bottom") if row is None else row:
        kind = choice("Target", offered.kinds, TARGET, width="content", help="The number whose changes are measured.")
        chosen = _CHOSEN[kind](name, offered.tasks, None if alone else pair(), probe)
    if chosen.kind == "cosine":
        example = ", an example: write your own under **Second text**" if pair() is None else ""
        st.caption(
            f"Target: the cosine of the text's sentence vector with that of “{escape_markdown(chosen.pair or '')}”"
            f"{example}. {offered.missing}"
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
    offered, probe = _offered(name, False), session_probe(name)
    kinds = tuple(kind for kind in ("class", "probe") if kind in offered.kinds)
    if not kinds:
        return None
    kind = choice("Classes of", tuple(CLASSES_OF[kind] for kind in kinds), OF, width="content") if kinds[1:] else ""
    if probe is not None and kind in (CLASSES_OF["probe"], "") and "probe" in kinds:
        digest = _digest(probe)
        answer = _probed(source_key(name), digest, text(), probe)
        best = answer.labels[answer.best]
        return ChosenTarget(f"probe:{best}", "logit", text(), None, digest), answer, True
    head, answer = _asked_head(name, offered.tasks, pair())
    best = answer.labels[answer.best]
    return ChosenTarget(f"class:{best}", "logit", text(), pair()), answer, output_scoring(head) != "number"


def opened_classes(name: str, chosen: ChosenTarget, probe: Probe | None = None) -> ClassOutputs:
    """All classes of the head or the probe of a target; a job, which knows no session, gives the session's probe.

    Raises:
        BertvizError: as head_classes and probe_classes.
    """
    if chosen.kind == "probe":
        same = _same_probe(chosen, probe or session_probe(name))
        return probe_classes(same, models.loaded(name), models.tokenizer(name), chosen.text)
    task = target_request(chosen.name, chosen.pair is not None).task or ""
    return head_classes(models.with_head(name, task), models.tokens(name, chosen.text, chosen.pair))


def opened_target(name: str, chosen: ChosenTarget, probe: Probe | None = None) -> Target:
    """The target, on the model that sessions share; a job, which knows no session, gives the session's probe.

    Raises:
        BertvizError: as bertviz_core.causes.requests.open_target.
    """
    base, tokenizer = models.loaded(name), models.tokenizer(name)
    if chosen.kind == "probe":
        same = _same_probe(chosen, probe or session_probe(name))
        label = chosen.name.partition(":")[2]
        return probe_target(same, base, tokenizer, chosen.text, label, chosen.measure)
    task = target_request(chosen.name, chosen.pair is not None).task
    head = None if task is None else models.with_head(name, task)
    return open_target(
        source(name), settings(), chosen.text, chosen.pair, chosen.name, chosen.measure, base=base, head=head
    )


def class_answers(name: str, chosen: ChosenTarget) -> Callable[[], ClassPrediction]:
    """Asks the head or the probe of a target for all its classes; each call is a run of the model as it is then."""
    probe = session_probe(name)
    if probe is not None and chosen.kind == "probe":
        return lambda: probe_predictions(probe, models.loaded(name), models.tokenizer(name), (chosen.text,))[0]
    head = models.with_head(name, target_request(chosen.name, chosen.pair is not None).task or "")
    return lambda: class_predictions(head, [models.tokens(name, chosen.text, chosen.pair)])[0]


def second_text() -> str:
    """The second text of the sidebar; an example where there is none."""
    return pair() or SECOND_TEXT


def _offered(name: str, alone: bool) -> _Offered:
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
    if len(kinds) == 1 and reason:
        told.append(f"{', '.join(NEEDS.values()).capitalize()} would need a task head: {reason}.")
    if session_probe(name) is None:
        told.append("A probe becomes a target once you train it on the page Predictions, view Train a head.")
    else:
        kinds.append("probe")
    return _Offered(tuple(kinds), tasks, " ".join(told))


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
    digest = _digest(probe)
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


_CHOSEN = {"cosine": _cosine, "class": _class, "word": _word, "answer": _answer, "probe": _of_probe}
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


def session_probe(name: str) -> Probe | None:
    """The probe of this session, where it was fitted on this model as it is now."""
    probe = stored(TRAINED_PROBE)
    if not isinstance(probe, Probe):
        return None
    return probe if (probe.model, probe.revision) == (name, source_key(name).revision) else None


def _same_probe(chosen: ChosenTarget, probe: Probe | None) -> Probe:
    """The probe that was chosen, where the session still has it."""
    if probe is None or _digest(probe) != chosen.probe:
        raise TextError("The probe has changed; open the page Predictions, Train a head, and come back.")
    return probe


def _digest(probe: Probe) -> str:
    facts = (probe.classes, probe.pooling, probe.layer, probe.texts)
    return sha256(probe.weight.tobytes() + probe.bias.tobytes() + repr(facts).encode()).hexdigest()


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
