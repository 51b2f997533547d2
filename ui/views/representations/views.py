"""Views of the representations page that map hidden states: values, change over the layers, similarity, paths."""

import pandas as pd
import streamlit as st

from bertviz_core.figures.base.axes import token_labels
from bertviz_core.figures.base.style import escape
from bertviz_core.figures.hidden_states.heatmaps import (
    BEFORE,
    INPUT,
    LENGTH,
    change_figure,
    token_similarity_figure,
    values_figure,
)
from bertviz_core.figures.hidden_states.lines import paths_figure
from bertviz_core.hidden_states.geometry import (
    cosine_to_embedding,
    cosine_to_previous,
    norms,
    outlier_dimensions,
    token_cosines,
    token_paths,
)
from bertviz_core.trace.results import Trace
from ui import session
from ui.components.cell_click import cell_click
from ui.components.layers_ahead import fit_ahead, layers_ahead
from ui.views.representations import controls
from ui.widgets import controls as widgets_controls
from ui.widgets.figure_block import chart, download_row, explained, figure_block, folded_table
from ui.widgets.formatting import escape_markdown

WINDOWS = (32, 64, 128, 256)
LONG_TEXT_TOKENS = 64
FirstChart = dict[tuple[int, int, str], int]
"""First dimension, window and theme of a chart -> the layer that it was drawn at."""
MAPS = {
    LENGTH: "How long each vector is.",
    BEFORE: "How much one layer turns a token: 1 is not at all.",
    INPUT: "What is left of the token's own embedding.",
}


def values_view(trace: Trace) -> None:
    """Hidden states of one entry, a window of dimensions wide."""
    _values(trace, {})


@st.fragment
def _values(trace: Trace, begun: FirstChart) -> None:
    """The view; `begun` is empty in each run of the whole page, and kept by the runs of this part alone."""
    hidden = trace.hidden_states.shape[-1]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        layer = controls.layer_slider(trace.num_hidden_layers)
        window = controls.window_select([*(size for size in WINDOWS if size < hidden), hidden])
        first = controls.first_dimension(hidden, window)
    values = trace.hidden_states[layer][:, first : first + window]
    names = token_labels(trace.tokens)
    picture = values_figure(trace, layer, first, window)
    title, key = picture.title, "representations_values"
    _values_chart(trace, key, layer, first, window, begun)
    cell = cell_click(key)
    if cell and cell[0] < len(names) and cell[1] < hidden:
        token, dimension = cell
        value = trace.hidden_states[layer][token, dimension]
        st.markdown(
            f"Token {token} **{escape_markdown(trace.tokens.tokens[token])}**, dimension {dimension}, layer {layer}: "
            f"**{value:.7f}**"
        )
    else:
        st.caption("Click a cell for its exact value.")
    outliers = outlier_dimensions(trace.hidden_states)
    listed = ", ".join(
        f"{dimension} (up to {peak:.1f} standard deviations)"
        for dimension, peak in zip(outliers.dimensions.tolist()[:6], outliers.peak.tolist(), strict=False)
    )
    st.markdown(f"Outlier dimensions: **{listed or 'none'}**.", help=outliers.rule)
    frame = pd.DataFrame(values, columns=[f"{first + index}" for index in range(window)])
    frame.insert(0, "token", list(trace.tokens.tokens))
    download_row(picture, key, f"hidden states layer {layer} {trace.model}", title, frame, trace.tokens)
    folded_table(key, frame, title)
    explained(
        "representations_values",
        "Entry 0 is the output of the embedding block; entry i is what layer i - 1 hands on. The scale is symmetric "
        "around 0, so that the colour of the paper is 0. A large value is not by itself important: a few "
        "dimensions are "
        "large in nearly every token.",
        "outputs = model(**tokenizer(text, return_tensors='pt'), output_hidden_states=True)\n"
        f"outputs.hidden_states[{layer}][0, :, {first}:{first + window}]   # {tuple(values.shape)}",
    )


