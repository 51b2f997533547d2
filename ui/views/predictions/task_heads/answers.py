"""Answers to a question in its context, and the map of all spans."""

import numpy as np
import pandas as pd
import streamlit as st

from bertviz_core.figures.predictions.answers import answer_map_figure, answers_figure
from bertviz_core.predictions.results import AnswerPrediction
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.predictions.task_heads import LONGEST, answers
from bertviz_core.questions.report.library_lines import library_lines
from bertviz_core.questions.tables.predictions import answer_rows
from ui.cache.shared_model import SharedModel
from ui.views.predictions.compared import compared_block
from ui.views.predictions.task_heads import controls, texts
from ui.views.predictions.task_heads.controls import notices
from ui.views.predictions.task_heads.tags import height_of
from ui.widgets import text_fields
from ui.widgets.errors import shown_to_user
from ui.widgets.figure_block import explained, figure_block

TASK = "question-answering"
WHERE = "The question is the first text of the sidebar, the context the second."
SCORES = {"score": "%.4f", "logit": "%.3f"}


@st.fragment
@shown_to_user()
def answers_view(name: str) -> None:
    """The context with its best answers, and the probability of every span."""
    question, context = text_fields.two_texts(TASK)
    longest = controls.longest_input()
    opened, options = SharedModel(name), Options((question,), context, TASK, {LONGEST.key: str(longest)})
    prediction = answers(opened, options).result
    words = figure_block(
        answers_figure(prediction),
        f"answers {name}",
        answer_frame(prediction),
        numbers="open",
        height=height_of(len(prediction.answers)),
        formats=SCORES,
        texts=(question, context),
        scrolled=True,
    )
    notices(words, prediction.notices, name, TASK)
    words.markdown(null_words(prediction))
    words.caption(f"{WHERE} Below an answer stand its place and its score; an answer is darker the likelier it is.")
    _map(name, prediction, longest)
    explained("predictions_answers", texts.ANSWERS, library_lines(answers, opened, options))
    compared_block(opened, options)


def _map(name: str, prediction: AnswerPrediction, longest: int) -> None:
    """The probability of every span of one window."""
    above = st.container()
    window = controls.window_select(len(prediction.windows), prediction.answers[0].window)
    with above:
        words = figure_block(
            answer_map_figure(prediction, window, longest),
            f"answer map {name}",
            logit_frame(prediction, window),
            texts=(prediction.question, prediction.context),
        )
    words.caption(texts.MAP)


def null_words(prediction: AnswerPrediction) -> str:
    """How the answer "none" compares with the best span; a notice says so where it is preferred."""
    if prediction.null_logit is None:
        return "This model reads no special token in front, so it has no answer “none”."
    none, span = (f"{logit:.3f}".replace("-", "−") for logit in (prediction.null_logit, prediction.answers[0].logit))
    if prediction.is_null:
        return f"The answer “none” has the logit **{none}**, above the best span's **{span}**."
    return (
        f"The answer “none” has the logit **{none}**, not above the best span's **{span}**: a model that was trained "
        "with questions without an answer says that there is one."
    )


def answer_frame(prediction: AnswerPrediction) -> pd.DataFrame:
    """A row for every answer, the best first, among them that there is none."""
    listed = answer_rows(prediction)
    return pd.DataFrame(
        {
            "answer": [each["text"] or each["label"] for each in listed],
            "score": np.array([each["score"] for each in listed], dtype=float),
            "logit": [each["logit"] for each in listed],
            "characters": ["" if each["start"] is None else f"{each['start']}:{each['end']}" for each in listed],
            "window": pd.array([None if each["window"] is None else each["window"] + 1 for each in listed], "Int64"),
        }
    )


def logit_frame(prediction: AnswerPrediction, window: int) -> pd.DataFrame:
    """The two logits of every token in one window, from which the map is computed."""
    part = prediction.windows[window]
    places = np.flatnonzero(part.context)
    return pd.DataFrame(
        {
            "token": [part.tokens[place] for place in places],
            "position": places,
            "start logit": part.start_logits[places],
            "end logit": part.end_logits[places],
        }
    )
