"""Shares of words: bars, curves, classes, pairs."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from bertviz_core.attribution.results import (
    ClassAttributions,
    PairAttributions,
    ShareMethod,
    WordAttributions,
    WordCurves,
)
from bertviz_core.figures.base.axes import even_axes, text_width, token_axis, token_labels, token_text
from bertviz_core.figures.base.cells import add_cells
from bertviz_core.figures.base.marks import add_band, add_bars, add_line, pair_names, row_axis
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import TEXT_SIZE, Theme, colour_bar, diverging, escape, faint, layout, round_limit
from bertviz_core.figures.tokens import WRITTEN, coloured_strip
from bertviz_core.hidden_states.results import state_name
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.text import decimals, digits
from bertviz_core.trace.results import TextPieces

MOST_BARS = 40
ROW, AROUND, NUMBER = 22, 130, 60
"""Pixels: height of a bar with its distance, margins above and below the bars, a number beside its bar."""
METHOD_WORDS: dict[ShareMethod, str] = {
    "leave-one-out": "one word taken away at a time",
    "integrated-gradients": "by integrated gradients",
    "gradient-x-input": "by gradient times input",
}
"""Description of the method in a title."""


def shares_frame(word_attributions: WordAttributions) -> "pd.DataFrame":
    """Every word in the order of the text, with its tokens and its share."""
    result, tokens = word_attributions, word_attributions.tokens.tokens
    has_errors = result.method == "integrated-gradients"
    return pd.DataFrame(
        {
            "word": result.words,
            "position": [places[0] for places in result.positions],
            "tokens": [" ".join(tokens[place] for place in places) for places in result.positions],
            "share": result.shares.astype(float),
            **({"error": result.share_errors.astype(float)} if has_errors else {}),
        }
    )


@figure("word-shares", "words_shares", reported=True, table=shares_frame)
def word_shares_figure(word_attributions: WordAttributions, word_pieces: TextPieces) -> FigureSpec:
    """A text coloured by what each word adds to a target (TEXT --pair TEXT)."""
    title = _title(word_attributions)
    caption = f"{_caption(word_attributions, title)} {WRITTEN}"
    return FigureSpec.of(
        title, f"{title}: {_listed_shares(word_attributions)}", caption, shares_strip, word_attributions, word_pieces
    )


@figure("word-bars", "words_bars", reported=True, table=shares_frame)
def word_bars_figure(word_attributions: WordAttributions) -> FigureSpec:
    """The words that add most to a target or take most from it (TEXT --pair TEXT)."""
    title, draw = _title(word_attributions), partial(shares_bars, word_attributions, _title(word_attributions))
    caption = _caption(word_attributions, title)
    if len(word_attributions.words) > MOST_BARS:
        caption += f" The {MOST_BARS} largest of {len(word_attributions.words)} are drawn."
    return FigureSpec(title, f"{title}: {_listed_shares(word_attributions)}", draw, caption)


def shares_strip(result: WordAttributions, pieces: TextPieces, title: str, theme: Theme) -> go.Figure:
    """Draw the coloured text with its scale."""
    values = result.per_token()
    limit = round_limit(float(np.nanmax(np.abs(values))))
    bar = colour_bar(result.unit, -limit, limit, most=3)
    return coloured_strip(pieces, values.tolist(), (-limit, limit), _written, bar, title, theme)


def shares_bars(result: WordAttributions, title: str, theme: Theme) -> go.Figure:
    """Draw one bar per word."""
    strongest = set(np.argsort(-np.abs(result.shares), kind="stable")[:MOST_BARS].tolist())
    order = [index for index in result.ranked() if index in strongest]
    names = [token_text(result.words[index]) for index in order]
    return signed_bars(names, result.shares[order].tolist(), f"share of the target, {result.unit}", title, theme)


def signed_bars(
    names: Sequence[str], values: Sequence[float], axis: str, title: str, theme: Theme, orange_above: bool = True
) -> go.Figure:
    """Draw one bar per name, on one side of 0 orange, on the other blue; the names are in HTML."""
    figure = go.Figure(layout=layout(theme, escape(title), height=AROUND + ROW * len(names), showlegend=False))
    hues = [theme.hues[(value >= 0) == orange_above] for value in values]
    numbers = {"text": [_written(value) for value in values], "textposition": "outside", "cliponaxis": False}
    add_bars(figure, list(values), "%{customdata}: %{x:.4f}", hues, customdata=list(names), **numbers)
    low, high = min([0.0, *values]), max([0.0, *values])
    room = (high - low) * NUMBER / max(theme.pixels - BESIDE, NUMBER)  # beside the bars, for their numbers
    ends = [low - room * (low < 0), high + room * (high > 0)] if high > low else None
    figure = even_axes(figure.update_xaxes(title=axis, range=ends), theme)
    return figure.update_yaxes(row_axis(names))


def _title(result: WordAttributions) -> str:
    error = f" (completeness error {result.error:.1g})" if result.method == "integrated-gradients" else ""
    return f"What each word adds to the {result.title}, {METHOD_WORDS[result.method]}{error} — {result.model}"


def _listed_shares(result: WordAttributions) -> str:
    return ", ".join(f"{result.words[index]} {_written(float(result.shares[index]))}" for index in result.ranked())


def _caption(result: WordAttributions, title: str) -> str:
    replaced = f"a word taken away is replaced by {result.instead}"
    caption = f"{title}. With all words {decimals(result.clean)} {result.unit}; {replaced}"
    if result.method == "leave-one-out":
        return f"{caption}."
    return f"{caption}; the shares miss the difference of clean and reference by {digits(result.error, 2)}."


def _written(value: float) -> str:
    return decimals(value, 3)


HEIGHT, STACKED = 400, 720
"""Height in pixels with the two plots side by side, and stacked on a phone."""
METHOD_NAMES: dict[ShareMethod, str] = {
    "leave-one-out": "leave-one-out",
    "integrated-gradients": "integrated gradients",
    "gradient-x-input": "gradient x input",
}
"""Method -> name in a legend."""
RANDOM = "random order"


def _curves_frame(word_curves: WordCurves) -> "pd.DataFrame":
    """The target at each step, of every method and of the random orders."""
    columns: dict[str, object] = {"words": list(word_curves.counts)}
    for curve in word_curves.curves:
        columns[f"{METHOD_NAMES[curve.method]}, without"] = curve.without.astype(float)
        columns[f"{METHOD_NAMES[curve.method]}, alone"] = curve.alone.astype(float)
    for which, values in (("without", word_curves.random), ("alone", word_curves.random_alone)):
        ends = {"mean": values.mean(axis=0), "least": values.min(axis=0), "greatest": values.max(axis=0)}
        columns |= {f"random, {which}, {name}": each.astype(float) for name, each in ends.items()}
    return pd.DataFrame(columns)


@figure("word-curves", "words_curves", table=_curves_frame)
def word_curves_figure(word_curves: WordCurves) -> FigureSpec:
    """A target without its strongest words and with them alone, beside 20 random orders (TEXT --pair TEXT)."""
    title = f"The {word_curves.title} without the strongest words, and with them alone — {word_curves.model}"
    areas = "; ".join(
        f"{name}: {decimals(without, 3)} and {decimals(alone, 3)}" for name, without, alone in curve_areas(word_curves)
    )
    summary = (
        f"{title}. With all words {decimals(word_curves.clean)}, all words replaced {decimals(word_curves.reference)} "
        f"{word_curves.unit}. Mean fall below clean (comprehensiveness and sufficiency): {areas}."
    )
    return FigureSpec.of(title, summary, summary, curve_plots, word_curves)


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
    places = ({"row": 1, "col": 1}, {"row": rows, "col": columns})
    counts, grey = list(result.counts), theme.colours["layer_norm"]
    lines = [(f"{RANDOM}, mean and band", grey, (result.random.mean(axis=0), result.random_alone.mean(axis=0)))]
    hues = dict(zip(METHOD_NAMES, theme.hues, strict=False))
    lines += [(METHOD_NAMES[each.method], hues[each.method], (each.without, each.alone)) for each in result.curves]
    for place, values in zip(places, (result.random, result.random_alone), strict=True):
        add_band(figure, counts, values, faint(grey, 0.3), **place)
        _add_curve(figure, counts, place, lines[0])
    for line in lines[1:]:
        for place in places:
            _add_curve(figure, counts, place, line)
    names = (f"strongest words replaced by {result.instead}", "strongest words kept, all others replaced")
    for place, name in zip(places, names, strict=True):
        figure.update_xaxes(title=name, rangemode="tozero", **place)
    figure.update_yaxes(title=result.unit, col=1)
    return even_axes(figure, theme)


def _add_curve(
    figure: go.Figure, counts: list[int], place: dict[str, int], line: tuple[str, str, tuple[np.ndarray, np.ndarray]]
) -> None:
    (name, colour, both), is_first = line, place == {"row": 1, "col": 1}
    named = {"name": name, "legendgroup": name, "showlegend": is_first}
    hover = f"{name}, %{{x}} words: %{{y:.4f}}"
    add_line(figure, counts, both[not is_first], hover, colour, **named, **place)


MOST_WORDS = 40
CLASSES_ROW, CLASSES_AROUND, STANDING, BESIDE = 26, 170, 100, 200
"""Pixels: height of a word's row, margins above and below the map, height of vertical class names, width for colour bar
and words."""


def _classes_frame(class_attributions: ClassAttributions) -> "pd.DataFrame":
    """Every word in the order of the text, with its share in each class."""
    result = class_attributions
    columns: dict[str, object] = {"word": result.words, "position": [places[0] for places in result.positions]}
    return pd.DataFrame(columns | {f"share: {label}": result.shares[:, i] for i, label in enumerate(result.labels)})


@figure("word-classes", "words_classes", table=_classes_frame)
def word_classes_figure(class_attributions: ClassAttributions) -> FigureSpec:
    """Which words speak for and against each class of a classifier or a probe, or each tag of a token (TEXT)."""
    result = class_attributions
    effect = "raise and lower" if result.noun == "number" else "speak for and against"
    every = "each" if len(result.labels) > 1 else "the"
    title = f"Which words {effect} {every} {result.noun} ({result.measure}) — {result.model}"
    phrases = "; ".join(class_words(result, place) for place in range(len(result.labels)))
    caption = f"{title}. A word is replaced by {result.instead}."
    if len(result.labels) < result.classes:
        several = {"class": "classes"}.get(result.noun, f"{result.noun}s")
        caption += f" {len(result.labels)} of {result.classes} {several} are shown."
    if len(result.words) > MOST_WORDS:
        caption += f" The {MOST_WORDS} words with the largest shares of {len(result.words)} are drawn."
    return FigureSpec.of(title, f"{title}: {phrases}", caption, classes_map, result)


def class_words(result: ClassAttributions, place: int) -> str:
    """Describe a class: its clean value, the strongest word for it and the strongest against it."""
    parts = [
        f"{result.words[word]} {sign} {decimals(float(result.shares[word, place]), 3)}"
        for word, sign in zip(result.strongest(place), ("for it", "against it"), strict=True)
        if word is not None
    ]
    return (
        f"{result.labels[place]} {decimals(float(result.clean[place]), 3)}, {', '.join(parts) or 'no word changes it'}"
    )


def classes_map(result: ClassAttributions, title: str, theme: Theme) -> go.Figure:
    """Draw words in text order from top to bottom, classes from left to right, on one scale around 0."""
    strength = np.abs(result.shares).max(axis=1)
    drawn = np.sort(np.argsort(-strength, kind="stable")[:MOST_WORDS])
    shares, names = result.shares[drawn], [token_text(result.words[word]) for word in drawn.tolist()]
    labels = [token_text(label) for label in result.labels]
    values = [decimals(float(value), 3) for value in result.clean]
    room = theme.pixels - BESIDE
    upright = any(text_width(text, TEXT_SIZE) > room / len(labels) - 8 for text in (*result.labels, *values))
    # In vertical names the value comes first: long ones are cut at the end, and bold letters with it.
    heads = [
        f"{value} {label}" if upright else f"{label}<br><b>{value}</b>"
        for label, value in zip(labels, values, strict=True)
    ]
    around = CLASSES_AROUND + (STANDING if upright else 0)
    height = around + CLASSES_ROW * len(names)
    limit = round_limit(float(strength.max()))
    figure = go.Figure(layout=layout(theme, escape(title), height=height))
    ends, space, pairs = (-limit, limit), (room, height - around), pair_names(names, labels, ", ")
    hover = "%{customdata}: %{z:.4f}"
    add_cells(figure, shares, ".3f", diverging(theme), ends, space, result.measure, hover, customdata=pairs)
    ticks = {"tickvals": list(range(len(labels))), "ticktext": heads, "tickangle": -90 if upright else 0}
    return even_axes(figure, theme).update_xaxes(ticks, showgrid=False).update_yaxes(row_axis(names))


PAIRS_ROW, PAIRS_AROUND, PAIRS_BESIDE = 28, 190, 200
"""Pixels: height of a token's row, margins above and below the map, width for colour bar and tokens."""
LEAST, MOST = 300, 760
"""Minimum and maximum height of the map in pixels."""


