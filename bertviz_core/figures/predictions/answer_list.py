"""Exact match and F1 of a list of questions over the threshold of the null score, above the null differences."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from bertviz_core.errors import TextError
from bertviz_core.figures.base.axes import even_axes
from bertviz_core.figures.base.marks import add_band, add_line
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import Theme, escape, faint, layout, round_limit
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.predictions.results import AnswerList, NullCurve
from bertviz_core.predictions.tables import squad_scores
from bertviz_core.text import counted, decimals, digits

HEIGHT, BINS, FEW = 540, 24, 5
"""Pixels, most bars of the distribution, about, and most questions of a bar whose axis names every number."""
BOTTOM_OF_CURVES, TOP_OF_BARS = 0.42, 0.33
"""Shares of the height of the plot."""
DRAWN = 2_000
"""Most thresholds that are drawn, evenly over all."""


def answer_frame(result: AnswerList) -> "pd.DataFrame":
    """One row per question: answer, gold answers and scores, logits of best span and of none, best span, context."""
    columns: dict[str, Any] = {"row": result.rows, "question": result.questions, "answer": result.answers}
    if result.gold is not None:
        columns["gold answers"] = [" | ".join(texts) for texts in result.gold]
        for name, of in (("exact match", result.exact), ("F1", result.f1)):
            columns[name] = np.where(result.answered, np.asarray(of), ~np.asarray(result.has_answer)).astype(float)
    columns["logit"] = [span.logit for span in result.spans]
    if result.null_logits is not None:
        columns |= {"null logit": result.null_logits, "null difference": result.difference}
    spans = {"best span": [span.text for span in result.spans], "start": [span.start for span in result.spans]}
    return pd.DataFrame({**columns, **spans, "context": result.contexts})


def curve_of(result: AnswerList) -> NullCurve:
    """The scores by threshold; raises TextError where there are none."""
    if result.curve is None:
        why = "has no null score" if result.null_logits is None else "was asked without gold answers"
        raise TextError(f"{result.model} {why}, so there is no curve over its threshold.")
    return result.curve


def null_frame(answer_list: AnswerList) -> "pd.DataFrame":
    """One row per threshold, ascending: exact match with its 95% interval, and F1."""
    curve = curve_of(answer_list)
    low, high = curve.exact_interval
    columns = {"threshold": curve.thresholds, "exact match": curve.exact, "low": low, "high": high, "F1": curve.f1}
    return pd.DataFrame(columns)


def squad_words(result: AnswerList) -> str:
    """Exact match and F1 of the answers, of all questions and of those with and without an answer."""
    scores, parts = squad_scores(result), []
    for prefix, what in (("", ""), ("HasAns_", " with an answer"), ("NoAns_", " without one")):
        if (total := scores.get(f"{prefix}total")) is not None:
            shares = f"exact match {scores[f'{prefix}exact']:.1%}, F1 {scores[f'{prefix}f1']:.1%}"
            parts.append(f"{counted(int(total), 'question')}{what}: {shares}")
    return f"{result.model}, no answer above {digits(result.threshold)}. {'; '.join(parts)}." if parts else ""


def best_words(result: AnswerList) -> str:
    """The thresholds with the largest scores, in a sentence; "" without a curve."""
    scores, parts = squad_scores(result), []
    for key, what in (("exact", "exact match"), ("f1", "F1")):
        if (best := scores.get(f"best_{key}")) is not None:
            at = scores[f"best_{key}_thresh"]
            where = "where no question is answered" if at is None else f"at {decimals(at, 3)}"
            parts.append(f"{what} is largest, {best:.1%}, {where}")
    return f"{'; '.join(parts)[0].upper()}{'; '.join(parts)[1:]}." if parts else ""


def null_lines(result: AnswerList, title: str, theme: Theme) -> go.Figure:
    """Draw both scores over the threshold, and below them the null differences with and without an answer."""
    figure = go.Figure(layout=layout(theme, escape(title), height=HEIGHT))
    curve, difference, has_answer = curve_of(result), np.asarray(result.difference), np.asarray(result.has_answer)
    spread = float(np.ptp(difference))
    width = round_limit(spread / BINS) if spread else 1.0
    low, high = (
        float((np.floor(end / width) + more) * width) for end, more in ((difference.min(), -1), (difference.max(), 2))
    )
    count = len(curve.thresholds)
    chosen = np.unique(np.linspace(0, count - 1, min(count, DRAWN)).astype(np.int64))
    ends = min(low, result.threshold), max(high, result.threshold)
    x = np.append(np.maximum(curve.thresholds[chosen], ends[0]), ends[1])
    band = np.append(curve.exact_interval[:, chosen], curve.exact_interval[:, -1:], axis=1)
    add_band(figure, x, 100 * band, faint(theme.hues[0], 0.15), line={"width": 0, "shape": "hv"})
    for name, values, colour, dash in (
        ("exact match", curve.exact, theme.hues[0], "solid"),
        ("F1", curve.f1, theme.hues[1], "dash"),
    ):
        y = 100 * np.append(values[chosen], values[-1])
        add_line(figure, x, y, f"{name} %{{y:.1f}}% from %{{x:.3f}} on", colour, 2.5, dash, name=name, mode="lines")
        figure.data[-1].line.shape = "hv"
    edges = low + width * np.arange(round((high - low) / width) + 1)
    most = 1
    sides = (
        ("with an answer", has_answer, theme.hues[3], "solid"),
        ("without an answer", ~has_answer, theme.muted, "dot"),
    )
    for name, of, colour, dash in sides:
        counts = np.histogram(difference[of], edges)[0]
        most = max(most, int(counts.max()))
        outline = np.repeat(edges, 2), np.concatenate(([0], np.repeat(counts, 2), [0]))
        filled = {"mode": "lines", "fill": "tozeroy", "fillcolor": faint(colour, 0.3), "yaxis": "y2"}
        label = f"{name}, {int(of.sum()):,}"
        add_line(figure, *outline, f"{name}: %{{y}} at %{{x:.4g}}", colour, 2, dash, name=label, **filled)
    ticks = {"dtick": 1} if most <= FEW else {}
    for axis, top in (("y", 103), ("y2", most)):
        name = f"no answer above {digits(result.threshold)}"
        line = {"name": name, "showlegend": axis == "y", "mode": "lines", "yaxis": axis}
        add_line(figure, [result.threshold] * 2, [0, top], escape(name), theme.text, 1.5, "dash", **line)
    figure.update_layout(
        legend={"traceorder": "normal"},
        xaxis={
            "range": [ends[0] - width / 4, ends[1] + width / 4],
            "anchor": "y2",
            "title": "null score − score of the best span",
        },
        yaxis={"domain": [BOTTOM_OF_CURVES, 1], "range": [0, 103], "title": "questions, %"},
        yaxis2={"domain": [0, TOP_OF_BARS], "anchor": "x", "rangemode": "tozero", "title": "questions", **ticks},
    )
    return even_axes(figure, theme)


@figure("null-threshold", "predictions_null_threshold", table=null_frame)
def null_threshold_figure(answer_list: AnswerList) -> FigureSpec:
    """Exact match and F1 by the threshold of the null score (texts: QUESTION CONTEXT GOLD ..., both set)."""
    curve_of(answer_list)
    title = f"Scores by the threshold of no answer, {counted(len(answer_list.spans), 'question')} — {answer_list.model}"
    about = f"{squad_words(answer_list)} {best_words(answer_list)} Band: Wilson's 95% interval of the exact match."
    return FigureSpec.of(title, f"{title}: {about}", f"{title}. {about}", null_lines, answer_list)
