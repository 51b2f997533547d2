"""Figures of the answers of two models: one against the other, and their scores with the interval of the difference."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from bertviz_core.figures.base.axes import even_axes
from bertviz_core.figures.base.colour_bars import round_limit
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import Theme, escape, layout
from bertviz_core.figures.predictions.probes import confusion_cells
from bertviz_core.predictions.probing.results import AnswerComparison, ScorePair
from bertviz_core.text import counted

SCORES_HEIGHT = 360
"""Pixels."""
MEASURES = ("accuracy", "macro-F1")
BOTTOM_OF_SCORES, TOP_OF_DIFFERENCES = 0.64, 0.34
"""Shares of the height of the plot."""


def score_dots(scores: tuple[ScorePair, ScorePair], models: tuple[str, str], title: str, theme: Theme) -> go.Figure:
    """Draw accuracy and macro-F1 of two models above their differences with the 95 % interval."""
    figure = go.Figure(layout=layout(theme, escape(title), height=SCORES_HEIGHT))
    colours = (theme.colours["embeddings"], theme.colours["task head"])
    columns = ([each.first for each in scores], [each.second for each in scores])
    for place, (model, values) in enumerate(zip(models, columns, strict=True)):
        figure.add_scatter(
            x=[100 * value for value in values],
            y=[0, 1],
            name=escape(f"{('first', 'second')[place]}: {model}"),
            mode="markers",
            marker={
                "size": 13,
                "color": colours[place],
                "symbol": ("circle", "diamond-open")[place],
                "line": {"color": colours[place], "width": 2.5},
            },
            customdata=MEASURES,
            hovertemplate="%{customdata}: %{x:.1f}%<extra></extra>",
        )
    points, bars = difference_bars(scores, theme)
    figure.add_scatter(
        x=points,
        y=[0, 1],
        name="difference",
        mode="markers",
        marker={"size": 11, "color": theme.text},
        error_x=bars,
        customdata=[f"{name}: {interval_words(each)}" for name, each in zip(MEASURES, scores, strict=True)],
        hovertemplate="%{customdata}<extra></extra>",
        showlegend=False,
        xaxis="x2",
        yaxis="y2",
    )
    zero = {"color": theme.muted, "width": 1.5, "dash": "dash"}
    figure.add_shape(type="line", x0=0, x1=0, y0=0, y1=1, xref="x2", yref="y2 domain", line=zero, layer="below")
    end = round_limit(max(abs(100 * limit) for each in scores for limit in (each.low, each.high)) * 1.05)
    rows: dict[str, Any] = {"tickvals": [0, 1], "ticktext": list(MEASURES), "range": [1.5, -0.5], "showgrid": False}
    figure.update_layout(
        xaxis={"title": "score, %", "range": [-2, 102], "anchor": "y"},
        yaxis={**rows, "domain": [BOTTOM_OF_SCORES, 1]},
        xaxis2={"title": "second − first, points; bar: 95 % interval", "range": [-end, end], "anchor": "y2"},
        yaxis2={**rows, "domain": [0, TOP_OF_DIFFERENCES], "anchor": "x2"},
    )
    return even_axes(figure, theme)


def difference_bars(scores: Sequence[ScorePair], theme: Theme) -> tuple[list[float], dict[str, Any]]:
    """The differences of scores in points, and plotly's error bars of their intervals."""
    points = [100 * each.difference for each in scores]
    above = [100 * each.high - point for each, point in zip(scores, points, strict=True)]
    below = [point - 100 * each.low for each, point in zip(scores, points, strict=True)]
    return points, {"array": above, "arrayminus": below, "thickness": 2, "width": 7, "color": theme.text}


def interval_words(score: ScorePair) -> str:
    """The difference of two scores in points, with its interval: "+2.0 points (95 % interval −0.5 to +4.5)"."""
    return f"{points(score.difference)} points (95 % interval {points(score.low)} to {points(score.high)})"


def points(share: float) -> str:
    """A difference of shares in points with its sign, 0.0 without one."""
    number = f"{100 * share:+.1f}"
    return "0.0" if float(number) == 0 else number.replace("-", "−")


def score_frame(answer_comparison: AnswerComparison) -> pd.DataFrame:
    """One row for accuracy and macro-F1: both scores, their difference and the ends of its interval; 0 to 1.

    Raises:
        ValueError: there are no gold labels.
    """
    gold = answer_comparison.gold
    if gold is None:
        raise ValueError("there are no gold labels")
    rows = [("accuracy", gold.accuracy), ("macro-F1", gold.macro_f1)]
    numbers = [(name, each.first, each.second, each.difference, each.low, each.high) for name, each in rows]
    return pd.DataFrame(numbers, columns=["score", "first", "second", "difference", "low", "high"])


def confusion_frame(answer_comparison: AnswerComparison) -> pd.DataFrame:
    """One row per answer of the first model, a column for each of the second: number of texts."""
    labels = list(answer_comparison.labels)
    return pd.DataFrame(answer_comparison.confusion, columns=labels).assign(first=labels)


@figure(
    "scores-compared",
    "checkpoint_scores",
    "accuracy and macro-F1 of two models and their difference (--set other=, with_gold=true; texts: TEXT LABEL ...)",
    table=score_frame,
)
def scores_compared_figure(answer_comparison: AnswerComparison) -> FigureSpec:
    """Plot the scores of two models against the same gold labels, above their differences and intervals.

    Raises:
        ValueError: the answers are not compared with gold labels.
    """
    compared = answer_comparison
    if compared.gold is None:
        raise ValueError("there are no gold labels")
    scores = (compared.gold.accuracy, compared.gold.macro_f1)
    count = counted(len(compared.gold.first.compared), "text")
    title = f"Scores of {count} with gold labels — {compared.first} and {compared.second}"
    named = zip(MEASURES, scores, strict=True)
    numbers = "; ".join(f"{name} {one.first:.1%} and {one.second:.1%}, {interval_words(one)}" for name, one in named)
    draw = partial(score_dots, scores, (compared.first, compared.second), title)
    about = f"Interval: paired bootstrap over the texts, {compared.gold.resamples:,} samples, seed {compared.gold.seed}"
    return FigureSpec(title, f"{title}: {numbers}", draw, f"{title}: {numbers}. {about}")


@figure(
    "answers-compared",
    "checkpoint_answers",
    "answers of two models to the same texts, one against the other (--set other=MODEL; texts or none)",
    table=confusion_frame,
)
def answers_compared_figure(answer_comparison: AnswerComparison) -> FigureSpec:
    """Plot the number of texts by answer of the first model (row) and of the second (column)."""
    compared = answer_comparison
    title = f"Answers to {counted(len(compared.texts), 'text')} — {compared.first} and {compared.second}"
    agreement = f"the same answer to {compared.agreement:.1%}"
    sides = (f"first: {compared.first}", f"second: {compared.second}")
    draw = partial(confusion_cells, compared.labels, compared.confusion, sides, title)
    return FigureSpec(title, f"{title}: {agreement}", draw, f"{title}: {agreement}")