def _pairs_frame(pair_attributions: PairAttributions) -> "pd.DataFrame":
    ledger = pair_attributions
    rows, columns = ledger.shares.shape
    return pd.DataFrame(
        {
            "position in the first": np.repeat(np.arange(rows), columns),
            "token of the first": np.repeat(np.array(ledger.first.tokens, dtype=object), columns),
            "position in the second": np.tile(np.arange(columns), rows),
            "token of the second": np.tile(np.array(ledger.second.tokens, dtype=object), rows),
            "share": ledger.shares.ravel().astype(float),
            "error": ledger.share_errors.ravel().astype(float),
        }
    )


@figure("word-pairs", "words_pairs", table=_pairs_frame)
def pair_ledger_figure(pair_attributions: PairAttributions) -> FigureSpec:
    """Which words make two texts alike: the cosine by pairs of tokens (TEXT --pair TEXT --layer L)."""
    result = pair_attributions
    title = f"Which words make the two texts alike — {result.model}, states: {state_name(result.layer)}"
    row, column = np.unravel_index(np.abs(result.shares).argmax(), result.shares.shape)
    first, second = result.first.tokens[int(row)], result.second.tokens[int(column)]
    total = float(result.shares.sum())
    added = (
        f"cosine {decimals(result.cosine)} = pairs {decimals(total)} + reference terms "
        f"{decimals(result.reference_terms)}, up to {digits(result.error, 1)}"
    )
    if result.uncertain.any():
        added += "; a cross marks a share smaller than its own error"
    largest = f"the largest share is that of {first} and {second}, {decimals(float(result.shares[row, column]))}"
    return FigureSpec.of(title, f"{title}: {added}; {largest}", f"{title}: {added}.", ledger_map, pair_attributions)


