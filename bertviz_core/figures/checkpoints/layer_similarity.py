"""Figures of two models over many texts: how alike their layers are, and how alike their texts."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from bertviz_core.checkpoints.results import LayerSimilarity
from bertviz_core.checkpoints.tables import similarity_frame, text_cosines_frame
from bertviz_core.figures.base.cells import add_cells
from bertviz_core.figures.base.colour_bars import round_limit
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import Theme, escape, layout, sequential
from bertviz_core.figures.checkpoints.comparison import (
    AROUND,
    BESIDE_MAP,
    LEAST_ROWS,
    MOST_ROWS,
    ROW_HEIGHT,
    STANDOFF,
    state_names,
)
from bertviz_core.text import counted

CKA, SHARED = "CKA", "nearest texts shared"
LAYER_MEASURES = (CKA, SHARED)
LINES_HEIGHT = 330
"""Pixels."""
MOST_TICKS = 25


def layer_map(
    values: Float[np.ndarray, "first_states second_states"],
    models: tuple[str, str],
    measure: str,
    title: str,
    theme: Theme,
) -> go.Figure:
    """Draw a measure of every pair of hidden states, on a scale from 0, or from the smallest below it, to 1."""
    rows = max(min(ROW_HEIGHT * len(values), MOST_ROWS), LEAST_ROWS)
    least = float(np.nanmin(values, initial=0.0))
    low = -round_limit(-least) if least < 0 else 0.0
    figure = go.Figure(layout=layout(theme, escape(title), height=AROUND + rows))
    room = (theme.pixels - BESIDE_MAP, rows)
    states = state_names(values.shape[1])
    names = [[[f"first: {one}, second: {other}"] for other in states] for one in state_names(values.shape[0])]
    hover = "%{customdata[0]}: %{z:.4f}"
    cells = values.astype(np.float32)
    add_cells(figure, cells, ".2f", sequential(theme), (low, 1.0), room, measure, hover, customdata=names)
    figure.update_xaxes(_ticks(values.shape[1]), title=f"layer of {escape(models[1])}", showgrid=False)
    title_beside = {"text": f"layer of {escape(models[0])}", "standoff": STANDOFF}
    return figure.update_yaxes(_ticks(values.shape[0]), title=title_beside, showgrid=False, autorange="reversed")


def cosine_lines(
    cosines: Sequence[Float[np.ndarray, " _"]], models: Sequence[str], title: str, theme: Theme
) -> go.Figure:
    """Draw the mean cosine of two different texts at every hidden state, a line for each model of any depth."""
    figure = go.Figure(layout=layout(theme, escape(title), height=LINES_HEIGHT))
    colours = (theme.colours["embeddings"], theme.colours["task head"])
    for name, values, colour, dash in zip(models, cosines, colours, ("solid", "dot"), strict=True):
        figure.add_scatter(
            x=list(range(len(values))),
            y=values,
            name=escape(name),
            mode="lines+markers",
            line={"color": colour, "width": 2.5, "dash": dash},
            customdata=state_names(len(values)),
            hovertemplate="%{customdata}: %{y:.4f}<extra></extra>",
        )
    figure.update_xaxes(_ticks(max(map(len, cosines))), title="layer")
    lowest = min(0.0, *(float(np.min(values)) for values in cosines))
    return figure.update_yaxes(title="mean cosine", range=[-round_limit(-lowest) if lowest < 0 else 0, 1.02])


def _ticks(count: int) -> dict[str, Any]:
    """Axis settings that name the hidden states: "emb." for the embeddings, then the numbers of the layers."""
    step = -(-count // MOST_TICKS)
    places = [0, *range(step, count, step)]
    return {"tickvals": places, "ticktext": ["emb.", *(str(place - 1) for place in places[1:])]}


@figure(
    "layer-similarity",
    "checkpoint_layers",
    "how alike the layers of two models are over many texts",
    table=similarity_frame,
)
def layer_similarity_figure(layer_similarity: LayerSimilarity, layer_measure: str) -> FigureSpec:
    """Plot CKA, or the share of nearest texts, of every layer of one model with every layer of the other."""
    compared = layer_similarity
    both = f"{compared.first} and {compared.second}"
    title = f"{'CKA of the layers' if layer_measure == CKA else 'Nearest texts shared'} — {both}"
    values = compared.cka if layer_measure == CKA else compared.shared_neighbours
    draw = partial(layer_map, values, (compared.first, compared.second), layer_measure, title)
    alt = f"{title}, over {counted(compared.texts, 'text')}, layers of the first by layers of the second"
    return FigureSpec(title, alt, draw)


@figure(
    "text-cosines",
    "checkpoint_text_cosines",
    "how alike different texts are at every layer of two models",
    table=text_cosines_frame,
)
def text_cosines_figure(layer_similarity: LayerSimilarity) -> FigureSpec:
    """Plot the mean cosine of two different texts, by layer and model."""
    compared = layer_similarity
    title = f"Mean cosine of two different texts — {compared.first} and {compared.second}"
    names = (f"first: {compared.first}", f"second: {compared.second}")
    draw = partial(cosine_lines, (compared.first_cosine, compared.second_cosine), names, title)
    return FigureSpec(title, f"{title}, a line for each model over its layers", draw)
