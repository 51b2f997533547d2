"""Answers of two models to many texts: scores with the interval of their difference, and texts mended and broken."""

from collections.abc import Sequence
from functools import partial

import pandas as pd
import streamlit as st

from bertviz_core.checkpoints.rounding.formats import COPIES
from bertviz_core.errors import UnsupportedModelError
from bertviz_core.figures.checkpoints.compared_answers import (
    answers_compared_figure,
    interval_words,
    score_frame,
    scores_compared_figure,
)
from bertviz_core.predictions.probing.results import AnswerComparison, GoldComparison, TextSlice
from bertviz_core.questions.predictions.compared_answers import compared_answers, compared_options
from bertviz_core.questions.report.library_lines import library_lines
from bertviz_core.questions.tables.compared_answers import answer_comparison_frame, p_value_text
from bertviz_core.text import counted, escape_markdown
from ui.cache.shared_model import SharedModel
from ui.components.step_links import LONGEST_LINKED, Link, address, step_links
from ui.views.checkpoint.answers import lists
from ui.views.checkpoint.answers.slices import slices_block
from ui.views.checkpoint.texts import ANSWERS, NO_HEAD, NO_LABELS, NO_TEXTS
from ui.widgets.figure_block import explained, figure_block, numbers_table
from ui.widgets.heading import unshown
from ui.widgets.lists.downloads import table_files
from ui.widgets.lists.open_text import open_row, opened_select
from ui.widgets.lists.progress import answer
from ui.widgets.lists.uploads import wait_for_file

KEY = "checkpoint_answered"
HEIGHT, FEW = 330, 8
"""Pixels of the table, which is scrolled, and the most rows of a table without scrolling."""
PROBABILITIES = ("first probability", "second probability")


def answers_view(name: str, other: str, answered: lists.AnsweredTexts | None) -> None:
    """Scores of both models, their answers against each other, and the texts with different answers.

    Args:
        name: the first model.
        other: the second model, or a rounded copy of the first.
        answered: the texts; None before they are written or uploaded.
    """
    if answered is None:
        if st.session_state.get("answers_from") == "file":
            wait_for_file("Texts")
        else:
            st.info(NO_TEXTS, icon=":material/info:")
        return
    opened, options = SharedModel(name), compared_options(other, answered.texts, answered.gold, answered.pairs)
    try:
        made = answer(compared_answers, opened, options)
    except UnsupportedModelError as error:
        st.info(f"{escape_markdown(str(error).partition(';')[0])}. {NO_HEAD}", icon=":material/info:")
        return
    compared = made.result
    if compared.gold is not None:
        _scores(compared, compared.gold)
    else:
        _agreement(compared)
        st.caption(NO_LABELS)
    st.caption(escape_markdown(f"{counted(len(compared.texts), 'text')} {answered.name}."))
    for notice in unshown((*answered.notices, *made.notices)):
        st.caption(escape_markdown(notice))
    figure_block(
        answers_compared_figure(compared),
        f"answers {compared.first} {compared.second}",
        pd.DataFrame(compared.confusion, columns=list(compared.labels)).assign(first=list(compared.labels)),
        models=_models(compared),
    )
    slices = slices_block(opened, other, compared, answered)
    _texts(compared, slices, name, None if other in COPIES else other)
    explained(KEY, ANSWERS, library_lines(compared_answers, opened, options))


def _scores(compared: AnswerComparison, gold: GoldComparison) -> None:
    accuracy, macro_f1 = gold.accuracy, gold.macro_f1
    with st.container(horizontal=True):
        st.metric("Accuracy", f"{accuracy.first:.1%} → {accuracy.second:.1%}", help="Of the first → of the second.")
        st.metric("Macro-F1", f"{macro_f1.first:.1%} → {macro_f1.second:.1%}", help="Mean F1 of the classes.")
        st.metric("Mended", f"{len(gold.mended):,}", help="The first model is wrong, the second right.")
        st.metric("Broken", f"{len(gold.broken):,}", help="The first model is right, the second wrong.")
        st.metric("McNemar's p", p_value_text(gold.mcnemar_p).removeprefix("= "), help="Exact test of equal accuracy.")
        st.metric("Same answer", f"{compared.agreement:.1%}", help="Of all texts, right or wrong.")
    st.markdown(f"Accuracy changes by **{interval_words(accuracy)}**. {verdict(gold)}")
    spec, filename = scores_compared_figure(compared), f"scores {compared.first} {compared.second}"
    figure_block(spec, filename, score_frame(compared), models=_models(compared))


def verdict(gold: GoldComparison) -> str:
    """What the interval of the accuracy says, in one sentence."""
    count = len(gold.first.compared)
    if gold.accuracy.low > 0:
        return f"The whole interval is above 0: on texts like these {count:,}, the second model is more accurate."
    if gold.accuracy.high < 0:
        return f"The whole interval is below 0: on texts like these {count:,}, the first model is more accurate."
    return f"The interval contains 0, so these {counted(count, 'text')} do not show that one model is more accurate."


def _agreement(compared: AnswerComparison) -> None:
    with st.container(horizontal=True):
        st.metric("Same answer", f"{compared.agreement:.1%}", help="Of all texts.")
        st.metric("Changed", f"{len(compared.changed):,}", help="Texts with different answers.")


def _texts(compared: AnswerComparison, slices: Sequence[TextSlice], first: str, second: str | None) -> None:
    """The listed texts, and one of them with both answers and links that explain them."""
    listed, frame = lists.listed_select(compared, slices), answer_comparison_frame(compared)
    part = frame.iloc[listed]
    table_files(lambda: frame, KEY, f"answers {compared.first} {compared.second}")
    if not listed:
        st.caption("No text is of this kind, label and slice.")
        return
    numbers_table(
        part,
        "The texts with the answers of both models",
        "auto" if len(part) <= FEW else HEIGHT,
        formats=dict.fromkeys(PROBABILITIES, "%.3f"),
        key=lists.TABLE,
        on_row=partial(open_row, lists.TABLE, lists.OPENED),
    )
    _opened_text(compared, opened_select(lists.OPENED, listed, "listed"), first, second)


def _opened_text(compared: AnswerComparison, place: int, first: str, second: str | None) -> None:
    text, pair = compared.texts[place], compared.pairs[place] if compared.pairs is not None else ""
    st.markdown(escape_markdown(text))
    if pair:
        st.markdown(f":gray[second text:] {escape_markdown(pair)}")
    parts = []
    if compared.gold is not None and compared.gold.first.gold[place]:
        parts.append(f"gold label **{escape_markdown(compared.gold.first.gold[place])}**")
    for side, answers, scores in zip(("first", "second"), compared.answers, compared.probabilities, strict=True):
        parts.append(f"{side} **{escape_markdown(answers[place])}** ({scores[place]:.3f})")
    st.markdown(f"{', '.join(parts)}: {compared.kinds[place]}")
    if len(text) + len(pair) > LONGEST_LINKED:
        st.caption(f"The text has more than {LONGEST_LINKED:,} characters, too many for a link: copy it there.")
        return
    names = [("first", first), *([] if second is None else [("second", second)])]
    links = [
        Link(f"{why} of the {side}", address(page, [("model", name), ("text", text), ("pair", pair), *more]))
        for side, name in names
        for why, page, more in (
            ("Classes", "predictions", [("view", "Classes")]),
            ("Words that matter", "words", [("target", "class")]),
        )
    ]
    step_links(links, f"{KEY}_open", "Open this text in another view")


def _models(compared: AnswerComparison) -> tuple[str, ...]:
    return tuple(dict.fromkeys((compared.first, compared.second)))
