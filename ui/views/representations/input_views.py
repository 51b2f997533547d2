"""Views of the page Representations: input embedding, pooler, one word in two texts."""

import numpy as np
import pandas as pd
import streamlit as st

from bertviz_core.errors import TextError
from bertviz_core.figures.hidden_states.lines import embedding_lengths, input_figure, pooler_figure, word_figure
from bertviz_core.hidden_states.embeddings import embedding_sum
from bertviz_core.hidden_states.geometry import largest_value, outlier_dimensions
from bertviz_core.hidden_states.results import state_name
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.report.model_lines import model_lines, reading
from bertviz_core.questions.texts.hidden_states import SHOWN_TOKENS, WORD, recomputed_pooler, word_comparison
from bertviz_core.text import decimals, digits, escape_markdown, isolated
from bertviz_core.trace.results import Trace
from ui.cache import models
from ui.cache.shared_model import SharedModel
from ui.views.representations import controls, reproduction, texts
from ui.widgets.errors import shown_to_user
from ui.widgets.figure_block import figure_block
from ui.widgets.models import run_model


def embedding_view(trace: Trace) -> None:
    """The input embedding: the added vectors, their sum, its normalisation."""
    first, last = controls.token_range(len(trace.tokens), SHOWN_TOKENS)
    shown = slice(first, last + 1)
    model = models.loaded(trace.model)
    parts = embedding_sum(model, trace)
    lengths = embedding_lengths(parts, shown)
    columns = {f"{name}, length": values for name, values in lengths.items()}
    frame = pd.DataFrame({"token": list(trace.tokens.tokens[shown]), **columns})
    if parts.output.shape == trace.hidden_states[0].shape:
        frame["largest difference to the model"] = np.abs(parts.output - trace.hidden_states[0]).max(axis=-1)[shown]
    words = figure_block(
        input_figure(lengths, trace, first),
        f"input embedding {trace.model}",
        frame,
        numbers="open",
        texts=trace.tokens,
        explanation=(
            texts.INPUT_WORDS,
            reproduction.run_lines(trace) + reproduction.input_code(model, parts, first, last + 1),
        ),
    )
    if parts.exact:
        words.markdown(
            f"{parts.steps}, gives the embeddings that layer 0 reads: largest difference "
            f"**{digits(parts.max_difference, 3)}**."
        )
    else:
        words.warning(parts.inexact)
    if parts.note:
        words.caption(escape_markdown(parts.note))


def pooler_view(trace: Trace) -> None:
    """The last hidden state of the first token, and the output of the pooler."""
    options = Options((trace.tokens.text,), trace.tokens.pair)
    check = recomputed_pooler(SharedModel(trace.model, trace), options).result
    if check is None:
        st.info(
            "This model has no pooler that is Linear and tanh on the first token, so there is none to compute again. "
            "A vector for the whole text is made from token vectors, often their mean."
        )
        return
    frame = pd.DataFrame({"dimension": range(len(check.output)), "linear": check.linear, "tanh": check.output})
    if len(check.cls) == len(frame):
        frame.insert(1, "CLS", check.cls)
    words = figure_block(
        pooler_figure(check, trace),
        f"pooler {trace.model}",
        frame,
        numbers="open",
        height=240,
        texts=trace.tokens,
        explanation=(texts.POOLER_WORDS, reproduction.run_lines(trace) + reproduction.POOLER_CODE),
    )
    first = escape_markdown(isolated(trace.tokens.tokens[0]))
    largest = largest_value(check.cls[None])
    outlier = largest.dimension in outlier_dimensions(trace.hidden_states).dimensions
    remark = ", one of the outlier dimensions, which are large in many tokens" if outlier else ""
    words.markdown(
        f"Above, the vector of **{first}** after the last layer, `last_hidden_state[:, 0]` of shape "
        f"`(1, {len(check.cls)})`. Its largest value, **{decimals(largest.value, 2)}** in dimension "
        f"{largest.dimension}, lies {largest.deviations:.1f} standard deviations from the mean{remark}. "
        "Below, Linear and tanh of that vector: `pooler_output` of shape "
        f"`(1, {len(check.output)})`, all between −1 and 1; largest difference from the model's own "
        f"**{digits(check.max_difference, 3)}**."
    )


@st.fragment
def word_view(trace: Trace) -> None:
    """One word in two texts, layer by layer."""
    word, first_text, second_text = controls.word_inputs()
    with shown_to_user():
        first, second = (run_model.traced(trace.model, text, None) for text in (first_text, second_text))
    options = Options((first_text, second_text), values={WORD.key: word})
    try:
        comparison = word_comparison(SharedModel(trace.model, first, second), options).result
    except TextError as error:
        st.info(escape_markdown(str(error)))
        return
    names = [state_name(entry) for entry in range(len(comparison.cosine))]
    frame = pd.DataFrame({"hidden state": names, "cosine": comparison.cosine})
    code = reproduction.WORD_CODE.format(
        first=first_text,
        second=second_text,
        input_arguments=reading(first.tokens, models.loaded(trace.model).model),
        first_positions=list(comparison.first_positions),
        second_positions=list(comparison.second_positions),
    )
    words = figure_block(
        word_figure(comparison, word, trace.model),
        f"word {word} {trace.model}",
        frame,
        numbers="open",
        texts=(first_text, second_text),
        explanation=(texts.WORD_WORDS, model_lines(SharedModel(trace.model), first.tokens) + code),
    )
    last = float(comparison.cosine[-1])
    words.markdown(
        f"The two vectors of the word have cosine **{decimals(float(comparison.cosine[0]))}** in the embeddings and "
        f"**{decimals(last)}** after the last layer."
    )
