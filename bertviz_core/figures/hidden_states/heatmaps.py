"""Heatmaps of hidden states: values, one number per token and layer, cosines between tokens."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from bertviz_core.figures.base.axes import (
    LABEL_PIXELS,
    label_width,
    mark_second_text,
    name_columns,
    second_text_start,
    token_axis,
    token_labels,
)
from bertviz_core.figures.base.cells import add_cells
from bertviz_core.figures.base.marks import pair_names
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import (
    TEXT_SIZE,
    Theme,
    colour_bar,
    diverging,
    escape,
    layout,
    round_limit,
    sequential,
)
from bertviz_core.hidden_states.results import state_name
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.trace.results import Trace

EXACT_CELLS = 100_000
"""Maximum number of cells sent as float32; larger maps use int16 steps of the range."""
HEIGHT, TALLEST = 470, 610
"""Usual height of a map in pixels; that of a map of values with more tokens, which still fits a window of 900."""
BESIDE, LONGEST = 100, 160
"""Pixels beside a map for its colour bar and margins; maximum width of a row label."""
ABOVE = 130
"""Pixels above and below a map of values."""
MOST_STATES = 16
"""Maximum number of names of hidden states in a column."""


class CodedValues(NamedTuple):
    """Values as sent to the browser."""

    cells: Float[np.ndarray, "seq window"]
    """float32, or int16 for many cells."""
    top: float
    """Cell value of the upper end of the symmetric scale."""
    limit: float
    """Number at that end: the smallest round one that bounds all values."""
    ticks: dict[str, Any]
    """Ticks of the colour bar, in real units."""


def bytes_per_cell(cells: int) -> int:
    """Return 4 for float32 cells, 2 for int16 cells."""
    return 4 if cells <= EXACT_CELLS else 2


def coded_values(values: Float[np.ndarray, "seq window"]) -> CodedValues:
    """Encode hidden states for a heatmap, with the settings of their scale."""
    limit = round_limit(float(np.abs(values).max(initial=0)))
    exact = bytes_per_cell(values.size) == 4
    top = limit if exact else 32767.0
    bar = colour_bar("value", -limit, limit, (-top, top))
    cells = values.astype(np.float32) if exact else (values / limit * top).round().astype(np.int16)
    return CodedValues(cells, top, limit, {name: bar[name] for name in ("tickvals", "ticktext")})


def values_heatmap(
    values: Float[np.ndarray, "seq window"],
    names: Sequence[str],
    first: int,
    second_text: int | None,
    title: str,
    theme: Theme,
) -> go.Figure:
    """Draw one entry of the hidden states, tokens by dimensions, on a scale symmetric around 0."""
    seq, window = values.shape
    coded = coded_values(values)
    figure = go.Figure(layout=_heatmap_layout(title, theme, seq))
    figure.update_layout(height=max(figure.layout.height, min(TALLEST, ABOVE + LABEL_PIXELS * seq)))
    ends, bar = (-coded.limit, coded.limit), {**colour_bar("value", -coded.limit, coded.limit), **coded.ticks}
    room = (float(theme.pixels - BESIDE - _label_room(names)), float(figure.layout.height - ABOVE))
    places = {"x": np.arange(first, first + window, dtype=np.int32), "y": np.arange(seq, dtype=np.int32)}
    shades = {"z": coded.cells, "zmin": -coded.top, "zmax": coded.top, "colorbar": bar, "xgap": None, "ygap": None}
    hover = "token %{y}, dimension %{x}" + (": %{z:.6f}" if coded.cells.dtype == np.float32 else "")
    scale = diverging(theme)
    add_cells(figure, values, ".2f", scale, ends, room, "value", hover, ("x", "y"), first, **places, **shades)
    figure.update_xaxes(title="dimension", showgrid=False)
    figure.update_yaxes(token_axis(names, figure.layout.height - ABOVE), autorange="reversed")
    # Margins are set explicitly: measuring lays the figure out twice, and this one is redrawn at every switch.
    left = 16 + _label_room(names)
    figure.update_layout(margin={"l": left, "r": 16, "b": 56}, xaxis_automargin=False)
    return mark_second_text(figure.update_yaxes(automargin=False), second_text, seq, theme, "y", "x")


def layer_map(
    values: Float[np.ndarray, "rows seq"],
    names: Sequence[str],
    rows: Sequence[str],
    second_text: int | None,
    title: str,
    unit: str,
    theme: Theme,
) -> go.Figure:
    """Draw one number per token and layer, the first layer on top; cosines on a scale up to 1, others from 0."""
    count, seq = values.shape
    finite = values[np.isfinite(values)]
    top = float(finite.max(initial=0))
    low = float(np.floor(min(0.0, float(finite.min(initial=0))) * 10) / 10) if unit == "cosine" else 0.0
    high = 1.0 if unit == "cosine" else round_limit(top)
    form = ".2f" if unit != "norm" or high < 100 else ".0f"
    figure = go.Figure(layout=_heatmap_layout(title, theme, count))
    across = theme.pixels - BESIDE - _label_room(rows)
    cells, room = values.astype(np.float32), (float(across), float(figure.layout.height - 120))
    hover = f"%{{customdata}}: %{{z:{'.3f' if unit == 'norm' else '.4f'}}}"
    places = [[f"{name}, {row}" for name in names] for row in rows]
    add_cells(figure, cells, form, sequential(theme), (low, high), room, unit, hover, customdata=places)
    name_columns(figure, names, across, theme)
    figure.update_yaxes(token_axis(rows, MOST_STATES * 20), range=[count - 0.5, -0.5])
    return mark_second_text(figure, second_text, seq, theme)


def similarity_heatmap(
    cosines: Float[np.ndarray, "seq seq"], names: Sequence[str], second_text: int | None, title: str, theme: Theme
) -> go.Figure:
    """Draw the cosine of all pairs of tokens, on a scale from -1 to 1."""
    seq = len(cosines)
    exact = bytes_per_cell(cosines.size) == 4
    top = 1.0 if exact else 32767.0
    figure = go.Figure(layout=_heatmap_layout(title, theme, seq))
    across = theme.pixels - BESIDE - _label_room(names)
    room, bar = (float(across), float(figure.layout.height - 120)), colour_bar("cosine", -1, 1, (-top, top))
    shades = {"z": similarity_cells(cosines), "zmin": -top, "zmax": top, "colorbar": bar}
    named = {"customdata": pair_names(names, names)} if exact else {"hoverinfo": "skip"}
    hover = "%{customdata}: %{z:.4f}" if exact else None
    add_cells(figure, cosines, ".2f", diverging(theme), (-1, 1), room, "cosine", hover, **shades, **named)
    name_columns(figure, names, across, theme)
    figure.update_yaxes(token_axis(names, HEIGHT - 100), range=[seq - 0.5, -0.5])
    mark_second_text(figure, second_text, seq, theme)
    return mark_second_text(figure, second_text, seq, theme, "y", "x")


def similarity_cells(cosines: Float[np.ndarray, "seq seq"]) -> np.ndarray:
    """Encode cosines for transfer: float32, or int16 steps of the range for many cells."""
    if bytes_per_cell(cosines.size) == 4:
        return cosines.astype(np.float32)
    return np.asarray((cosines * 32767).round().astype(np.int16))


def _heatmap_layout(title: str, theme: Theme, rows: int) -> go.Layout:
    return layout(theme, escape(title), height=max(300, min(HEIGHT, 150 + 34 * rows)))


def _label_room(names: Sequence[str]) -> int:
    return min(int(max((label_width(name, TEXT_SIZE - 1) for name in names), default=8)) + 8, LONGEST)


CHANGE, LENGTH = "turn in each layer", "vector length"
BEFORE, INPUT = "cosine to the layer before", "cosine to its own input"
"""Keys of measures per token and layer."""
WORDS = {
    CHANGE: ("How much each layer changes each token's direction (turn)", "change of direction, 1 − cosine"),
    BEFORE: ("Cosine of each token's vector before and after each layer", "cosine"),
    INPUT: ("Cosine of each token's vector to its own input embedding", "cosine"),
    LENGTH: ("Length of each token's vector, layer by layer", "norm"),
}
"""Title and unit of each measure."""


def _values_frame(trace: Trace, state: int, first_dimension: int, window: int) -> "pd.DataFrame":
    values = trace.hidden_states[state][:, first_dimension : first_dimension + window]
    frame = pd.DataFrame(values, columns=[f"{first_dimension + index}" for index in range(values.shape[1])])
    frame.insert(0, "token", list(trace.tokens.tokens))
    return frame


def _measures_frame(token_measures: Float[np.ndarray, "rows seq"], trace: Trace, measure: str) -> "pd.DataFrame":
    """A row per layer or hidden state, a column per token."""
    columns = [f"{place} {token}" for place, token in enumerate(trace.tokens.tokens)]
    frame = pd.DataFrame(token_measures, columns=columns)
    if measure == CHANGE:
        frame.insert(0, "layer", range(len(token_measures)))
    else:
        frame.insert(0, "hidden state", measure_rows(measure, len(token_measures)))
    return frame


def _similarity_frame(
    token_cosines: Float[np.ndarray, "states seq seq"], trace: Trace, first_token: int, state: int
) -> "pd.DataFrame":
    tokens = trace.tokens.tokens[first_token : first_token + token_cosines.shape[1]]
    columns = [f"{first_token + place} {token}" for place, token in enumerate(tokens)]
    frame = pd.DataFrame(token_cosines[state], columns=columns)
    frame.insert(0, "token", list(tokens))
    return frame


@figure("hidden", "representations_values", reported=True, table=_values_frame)
def values_figure(trace: Trace, state: int, first_dimension: int, window: int) -> FigureSpec:
    """Hidden states of one entry (--layer, --first, --window)."""
    values = trace.hidden_states[state][:, first_dimension : first_dimension + window]
    last = first_dimension + values.shape[1] - 1
    title = f"Hidden states, {state_name(state)}, dimensions {first_dimension} to {last} — {trace.model}"
    alt = f"{title}: tokens by dimensions, symmetric scale"
    names, second = token_labels(trace.tokens), second_text_start(trace.tokens)
    return FigureSpec.of(title, alt, "", values_heatmap, values, names, first_dimension, second)


@figure("norms", "representations_change", reported=True, table=_measures_frame)
def change_figure(token_measures: Float[np.ndarray, "rows seq"], trace: Trace, measure: str) -> FigureSpec:
    """One number per token and layer (--map length, change, before, input)."""
    words, unit = WORDS[measure]
    title = f"{words} — {trace.model}"
    rows = measure_rows(measure, len(token_measures))
    names, second = token_labels(trace.tokens), second_text_start(trace.tokens)
    draw = partial(layer_map, token_measures, names, rows, second, title, unit)
    return FigureSpec(title, f"{title}: layers by tokens, the first layer on top", draw)


def measure_rows(measure: str, count: int) -> list[str]:
    """Return the row names of a measure: layers for changes by a layer, else hidden states."""
    if measure in (CHANGE, BEFORE):
        return [f"layer {layer}" for layer in range(count)]
    return [state_name(entry) for entry in range(count)]


@figure("similarity", "representations_similarity", reported=True, table=_similarity_frame)
def token_similarity_figure(
    token_cosines: Float[np.ndarray, "states seq seq"], trace: Trace, first_token: int, state: int
) -> FigureSpec:
    """Cosine of every token to every other (--layer)."""
    count = token_cosines.shape[1]
    names = token_labels(trace.tokens)[first_token : first_token + count]
    title = f"Cosine of every token to every other, {state_name(state)} — {trace.model}"
    second = second_text_start(trace.tokens, first_token, count)
    alt = f"{title}: a map of {count} by {count} tokens"
    return FigureSpec.of(title, alt, "", similarity_heatmap, token_cosines[state], names, second)
