"""Draw what a model answers to the one and the other word of pairs, and the difference with its interval."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from bertviz_core.figures.base.axes import even_axes, shortened_label
from bertviz_core.figures.base.marks import add_points, row_axis
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import TEXT_SIZE, Theme, escape, faint, layout
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.predictions.probing.results import WordSwaps
from bertviz_core.text import counted, decimals, escape_controls, shortened

MOST_ROWS = 40
"""Most pairs that are drawn."""
ROW, AROUND, LONGEST = 44, 150, 200
"""Pixels: height of a row, margins, maximum width of the name of a row."""


def means_frame(word_swaps: WordSwaps) -> "pd.DataFrame":
    """One row per pair, number and, of several pairs, for all of them: means of both words, difference, interval."""
    frames, swaps = [], word_swaps
    for place, name in enumerate(swaps.outputs):
        each = swaps.values[..., place].astype(np.float64).mean(axis=1)
        both = each if len(each) == 1 else np.concatenate([each, each.mean(axis=0, keepdims=True)])
        words = {"first word": both[:, 0], "second word": both[:, 1]} if both.shape[1] == 2 else {}
        measured = "difference" if words else "cosine"
        low, high = swaps.interval[:, :, place]
        numbers = {**words, measured: swaps.mean[:, place], "low": low, "high": high}
        frames.append(pd.DataFrame({"pair": swaps.names, "number": name, "templates": len(swaps.templates), **numbers}))
    return pd.concat(frames, ignore_index=True)


def texts_frame(swaps: WordSwaps, output: str) -> "pd.DataFrame":
    """One row per pair and template: both texts with their numbers and the difference, or their cosine."""
    place, words = swaps.outputs.index(output), swaps.values.shape[2]
    spelled = [text if second is None else f"{text} | {second}" for text, second in swaps.texts]
    columns: dict[str, Any] = {
        "pair": [f"{first} → {second}" for first, second in swaps.pairs for _ in swaps.templates],
        "first text": spelled[::2],
        "second text": spelled[1::2],
    }
    if words == 2:
        values = swaps.values[..., place].reshape(-1, 2).astype(float)
        columns |= {"with the first word": values[:, 0], "with the second": values[:, 1]}
    columns["difference" if words == 2 else "cosine"] = swaps.numbers[..., place].reshape(-1).astype(float)
    return pd.DataFrame(columns)


def measured_words(swaps: WordSwaps, output: str) -> str:
    """What the numbers are."""
    named = shortened(escape_controls(output), 40)
    if swaps.compared_by == "classes":
        return f"{swaps.unit} of {named}"
    return "cosine of both texts" if swaps.unit == "cosine" else named


def mean_words(swaps: WordSwaps, output: str) -> str:
    """The mean of all pairs with its interval, in one sentence."""
    place = swaps.outputs.index(output)
    mean, (low, high) = swaps.mean[-1, place], swaps.interval[:, -1, place]
    what = "Mean cosine" if swaps.unit == "cosine" else f"Mean difference of {measured_words(swaps, output)}"
    unit = " nats" if swaps.unit == "nats" else ""
    name = shortened(escape_controls(swaps.names[-1]), 60)
    if np.isnan(low):
        return f"{what}, {name}: {decimals(mean, 4)}{unit}, of a single template, which has no interval."
    reach = f"95% t interval {decimals(low, 4)} to {decimals(high, 4)}"
    return f"{what}, {name}: {decimals(mean, 4)}{unit}, {reach} over {counted(len(swaps.templates), 'template')}."


def swap_points(swaps: WordSwaps, output: str, title: str, theme: Theme) -> go.Figure:
    """Draw a row for each pair: the templates as faint points, their mean with its interval."""
    place, count = swaps.outputs.index(output), min(len(swaps.pairs), MOST_ROWS)
    rows = [*range(count), *range(len(swaps.pairs), len(swaps.names))]
    figure = go.Figure(layout=layout(theme, escape(title), height=AROUND + ROW * len(rows)))
    colour = theme.colours["task head"]
    texts, is_cosine = swaps.texts, swaps.unit == "cosine"
    numbers = swaps.numbers[:count, :, place]
    hovered = [
        [escape(shortened(text[0] if text[1] is None else f"{text[0]} | {text[1]}", 90)) for text in texts[at : at + 2]]
        for at in range(0, 2 * numbers.size, 2)
    ]
    figure.add_vline(x=1 if is_cosine else 0, line={"color": theme.muted, "width": 1, "dash": "dot"})
    y = np.repeat(np.arange(count), numbers.shape[1])
    hover = "%{customdata[0]}<br>%{customdata[1]}<br>%{x:.4f}"
    each = {"name": "a template", "customdata": hovered}
    add_points(figure, numbers.reshape(-1).astype(float), y, hover, 7, faint(colour, 0.35), **each)
    low, high = swaps.interval[:, rows, place]
    mean = swaps.mean[rows, place]
    bars = {"array": np.nan_to_num(high - mean), "arrayminus": np.nan_to_num(mean - low), "symmetric": False}
    marks = {"name": "mean, 95% t interval", "customdata": np.stack([low, high], axis=1)}
    about = "mean %{x:.4f}" + ("" if np.isnan(low).any() else " (%{customdata[0]:.4f} to %{customdata[1]:.4f})")
    error = {**bars, "color": colour, "thickness": 2, "width": 6}
    add_points(figure, mean, list(range(len(rows))), about, 11, colour, {"symbol": "diamond"}, error_x=error, **marks)
    what = measured_words(swaps, output)
    unit = ", nats" if swaps.unit == "nats" else ""
    title = what if is_cosine else f"difference of {what}, second word − first{unit}"
    figure.update_xaxes(title=escape(title))
    named: Sequence[str] = [
        shortened_label(escape(escape_controls(swaps.names[row])), LONGEST, TEXT_SIZE) for row in rows
    ]
    return even_axes(figure.update_yaxes(row_axis(named)), theme)


@figure("word-swaps", "predictions_swaps", table=means_frame)
def swaps_figure(word_swaps: WordSwaps, swap_output: str) -> FigureSpec:
    """Answers to templates with both words of pairs (--set swap_set=, swaps_by=; texts: templates with {} or none)."""
    pairs, templates = len(word_swaps.pairs), counted(len(word_swaps.templates), "template")
    drawn = f"the first {MOST_ROWS} of {pairs:,} pairs" if pairs > MOST_ROWS else counted(pairs, "pair")
    title = f"Word swaps, {measured_words(word_swaps, swap_output)}: {drawn} in {templates} — {word_swaps.model}"
    words = mean_words(word_swaps, swap_output)
    caption = f"{title}. {words} A point is a template; a diamond is the mean of the templates"
    return FigureSpec.of(title, f"{title}: {words}", caption, swap_points, word_swaps, swap_output)
