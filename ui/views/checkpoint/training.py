"""The view Training run: the folder that is opened, two checkpoints to compare, and the texts that all are run on."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import streamlit as st

from bertviz_core.checkpoints.training.movement import LEAST_CHECKPOINTS
from bertviz_core.errors import TextError
from bertviz_core.figures.base.spec import DECLARED
from bertviz_core.questions.models.checkpoints import OTHER
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.predictions.compared_answers import labelled_columns
from bertviz_core.questions.predictions.followed_answers import followed_labels
from bertviz_core.questions.question import Answer, Question
from bertviz_core.questions.tables.training.followed import answers_frame
from bertviz_core.questions.view import Ask, Folded, Notices, Part, Section, Table, Text
from bertviz_core.questions.views.checkpoint import COMPARED_LIST, of_list
from bertviz_core.questions.views.checkpoint_texts import NO_GOLD_TEXTS, NO_RUN, WRITE_TEXTS
from bertviz_core.questions.views.training import (
    FIRST_CHECKPOINT,
    FOLLOWED,
    SECOND_CHECKPOINT,
    TRAINING,
    labels_parts,
    run_parts,
    sentences,
    states_parts,
    text_parts,
)
from bertviz_core.text import escape_markdown
from ui.address.widgets import select
from ui.cache.folders import SharedTraining
from ui.cache.shared_model import SharedModel
from ui.components.step_links import Link, address, step_links
from ui.session import settings
from ui.views.checkpoint.answers import answered_texts, needs_texts
from ui.widgets.figure_block import chart
from ui.widgets.lists.progress import answer

WIDTH, HEIGHT, FEW = 245, 330, 8
"""Pixels of a select and of a table of texts, which is scrolled, and the most rows of one without scrolling."""


def training_view(_: SharedModel, __: Ask, options: Options) -> Iterator[Part]:
    """The log and the movement of a training run, and what its checkpoints compute."""
    name = options.get(TRAINING.key)
    if not name:
        with st.container(key="checkpoint_no_run"):
            st.info(NO_RUN, icon=":material/info:")
        return
    st.button("Look again", icon=":material/refresh:", key="look_again", help="Takes checkpoints saved meanwhile.")
    run = SharedTraining(name)
    yield from run_parts(run, partial(_ask, run))
    if len(run.run.states) >= LEAST_CHECKPOINTS:
        _two(run)
    yield Section((FOLLOWED,), partial(_followed, run))


def _ask(run: SharedTraining, question: Question[Any, Any], options: Options) -> Answer[Any]:
    """Ask a question about the run; what is known so far is drawn meanwhile."""

    def draw(so_far: Answer[Any]) -> None:
        chart(DECLARED[question.figures[0]].of(so_far.drawn), "training_so_far")
        for sentence in sentences(so_far):
            st.markdown(sentence.markdown)

    return answer(question, run, options, draw)


def _two(run: SharedTraining) -> None:
    """A link that opens any two checkpoints as the models of Compare with base."""
    allowed = settings().allowed_models
    named = {each.name: each.checkpoint.name for each in run.run.checkpoints}
    names = {name: model for name, model in named.items() if not allowed or model in allowed}
    if len(names) < LEAST_CHECKPOINTS:
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        first = select(FIRST_CHECKPOINT, "First checkpoint", list(names), width=WIDTH)
        second = select(SECOND_CHECKPOINT, "Second checkpoint", list(names), list(names)[-1], width=WIDTH)
        query = [("model", names[first]), ("view", "Compare with base"), (OTHER.key, names[second])]
        link = Link("Compare these two checkpoints", address("checkpoint", query))
        step_links([link], "training_two", "The two checkpoints compared")


def _followed(run: SharedTraining, _: SharedModel, __: Ask, options: Options) -> Iterator[Part]:
    """What the reader chooses to follow through the checkpoints; nothing is run before."""
    nothing, text, labelled, _listed = FOLLOWED.options
    chosen, ask = options.choice(FOLLOWED), partial(_ask, run)
    if chosen == text:
        yield from text_parts(run, ask, options)
    elif chosen == labelled:
        yield from _labels(run)
    elif chosen != nothing:
        show = partial(of_list, lambda listed, *_: states_parts(listed, run, ask), WRITE_TEXTS)
        yield Section((COMPARED_LIST,), show)


def _labels(run: SharedTraining) -> Iterator[Part]:
    """Accuracy, macro-F1 and changed answers at every checkpoint, and the texts with all answers."""
    listed = answered_texts(run.run.checkpoints[-1].checkpoint.config)
    if listed is None or (listed.texts and listed.gold is None):
        needs_texts(listed, NO_GOLD_TEXTS)
        return
    options = labelled_columns(listed.texts, listed.gold, listed.pairs) if listed.texts else Options()
    try:
        scores = _ask(run, followed_labels, options)
    except TextError as error:
        yield Text(f"{escape_markdown(str(error))} {NO_GOLD_TEXTS}", "notice")
        return
    yield Notices(listed.notices, "caption")
    yield from labels_parts(run, scores, options, listed.name)
    frame = answers_frame(scores.result)
    table = Table(frame, f"Answers to the texts {listed.name}", "auto" if len(frame) <= FEW else HEIGHT)
    yield Folded("The answers of every checkpoint", "checkpoint_answers_by_step", lambda: [table])
