"""Views of the page Representations."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
import streamlit as st
from jaxtyping import Float

from bertviz_core.errors import TextError
from bertviz_core.figures.base.spec import FigureSpec
from bertviz_core.figures.hidden_states.heatmaps import (
    CHANGE,
    INPUT,
    LENGTH,
    change_figure,
    measure_rows,
    token_similarity_figure,
    values_figure,
)
from bertviz_core.figures.hidden_states.lines import (
    embedding_lengths,
    input_figure,
    paths_figure,
    pooler_figure,
    states_compared_figure,
    word_figure,
)
from bertviz_core.hidden_states.embeddings import embedding_sum
from bertviz_core.hidden_states.geometry import (
    hidden_states_npz,
    largest_value,
    most_alike,
    outlier_dimensions,
    token_cosines,
    token_paths,
)
from bertviz_core.hidden_states.results import state_name
from bertviz_core.questions.models.checkpoints import OTHER
from bertviz_core.questions.question import Options
from bertviz_core.questions.report.library_lines import library_lines
from bertviz_core.questions.report.model_lines import model_lines, reading
from bertviz_core.questions.tables.two_models.runs import compared_states_frame, states_that_changed
from bertviz_core.questions.texts.hidden_states import (
    COMPUTED,
    MEASURE,
    MEASURES,
    SHOWN_TOKENS,
    WORD,
    recomputed_pooler,
    word_comparison,
)
from bertviz_core.questions.texts.two_models import cosines_of_states
from bertviz_core.text import decimals, digits, escape_markdown, isolated
from bertviz_core.trace.results import Trace
from ui.address.widgets import choice
from ui.cache import models
from ui.cache.figures import cached_figure
from ui.cache.shared_model import SharedModel
from ui.components.cell_click import cell_click
from ui.components.layers_ahead import fit_ahead, layers_ahead
from ui.views.representations import controls
from ui.views.representations.controls import COMPARED
from ui.widgets import run_model
from ui.widgets.errors import shown_to_user
from ui.widgets.figure_block import (
    chart,
    download_row,
    explained,
    figure_block,
    file_name,
    folded_table,
    numbers_table,
    page_theme,
)
from ui.widgets.heading import unshown
from ui.widgets.models import beside


def compared_block(trace: Trace) -> None:
    """Show the cosine of each token's states in both models, by layer; nothing without a second model.

    Args:
        trace: run of the first model.
    """

    def show(other: str) -> None:
        opened, tokens = SharedModel(trace.model, trace), trace.tokens
        options = Options((tokens.text,), tokens.pair, values={OTHER.key: other})
        made = cosines_of_states(opened, options)
        compared = made.result
        models = tuple(dict.fromkeys((compared.first, compared.second)))
        st.markdown(escape_markdown(states_that_changed(compared)))
        words = figure_block(
            states_compared_figure(compared),
            f"cosines {' '.join(models)}",
            compared_states_frame(compared),
            texts=made.texts,
            models=models,
            explanation=(COMPARED, library_lines(cosines_of_states, opened, options)),
        )
        for notice in unshown(made.notices):
            words.caption(escape_markdown(notice))

    beside("representations_second", show)


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
            controls.INPUT_WORDS,
            controls.run_lines(trace) + controls.input_code(model, parts, first, last + 1),
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
        explanation=(controls.POOLER_WORDS, controls.run_lines(trace) + controls.POOLER_CODE),
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
    code = controls.WORD_CODE.format(
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
        explanation=(controls.WORD_WORDS, model_lines(SharedModel(trace.model), first.tokens) + code),
    )
    last = float(comparison.cosine[-1])
    words.markdown(
        f"The two vectors of the word have cosine **{decimals(float(comparison.cosine[0]))}** in the embeddings and "
        f"**{decimals(last)}** after the last layer."
    )


WINDOWS = (8, 16, 32, 64, 128, 256)
FirstChart = dict[tuple[object, ...], int]
"""Content and theme of a chart -> hidden state that it was drawn with."""
MAPS = {
    CHANGE: "0 is a vector that the layer did not turn, 1 one that it turned by a right angle.",
    INPUT: "What is left of each token's own embedding: 1 is all of it.",
    LENGTH: "How long each vector is.",
}
SHOWN = ("change", "input", "length")
"""Measures that the view offers, the default first."""


def change_view(trace: Trace) -> None:
    """One number per token and layer, and below it how far a second model is apart."""
    _change(trace)
    compared_block(trace)


@st.fragment
def _change(trace: Trace) -> None:
    name = choice(MEASURE, "What is shown", SHOWN, label_visibility="collapsed", format_func=MEASURES.__getitem__)
    chosen = MEASURES[name]
    values = COMPUTED[chosen](trace.hidden_states)
    columns = [f"{place} {token}" for place, token in enumerate(trace.tokens.tokens)]
    frame = pd.DataFrame(values, columns=columns)
    if chosen == CHANGE:
        frame.insert(0, "layer", range(len(values)))
    else:
        frame.insert(0, "hidden state", measure_rows(chosen, len(values)))
    words = figure_block(
        change_figure(values, trace, chosen),
        f"{chosen} {trace.model}",
        frame,
        numbers="open",
        texts=trace.tokens,
        explanation=(controls.CHANGE_WORDS, controls.run_lines(trace) + controls.CHANGE_CODE[name]),
    )
    with words, st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.caption(MAPS[chosen], width="content")
        all_states(trace, "change")


def all_states(trace: Trace, view: str) -> None:
    """All hidden states in one file."""
    states, seq, hidden = trace.hidden_states.shape
    st.download_button(
        "All hidden states (NPZ)",
        lambda: hidden_states_npz(trace),
        f"{file_name('representations', f'all hidden states {trace.model}')}.npz",
        "application/octet-stream",
        key=f"representations_{view}_npz",
        help=f"{states} × {seq} × {hidden} numbers, with the tokens; numpy.load reads it.",
        on_click="ignore",
    )


def values_view(trace: Trace) -> None:
    """A window of dimensions of one hidden state."""
    _values(trace, {})


@st.fragment
def _values(trace: Trace, begun: FirstChart) -> None:
    """The view; `begun` is empty in each run of the whole page, and persists over runs of this fragment."""
    hidden = trace.hidden_states.shape[-1]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        entry = controls.layer_slider(trace.num_hidden_layers)
        window = controls.window_select([*(size for size in WINDOWS if size < hidden), hidden])
        first = controls.first_dimension(hidden, window)
    values = trace.hidden_states[entry][:, first : first + window]
    pictures = [values_figure(trace, each, first, window) for each in range(len(trace.hidden_states))]
    picture, key, name = pictures[entry], "representations_values", state_name(entry)
    _switched(key, entry, pictures, trace.hidden_states[:, :, first : first + window], (first, window), begun)
    _clicked_value(trace, key, entry)
    _standing_out(trace, entry)
    frame = pd.DataFrame(values, columns=[f"{first + index}" for index in range(window)])
    frame.insert(0, "token", list(trace.tokens.tokens))
    download_row(picture, key, f"hidden states {name} {trace.model}", picture.title, frame, trace.tokens)
    all_states(trace, "values")
    folded_table(key, frame, picture.title)
    shape = tuple(values.shape)
    code = controls.VALUES_CODE.format(entry=entry, first=first, stop=first + window, name=name, shape=shape)
    explained(key, controls.VALUES_WORDS, controls.run_lines(trace) + code)


def _clicked_value(trace: Trace, key: str, entry: int) -> None:
    """The exact value of the clicked cell."""
    cell = cell_click(key)
    if not cell or cell[0] >= len(trace.tokens) or cell[1] >= trace.hidden_states.shape[-1]:
        st.caption("Click a cell for its exact value.")
        return
    token, dimension = cell
    word = escape_markdown(isolated(trace.tokens.tokens[token]))
    value = trace.hidden_states[entry][token, dimension]
    st.markdown(f"Token {token} **{word}**, dimension {dimension}, {state_name(entry)}: **{value:.7f}**")


def _standing_out(trace: Trace, entry: int) -> None:
    """The largest value shown, and the dimensions that are large for many tokens in any hidden state."""
    largest = largest_value(trace.hidden_states[entry])
    word = escape_markdown(isolated(trace.tokens.tokens[largest.token]))
    outliers = outlier_dimensions(trace.hidden_states)
    listed = ", ".join(
        f"{dimension} (up to {peak:.1f} standard deviations)"
        for dimension, peak in zip(outliers.dimensions.tolist()[:6], outliers.peak.tolist(), strict=False)
    )
    st.markdown(
        f"Of all tokens and dimensions the largest value {state_name(entry)}, whatever its sign: "
        f"**{decimals(largest.value, 2)}** in dimension {largest.dimension} of "
        f"“**{word}**” ({largest.deviations:.1f} standard deviations from the mean of its values). "
        f"Outlier dimensions over all hidden states: **{listed or 'none'}**.",
        help=outliers.rule,
    )


def _switched(
    key: str,
    entry: int,
    pictures: Sequence[FigureSpec],
    values: Float[np.ndarray, "states seq window"],
    shown: tuple[object, ...],
    begun: FirstChart,
) -> None:
    """The chart of one hidden state; small charts are sent for all states, and the browser switches between them."""
    if not fit_ahead(values):
        chart(pictures[entry], key)
        return
    theme = page_theme()
    what = (*shown, theme.name, theme.pixels)
    if what not in begun:
        begun.clear()
        begun[what] = entry
    chart(pictures[begun[what]], key)
    layers_ahead(key, "layer", [cached_figure(each, theme) for each in pictures], [each.alt for each in pictures])


def similarity_view(trace: Trace) -> None:
    """Cosines of all tokens in one hidden state."""
    _similarity(trace, {})


@st.fragment
def _similarity(trace: Trace, begun: FirstChart) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        entry = controls.layer_slider(trace.num_hidden_layers)
        first, last = controls.token_range(len(trace.tokens), SHOWN_TOKENS)
    cosines, name = token_cosines(trace.hidden_states[:, first : last + 1]), state_name(entry)
    tokens = trace.tokens.tokens[first : last + 1]
    pictures = [token_similarity_figure(cosines, trace, first, each) for each in range(len(cosines))]
    picture, key = pictures[entry], "representations_similarity"
    _switched(key, entry, pictures, cosines, (first, last), begun)
    if pair := most_alike(cosines[entry], trace.tokens, first):
        one, two = (f"“**{escape_markdown(isolated(trace.tokens.tokens[place]))}**”" for place in pair)
        value = decimals(float(cosines[entry][pair[0] - first, pair[1] - first]), 2)
        st.markdown(
            f"Of the tokens drawn, most alike {name}: {one} and {two}, cosine **{value}**. 1 is the same direction, "
            "0 is unrelated; equal tokens and special ones are left out."
        )
    frame = pd.DataFrame(cosines[entry], columns=[f"{first + place} {token}" for place, token in enumerate(tokens)])
    frame.insert(0, "token", list(tokens))
    download_row(picture, key, f"token similarity {name} {trace.model}", picture.title, frame, trace.tokens)
    numbers_table(frame, picture.title)
    code = controls.SIMILARITY_CODE.format(entry=entry, first=first, stop=last + 1, name=name)
    explained(key, controls.SIMILARITY_WORDS, controls.run_lines(trace) + code)


@st.fragment
def paths_view(trace: Trace) -> None:
    """Paths of tokens through the layers in the plane of largest variance."""
    picked = controls.picked_tokens(trace.tokens)
    if not picked:
        st.info("Choose at least one token.")
        return
    paths = token_paths(trace.hidden_states[:, picked])
    rows = [
        (position, trace.tokens.tokens[position], state_name(entry), *paths.points[entry, place].tolist())
        for place, position in enumerate(picked)
        for entry in range(len(paths.points))
    ]
    code = controls.PATHS_CODE.format(picked=picked, states=len(paths.points), count=len(picked))
    words = figure_block(
        paths_figure(paths, trace, picked),
        f"token paths {trace.model}",
        pd.DataFrame(rows, columns=["position", "token", "hidden state", "component 1", "component 2"]),
        numbers="open",
        height=240,
        texts=trace.tokens,
        explanation=(controls.PATHS_WORDS, controls.run_lines(trace) + code),
    )
    shown = float(paths.explained.sum())
    words.markdown(
        f"The plane holds **{shown:.1%}** of the variance of these vectors; what lies outside it is not shown. Each "
        "path runs from the embeddings to the last layer, marked by its token; the scale shows the shade of each."
    )


VIEWS: Mapping[str, Callable[[Trace], None]] = {
    "Change": change_view,
    "Values": values_view,
    "Token similarity": similarity_view,
    "Paths": paths_view,
    "Input": embedding_view,
    "One word, two texts": word_view,
}
"""Name -> view of a run; of the pooler, "Values" is input_views.pooler_view."""
