"""Figures of the hidden states and the attention of the checkpoints of a training run, as maps over the steps."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Float32

from bertviz_core.checkpoints.tables import cka_frame, entropy_frame
from bertviz_core.checkpoints.training.results import FollowedStates
from bertviz_core.figures.base.axes import even_axes, token_axis
from bertviz_core.figures.base.cells import add_cells
from bertviz_core.figures.base.colour_bars import round_limit
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import Theme, diverging, escape, layout, sequential
from bertviz_core.figures.checkpoints.comparison import state_names
from bertviz_core.figures.checkpoints.step_lines import StepAxis
from bertviz_core.text import counted

OF_STEP, CHANGE = "at each step", "change from the first checkpoint"
ENTROPIES = (OF_STEP, CHANGE)
"""What is drawn of the entropy of the heads."""
ROW, LEAST_ROWS, BESIDE, AROUND = 26, 130, 190, 110
"""Pixels: height of a row, minimum height of all rows, room for names and colour bar, margins."""
HEAD_ROW, LEAST_LAYER, MOST_ROWS = 18, 26, 620
"""Pixels: height of a head's row, minimum height of a layer's rows, and maximum height of all."""
MOST_LAYERS = 30
"""Number of layers above which not each is named."""


@figure(
    "training-cka",
    "checkpoint_training_cka",
    "CKA of each layer with that of the first checkpoint of a run",
    table=cka_frame,
)
def training_cka_figure(followed_states: FollowedStates) -> FigureSpec:
    """Plot the CKA of every hidden state of every checkpoint with the same state of the first."""
    followed = followed_states
    title = f"CKA with the first checkpoint — {followed.run}"
    alt = f"{title}, over {counted(followed.texts, 'text')}: hidden states by {_count(followed)}"
    return FigureSpec(title, alt, partial(cka_map, followed, title))


def cka_map(followed: FollowedStates, title: str, theme: Theme) -> go.Figure:
    """Draw hidden states by checkpoints, on a scale from 0, or from the smallest value below it, to 1."""
    values = followed.cka.T.astype(np.float32)
    least = float(np.nanmin(values, initial=0.0))
    ends = (-round_limit(-least) if least < 0 else 0.0, 1.0)
    names = state_names(len(values))
    pixels = max(ROW * len(names), LEAST_ROWS)
    figure = _step_map(followed, values, names, (pixels, "CKA", ".2f"), (sequential(theme), ends), title, theme)
    rows = {"tickvals": list(range(len(names))), "ticktext": names}
    return even_axes(figure.update_yaxes(**rows, range=[len(names) - 0.5, -0.5]), theme)


@figure(
    "training-entropy",
    "checkpoint_training_entropy",
    "attention entropy of each head by checkpoint of a run",
    table=entropy_frame,
)
def training_entropy_figure(followed_states: FollowedStates, entropy_drawn: str) -> FigureSpec:
    """Plot the mean attention entropy of every head at every checkpoint, or its change from the first.

    Raises:
        ValueError: there is no entropy.
    """
    followed = followed_states
    if followed.entropy is None:
        raise ValueError("the attention is not known")
    what = "Attention entropy" if entropy_drawn == OF_STEP else "Change of the attention entropy"
    title = f"{what} — {followed.run}"
    alt = f"{title}, over {counted(followed.texts, 'text')}: heads of each layer by {_count(followed)}"
    is_change = entropy_drawn == CHANGE
    return FigureSpec(title, alt, partial(entropy_map, followed, followed.entropy, is_change, title))


def entropy_map(
    followed: FollowedStates,
    entropy: Float[np.ndarray, "checkpoints layers heads"],
    is_change: bool,
    title: str,
    theme: Theme,
) -> go.Figure:
    """Draw heads by checkpoints, the heads of a layer together; a layer is separated from the next by a line."""
    _, layers, heads = entropy.shape
    drawn = entropy - entropy[0] if is_change else entropy
    values = drawn.reshape(len(drawn), layers * heads).T.astype(np.float32)
    names = [f"layer {layer}, head {head}" for layer in range(layers) for head in range(heads)]
    top = round_limit(float(np.nanmax(np.abs(values), initial=0.0)))
    scale = (diverging(theme), (-top, top)) if is_change else (sequential(theme), (0.0, top))
    pixels = max(min(HEAD_ROW * len(names), MOST_ROWS), LEAST_LAYER * min(layers, MOST_LAYERS), LEAST_ROWS)
    figure = _step_map(followed, values, names, (pixels, "nats", ".2f"), scale, title, theme)
    for layer in range(1, layers):
        place, line = layer * heads - 0.5, {"color": theme.text, "width": 1}
        figure.add_shape(type="line", x0=0, x1=1, xref="paper", y0=place, y1=place, yref="y", line=line)
    step = -(-layers // MOST_LAYERS)
    named = range(0, layers, step)
    rows = {"tickvals": [(layer + 0.5) * heads - 0.5 for layer in named], "ticktext": [f"layer {x}" for x in named]}
    return even_axes(figure.update_yaxes(**rows, range=[len(names) - 0.5, -0.5]), theme)


def _step_map(
    followed: FollowedStates,
    values: Float32[np.ndarray, "rows checkpoints"],
    names: Sequence[str],
    form: tuple[int, str, str],
    scale: tuple[list[list[float | str]], tuple[float, float]],
    title: str,
    theme: Theme,
) -> go.Figure:
    """Draw a map of rows by checkpoints.

    Args:
        followed: the checkpoints.
        values: numbers of the map.
        names: name of each row, for the hovers.
        form: height of all rows in pixels, unit, and format of the numbers in the cells.
        scale: colour scale, and the numbers at its ends.
        title: title of the figure.
        theme: theme of the figure.
    """
    (pixels, unit, digits), (colours, ends) = form, scale
    axis = StepAxis(followed.checkpoints, followed.steps)
    figure = go.Figure(layout=layout(theme, escape(title), height=AROUND + pixels))
    room = max(theme.pixels - BESIDE, 1)
    hovered = [[[f"{name}, {checkpoint}"] for checkpoint in axis.hovered] for name in names]
    hover = "%{customdata[0]}: %{z:.4f}"
    add_cells(
        figure,
        values,
        digits,
        colours,
        ends,
        (room, pixels),
        unit,
        hover,
        customdata=hovered,
        hoverongaps=False,
    )
    figure.update_xaxes(token_axis(axis.labels(), room, theme=theme), title="step of the checkpoint", showgrid=False)
    return figure.update_yaxes(showgrid=False)


def _count(followed: FollowedStates) -> str:
    return counted(len(followed.checkpoints), "checkpoint")
