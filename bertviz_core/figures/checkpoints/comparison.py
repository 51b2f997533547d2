"""Two checkpoints: weights, layers, answers."""

import math
from collections.abc import Sequence
from functools import partial
from math import isnan
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from bertviz_core.checkpoints.results import (
    Behaviour,
    ChangeHistograms,
    CheckpointComparison,
    Histogram,
    LayerSimilarity,
    TensorChange,
    TensorGrid,
)
from bertviz_core.checkpoints.tables import (
    change_frame,
    changes_frame,
    cosines_frame,
    divergences_frame,
    similarity_frame,
    text_cosines_frame,
)
from bertviz_core.figures.base.axes import even_axes, token_axis, token_labels
from bertviz_core.figures.base.cells import add_cells
from bertviz_core.figures.base.marks import add_bars, add_line, add_points, row_axis, state_axis
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import Theme, escape, layout, of_two, round_limit, sequential
from bertviz_core.figures.checkpoints.weights import PLACES, tensor_map
from bertviz_core.figures.predictions.probes import confusion_cells
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.predictions.probing.results import LEAST, AnswerComparison, ScorePair, SlicedAnswers, TextSlice
from bertviz_core.text import counted, shortened

ROW_HEIGHT, LEAST_ROWS, MOST_ROWS, AROUND = 30, 190, 380, 130
"""Pixels: height of a row of a map, minimum and maximum height of all rows, margins for title and axis."""
BESIDE_MAP = 150
"""Pixels for names and colour bar."""
GAP = 0.12
STANDOFF = 22
"""Pixels between the layer numbers and the axis title."""
LEAST_DISTANCE = 1e-3
"""Minimum distance of the ends of a cosine scale: values nearer to 1 are rounding errors."""


def histogram_pair(histograms: ChangeHistograms, models: tuple[str, str], title: str, theme: Theme) -> go.Figure:
    """Draw one tensor in two checkpoints: values on the left, differences on the right."""
    figure = go.Figure(layout=layout(theme, escape(title), height=380, bargap=0))
    both = (histograms.first, histograms.second)
    for model, histogram, (colour, dash) in zip(models, both, of_two(theme), strict=True):
        hover = "%{y:,} values around %{x:.4g}"
        add_line(figure, *_outline(histogram), hover, colour, 2.5, dash, mode="lines", name=escape(model))
    edges, half = histograms.difference.edges, (1 - GAP) / 2
    bars = {"color": theme.colours["feed_forward"], "line": {"width": 0}}
    middles = {"x": (edges[1:] + edges[:-1]) / 2, "width": float(edges[1] - edges[0]), "showlegend": False}
    hover = "%{y:,} differences around %{x:.4g}"
    add_bars(figure, histograms.difference.counts, hover, bars, False, **middles, xaxis="x2", yaxis="y2")
    figure.update_layout(
        xaxis={"domain": [0, half], "title": "value"},
        yaxis={"title": "count", "rangemode": "tozero"},
        xaxis2={"domain": [1 - half, 1], "title": "second − first", "anchor": "y2"},
        yaxis2={"anchor": "x2", "rangemode": "tozero"},
    )
    return even_axes(figure, theme)


