"""What texts use of a vocabulary: its rows by script, and how few rows are most of the tokens."""

from collections.abc import Callable
from typing import Any

import numpy as np
import plotly.graph_objects as go

from bertviz_core.figures.base.axes import even_axes, text_width
from bertviz_core.figures.base.marks import add_bars, add_line, add_words
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import TEXT_SIZE, Theme, escape, faint, layout
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.text import bytes_text, counted
from bertviz_core.trace.results import SIGNS, UNKNOWN, ScriptUse, VocabularyUse

DRAWN_KINDS, ROW, HEIGHT = 18, 26, 460
"""Most bars; pixels of one, and of the curves."""
DRAWN_RANKS = 2_000
"""Most points of a curve, evenly over the logarithm of the rank."""
PERCENTAGES = (50, 90, 99, 100)
UPPER, LOWER = (0.46, 1), (0, 0.34)
"""Parts of the height of the curves."""


def use_words(use: VocabularyUse) -> str:
    """How many rows are touched, and how few of them are most of the tokens, in two sentences."""
    needed = "; ".join(f"{each}% by {counted(use.covering(each), 'row')}" for each in PERCENTAGES)
    touched = use.rows - use.untouched
    return (
        f"{counted(use.texts, 'text')} {'touches' if use.texts == 1 else 'touch'} {touched:,} of "
        f"{counted(use.rows, 'row')} of the vocabulary ({touched / use.rows:.1%}). Of "
        f"{counted(use.tokens, 'token')}, {counted(use.special_tokens, 'special token')} left out, the most frequent "
        f"rows cover: {needed}."
    )


def table_words(use: VocabularyUse) -> list[str]:
    """What the untouched rows of each table take, a sentence each."""
    return [
        f"The {counted(use.untouched, 'untouched row')} of the {table.role} table "
        f"({' × '.join(f'{size:,}' for size in table.shape)}, {table.dtype}) take "
        f"{bytes_text(use.untouched_nbytes(table))} of {bytes_text(table.nbytes)}, "
        f"{table.share * use.untouched / use.rows:.1%} of all parameters."
        for table in use.tables
    ]


def pieces_words(use: VocabularyUse) -> str:
    """How many pieces a word has, and how many are unknown or bytes, in one sentence; "" without words."""
    spoken = [each for each in use.by_script if each.kind != SIGNS]
    words, pieces = (sum(getattr(each, name) for each in spoken) for name in ("words", "pieces"))
    unknown, single = (sum(getattr(each, name) for each in use.by_script) for name in ("unknown", "bytes"))
    if not words:
        return ""
    return (
        f"{pieces / words:.2f} pieces per word, over {counted(words, 'word')} with a letter or digit; "
        f"{unknown / use.tokens:.1%} of all tokens are unknown, and {single / use.tokens:.1%} are bytes."
    )


def scripts_frame(vocabulary_use: VocabularyUse) -> "pd.DataFrame":
    """One row per script, or what is none: rows, used ones, tokens; words, pieces per word, unknown ones and bytes."""
    frame = pd.DataFrame(vocabulary_use.by_script, columns=list(ScriptUse._fields))
    pieces = frame.pop("pieces").replace(0, np.nan)
    shares = {name: frame.pop(name) / pieces for name in ("unknown", "bytes")}
    frame.insert(3, "share used", frame["used"] / frame["rows"].replace(0, np.nan))
    return frame.assign(**{"pieces per word": pieces / frame["words"].replace(0, np.nan), **shares})


def ranks_frame(vocabulary_use: VocabularyUse) -> "pd.DataFrame":
    """One row per used row of the table, the most frequent first: id, token, tokens, share up to it."""
    counts = vocabulary_use.counts
    ranks = {"rank": np.arange(1, len(counts) + 1), "id": vocabulary_use.ids, "token": vocabulary_use.spelled}
    return pd.DataFrame({**ranks, "tokens": counts, "covered": counts.cumsum() / vocabulary_use.tokens})


def drawn_kinds(use: VocabularyUse) -> list[ScriptUse]:
    """The kinds of rows that are drawn in the order of the table: those in use, those of most rows; last the others."""
    filled = [each for each in use.by_script if each.rows]
    first = sorted(filled, key=lambda each: (not each.used and each.kind != UNKNOWN, -each.rows))
    drawn, rest = ([each for each in filled if each in part] for part in (first[:DRAWN_KINDS], first[DRAWN_KINDS:]))
    others = [ScriptUse(counted(len(rest), "other kind"), *map(sum, zip(*(each[1:] for each in rest), strict=True)))]
    return [*drawn, *(others if rest else [])]


