"""Views of the representations page that take one part apart: input embedding, pooler, one word in two texts."""

import numpy as np
import pandas as pd
import streamlit as st

from bertviz_core.figures.hidden_states.lines import embedding_lengths, input_figure, pooler_figure, word_figure
from bertviz_core.hidden_states.embeddings import embedding_sum, pooler_check
from bertviz_core.hidden_states.geometry import compare_word, occurrences
from bertviz_core.trace.results import Trace
from ui.cache import models
from ui.views.representations import controls
from ui.widgets import run_model
from ui.widgets.errors import shown_to_user
from ui.widgets.figure_block import figure_block
from ui.widgets.formatting import escape_markdown

LONG_TEXT_TOKENS = 64


def embedding_view(trace: Trace) -> None:
    """How entry 0 is made: the vectors that are added, their sum, its normalisation."""
    first, last = controls.token_range(len(trace.tokens), LONG_TEXT_TOKENS)
    shown = slice(first, last + 1)
    parts = embedding_sum(models.loaded(trace.model), trace)
    lengths = embedding_lengths(parts, shown)
    columns = {f"length of {name}": values for name, values in lengths.items()}
    frame = pd.DataFrame({"token": list(trace.tokens.tokens[shown]), **columns})
    if parts.output.shape == trace.hidden_states[0].shape:
        frame["largest difference to layer 0"] = np.abs(parts.output - trace.hidden_states[0]).max(axis=-1)[shown]
    words = figure_block(
        input_figure(lengths, trace, first),
        f"input embedding {trace.model}",
        frame,
        numbers="open",
        texts=trace.tokens,
        explanation=(
            "Each token's id, position and type pick a row of their tables; the rows are added number by number "
            "and the sum is "
            "normalised. Families with rotary or relative positions add no position here.",
            "e = model.embeddings\n"
            "total = e.word_embeddings(ids) + e.position_embeddings(positions) + e.token_type_embeddings(types)\n"
            "e.LayerNorm(total)   # equals outputs.hidden_states[0]",
        ),
    )
    names = [name for name in ("word", "position", "token type", "other") if name in lengths]
    if parts.exact:
        words.markdown(
            f"{' + '.join(names)}, then layer norm, gives the first hidden state: largest difference "
            f"**{parts.max_difference:.2e}**."
        )
    else:
        words.warning(
            f"The sum does not tell all: the largest difference to the first hidden state is "
            f"{parts.max_difference:.2e}."
        )
    if parts.note:
        words.caption(escape_markdown(parts.note))


def pooler_view(trace: Trace) -> None:
    """The first token's last vector, and what the pooler makes of it."""
    hidden = trace.hidden_states.shape[-1]
    first = escape_markdown(trace.tokens.tokens[0])
    st.markdown(f"`last_hidden_state[:, 0:1, :]` has the shape `(1, 1, {hidden})`: the vector of **{first}**.")
    if trace.pooler_output is None:
        st.info("This model has no pooler: a vector for the whole text is made from token vectors, often their mean.")
        return
    st.markdown(f"`pooler_output` has the shape `(1, {len(trace.pooler_output)})`.")
    check = pooler_check(models.loaded(trace.model), trace)
    if check is None:
        st.info(
            "The pooler of this family is not Linear and tanh on the first token, so it is not computed again here."
        )
        return
    st.markdown(
        f"Linear, then tanh, on that vector: max |pooler(CLS) - pooler_output| = **{check.max_difference:.2e}**."
    )
    frame = pd.DataFrame({"dimension": range(len(check.output)), "linear": check.linear, "tanh": check.output})
    if len(check.cls) == len(frame):
        frame.insert(1, "CLS", check.cls)
    figure_block(
        pooler_figure(check, trace.model),
        f"pooler {trace.model}",
        frame,
        numbers="open",
        height=240,
        texts=trace.tokens,
        explanation=(
            "The pooler is a linear layer and tanh on the first token's last vector, trained with next-sentence "
            "prediction. In a "
            "model that was tuned with another pooling its output means little: the mean of the token vectors "
            "may serve better.",
            "cls = outputs.last_hidden_state[:, 0]\n"
            "torch.tanh(cls @ model.pooler.dense.weight.T + model.pooler.dense.bias)   # equals outputs.pooler_output",
        ),
    )


@st.fragment
def word_view(trace: Trace) -> None:
    """One word in two texts, layer by layer."""
    word, first_text, second_text = controls.word_inputs()
    with shown_to_user():
        first, second = (run_model.traced(trace.model, text, None) for text in (first_text, second_text))
    places = [occurrences(each.tokens, word) for each in (first, second)]
    missing = [text for text, found in zip((first_text, second_text), places, strict=True) if not found]
    if missing:
        st.info(
            f"The word {escape_markdown(repr(word))} does not stand in {escape_markdown(repr(missing[0]))}; write a "
            f"word that is in both."
        )
        return
    comparison = compare_word(word, first, places[0][0], second, places[1][0])
    frame = pd.DataFrame({"layer": range(len(comparison.cosine)), "cosine": comparison.cosine})
    words = figure_block(
        word_figure(comparison, word, trace.model),
        f"word {word} {trace.model}",
        frame,
        numbers="open",
        texts=(first_text, second_text),
        explanation=(
            "The static embedding of a word is one row of a table, the same in every text: cosine 1. Each layer "
            "mixes the context "
            "in, and the two vectors part. A word of several pieces is the mean of its pieces.",
            "a, b = (model(**tokenizer(t, return_tensors='pt'), output_hidden_states=True).hidden_states "
            "for t in texts)\n"
            "[torch.cosine_similarity(x[0, i], y[0, j], dim=0) for x, y in zip(a, b)]",
        ),
    )
    last = float(comparison.cosine[-1])
    words.markdown(
        f"After the last layer the two occurrences have cosine **{last:.4f}**: what the contexts made of one word."
    )
