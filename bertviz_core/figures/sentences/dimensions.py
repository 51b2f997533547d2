"""Draw what vectors keep when they are cut to their first dimensions."""

from functools import partial

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from bertviz_core.figures.base.axes import even_axes
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import Theme, escape, layout
from bertviz_core.sentences.results import DimensionCurve
from bertviz_core.text import counted

HEIGHT = 380
"""Pixels."""


def dimension_lines(curve: DimensionCurve, title: str, theme: Theme) -> go.Figure:
    """Draw neighbours kept and the rank correlation over the dimensions; diamonds are those of the training."""
    figure = go.Figure(layout=layout(theme, escape(title), height=HEIGHT))
    counts, places = curve.dimensions.tolist(), np.log2(curve.dimensions).tolist()
    trained = [count in curve.trained for count in counts]
    hovers = [
        f"{count:,} dimensions, {nbytes:,} bytes{', trained' if marked else ''}"
        for count, nbytes, marked in zip(counts, curve.nbytes.tolist(), trained, strict=True)
    ]
    lines = (
        (f"neighbours kept, of {curve.neighbours}", curve.shared, "embeddings", "solid"),
        ("Spearman correlation of the cosines", curve.spearman, "task head", "dot"),
    )
    for name, values, colour, dash in lines:
        figure.add_scatter(
            x=places,
            y=[value if value == value else None for value in values.tolist()],
            name=name,
            mode="lines+markers",
            line={"color": theme.colours[colour], "width": 2.5, "dash": dash},
            marker={
                "size": [12 if marked else 7 for marked in trained],
                "symbol": ["diamond" if marked else "circle" for marked in trained],
            },
            customdata=hovers,
            hovertemplate=f"%{{customdata}}<br>{name}: %{{y:.4f}}<extra></extra>",
        )
    drawn = [value for value in (*curve.shared.tolist(), *curve.spearman.tolist()) if value == value]
    axis = {"tickvals": places, "ticktext": [f"{count:,}" for count in counts]}
    low, high = places[0], places[-1]
    room = 0.04 * (high - low) or 0.5
    figure.update_xaxes(axis, range=[low - room, high + room], title="first dimensions, logarithmic", showgrid=False)
    figure.update_yaxes(title="kept", range=[min(0.0, *drawn) - 0.02, 1.04])
    return even_axes(figure, theme)


def dimensions_frame(dimension_curve: DimensionCurve) -> pd.DataFrame:
    """One row per number of dimensions: neighbours kept, rank correlation, bytes of a vector, if trained for."""
    curve = dimension_curve
    return pd.DataFrame(
        {
            "dimensions": curve.dimensions,
            "neighbours kept": curve.shared,
            "Spearman": curve.spearman,
            "bytes per vector": curve.nbytes,
            "trained": [count in curve.trained for count in curve.dimensions.tolist()],
        }
    )


@figure("dimensions", "sentences_dimensions", "what vectors of fewer dimensions keep", table=dimensions_frame)
def dimensions_figure(dimension_curve: DimensionCurve) -> FigureSpec:
    """Plot neighbours kept and the rank correlation of the cosines, by number of dimensions."""
    title = f"What the first dimensions keep — {dimension_curve.model}"
    numbers = counted(len(dimension_curve.dimensions), "number")
    over = f"over {numbers} of dimensions, {counted(len(dimension_curve.sentences), 'sentence')}"
    alt = f"{title}: neighbours kept and Spearman correlation {over}"
    return FigureSpec(title, alt, partial(dimension_lines, dimension_curve, title))
