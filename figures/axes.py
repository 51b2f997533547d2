"""One look for all axes of a figure of several parts; the layout of figures.style knows only the first two."""

import plotly.graph_objects as go

from figures.style import TEXT_SIZE, Theme


def even_axes(figure: go.Figure, look: Theme) -> go.Figure:
    """The figure, every axis of it with the same letters, lines and distances."""
    same = {
        "tickfont": {"size": TEXT_SIZE - 1},
        "title": {"font": {"size": TEXT_SIZE}, "standoff": 10},
        "gridcolor": look.grid,
        "linecolor": look.muted,
        "zeroline": False,
        "automargin": True,
        "ticklabeloverflow": "allow",
    }
    return figure.update_xaxes(same).update_yaxes(same)
