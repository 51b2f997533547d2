"""Classes of a text or a pair, and whether the second text follows the first."""

import pandas as pd
import streamlit as st

from bertviz_core.figures.predictions.classes import classes_figure, next_sentence_figure
from bertviz_core.predictions.results import ClassPrediction
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.predictions.task_heads import classes
from bertviz_core.text import escape_markdown
from ui.cache.shared_model import SharedModel
from ui.views.predictions.compared import compared_block
from ui.views.predictions.task_heads import controls, texts
from ui.views.predictions.task_heads.controls import notices
from ui.widgets import text_fields
from ui.widgets.errors import shown_to_user
from ui.widgets.figure_block import figure_block

SEQUENCE, NEXT = "sequence-classification", "next-sentence"


@st.fragment
@shown_to_user()
def classes_view(name: str) -> None:
    """The classes of the text, as bars."""
    opened, options = SharedModel(name), Options((text_fields.text(),), text_fields.pair(), SEQUENCE)
    prediction = classes(opened, options).result
    order = controls.order_choice() if len(prediction.labels) > 1 else "by size"
    words = figure_block(
        classes_figure(prediction, order),
        f"classes {name}",
        class_frame(prediction),
        texts=prediction.tokens,
        models=(name,),
        explanation=(
            texts.READ + texts.HOW[prediction.scoring],
            texts.classes_code(name, SEQUENCE, prediction.tokens, prediction.scoring),
        ),
    )
    notices(words, prediction.notices, name, SEQUENCE)
    words.markdown(class_summary(prediction))
    compared_block(opened, options)


@st.fragment
@shown_to_user()
def next_view(name: str) -> None:
    """Whether the second text follows the first, as two bars."""
    text, pair = text_fields.two_texts(NEXT)
    opened, options = SharedModel(name), Options((text,), pair, NEXT)
    prediction = classes(opened, options).result
    words = figure_block(
        next_sentence_figure(prediction),
        f"next sentence {name}",
        class_frame(prediction),
        texts=prediction.tokens,
        models=(name,),
        explanation=(texts.NEXT, texts.classes_code(name, NEXT, prediction.tokens, prediction.scoring)),
    )
    notices(words, prediction.notices, name, NEXT)
    words.markdown(class_summary(prediction))
    compared_block(opened, options)


def class_summary(prediction: ClassPrediction) -> str:
    """The answer in a line."""
    best = escape_markdown(prediction.labels[prediction.best])
    if prediction.probabilities is None:
        return f"The head gives the number **{float(prediction.logits[prediction.best]):.4f}** ({best})."
    share = f"**{float(prediction.probabilities[prediction.best]):.3f}**"
    if prediction.scoring == "softmax":
        return f"The likeliest of {len(prediction.labels):,} classes is **{best}**, with probability {share}."
    likely = int((prediction.probabilities > 0.5).sum())
    counts = f"{likely:,} of {len(prediction.labels):,} classes {'is' if likely == 1 else 'are'} likelier than not"
    return f"{counts}; the likeliest is **{best}**, with probability {share}."


def class_frame(prediction: ClassPrediction) -> pd.DataFrame:
    """Every class in the model's order."""
    columns: dict[str, object] = {"class": list(prediction.labels)}
    if prediction.probabilities is not None:
        columns["probability"] = prediction.probabilities
    return pd.DataFrame({**columns, "logit" if prediction.probabilities is not None else "value": prediction.logits})
