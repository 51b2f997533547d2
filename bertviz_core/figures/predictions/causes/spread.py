"""Effects of heads over many texts: maps of their mean and spread, and the right answers as heads go."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import plotly.graph_objects as go

from bertviz_core.causes.results import EffectSpread, RemovalCurve
from bertviz_core.figures.base.axes import even_axes
from bertviz_core.figures.base.cells import cell_numbers
from bertviz_core.figures.base.colour_bars import colour_bar, round_limit
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import Theme, diverging, escape, layout, sequential
from bertviz_core.figures.predictions.causes.curves import removal_lines
from bertviz_core.figures.predictions.causes.maps import KIND_WORDS
from bertviz_core.text import counted, decimals

ROW, LEAST, MOST, BELOW = 30, 150, 420, 60
"""Pixels of a layer's row; of all rows at least and at most; below a map for its axis."""
ABOVE, EDGES, BETWEEN = 84, 120, 0.15
"""Pixels above the maps, and beside one for its numbers and colour bar; between two maps as a share of the width."""


@figure(
    "effect-spread",
    "causes_spread",
    "mean and standard deviation of each head's effect over texts (by default some of the example set)",
)
def effect_spread_figure(effect_spread: EffectSpread) -> FigureSpec:
    """Mean and standard deviation of the effect of every head over texts, side by side."""
    kind, texts = KIND_WORDS[effect_spread.kind], counted(effect_spread.texts, "sentence")
    title = f"Change of the {effect_spread.title} with one head {kind}, over {texts} — {effect_spread.model}"
    layer, head = np.unravel_index(np.nanargmax(np.abs(effect_spread.mean)), effect_spread.mean.shape)
    mean, spread = float(effect_spread.mean[layer, head]), float(effect_spread.spread[layer, head])
    alt = (
        f"{title}: largest mean {decimals(mean)} {effect_spread.unit} for layer {layer}, head {head}, standard "
        f"deviation {decimals(spread)}"
    )
    return FigureSpec(title, alt, partial(spread_maps, effect_spread, title), f"{title}. Left: mean; right: spread.")


def spread_maps(spread: EffectSpread, title: str, theme: Theme) -> go.Figure:
    """The mean on a scale around 0 and the standard deviation on one from 0, on a phone below each other.

    Args:
        spread: of two texts or more.
        title: stands alone on a slide.
        theme: colours and typeface.
    """
    layers, heads = spread.mean.shape
    rows = max(LEAST, min(MOST, ROW * layers))
    lines = 2 if theme.slim else 1
    height = ABOVE + lines * (rows + BELOW)
    figure = go.Figure(layout=layout(theme, escape(title), height=height))
    width = 1.0 if theme.slim else (1 - BETWEEN) / 2
    tall, below = (rows / (height - ABOVE), BELOW / (height - ABOVE)) if theme.slim else (1.0, 0.0)
    ends = [round_limit(float(np.nanmax(np.abs(cells), initial=0))) for cells in (spread.mean, spread.spread)]
    maps = (
        ("mean", spread.mean, diverging(theme), (-ends[0], ends[0])),
        ("standard deviation", spread.spread, sequential(theme), (0.0, ends[1])),
    )
    for place, (name, cells, scale, (low, high)) in enumerate(maps):
        number = "2" if place else ""
        left = 0.0 if theme.slim else place * (width + BETWEEN)
        bottom = (1 - place) * (tall + below) if theme.slim else 0.0
        bar = {"x": left + width, "y": bottom, "len": tall, "xanchor": "left", "yanchor": "bottom"}
        figure.add_heatmap(
            z=cells,
            xaxis=f"x{number}",
            yaxis=f"y{number}",
            zmin=low,
            zmax=high,
            colorscale=scale,
            colorbar={**colour_bar(spread.unit, low, high), **bar, "lenmode": "fraction"},
            xgap=1,
            ygap=1,
            hoverongaps=False,
            hovertemplate=f"{name}, layer %{{y}}, head %{{x}}: %{{z:.4f}}<extra></extra>",
        )
        figure.update_layout(
            {
                f"xaxis{number}": {
                    "domain": [left, left + width],
                    "anchor": f"y{number}",
                    "dtick": max(1, -(-heads // 16)),
                    "title": "" if theme.slim and not place else "head",
                    "showgrid": False,
                    "range": [-0.5, heads - 0.5],
                },
                f"yaxis{number}": {
                    "domain": [bottom, bottom + tall],
                    "anchor": f"x{number}",
                    "dtick": max(1, -(-layers // 14)),
                    "title": "" if left else "layer",
                    "showgrid": False,
                    "range": [layers - 0.5, -0.5],
                },
            }
        )
        room = ((theme.pixels - lines * EDGES) * width, 0.9 * rows)
        cell_numbers(figure, cells, ".3f", scale, (low, high), room, (f"x{number}", f"y{number}"))
        figure.add_annotation(
            text=f"<b>{name}</b>", x=left, xref="paper", xanchor="left", y=bottom + tall, yref="paper",
            yanchor="bottom", showarrow=False,
        )  # fmt: skip
    return even_axes(figure.update_layout(margin={"t": ABOVE - 30, "r": 70, "b": BELOW}), theme)


@figure(
    "accuracy",
    "causes_accuracy",
    "the share of right answers to labelled texts as heads are removed (TEXT, tab, label; by default the example set)",
)
def accuracy_figure(accuracy_curves: Sequence[RemovalCurve]) -> FigureSpec:
    """The share of right answers as heads go, in several orders; a random one as the band of its orders.

    Args:
        accuracy_curves: of one list, each of another order.
    """
    curves = tuple(accuracy_curves)
    title = f"Share of {curves[0].title} as heads are removed"
    ends = "; ".join(
        f"{curve.order}: from {decimals(float(curve.values[:, 0].mean()), 2)} to "
        f"{decimals(float(curve.values[:, -1].mean()), 2)}"
        for curve in curves
    )
    return FigureSpec(title, f"{title}: {ends}", partial(removal_lines, curves, title), f"{title}.")
