"""Figures over many texts: mean and spread of head effects, and the accuracy as heads are ablated."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from bertviz_core.figures.base.colour_bars import round_limit
from bertviz_core.figures.base.panels import PairSizes, Panel, head_panels, pair_grid
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import Theme, diverging, sequential
from bertviz_core.figures.interventions.ablation_curves import curves_frame, removal_lines
from bertviz_core.figures.interventions.effect_maps import KIND_WORDS
from bertviz_core.interventions.results import AblationCurve, EffectSpread
from bertviz_core.text import counted, decimals

SIZES = PairSizes(least=150, edges=120, between=0.15)


def _spread_frame(effect_spread: EffectSpread) -> pd.DataFrame:
    """Mean and standard deviation of every head's effect, the largest mean first."""
    places = np.argwhere(~np.isnan(effect_spread.mean))
    at = tuple(places.T)
    numbers = {"mean effect": effect_spread.mean[at], "standard deviation": effect_spread.spread[at]}
    columns = {name: values.astype(float) for name, values in numbers.items()}
    frame = pd.DataFrame({"layer": places[:, 0], "head": places[:, 1], **columns})
    return frame.loc[frame["mean effect"].abs().sort_values(ascending=False, kind="stable").index]


def _accuracy_frame(accuracy_curves: Sequence[AblationCurve]) -> pd.DataFrame:
    return curves_frame(accuracy_curves)


@figure(
    "effect-spread",
    "causes_spread",
    "mean and standard deviation of each head's effect over texts (by default some of the example set)",
    table=_spread_frame,
)
def effect_spread_figure(effect_spread: EffectSpread) -> FigureSpec:
    """Plot mean and standard deviation of every head's effect over texts, side by side."""
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
    """Draw the mean on a scale around 0 and the standard deviation from 0, stacked on a phone."""
    high, wide = (round_limit(float(np.nanmax(np.abs(each), initial=0))) for each in (spread.mean, spread.spread))
    panels = [
        Panel(f"<b>{name}</b>", name, cells, scale, ends, spread.unit, ".3f")
        for name, cells, scale, ends in (
            ("mean", spread.mean, diverging(theme), (-high, high)),
            ("standard deviation", spread.spread, sequential(theme), (0.0, wide)),
        )
    ]
    return head_panels(panels, pair_grid(len(spread.mean), SIZES, theme), title, theme)


@figure(
    "accuracy",
    "causes_accuracy",
    "the share of right answers to labelled texts as heads are removed (TEXT, tab, label; by default the example set)",
    table=_accuracy_frame,
)
def accuracy_figure(accuracy_curves: Sequence[AblationCurve]) -> FigureSpec:
    """Plot the accuracy as heads are ablated in several orders; random orders as a band.

    Args:
        accuracy_curves: curves of one list, one per order.
    """
    curves = tuple(accuracy_curves)
    title = f"Share of {curves[0].title} as heads are removed"
    ends = "; ".join(
        f"{curve.order}: from {decimals(float(curve.values[:, 0].mean()), 2)} to "
        f"{decimals(float(curve.values[:, -1].mean()), 2)}"
        for curve in curves
    )
    return FigureSpec(title, f"{title}: {ends}", partial(removal_lines, curves, title), f"{title}.")