def _values_chart(trace: Trace, key: str, layer: int, first: int, window: int, begun: FirstChart) -> None:
    """The chart; where the browser has room for all layers it goes on from the one that it began with by itself."""
    states = trace.hidden_states[:, :, first : first + window]
    if not fit_ahead(states):
        chart(values_figure(trace, layer, first, window), key)
        return
    shown = (first, window, session.theme_name())
    if shown not in begun:
        begun.clear()
        begun[shown] = layer
    chart(values_figure(trace, begun[shown], first, window), key)
    pictures = [values_figure(trace, each, first, window) for each in range(len(states))]
    layers_ahead(key, "layer", states, [escape(each.title) for each in pictures], [each.alt for each in pictures])


def change_view(trace: Trace) -> None:
    """One number per token and layer."""
    chosen = widgets_controls.choice("What is shown", list(MAPS), "map")
    values = {LENGTH: norms, BEFORE: cosine_to_previous, INPUT: cosine_to_embedding}[chosen](trace.hidden_states)
    first = len(trace.hidden_states) - len(values)
    frame = pd.DataFrame(values, columns=[f"{place} {token}" for place, token in enumerate(trace.tokens.tokens)])
    frame.insert(0, "layer", range(first, first + len(values)))
    words = figure_block(
        change_figure(values, trace, chosen),
        f"{'length' if chosen == LENGTH else f'cosine {chosen}'} {trace.model}",
        frame,
        numbers="open",
        texts=trace.tokens,
        explanation=(
            "Length is the Euclidean norm. The cosine of two vectors is their dot product over the product of "
            "their lengths. "
            "A high cosine to the layer before is due in part to the residual connection, which hands the vector on.",
            "h = outputs.hidden_states\ntorch.nn.functional.cosine_similarity(h[layer][0], h[layer - 1][0], dim=-1)",
        ),
    )
    words.caption(MAPS[chosen])


@st.fragment
def similarity_view(trace: Trace) -> None:
    """Token by token cosine; the layers run through in the browser."""
    first, last = controls.token_range(len(trace.tokens), LONG_TEXT_TOKENS)
    cosines = token_cosines(trace.hidden_states[:, first : last + 1])
    shown = trace.tokens.tokens[first : last + 1]
    frame = pd.DataFrame(cosines[-1], columns=[f"{first + i} {token}" for i, token in enumerate(shown)])
    frame.insert(0, "token", list(shown))
    words = figure_block(
        token_similarity_figure(cosines, trace, first, trace.num_hidden_layers),
        f"token similarity {trace.model}",
        frame,
        numbers="open",
        texts=trace.tokens,
        explanation=(
            "Every cell is the cosine of two tokens' vectors at the layer that the slider names; the diagonal is "
            "1. Vectors of "
            "one text often point into one narrow cone, so that all cosines are high: compare cells, not their height.",
            "v = torch.nn.functional.normalize(outputs.hidden_states[layer][0], dim=-1)\nv @ v.T",
        ),
    )
    words.caption(f"The table holds layer {trace.num_hidden_layers}, the last.")


@st.fragment
def paths_view(trace: Trace) -> None:
    """Tokens' ways through the layers in the plane of largest variance."""
    first, last = controls.token_range(len(trace.tokens), 24)
    paths = token_paths(trace.hidden_states[:, first : last + 1])
    rows = [
        (trace.tokens.tokens[first + token], layer, *paths.points[layer, token].tolist())
        for token in range(last + 1 - first)
        for layer in range(len(paths.points))
    ]
    frame = pd.DataFrame(rows, columns=["token", "layer", "first", "second"])
    words = figure_block(
        paths_figure(paths, trace, first),
        f"token paths {trace.model}",
        frame,
        numbers="open",
        height=240,
        texts=trace.tokens,
        explanation=(
            "One principal component analysis over the vectors of all layers together, so that the layers share a "
            "plane. Nearness in the plane is not nearness in the model where the share of variance is small.",
            "from sklearn.decomposition import PCA\nPCA(2).fit_transform(torch.cat(outputs.hidden_states)[:, "
            ":].flatten(0, 1))",
        ),
    )
    shown = float(paths.explained.sum())
    words.markdown(f"The plane holds **{shown:.1%}** of the variance of all layers; what lies outside it is not seen.")
