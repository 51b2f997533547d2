"""What Checkpoint draws by itself: answers to many texts, training runs."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from bertviz_core.checkpoints.training.results import FollowedLabels
from bertviz_core.errors import TextError
from bertviz_core.figures.base.spec import DECLARED
from bertviz_core.models.catalog import TEXTS_FILE
from bertviz_core.predictions.probing.reading import config_classes, example_set, fitting_set
from bertviz_core.questions.models.checkpoints import OTHER
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.predictions.followed import followed_labels
from bertviz_core.questions.predictions.two_models import labelled_columns
from bertviz_core.questions.question import Answer, Question
from bertviz_core.questions.tables.training import answers_frame
from bertviz_core.questions.view import Ask, Folded, Later, Notices, Part, Section, Table, Text
from bertviz_core.questions.views.answered import TextList, answers_parts, text_lines
from bertviz_core.questions.views.checkpoint import COMPARED, COMPARED_LIST, compared_view, of_list
from bertviz_core.questions.views.texts.checkpoint import NO_GOLD_TEXTS, NO_RUN, NO_TEXTS, WRITE_TEXTS
from bertviz_core.questions.views.training import (
    FOLLOWED,
    TRAINING,
    labels_parts,
    run_parts,
    sentences,
    states_parts,
    text_parts,
    two_parts,
)
from bertviz_core.text import escape_markdown
from ui.address.registry import param
from ui.cache.shared_model import SharedModel, SharedTraining
from ui.session import store, stored
from ui.widgets.figure_block import chart
from ui.widgets.run_model import answer
from ui.widgets.uploads import ListFile, example_table, table_texts, text_panel, typed_lines, wait_for_file

ANSWERS_FROM = param("answers_from")
FILE = ListFile("answers", source=ANSWERS_FROM)


def compare_view(opened: SharedModel, ask: Ask, options: Options) -> Iterator[Part]:
    """The changes from this checkpoint to another."""
    texts = None
    if options.get(COMPARED.key) == COMPARED.options[-1]:
        texts = answered_texts(opened.source.config)
    yield from compared_view(opened, ask, options)
    if options.get(COMPARED.key) != COMPARED.options[-1]:
        return
    if texts is None:
        needs_texts(texts, NO_TEXTS)
    else:
        yield from answers_parts(opened, ask, options.get(OTHER.key), texts)


def answered_texts(config: Mapping[str, Any]) -> TextList | None:
    """The texts of this session, behind a button that opens their panel; None before they are written or uploaded.

    The example set is chosen for the classes of the config, that of the model that answers.
    """
    example, columns = fitting_set(config_classes(config)) or example_set(), ("answers_gold", "answers_second")

    def examples() -> TextList:
        if example.name == TEXTS_FILE:
            return table_texts(example_table(), *columns)
        labels = f"{', '.join(example.classes[:-1])} and {example.classes[-1]}"
        st.caption(f"{len(example.texts)} short English sentences with the labels {labels} (*{example.name}*).")
        return TextList(f"of the example set {example.name}", ())

    words = "A table with a column of texts and one of gold labels, its column names in the first row"
    own = {ANSWERS_FROM.options[0]: examples, ANSWERS_FROM.options[1]: _typed}
    once = [each for each in ANSWERS_FROM.options if each != example.name]  # the file is then the example set
    with st.container(horizontal=True, vertical_alignment="bottom"):
        return text_panel(replace(ANSWERS_FROM, options=tuple(once)), "answers_box", FILE, words, columns, own)


def needs_texts(texts: TextList | None, what: str) -> None:
    """Say which texts are missing."""
    if texts is None and st.session_state.get("answers_from") == "file":
        wait_for_file("Texts")
    else:
        st.info(what, icon=":material/info:")


def _typed() -> TextList | None:
    table = typed_lines("Texts, one a line", "answered_texts", "one text a line, or: label<tab>text")
    return None if table is None else text_lines("of your own list", table)


def training_view(_: SharedModel, __: Ask, options: Options) -> Iterator[Part]:
    """The log and the movement of a training run, and what its checkpoints compute."""
    name = options.get(TRAINING.key)
    if not name:
        with st.container(key="checkpoint_no_run"):
            st.info(NO_RUN, icon=":material/info:")
        return
    st.button("Look again", icon=":material/refresh:", key="look_again", help="Takes checkpoints saved meanwhile.")
    run = SharedTraining(name)
    if options.choice(FOLLOWED) == FOLLOWED.options[0]:
        yield from run_parts(run, partial(_ask, run))
    else:
        yield Later(lambda: _followed(run, options))
    if options.choice(FOLLOWED) != FOLLOWED.options[2]:
        yield from _two(run)


def _two(run: SharedTraining, followed: FollowedLabels | None = None) -> Iterator[Part]:
    """Two checkpoints to compare; a field with the default of other texts, or of none, gets that of these."""
    for section in two_parts(run, followed):
        for each in section.params:
            default, before = next(iter(each.values(run, Options()) if each.values else ())), f"{each.key}_default"
            if stored(before) not in (None, default) and stored(each.key) == stored(before):
                store(each.key, default)
            store(before, default)
        yield section


def _ask(run: SharedTraining, question: Question[Any, Any], options: Options) -> Answer[Any]:
    """Ask a question about the run; what is known so far is drawn meanwhile."""

    def draw(so_far: Answer[Any]) -> None:
        chart(DECLARED[question.figures[0]].of(so_far.drawn), "training_so_far")
        for sentence in sentences(so_far):
            st.markdown(sentence.markdown)

    return answer(question, run, options, draw)


def _followed(run: SharedTraining, options: Options) -> Iterator[Part]:
    """What the reader chooses to follow through the checkpoints; nothing is run before."""
    text, labelled = FOLLOWED.options[1:3]
    chosen, ask = options.choice(FOLLOWED), partial(_ask, run)
    if chosen == text:
        yield from text_parts(run, ask, options)
    elif chosen == labelled:
        yield from _labels(run)
    else:
        show = partial(of_list, lambda listed, *_: states_parts(listed, run, ask), WRITE_TEXTS)
        yield Section((COMPARED_LIST,), show)


def _labels(run: SharedTraining) -> Iterator[Part]:
    """Accuracy, macro-F1 and changed answers at every checkpoint, all answers, and the pair of the steepest fall."""
    listed = answered_texts(run.run.checkpoints[-1].checkpoint.config)
    if listed is None or (listed.texts and listed.gold is None):
        needs_texts(listed, NO_GOLD_TEXTS)
        yield from _two(run)
        return
    options = labelled_columns(listed.texts, listed.gold, listed.pairs) if listed.texts else Options()
    try:
        scores = _ask(run, followed_labels, options)
    except TextError as error:
        yield Text(f"{escape_markdown(str(error))} {NO_GOLD_TEXTS}", "notice")
        yield from _two(run)
        return
    yield Notices(listed.notices, "caption")
    yield from labels_parts(run, scores, options, listed.name)
    frame = answers_frame(scores.result)
    table = Table(frame, f"Answers to the texts {listed.name}")
    yield Folded("The answers of every checkpoint", "checkpoint_answers_by_step", lambda: [table])
    yield from _two(run, scores.result)
