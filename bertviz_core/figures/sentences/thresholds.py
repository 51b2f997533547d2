"""Precision, recall and F1 of every threshold of a score, above the scores of the labelled pairs."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from bertviz_core.figures.base.axes import even_axes
from bertviz_core.figures.base.marks import add_band, add_line
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import Theme, escape, faint, layout, round_limit
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.sentences.analysis.results import PairThresholds, Threshold
from bertviz_core.text import counted, decimals, shortened

HEIGHT = 560
BOTTOM_OF_CURVES, TOP_OF_PAIRS = 0.42, 0.33
"""Shares of the height of the plot."""
BINS = 24
"""Most bars of the distribution, about."""
MOST_WHOLE = 1e6
"""Least number that is not written as a whole one."""
DRAWN = 2_000
"""Most thresholds that are drawn, evenly over all."""
SIDES = (("positive", "solid"), ("negative", "dot"))
CURVES = (("precision", "precision_interval", "solid"), ("recall", "recall_interval", "dash"), ("F1", "", "dot"))
"""Name of a line, the field with its interval, and its dash."""


def score_title(result: PairThresholds) -> str:
    """What the score is, with its class."""
    of = f" of {shortened(result.label, 24)}" if result.label else ""
    name = {"cosine": "cosine", "late interaction": "score of late interaction", "logit": "logit"}
    words = name.get(result.score_name, f"score ({result.score_name} of the logit)")
    return f"probability{of}" if result.label and result.score_name != "logit" else f"{words}{of}"


def score_words(result: PairThresholds, value: float) -> str:
    """A score of a pair, with its logit where that is another number."""
    if result.logits is None or result.score_name == "logit":
        return decimals(value)
    return f"{decimals(value)} (logit {decimals(float(result.logits[result.scores == value].min()), 2)})"


def share_words(share: float, interval: tuple[float, float]) -> str:
    """A share with its interval, in percent."""
    low, high = interval
    return f"{share:.1%} ({100 * low:.1f} to {high:.1%})"


def at_threshold(threshold: Threshold) -> str:
    """Precision and recall at a threshold."""
    precision = share_words(threshold.precision, threshold.precision_interval)
    return f"precision {precision}, recall {share_words(threshold.recall, threshold.recall_interval)}"


def best_words(result: PairThresholds) -> str:
    """The threshold with the largest F1, in one sentence."""
    best = result.best
    return (
        f"F1 is largest, {decimals(best.f1, 3)}, where pairs with a {score_title(result)} of "
        f"{score_words(result, best.threshold)} or more count as positive: {at_threshold(best)}."
    )


def reaching_words(result: PairThresholds) -> str:
    """The lowest thresholds that reach the chosen precision, in one sentence."""
    reaching, target = result.reaching, f"{result.target:.4g}"
    if reaching is None:
        place = int(np.argmax(result.curve.precision))
        at = score_words(result, float(result.curve.thresholds[place]))
        highest = f"{result.curve.precision[place]:.1%}"
        return f"No threshold reaches a precision of {target} with these pairs; the highest is {highest}, at {at}."
    above = "" if reaching.above is None else f"above {decimals(reaching.above)}, "
    curve = result.curve
    higher = curve.precision[curve.thresholds >= reaching.threshold]
    falls = (
        " Some higher thresholds fall below it again."
        if bool((higher < min(result.target, reaching.precision)).any())
        else ""
    )
    span = f"{above}up to {score_words(result, reaching.threshold)}, which divide the pairs alike"
    lowest = f"The lowest thresholds with a precision of at least {target} are those {span}"
    return f"{lowest}: {at_threshold(reaching)}.{falls}"


def sampled_words(result: PairThresholds) -> str:
    """Which threshold other pairs would give, in one sentence."""
    low, high = (decimals(end) for end in result.resampled)
    above = "" if result.best.above is None else f" above {decimals(result.best.above)}"
    return (
        f"Every threshold{above} up to {decimals(result.best.threshold)} divides these pairs in the same way. In 95% "
        f"of {result.resamples:,} bootstrap samples of the pairs F1 is largest at {low} to {high}."
    )


def threshold_frame(pair_thresholds: PairThresholds) -> "pd.DataFrame":
    """One row per threshold, ascending: precision, recall, their 95% intervals, F1, and the counts of pairs."""
    curve = pair_thresholds.curve
    shares: dict[str, np.ndarray] = {}
    for name, share, (low, high) in (
        ("precision", curve.precision, curve.precision_interval),
        ("recall", curve.recall, curve.recall_interval),
    ):
        shares |= {name: share, f"{name} low": low, f"{name} high": high}
    return pd.DataFrame(
        {
            "threshold": curve.thresholds,
            **shares,
            "F1": curve.f1,
            "true positives": curve.true_positives,
            "false positives": curve.false_positives,
            "false negatives": pair_thresholds.positives - curve.true_positives,
            "true negatives": pair_thresholds.negatives - curve.false_positives,
        }
    )


def pair_frame(result: PairThresholds) -> "pd.DataFrame":
    """One row per pair: first those on the wrong side of the best threshold, the farthest first; numbers from 1."""
    above = result.scores >= result.best.threshold
    sides = np.where(result.labels == above, "", np.where(above, "false positive", "false negative"))
    logits = {} if result.logits is None or result.score_name == "logit" else {"logit": result.logits}
    whole = bool((result.gold == np.round(result.gold)).all() and np.abs(result.gold).max() < MOST_WHOLE)
    columns = {
        "pair": np.arange(len(sides)) + 1,
        "score": result.scores,
        **logits,
        "gold": result.gold.astype(np.int64) if whole else result.gold,
        "positive": result.labels,
        "mistake": sides,
        "first text": result.first_texts,
        "second text": result.second_texts,
    }
    return pd.DataFrame(columns).iloc[result.worst].reset_index(drop=True)


def threshold_lines(result: PairThresholds, title: str, theme: Theme) -> go.Figure:
    """Draw the curves over the threshold, and below them the scores of both labels."""
    figure = go.Figure(layout=layout(theme, escape(title), height=HEIGHT))
    curve, count = result.curve, len(result.curve.thresholds)
    chosen = np.unique(np.linspace(0, count - 1, min(count, DRAWN)).astype(np.int64))
    x = curve.thresholds[chosen]
    low, high, width = _range(result)
    x = np.concatenate(([low], x))
    for (name, interval, dash), colour in zip(CURVES, theme.hues, strict=False):
        values = getattr(curve, name.lower())[chosen]
        if interval:
            band = getattr(curve, interval)[:, chosen]
            stepped = {"line": {"width": 0, "shape": "vh"}}
            add_band(figure, x, np.concatenate((band[:, :1], band), axis=1), faint(colour, 0.15), **stepped)
        hover = f"{name} %{{y:.3f}} from %{{x:.4f}}"
        add_line(figure, x, np.concatenate((values[:1], values)), hover, colour, 2.5, dash, name=name, mode="lines")
        figure.data[-1].line.shape = "vh"
    most = _add_pairs(figure, result, theme, low, high, width)
    _add_thresholds(figure, result, theme, most)
    axis = {"range": [low - width / 4, high + width / 4]}
    figure.update_layout(
        xaxis={**axis, "anchor": "y2", "title": escape(score_title(result))},
        yaxis={"domain": [BOTTOM_OF_CURVES, 1], "range": [0, 1.03], "title": "share"},
        legend={"traceorder": "normal"},
        yaxis2={"domain": [0, TOP_OF_PAIRS], "anchor": "x", "rangemode": "tozero", "title": "pairs"},
    )
    return even_axes(figure, theme)


def _range(result: PairThresholds) -> tuple[float, float, float]:
    """Lowest and highest edge of the bars, one of them empty below all scores, and their width, a round number."""
    low, high = float(result.scores.min()), float(result.scores.max())
    width = round_limit((high - low) / BINS) if high > low else 0.05
    return float((np.floor(low / width) - 1) * width), float((np.floor(high / width) + 1) * width), width


def _add_pairs(
    figure: go.Figure, result: PairThresholds, theme: Theme, low: float, high: float, width: float
) -> int:  # fmt: skip
    """Draw how many pairs of each label have which score; returns the largest number."""
    edges = low + width * np.arange(round((high - low) / width) + 1)
    most = 0
    for (name, dash), labels, colour in zip(
        SIDES, (result.labels, ~result.labels), (theme.hues[3], theme.muted), strict=True
    ):
        counts = np.histogram(result.scores[labels], edges)[0]
        most = max(most, int(counts.max()))
        outline = np.repeat(edges, 2), np.concatenate(([0], np.repeat(counts, 2), [0]))
        filled = {"mode": "lines", "fill": "tozeroy", "fillcolor": faint(colour, 0.3), "yaxis": "y2"}
        label = f"{name}, {int(labels.sum()):,}"
        add_line(figure, *outline, f"{name}: %{{y}} at %{{x:.4g}}", colour, 2, dash, name=label, **filled)
    return most


def _add_thresholds(figure: go.Figure, result: PairThresholds, theme: Theme, most: int) -> None:
    """Draw the best threshold, and the one that reaches the chosen precision, through both plots."""
    marked = [(f"largest F1, at {decimals(result.best.threshold)}", result.best, theme.text, "solid")]
    if result.reaching is not None:
        name = f"precision {result.target:.4g}, at {decimals(result.reaching.threshold)}"
        marked.append((name, result.reaching, theme.muted, "dash"))
    for name, threshold, colour, dash in marked:
        for axis, top in (("y", 1.03), ("y2", most)):
            line: dict[str, Any] = {"name": name, "showlegend": axis == "y", "mode": "lines", "yaxis": axis}
            add_line(figure, [threshold.threshold] * 2, [0, top], escape(name), colour, 1.5, dash, **line)


@figure("thresholds", "sentences_thresholds", table=threshold_frame)
def thresholds_figure(pair_thresholds: PairThresholds) -> FigureSpec:
    """Precision and recall of labelled pairs for every threshold of their scores (texts: S1 S2 LABEL ...)."""
    result = pair_thresholds
    title = f"Thresholds of the {score_title(result)} for {counted(len(result.labels), 'pair')} — {result.model}"
    about = (
        f"{best_words(result)} {reaching_words(result)} "
        f"Average precision {decimals(result.curve.average_precision, 3)}; "
        f"{result.positives:,} positive and {result.negatives:,} negative pairs; bands: Wilson's 95% intervals."
    )
    return FigureSpec.of(title, f"{title}: {about}", f"{title}. {about}", threshold_lines, result)