def ledger_map(ledger: PairAttributions, title: str, theme: Theme) -> go.Figure:
    """Draw tokens of the first text from top to bottom, of the second from left to right, on one scale around 0."""
    names, others = token_labels(ledger.first), token_labels(ledger.second)
    height = min(MOST, max(LEAST, PAIRS_AROUND + PAIRS_ROW * len(names)))
    limit = round_limit(float(np.abs(ledger.shares).max()))
    figure = go.Figure(layout=layout(theme, escape(title), height=height))
    pairs = [[f"{name} · {other}" for other in others] for name in names]
    ends, room = (-limit, limit), (theme.pixels - PAIRS_BESIDE, height - PAIRS_AROUND)
    hover = "%{customdata}: %{z:.5f}"
    add_cells(figure, ledger.shares, ".3f", diverging(theme), ends, room, "cosine", hover, customdata=pairs)
    below, beside = np.nonzero(ledger.uncertain)
    marks = {"symbol": "x-thin-open", "size": 7, "color": theme.muted}
    figure.add_scatter(x=beside, y=below, mode="markers", marker=marks, hoverinfo="skip", showlegend=False)
    figure = even_axes(figure, theme)
    figure.update_xaxes(token_axis(others, theme.pixels - PAIRS_BESIDE), tickangle=-90)
    return figure.update_yaxes(token_axis(names, height - PAIRS_AROUND), range=[len(names) - 0.5, -0.5])