def script_bars(use: VocabularyUse, title: str, theme: Theme) -> go.Figure:
    """Draw the rows of each kind, and in them those that are used."""
    kinds = drawn_kinds(use)
    figure = go.Figure(layout=layout(theme, escape(title), height=130 + ROW * max(len(kinds), 4)))
    rows, used = (np.array([getattr(each, name) for each in kinds]) for name in ("rows", "used"))
    labels = [f" {each.used:,} of {each.rows:,} ({each.used / each.rows:.1%})" for each in kinds]
    add_bars(figure, rows, "%{y}: %{x:,} rows", faint(theme.hues[0], 0.3), name="rows of the vocabulary")
    add_bars(figure, used, "%{y}: %{x:,} rows used", theme.hues[0], name="rows used")
    add_words(figure, rows, np.arange(len(kinds)), labels, TEXT_SIZE - 1, theme.text, showlegend=False)
    figure.data[0].marker.line = {"width": 1, "color": theme.hues[0]}
    room = max(text_width(each, TEXT_SIZE - 1) for each in labels) + 16
    figure.update_xaxes(range=[0, rows.max() / max(1 - room / (0.8 * theme.pixels), 0.4)], title="rows")
    names = {"tickvals": list(range(len(kinds))), "ticktext": [escape(each.kind) for each in kinds]}
    figure.update_yaxes(names, autorange="reversed", showgrid=False)
    return figure.update_layout(barmode="overlay", bargap=0.3)


def coverage_lines(use: VocabularyUse, title: str, theme: Theme) -> go.Figure:
    """Draw the share of tokens that the most frequent rows cover, and below it how often each row occurs."""
    figure = go.Figure(layout=layout(theme, escape(title), height=HEIGHT, showlegend=False))
    count = len(use.counts)
    ranks = np.unique(np.geomspace(1, count, min(count, DRAWN_RANKS)).round().astype(np.int64))
    covered = 100 * use.counts.cumsum() / use.tokens
    spelled = [escape(use.spelled[rank - 1]) for rank in ranks]
    add_line(
        figure, ranks, covered[ranks - 1], "%{x:,} rows: %{y:.1f}% of the tokens", theme.hues[0], 2.5, mode="lines"
    )
    spots = np.array([use.covering(each) for each in PERCENTAGES])
    add_line(figure, spots, covered[spots - 1], "%{x:,} rows: %{y:.1f}% of the tokens", theme.hues[0], mode="markers")
    hover = "rank %{x:,}, %{customdata}: %{y:,} tokens"
    look = {"mode": "lines", "customdata": spelled, "yaxis": "y2"}
    add_line(figure, ranks, use.counts[ranks - 1], hover, theme.hues[1], 2.5, "dot", **look)
    figure.update_layout(
        xaxis={**log_ticks(count), "anchor": "y2", "title": "rows, the most frequent first"},
        yaxis={"domain": UPPER, "range": [0, 104], "title": "tokens covered, %"},
        yaxis2={"domain": LOWER, **log_ticks(int(use.counts.max())), "title": "tokens"},
    )
    return even_axes(figure, theme)


def log_ticks(most: int) -> dict[str, Any]:
    """A logarithmic axis from 1 with the ticks 1, 2, 5, 10, 20, ... in full, or the powers of ten of a long one."""
    powers = [10**power for power in range(len(str(most)))]
    places = powers if len(powers) > 3 else [step * power for power in powers for step in (1, 2, 5)]
    return {"type": "log", "tickvals": places, "ticktext": [f"{place:,}" for place in places]}


def _spec(vocabulary_use: VocabularyUse, what: str, draw: Callable[..., go.Figure]) -> FigureSpec:
    title = f"{what} — {vocabulary_use.model}"
    about = " ".join((use_words(vocabulary_use), *table_words(vocabulary_use)))
    return FigureSpec.of(title, f"{title}: {about}", f"{title}. {about}", draw, vocabulary_use)


@figure("vocabulary", "sentences_vocabulary", table=scripts_frame)
def vocabulary_figure(vocabulary_use: VocabularyUse) -> FigureSpec:
    """Rows of the vocabulary by script, and those that a list of texts uses."""
    return _spec(vocabulary_use, "Vocabulary in use, by script", script_bars)


@figure("vocabulary-coverage", "sentences_coverage", table=ranks_frame)
def vocabulary_coverage_figure(vocabulary_use: VocabularyUse) -> FigureSpec:
    """How few rows of the vocabulary cover most of the tokens of a list of texts, and how often each occurs."""
    return _spec(vocabulary_use, "Tokens covered by the most frequent rows", coverage_lines)
