"""Draw comprehensiveness and sufficiency beside random orders."""

from functools import partial

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from jaxtyping import Float
from plotly.subplots import make_subplots

from bertviz_core.attribution.results import ShareMethod, WordCurves
from bertviz_core.figures.base.axes import even_axes
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import HUES, Theme, escape, faint, layout
from bertviz_core.text import decimals

HEIGHT, STACKED = 400, 720
"""Height in pixels with the two plots side by side, and stacked on a phone."""
METHOD_NAMES: dict[ShareMethod, str] = {
    "leave-one-out": "leave-one-out",
    "integrated-gradients": "integrated gradients",
    "gradient-x-input": "gradient x input",
}
"""Method -> name in a legend."""
COLOURS: dict[ShareMethod, str] = {
    "leave-one-out": HUES[0],
    "integrated-gradients": HUES[1],
    "gradient-x-input": HUES[2],
}
RANDOM = "random order"


def _curves_frame(word_curves: WordCurves) -> pd.DataFrame:
    """The target at each step, of every method and of the random orders."""
    columns: dict[str, object] = {"words": list(word_curves.counts)}
    for curve in word_curves.curves:
        columns[f"{METHOD_NAMES[curve.method]}, without"] = curve.without.astype(float)
        columns[f"{METHOD_NAMES[curve.method]}, alone"] = curve.alone.astype(float)
    for which, values in (("without", word_curves.random), ("alone", word_curves.random_alone)):
        ends = {"mean": values.mean(axis=0), "least": values.min(axis=0), "greatest": values.max(axis=0)}
        columns |= {f"random, {which}, {name}": each.astype(float) for name, each in ends.items()}
    return pd.DataFrame(columns)


@figure(
    "word-curves",
    "words_curves",
    "a target without its strongest words and with them alone, beside 20 random orders (TEXT --pair TEXT)",
    table=_curves_frame,
)
def word_curves_figure(word_curves: WordCurves) -> FigureSpec:
    """Plot two panels: the strongest words removed, and only the strongest words; the caption has both areas."""
    title = f"The {word_curves.title} without the strongest words, and with them alone — {word_curves.model}"
    areas = "; ".join(
        f"{name}: {decimals(without, 3)} and {decimals(alone, 3)}" for name, without, alone in curve_areas(word_curves)
    )
    summary = (
        f"{title}. Clean {decimals(word_curves.clean)}, all words replaced {decimals(word_curves.reference)} "
        f"{word_curves.unit}. Mean fall below clean (comprehensiveness and sufficiency): {areas}."
    )
    return FigureSpec(title, summary, partial(curve_plots, word_curves, title), summary)


def curve_areas(result: WordCurves) -> tuple[tuple[str, float, float], ...]:
    """Return name, comprehensiveness and sufficiency of each method, and of the mean random order."""
    found = [
        (METHOD_NAMES[curve.method], float(result.area(curve.without)), float(result.area(curve.alone)))
        for curve in result.curves
    ]
    random = float(result.area(result.random).mean()), float(result.area(result.random_alone).mean())
    return (*found, (f"{RANDOM}, mean of {len(result.random)}", *random))


def curve_plots(result: WordCurves, title: str, theme: Theme) -> go.Figure:
    """Draw both plots on one scale: lines of the methods, band of the random orders from minimum to maximum."""
    rows, columns = (2, 1) if theme.narrow else (1, 2)
    figure = make_subplots(rows, columns, shared_yaxes="all", horizontal_spacing=0.06, vertical_spacing=0.2)
    figure.update_layout(layout(theme, escape(title), height=STACKED if theme.narrow else HEIGHT))
    places = ((1, 1), (2, 1) if theme.narrow else (1, 2))
    counts, grey = list(result.counts), theme.colours["layer_norm"]
    for place, values in zip(places, (result.random, result.random_alone), strict=True):
        where = {"row": place[0], "col": place[1]}
        band = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False, **where}
        figure.add_scatter(x=counts, y=values.min(axis=0), **band)
        figure.add_scatter(x=counts, y=values.max(axis=0), fill="tonexty", fillcolor=faint(grey, 0.3), **band)
        _line(figure, counts, values.mean(axis=0), f"{RANDOM}, mean and band", grey, place)
    for curve in result.curves:
        for place, values in zip(places, (curve.without, curve.alone), strict=True):
            _line(figure, counts, values, METHOD_NAMES[curve.method], COLOURS[curve.method], place)
    names = (f"strongest words replaced by {result.instead}", "strongest words kept, all others replaced")
    for (row, column), name in zip(places, names, strict=True):
        figure.update_xaxes(title=name, rangemode="tozero", row=row, col=column)
    figure.update_yaxes(title=result.unit, col=1)
    return even_axes(figure, theme)


def _line(
    figure: go.Figure,
    counts: list[int],
    values: Float[np.ndarray, " steps"],
    name: str,
    colour: str,
    place: tuple[int, int],
) -> None:
    figure.add_scatter(
        x=counts,
        y=values,
        name=name,
        legendgroup=name,
        showlegend=place == (1, 1),
        mode="lines+markers",
        line={"color": colour, "width": 2},
        hovertemplate=f"{name}, %{{x}} words: %{{y:.4f}}<extra></extra>",
        row=place[0],
        col=place[1],
    )
