"""What the checkpoints of a training run compute: for the text, for labelled texts, and over a list of texts."""

from typing import Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.checkpoints.tables import cka_frame, entropy_frame, labels_frame, text_frame
from bertviz_core.checkpoints.training.results import FollowedLabels, FollowedStates, FollowedText
from bertviz_core.errors import TextError
from bertviz_core.figures.base.spec import FigureSpec
from bertviz_core.figures.checkpoints.followed.answers import training_scores_figure, training_text_figure
from bertviz_core.figures.checkpoints.followed.states import training_cka_figure, training_entropy_figure
from bertviz_core.predictions.probing.reading import EXAMPLE_SET
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.predictions.compared_answers import labelled_columns
from bertviz_core.questions.predictions.followed_answers import followed_labels, followed_text
from bertviz_core.questions.predictions.followed_states import ENTROPY_DRAWN, followed_entropy, followed_states
from bertviz_core.questions.question import Answer
from bertviz_core.questions.report.library_lines import library_lines
from bertviz_core.questions.tables.training.followed import (
    answers_frame,
    labels_sentence,
    states_sentence,
    text_sentences,
)
from bertviz_core.text import counted, escape_markdown
from ui.address.registry import param
from ui.address.widgets import choice
from ui.cache.folders import SharedTraining
from ui.views.checkpoint.answers.lists import AnsweredTexts, answered_texts
from ui.views.checkpoint.layers import listed_texts
from ui.views.checkpoint.texts import FOLLOWED_LAYERS, FOLLOWED_SCORES, FOLLOWED_TEXT, NO_GOLD_TEXTS, WRITE_TEXTS
from ui.widgets import text_fields
from ui.widgets.figure_block import chart, figure_block, folded, numbers_table
from ui.widgets.heading import unshown
from ui.widgets.lists.progress import answer
from ui.widgets.lists.uploads import wait_for_file

HEIGHT, FEW = 330, 8
"""Pixels of a table of texts, which is scrolled, and the most rows of one without scrolling."""


def followed_view(opened: SharedTraining) -> None:
    """What the reader chooses to follow through the checkpoints; nothing is run before."""
    followed = param("followed")
    nothing, text, labelled, _ = followed.options
    chosen = choice(followed, "Run every checkpoint on", help="Each is loaded as a model, one after another.")
    if chosen == nothing:
        return
    if chosen == text:
        _text(opened)
    elif chosen == labelled:
        _labels(opened)
    else:
        _layers(opened)


def _text(opened: SharedTraining) -> None:
    """The answer to the text of the sidebar at every checkpoint."""
    text, pair = text_fields.text(), text_fields.pair()
    options = Options((text,), pair)

    def draw(answered: Answer[FollowedText]) -> None:
        followed = answered.result
        with _block(
            followed.waiting,
            training_text_figure(followed),
            f"text through {opened.name}",
            text_frame(followed),
            texts=(text, pair),
            models=[each for each, _ in answered.models],
            explanation=(FOLLOWED_TEXT, library_lines(followed_text, opened, options)),
        ):
            for sentence in text_sentences(followed):
                st.markdown(escape_markdown(sentence))

    answered = answer(followed_text, opened, options, draw)
    _notices(opened, answered.notices)
    draw(answered)


