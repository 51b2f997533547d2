"""Draw a target, or the accuracy, as heads are ablated one after another in several orders."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from bertviz_core.figures.base.axes import even_axes
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import Theme, escape, faint, layout
from bertviz_core.figures.interventions.effect_maps import head_name
from bertviz_core.interventions.results import AblationCurve
from bertviz_core.text import decimals

HEIGHT = 400
COLOURS = {"greedy": "attention", "gradient": "task head", "random": "layer_norm"}
"""Order -> part with its colour in the theme."""


def curves_frame(ablation_curves: Sequence[AblationCurve]) -> pd.DataFrame:
    """The number after each step; mean, least and greatest value of the random orders."""
    columns: dict[str, object] = {"heads removed": np.arange(ablation_curves[0].values.shape[1])}
    for curve in ablation_curves:
        if curve.order == "random":
            for name, each in (("mean", np.mean), ("least", np.min), ("greatest", np.max)):
                columns[f"random, {name}"] = each(curve.values, axis=0).astype(float)
            continue
        columns[curve.order] = curve.values[0].astype(float)
        columns[f"head of {curve.order}"] = ["", *(head_name(*place) for place in curve.places[0].tolist())]
    return pd.DataFrame(columns)


@figure(
    "removal",
    "causes_removal",
    "a target as heads are removed one after the other: greedy, by the gradient estimate, and at random",
    table=curves_frame,
)
def removal_figure(ablation_curves: Sequence[AblationCurve]) -> FigureSpec:
    """Plot a target as heads are ablated in several orders; random orders as a band.

    Args:
        ablation_curves: curves of one target, one per order.
    """
    curves = tuple(ablation_curves)
    title = f"{curves[0].title[:1].upper()}{curves[0].title[1:]} as heads are removed"
    ends = "; ".join(
        f"{curve.order}: from {decimals(float(curve.values[:, 0].mean()))} to "
        f"{decimals(float(curve.values[:, -1].mean()))}"
        for curve in curves
    )
    return FigureSpec(title, f"{title}: {ends}", partial(removal_lines, curves, title), f"{title}.")


def removal_lines(curves: Sequence[AblationCurve], title: str, theme: Theme) -> go.Figure:
    """Draw one line per order; for several random ones their mean, and a band from minimum to maximum."""
    figure = go.Figure(layout=layout(theme, escape(title), height=HEIGHT))
    for curve in curves:
        steps, colour = list(range(curve.values.shape[1])), theme.colours[COLOURS[curve.order]]
        if len(curve.values) > 1:
            low, high = curve.values.min(axis=0), curve.values.max(axis=0)
            band = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
            figure.add_scatter(x=steps, y=low, **band)
            figure.add_scatter(x=steps, y=high, fill="tonexty", fillcolor=faint(colour, 0.25), **band)
        name = curve.order if len(curve.values) == 1 else f"{curve.order}, mean of {len(curve.values)} orders"
        figure.add_scatter(
            x=steps,
            y=curve.values.mean(axis=0),
            name=name,
            mode="lines+markers",
            line={"color": colour, "width": 2},
            hovertemplate=f"{name}, %{{x}} removed: %{{y:.4f}}<extra></extra>",
        )
    figure.update_xaxes(title="heads removed", rangemode="tozero", dtick=1)
    figure.update_yaxes(title=curves[0].unit)
    return even_axes(figure, theme)