def divergence_map(divergences: Float[np.ndarray, "layers heads"], title: str, theme: Theme) -> go.Figure:
    """Draw the Jensen-Shannon divergence of every head, on a scale from 0 to the largest."""
    layers, heads = divergences.shape
    rows = min(ROW_HEIGHT * layers, MOST_ROWS)
    top = float(divergences.max(initial=0)) or float(np.log(2))
    figure = go.Figure(layout=layout(theme, escape(title), height=AROUND + max(rows, LEAST_ROWS)))
    figure.update_layout(plot_bgcolor=theme.grid)
    room, hover = (theme.pixels - BESIDE_MAP, max(rows, LEAST_ROWS)), "layer %{y}, head %{x}: %{z:.6f} nats"
    cells, scale = divergences.astype(np.float32), sequential(theme)
    add_cells(figure, cells, ".2g", scale, (0.0, top), room, "divergence in nats", hover)
    figure.update_xaxes(title="head", showgrid=False, dtick=max(1, -(-heads // 24)))
    title_beside = {"text": "layer", "standoff": STANDOFF}
    return figure.update_yaxes(title=title_beside, showgrid=False, autorange="reversed", dtick=max(1, -(-layers // 14)))


def state_names(states: int) -> list[str]:
    """Return the names of the hidden states: embeddings, then the output of each layer."""
    return ["embeddings", *(f"after layer {layer}" for layer in range(states - 1))]


def token_cosine_map(
    cosines: Float[np.ndarray, "states seq"], names: Sequence[str], title: str, theme: Theme
) -> go.Figure:
    """Draw the cosine of every token's vectors in two models, one row per entry of hidden_states.

    The scale begins at a round number below the smallest cosine, since related models differ little, and ends at 1.
    """
    states, seq = cosines.shape
    rows = max(min(ROW_HEIGHT * states, MOST_ROWS), LEAST_ROWS)
    low = 1 - round_limit(max(1 - float(cosines.min(initial=1)), LEAST_DISTANCE))
    entries = state_names(states)
    figure = go.Figure(layout=layout(theme, escape(title), height=AROUND + 30 + rows))
    room = (theme.pixels - BESIDE_MAP - 60, rows)
    places, hover = (
        [[[name, entry] for name in names] for entry in entries],
        "%{customdata[0]}, %{customdata[1]}: %{z:.4f}",
    )
    cells, scale = cosines.astype(np.float32), sequential(theme)
    add_cells(figure, cells, ".4f", scale, (low, 1.0), room, "cosine", hover, customdata=places)
    figure.update_xaxes(token_axis(names, int(room[0]), theme=theme), tickangle=-90 if seq > 12 else 0)
    step = max(1, -(-states * 18 // rows))
    ticks = {"tickvals": list(range(0, states, step)), "ticktext": entries[::step]}
    return figure.update_yaxes(showgrid=False, autorange="reversed", **ticks)


def _outline(histogram: Histogram) -> tuple[np.ndarray, np.ndarray]:
    x = np.repeat(histogram.edges, 2)
    return x, np.concatenate([[0], np.repeat(histogram.counts, 2), [0]])


@figure("changes", "checkpoint_changes", table=changes_frame)
def changes_figure(change_grid: TensorGrid, comparison: CheckpointComparison, logarithmic: bool) -> FigureSpec:
    """How far each tensor moved to another checkpoint."""
    title = f"Relative change — {comparison.first} to {comparison.second}"
    draw = partial(tensor_map, change_grid, title, "relative change", logarithmic=logarithmic)
    return FigureSpec(title, f"{title}: {PLACES}", draw)


@figure("change", "checkpoint_change", table=change_frame)
def change_figure(
    value_histograms: ChangeHistograms, tensor_change: TensorChange, comparison: CheckpointComparison
) -> FigureSpec:
    """One tensor in two checkpoints."""
    title = f"{tensor_change.name} — {comparison.first} and {comparison.second}"
    names = (f"first: {comparison.first}", f"second: {comparison.second}")
    alt = f"{title}: values in both, and their differences"
    return FigureSpec.of(title, alt, "", histogram_pair, value_histograms, names)


def most_changed(comparison: CheckpointComparison) -> str:
    """Return the default tensor: the one with the largest change."""
    parameters = [each for each in comparison.tensors if not each.location.is_buffer]
    finite = [each for each in parameters if math.isfinite(each.relative_change) and each.first_norm > 0]
    return max(finite or parameters or comparison.tensors, key=lambda each: each.relative_change).name


@figure("cosines", "checkpoint_cosines", table=cosines_frame)
def cosines_figure(state_behaviour: Behaviour) -> FigureSpec:
    """Two models' hidden states of a text."""
    if state_behaviour.cosines is None:
        raise ValueError("no cosines")
    title = f"Cosine of hidden states — {state_behaviour.first} to {state_behaviour.second}"
    draw = partial(token_cosine_map, state_behaviour.cosines, token_labels(state_behaviour.tokens), title)
    return FigureSpec(title, f"{title}, a row per layer", draw)


@figure("divergences", "checkpoint_divergences", table=divergences_frame)
def divergences_figure(attention_behaviour: Behaviour) -> FigureSpec:
    """Two models' attention on a text."""
    if attention_behaviour.divergences is None:
        raise ValueError("no divergences")
    title = f"Divergence of attention — {attention_behaviour.first} to {attention_behaviour.second}"
    return FigureSpec.of(title, f"{title}, layers by heads", "", divergence_map, attention_behaviour.divergences)


SCORES_HEIGHT = 360
MEASURES = ("accuracy", "macro-F1")
BOTTOM_OF_SCORES, TOP_OF_DIFFERENCES = 0.64, 0.34
"""Shares of the height of the plot."""


def score_dots(scores: tuple[ScorePair, ScorePair], models: tuple[str, str], title: str, theme: Theme) -> go.Figure:
    """Draw accuracy and macro-F1 of two models above their differences with the 95% interval."""
    figure = go.Figure(layout=layout(theme, escape(title), height=SCORES_HEIGHT))
    columns = ([each.first for each in scores], [each.second for each in scores])
    for place, (model, values, (colour, _)) in enumerate(zip(models, columns, of_two(theme), strict=True)):
        look = {"symbol": ("circle", "diamond-open")[place], "line": {"color": colour, "width": 2.5}}
        name, shares = escape(f"{('first', 'second')[place]}: {model}"), [100 * value for value in values]
        hover = "%{customdata}: %{x:.1f}%"
        add_points(figure, shares, [0, 1], hover, 13, colour, look, name=name, customdata=MEASURES)
    words = [f"{name}: {interval_words(each)}" for name, each in zip(MEASURES, scores, strict=True)]
    _add_differences(figure, scores, words, theme, "2", name="difference")
    end = round_limit(max(abs(100 * limit) for each in scores for limit in (each.low, each.high)) * 1.05)
    rows = row_axis(MEASURES)
    figure.update_layout(
        xaxis={"title": "score, %", "range": [-2, 102], "anchor": "y"},
        yaxis={**rows, "domain": [BOTTOM_OF_SCORES, 1]},
        xaxis2={"title": "second − first, points; bar: 95% interval", "range": [-end, end], "anchor": "y2"},
        yaxis2={**rows, "domain": [0, TOP_OF_DIFFERENCES], "anchor": "x2"},
    )
    return even_axes(figure, theme)


def _add_differences(
    figure: go.Figure, scores: Sequence[ScorePair], words: Sequence[str], theme: Theme, axes: str = "", **settings: Any
) -> None:
    """Add the differences of scores in points with their intervals, a row each, and the line of 0."""
    points = [100 * each.difference for each in scores]
    above = [100 * each.high - point for each, point in zip(scores, points, strict=True)]
    below = [point - 100 * each.low for each, point in zip(scores, points, strict=True)]
    bars = {"array": above, "arrayminus": below, "thickness": 2, "width": 7, "color": theme.text}
    on = {"xaxis": f"x{axes}", "yaxis": f"y{axes}"} if axes else {}
    _add_rows(figure, points, words, theme, error_x=bars, **on, **settings)
    zero = {"color": theme.muted, "width": 1.5, "dash": "dash"}
    ends = {"x0": 0, "x1": 0, "y0": 0, "y1": 1, "xref": f"x{axes}" if axes else None, "yref": f"y{axes} domain"}
    figure.add_shape(type="line", **ends, line=zero, layer="below")


def _add_rows(
    figure: go.Figure, points: Sequence[float], words: Sequence[str], theme: Theme, look: Any = None, **settings: Any
) -> None:
    rows, usual = list(range(len(points))), {"customdata": list(words), "showlegend": False}
    add_points(figure, points, rows, "%{customdata}", 11, theme.text, look, **usual, **settings)


def interval_words(score: ScorePair) -> str:
    """The difference of two scores in points, with its interval: "+2.0 points (95% interval −0.5 to +4.5)"."""
    return f"{points(score.difference)} points (95% interval {points(score.low)} to {points(score.high)})"


def points(share: float) -> str:
    """A difference of shares in points with its sign, 0.0 without one."""
    number = f"{100 * share:+.1f}"
    return "0.0" if float(number) == 0 else number.replace("-", "−")


def score_frame(answer_comparison: AnswerComparison) -> "pd.DataFrame":
    """One row for accuracy and macro-F1: both scores, their difference and the ends of its interval; 0 to 1."""
    gold = answer_comparison.gold
    if gold is None:
        raise ValueError("there are no gold labels")
    rows = [("accuracy", gold.accuracy), ("macro-F1", gold.macro_f1)]
    numbers = [(name, each.first, each.second, each.difference, each.low, each.high) for name, each in rows]
    return pd.DataFrame(numbers, columns=["score", "first", "second", "difference", "low", "high"])


def confusion_frame(answer_comparison: AnswerComparison) -> "pd.DataFrame":
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
    """Plot the scores of two models against the same gold labels, above their differences and intervals."""
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


@figure("answers-compared", "checkpoint_answers", table=confusion_frame)
def answers_compared_figure(answer_comparison: AnswerComparison) -> FigureSpec:
    """Answers of two models to the same texts, one against the other (--set other=MODEL; texts or none)."""
    compared = answer_comparison
    title = f"Answers to {counted(len(compared.texts), 'text')} — {compared.first} and {compared.second}"
    sides = (f"first: {compared.first}", f"second: {compared.second}")
    draw = partial(confusion_cells, compared.labels, compared.confusion, sides, title)
    words = f"{title}: {agreement_words(compared)}"
    return FigureSpec(title, words, draw, words)


def agreement_words(compared: AnswerComparison) -> str:
    """How often both models give the same answer, to be said after a colon."""
    return "no label in common" if compared.agreement is None else f"the same answer to {compared.agreement:.1%}"


CKA, SHARED = "CKA", "nearest texts shared"
LAYER_MEASURES = (CKA, SHARED)
LINES_HEIGHT = 330
MOST_TICKS = 25


def layer_map(
    values: Float[np.ndarray, "first_states second_states"],
    models: tuple[str, str],
    measure: str,
    title: str,
    theme: Theme,
) -> go.Figure:
    """Draw a measure of every pair of hidden states, on a scale from 0, or from the smallest below it, to 1."""
    rows = max(min(ROW_HEIGHT * len(values), MOST_ROWS), LEAST_ROWS)
    least = float(np.nanmin(values, initial=0.0))
    low = -round_limit(-least) if least < 0 else 0.0
    figure = go.Figure(layout=layout(theme, escape(title), height=AROUND + rows))
    room = (theme.pixels - BESIDE_MAP, rows)
    states = state_names(values.shape[1])
    names = [[[f"first: {one}, second: {other}"] for other in states] for one in state_names(values.shape[0])]
    hover = "%{customdata[0]}: %{z:.4f}"
    cells = values.astype(np.float32)
    add_cells(figure, cells, ".2f", sequential(theme), (low, 1.0), room, measure, hover, customdata=names)
    figure.update_xaxes(_ticks(values.shape[1]), title=f"layer of {escape(models[1])}", showgrid=False)
    title_beside = {"text": f"layer of {escape(models[0])}", "standoff": STANDOFF}
    return figure.update_yaxes(_ticks(values.shape[0]), title=title_beside, showgrid=False, autorange="reversed")


def cosine_lines(
    cosines: Sequence[Float[np.ndarray, " _"]], models: Sequence[str], title: str, theme: Theme
) -> go.Figure:
    """Draw the mean cosine of two different texts at every hidden state, a line for each model of any depth."""
    figure = go.Figure(layout=layout(theme, escape(title), height=LINES_HEIGHT))
    for name, values, (colour, dash) in zip(models, cosines, of_two(theme), strict=True):
        named, hover = {"name": escape(name), "customdata": state_names(len(values))}, "%{customdata}: %{y:.4f}"
        add_line(figure, list(range(len(values))), values, hover, colour, 2.5, dash, **named)
    figure.update_xaxes(_ticks(max(map(len, cosines))), title="layer")
    lowest = min(0.0, *(float(np.min(values)) for values in cosines))
    return figure.update_yaxes(title="mean cosine", range=[-round_limit(-lowest) if lowest < 0 else 0, 1.02])


def _ticks(count: int) -> dict[str, Any]:
    return state_axis(range(count), -(-count // MOST_TICKS))


@figure("layer-similarity", "checkpoint_layers", table=similarity_frame)
def layer_similarity_figure(layer_similarity: LayerSimilarity, layer_measure: str) -> FigureSpec:
    """How alike the layers of two models are over many texts."""
    compared = layer_similarity
    both = f"{compared.first} and {compared.second}"
    title = f"{'CKA of the layers' if layer_measure == CKA else 'Nearest texts shared'} — {both}"
    values = compared.cka if layer_measure == CKA else compared.shared_neighbours
    alt = f"{title}, over {counted(compared.texts, 'text')}, layers of the first by layers of the second"
    return FigureSpec.of(title, alt, "", layer_map, values, (compared.first, compared.second), layer_measure)


@figure("text-cosines", "checkpoint_text_cosines", table=text_cosines_frame)
def text_cosines_figure(layer_similarity: LayerSimilarity) -> FigureSpec:
    """How alike different texts are at every layer of two models."""
    compared = layer_similarity
    title = f"Mean cosine of two different texts — {compared.first} and {compared.second}"
    names = (f"first: {compared.first}", f"second: {compared.second}")
    alt = f"{title}, a line for each model over its layers"
    return FigureSpec.of(title, alt, "", cosine_lines, (compared.first_cosine, compared.second_cosine), names)


SLICES_ROW_HEIGHT, MARGINS = 34, 150
"""Pixels of a slice, and of everything around the slices."""
LONGEST_NAME = 28


def slice_rows(sliced: SlicedAnswers, title: str, theme: Theme) -> go.Figure:
    """Draw a row per slice: the difference of the accuracies with its interval, or the share of same answers."""
    shown = _shown(sliced)
    figure = go.Figure(layout=layout(theme, escape(title), height=MARGINS + SLICES_ROW_HEIGHT * len(shown)))
    words = [escape(_words(each)) for each in shown]
    scores = [each.accuracy for each in shown if each.accuracy is not None]
    if scores:
        ends = [end for each in scores for end in (each.difference, each.low, each.high) if not isnan(end)]
        end = round_limit(max(1.0, *(abs(100 * each) for each in ends)) * 1.05)
        look = {"symbol": ["circle-open" if isnan(each.low) else "circle" for each in scores]}
        _add_differences(figure, scores, words, theme, look=look)
        x_axis = {"title": "accuracy, second − first, points; bar: 95% interval", "range": [-end, end]}
    else:
        _add_rows(figure, [100 * each.agreement for each in shown], words, theme)
        x_axis = {"title": "same answer of both models, %", "range": [-2, 102]}
    names = [f"{escape(shortened(each.name, LONGEST_NAME))} · {each.compared or len(each.places):,}" for each in shown]
    return even_axes(figure.update_layout(xaxis=x_axis, yaxis=row_axis(names)), theme)


def _shown(sliced: SlicedAnswers) -> tuple[TextSlice, ...]:
    """The slices that can be drawn: those with gold labels if there are any, otherwise all."""
    return tuple(each for each in sliced.slices if each.accuracy is not None) or sliced.slices


def _words(each: TextSlice) -> str:
    if each.accuracy is None:
        return f"{each.name}: the same answer to {each.agreement:.1%} of {counted(len(each.places), 'text')}"
    scores = f"accuracy {each.accuracy.first:.1%} and {each.accuracy.second:.1%}"
    if isnan(each.accuracy.low):
        return f"{each.name}: {scores}, over {counted(each.compared, 'text')}, too few for an interval"
    return f"{each.name}: {scores}, {interval_words(each.accuracy)}, over {counted(each.compared, 'text')}"


SCORES = {
    "first accuracy": "first",
    "second accuracy": "second",
    "difference": "difference",
    "low": "low",
    "high": "high",
}
"""Columns -> fields of the accuracies of a slice."""


def slices_frame(sliced_answers: SlicedAnswers) -> "pd.DataFrame":
    """One row per slice: name, texts, same answer, and with gold labels both accuracies, difference, mended, broken."""
    slices = sliced_answers.slices
    columns: dict[str, object] = {"slice": [each.name for each in slices]}
    columns |= {"texts": [len(each.places) for each in slices], "same answer": [each.agreement for each in slices]}
    if sliced_answers.compared.gold is not None:
        columns |= {name: [getattr(each, name) for each in slices] for name in ("compared", "mended", "broken")}
        for name, field in SCORES.items():
            columns[name] = [np.nan if each.accuracy is None else getattr(each.accuracy, field) for each in slices]
    return pd.DataFrame(columns)


@figure(
    "slices-compared",
    "checkpoint_slices",
    "answers of two models by parts of the texts (--set other=, slices=length, word:WORD or column; texts as for "
    "answers-compared, for a column each followed by its value)",
    table=slices_frame,
)
def slices_compared_figure(sliced_answers: SlicedAnswers) -> FigureSpec:
    """Plot the slices of the texts: the difference of the accuracies with its 95% interval, or the agreement."""
    compared = sliced_answers.compared
    by = {"length": "length of the text", "column": "value of the column"}.get(
        sliced_answers.by, "occurrence of a word"
    )
    title = f"Answers by {by} — {compared.first} and {compared.second}"
    rows = "; ".join(map(_words, _shown(sliced_answers)))
    about = ""
    if compared.gold is not None:
        samples = f"{compared.gold.resamples:,} samples"
        about = f" Interval: paired bootstrap over the {LEAST} texts or more of a slice, {samples}; fewer: open circle"
    return FigureSpec.of(title, f"{title}: {rows}", f"{title}: {rows}.{about}", slice_rows, sliced_answers)
