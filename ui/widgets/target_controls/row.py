"""Widgets for the target, behind a line above the figure; the pages about causes share them.

The model's own answers come first, the cosine of two texts only if there are none. Targets without a head in the model
are not offered, and the help of the widget explains why.
"""

from dataclasses import dataclass
from typing import NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.errors import CheckpointError, MissingFilesError, UnsupportedModelError
from bertviz_core.interventions.target_parsing import OF_PLACES, OF_TWO_TEXTS, TargetKind
from bertviz_core.models.catalog.example_run import OFFERED
from bertviz_core.predictions.run import stored_tasks
from bertviz_core.questions.interventions.targets import TARGET as TARGET_PARAM
from bertviz_core.questions.predictions.late_interaction import own_interaction
from bertviz_core.text import escape_markdown
from ui.address.registry import param
from ui.address.widgets import choice
from ui.cache import models
from ui.cache.shared_model import SharedModel
from ui.cache.sources import source
from ui.session import store, stored
from ui.widgets.models.select import bundled_instead
from ui.widgets.target_controls.kinds import CHOOSERS, Texts, answered_classes, answered_tags, probed
from ui.widgets.target_controls.opened import ChosenTarget, session_probe, target_words
from ui.widgets.text_fields import pair, text, two_texts

TARGET = TARGET_PARAM.key
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

    A target of two texts reads an example where there is no second one.

    Args:
        name: name of the model.
        row: the line.
        alone: whether heads read the first text only, since the view uses the second one in another way.
        of_list: whether the target is computed for many texts, so that positions in one text are not offered.
        texts: what a target of two texts reads; None for the texts of the session.

    Raises:
        BertvizError: the target cannot be computed.
    """
    offered, probe = _offered(name, alone, of_list), session_probe(name)
    aside = _begin_with(offered.kinds)
    with row.folded:
        kind = choice(TARGET_PARAM, "Target", offered.kinds, help=f"{KINDS_HELP} {offered.missing}".strip())
    if kind == "cosine" and offered.no_answer and (aside is None or aside in NEEDS):
        bundled_instead("no_answer", f"{offered.no_answer}.", *OFFERED[:1])
    elif aside is not None:
        why = ONE_TEXT if of_list and aside in OF_PLACES else "which this view or this model does not have"
        st.caption(f"The chosen target is {DESCRIBED[aside]}, {why}; here it is {DESCRIBED[kind]}, elsewhere it stays.")
    if kind in OF_TWO_TEXTS:
        read = texts or two_texts(kind)
    else:
        read = (text(), None) if alone else _read_by_head(kind, offered.tasks)
    with row.folded:
        chosen = CHOOSERS[kind](name, offered.tasks, read, probe)
    row.say(target_words(chosen))
    return chosen


def class_kinds(name: str) -> tuple[TargetKind, ...]:
    """Kinds of targets of a model that are classes; () for a model without a probe, or a head for classes or tags.

    Raises:
        BertvizError: the model cannot be loaded.
    """
    return tuple(kind for kind in _offered(name, False, False).kinds if kind in CLASSES_OF)


def class_row(name: str, row: TargetRow) -> ChosenTarget:
    """Choose the head or the probe whose classes are shown, with a widget if a model has both.

    Returns:
        Its likeliest class as a target.

    Raises:
        BertvizError: the head cannot be run.
    """
    offered, probe, kinds = _offered(name, False, False), session_probe(name), class_kinds(name)
    with row.folded:
        owners = tuple(CLASSES_OF[kind] for kind in kinds)
        owner = choice(param("classes_of"), "Classes of", owners) if owners[1:] else owners[0]
    if probe is not None and owner == CLASSES_OF["probe"]:
        answer = probed(name, text(), probe)
        return ChosenTarget(f"probe:{answer.labels[answer.best]}", "logit", text(), None, probe.digest)
    if "tag" in kinds:
        with row.row:
            place, answer = answered_tags(name, (text(), pair()))
        return ChosenTarget(f"tag:{answer.labels[answer.best]}@{place}", "logit", text(), pair())
    texts = _read_by_head("class", offered.tasks)
    answer = answered_classes(name, offered.tasks, texts)[1]
    return ChosenTarget(f"class:{answer.labels[answer.best]}", "logit", *texts)


def _begin_with(kinds: tuple[TargetKind, ...]) -> TargetKind | None:
    """Choose the kind that is shown first; returns the one that is set aside for it, if any.

    A kind that the view or the model does not offer is set aside, since other pages share the choice: it comes back
    where it is offered again, unless the reader has chosen another one meanwhile. An untouched default of another model
    is replaced by that of this one.
    """
    chosen, began = stored(TARGET), stored(BEGAN)
    aside, instead = stored(SET_ASIDE) or (None, None)
    if aside is not None and chosen != instead:
        aside = None
    if aside in kinds:
        chosen, aside = aside, None
        store(TARGET, chosen)
    untouched = chosen == began != kinds[0] and TARGET not in st.query_params
    if chosen is not None and (chosen not in kinds or untouched):
        aside = aside or (None if untouched else chosen)
        store(TARGET, kinds[0])
    store(SET_ASIDE, None if aside is None else (aside, kinds[0]))
    store(BEGAN, kinds[0])
    return aside


def _read_by_head(kind: TargetKind, tasks: tuple[str, ...]) -> Texts:
    """The text and the second one; an example where the head needs a second text and there is none."""
    if kind == "answer":
        return two_texts("question-answering")
    if kind == "class" and "sequence-classification" not in tasks:
        return two_texts("next-sentence")
    return text(), pair()


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
        own = f"{escape_markdown(name)} has no task head"
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