def _labels(opened: SharedTraining) -> None:
    """Accuracy, macro-F1 and changed answers at every checkpoint."""
    answered_list = answered_texts(opened.run.checkpoints[-1].checkpoint.config)
    if answered_list is None:
        if st.session_state.get("answers_from") == "file":
            wait_for_file("Texts")
        else:
            st.info(NO_GOLD_TEXTS, icon=":material/info:")
        return
    if answered_list.texts and answered_list.gold is None:
        st.info(NO_GOLD_TEXTS, icon=":material/info:")
        return
    options = (
        labelled_columns(answered_list.texts, answered_list.gold, answered_list.pairs)
        if answered_list.texts
        else Options()
    )

    def draw(answered: Answer[FollowedLabels]) -> None:
        followed = answered.result
        with _block(
            followed.waiting,
            training_scores_figure(followed),
            f"scores through {opened.name}",
            labels_frame(followed),
            models=[each for each, _ in answered.models],
            explanation=(FOLLOWED_SCORES, library_lines(followed_labels, opened, options)),
            formats={"accuracy": "percent", "macro-F1": "percent"},
        ):
            st.markdown(escape_markdown(labels_sentence(followed)))
            st.caption(escape_markdown(f"{counted(len(followed.texts), 'text')} {answered_list.name}."))

    try:
        answered = answer(followed_labels, opened, options, draw)
    except TextError as error:
        st.info(f"{escape_markdown(str(error))} {NO_GOLD_TEXTS}", icon=":material/info:")
        return
    _notices(opened, (*answered_list.notices, *answered.notices))
    draw(answered)
    _answers(answered.result, answered_list)


def _block(waiting: int, spec: FigureSpec, filename: str, table: pd.DataFrame, **more: Any) -> DeltaGenerator:
    """A figure with its files, which only a complete answer has; returns the container for the words about it."""
    if not waiting:
        return figure_block(spec, filename, table, **more)
    chart(spec, "training_so_far")
    return st.container()


def _answers(followed: FollowedLabels, answered_list: AnsweredTexts) -> None:
    """The texts with the answer of every checkpoint."""
    frame = answers_frame(followed)
    with folded("The answers of every checkpoint", "checkpoint_answers_by_step"):
        numbers_table(frame, f"Answers to the texts {answered_list.name}", "auto" if len(frame) <= FEW else HEIGHT)


def _layers(opened: SharedTraining) -> None:
    """CKA of every layer with the first checkpoint, and the attention entropy of every head."""
    lists = param("compared_list")
    is_example = choice(lists, "Texts", width="content") == lists.options[0]
    typed = None if is_example else listed_texts()
    if not is_example and typed is None:
        st.info(WRITE_TEXTS, icon=":material/info:")
        return
    options = Options(() if typed is None else (typed,))
    source = f"the example set {EXAMPLE_SET}" if is_example else "your own list"

    def draw(answered: Answer[FollowedStates]) -> None:
        followed = answered.result
        with _block(
            followed.waiting,
            training_cka_figure(followed),
            f"CKA through {opened.name}",
            cka_frame(followed),
            models=[each for each, _ in answered.models],
            explanation=(FOLLOWED_LAYERS, library_lines(followed_states, opened, options)),
        ):
            st.markdown(escape_markdown(states_sentence(followed)))
            st.caption(f"{counted(followed.texts, 'text')} of {source}; each is the mean of its tokens' vectors.")

    answered = answer(followed_states, opened, options, draw)
    _notices(opened, answered.notices)
    draw(answered)
    _entropy(opened, answered, options)


def _entropy(opened: SharedTraining, answered: Answer[FollowedStates], options: Options) -> None:
    """The map of the heads; nothing for a model whose attention is not known."""
    if answered.result.entropy is None:
        return
    drawn = choice(ENTROPY_DRAWN, "Attention entropy", width="content")
    shown = Options(options.texts, values={ENTROPY_DRAWN.key: drawn})
    figure_block(
        training_entropy_figure(answered.result, drawn),
        f"attention entropy through {opened.name}",
        entropy_frame(answered.result),
        models=[each for each, _ in answered.models],
        explanation=(FOLLOWED_LAYERS, library_lines(followed_entropy, opened, shown)),
    )


def _notices(opened: SharedTraining, notices: tuple[str, ...]) -> None:
    """Remarks that do not stand at the top of the view already."""
    for notice in unshown(notices):
        if notice not in opened.run.notices:
            st.caption(f":material/info: {escape_markdown(notice)}")
