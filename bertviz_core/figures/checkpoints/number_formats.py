"""The figure of the errors that formats of fewer bits make, by format and part of the model."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import plotly.graph_objects as go

from bertviz_core.checkpoints.results import NumberFormats, RoundedFormat, RoundedPart
from bertviz_core.checkpoints.tables import parts_frame
from bertviz_core.figures.base.axes import even_axes
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import Theme, escape, layout
from bertviz_core.figures.base.text_width import label_width
from bertviz_core.figures.checkpoints.scales import number_scale
from bertviz_core.figures.checkpoints.weights import BAR_ROOM, NAME_SIZE, ROW, number_cells
from bertviz_core.text import digits

LAYER, COMPONENT = "layer", "component"
PARTS = (LAYER, COMPONENT)
AROUND, LEAST_ROWS = 130, 120
"""Pixels: margins for the title and the axis, minimum height of all rows."""
SHORT = {"embeddings": "emb.", "task head": "head", "encoder": "enc.", "decoder": "dec."}
"""Names of components between the numbers of layers."""
MOST_NUMBERED = 32
"""Number of columns above which not every one is labelled."""


def drawn_parts(rounded: RoundedFormat, by: str) -> tuple[RoundedPart, ...]:
    """Return the parts that are drawn of a format.

    Args:
        rounded: the format.
        by: one of PARTS.
    """
    return rounded.by_layer() if by == LAYER else rounded.by_component()


def format_map(formats: Sequence[RoundedFormat], by: str, title: str, theme: Theme) -> go.Figure:
    """Draw the relative error of every part in every format on a logarithmic scale; 0 is the colour of the paper."""
    rows = [drawn_parts(each, by) for each in formats]
    values = np.array([[part.relative_error for part in row] for row in rows], dtype=np.float64)
    columns = values.shape[1]
    scale = number_scale(values.reshape(-1).tolist(), "relative error", theme, logarithmic=True)
    labels = [_label(each, theme) for each in formats]
    beside = 16 + max((label_width(label, NAME_SIZE) for label in labels), default=0.0)
    cell = max(theme.pixels - BAR_ROOM - beside, 1) / max(columns, 1)
    figure = go.Figure(layout=layout(theme, escape(title), height=AROUND + max(ROW * len(rows), LEAST_ROWS)))
    figure.update_layout(coloraxis=scale.axis, plot_bgcolor=theme.grid)
    names = [[f"{each.name}, {part.name}" for part in row] for each, row in zip(formats, rows, strict=True)]
    number_cells(figure, values, range(columns), names, scale, cell)
    every = max(1, -(-columns // MOST_NUMBERED))
    ticks = [_column(part, by) for part in rows[0]]
    figure.update_xaxes(
        tickvals=list(range(0, columns, every)), ticktext=ticks[::every], showgrid=False, title=by,
        tickangle=-40 if max(map(len, ticks)) * 8 > cell else 0,
    )  # fmt: skip
    figure.update_yaxes(tickvals=list(range(len(rows))), ticktext=labels, range=[len(rows) - 0.5, -0.5], showgrid=False)
    return even_axes(figure, theme)


def _label(rounded: RoundedFormat, theme: Theme) -> str:
    """Name of a format, with the size of all weights in it where there is room."""
    if theme.narrow:
        return escape(rounded.name.replace(" groups of ", "/"))
    return escape(f"{rounded.name}, {mebibytes(rounded.whole.rounded_nbytes)}")


def mebibytes(nbytes: int) -> str:
    """Format bytes in MiB, or in KiB below one."""
    return f"{nbytes / 2**20:,.1f} MiB" if abs(nbytes) >= 2**20 else f"{nbytes / 2**10:,.1f} KiB"


def _column(part: RoundedPart, by: str) -> str:
    if by == COMPONENT:
        return escape(part.block or part.component)
    if part.layer is None:
        return escape(SHORT.get(part.component, part.component))
    return f"{'d' if part.component == 'decoder' else ''}{part.layer}"


@figure(
    "number-formats", "checkpoint_formats", "the error of a model's weights in formats of fewer bits", table=parts_frame
)
def number_formats_figure(number_formats: NumberFormats, rounded_by: str) -> FigureSpec:
    """Plot the relative error of the weights, by format and layer or component."""
    title = f"Relative error of rounded weights — {number_formats.model}"
    summary = "; ".join(
        f"{each.name} {digits(each.whole.relative_error, 2)} in {mebibytes(each.whole.rounded_nbytes)}"
        for each in number_formats.formats
    )
    alt = f"{title}, by format and {rounded_by}; of all weights: {summary}"
    return FigureSpec(title, alt, partial(format_map, number_formats.formats, rounded_by, title))
