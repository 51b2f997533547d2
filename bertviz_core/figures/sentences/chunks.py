"""A long text: the share of each position in its vector, and its chunks alone and late."""

import math

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Int

from bertviz_core.figures.base.axes import even_axes, sentence_text, token_axis, token_text
from bertviz_core.figures.base.marks import add_bars, add_heading, add_line, add_points, add_words
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import TEXT_SIZE, Theme, escape, layout
from bertviz_core.figures.sentences.poolings import POOLING_WORDS
from bertviz_core.figures.sentences.similarity import name_rows, sentence_names
from bertviz_core.hidden_states.results import state_name
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.sentences.analysis.results import LateChunks, PositionShares
from bertviz_core.text import counted, decimals, shortened

BLOCKS = 64
"""Most bars of the shares; longer texts are drawn by blocks of tokens."""
HEIGHT = 380
QUARTERS = 4


def block_starts(shares: PositionShares) -> tuple[Int[np.ndarray, " blocks"], int]:
    """First token of each block, and the number of tokens of all blocks but the last."""
    length = -(-len(shares.tokens) // BLOCKS)
    return np.arange(0, len(shares.tokens), length), length


def position_bars(shares: PositionShares, title: str, theme: Theme) -> go.Figure:
    """Draw a bar for each token or block, a line for equal shares, and what is cut off without a share."""
    starts, length = block_starts(shares)
    count, cut = len(shares.tokens), shares.cut
    before = cut if shares.cut_side == "beginning" else 0
    drawn_cut = min(cut, count)  # the rest of a far longer text would leave no room for bars
    first = drawn_cut if before else 0
    figure = go.Figure(layout=layout(theme, escape(title), height=HEIGHT))
    values, uniform = (np.add.reduceat(each, starts) for each in (shares.shares, shares.uniform))
    ends = np.minimum(starts + length, count)
    names = _block_names(shares, starts, ends, before)
    special = shares.special[starts] & (length == 1)
    places, widths = first + (starts + ends) / 2 - 0.5, (ends - starts) * (0.9 if length == 1 else 1)
    for name, colour, chosen in (
        ("share", "embeddings", ~special),
        ("share of a special token", "layer_norm", special),
    ):
        if chosen.any():
            words = [names[index] for index in np.flatnonzero(chosen).tolist()]
            bars = {"x": places[chosen], "width": widths[chosen], "customdata": words, "name": name}
            add_bars(figure, values[chosen], "%{customdata}: %{y:.2%}", theme.colours[colour], False, **bars)
    line = {"name": "equal shares", "mode": "lines", "customdata": names}
    add_line(figure, places, uniform, "%{customdata}, equal share: %{y:.2%}", theme.text, 1.5, "dash", **line)
    if cut:
        _mark_cut(figure, (0, drawn_cut) if before else (count, count + drawn_cut), cut, theme)
    figure.update_yaxes(title="share of the vector", tickformat=",.1~%")
    figure.update_xaxes(range=[-0.5, count + drawn_cut - 0.5], showgrid=False)
    if length == 1:
        labels = [f"<i>{token_text(each)}</i>" if mark else token_text(each) for each, mark in
                  zip(shares.tokens, shares.special.tolist(), strict=True)]  # fmt: skip
        axis = token_axis(labels, theme.pixels - 80, theme=theme)
        figure.update_xaxes(axis | {"tickvals": [first + place for place in axis["tickvals"]]}, title="token")
    else:
        step = _step(count)
        ticks = list(range(0, count, step))
        numbers = {"tickvals": [first + each for each in ticks], "ticktext": [f"{before + each:,}" for each in ticks]}
        figure.update_xaxes(numbers, title=f"position, in blocks of {counted(length, 'token')}")
    return even_axes(figure, theme).update_layout(bargap=0, margin={"r": 12}, barmode="overlay")


def _step(count: int) -> int:
    """A round distance of some six ticks."""
    rough = count / 6
    power = 10 ** math.floor(math.log10(rough))
    return int(next(each * power for each in (1, 2, 5, 10) if each * power >= rough))


def _block_names(
    shares: PositionShares, starts: Int[np.ndarray, " blocks"], ends: Int[np.ndarray, " blocks"], before: int
) -> list[str]:
    names = []
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        words = " ".join(token_text(each) for each in shares.tokens[start : min(end, start + 12)])
        more = " …" if end - start > 12 else ""
        place = f"{before + start:,}" if end - start == 1 else f"{before + start:,} to {before + end - 1:,}"
        names.append(f"position {place}<br>{words}{more}")
    return names


def _mark_cut(figure: go.Figure, span: tuple[int, int], cut: int, theme: Theme) -> None:
    """Shade the place of the tokens that are cut off."""
    edges = {"x0": span[0] - 0.5, "x1": span[1] - 0.5, "y0": 0, "y1": 1, "yref": "paper"}
    figure.add_shape(type="rect", fillcolor=theme.neutral, opacity=0.6, line={"width": 0}, layer="below", **edges)
    words = f"{cut:,} cut off:<br>no share"
    middle = (span[0] + span[1]) / 2 - 0.5
    place = {"xref": "x", "xanchor": "center", "yanchor": "middle"}
    add_heading(figure, words, middle, 0.5, TEXT_SIZE - 1, **place)


def shares_words(shares: PositionShares) -> str:
    """The shares of the quarters of the text, and what is cut off, in one or two sentences."""
    count = len(shares.tokens)
    parts = [float(each.sum()) for each in np.array_split(shares.shares, min(QUARTERS, count))]
    *numbers, last = (f"{part:.1%}".replace("-", "−") for part in parts)
    quarters = "four quarters of what the model reads" if len(parts) == QUARTERS else "tokens"
    words = f"The {quarters} make up {', '.join(numbers)} and {last} of the vector."
    if shares.cut:
        have, read = "has" if shares.cut == 1 else "have", int((~shares.special).sum())
        every = read + shares.cut  # of the text alone, as the windows of its chunks count them
        words += (
            f" {counted(shares.cut, 'token')} at the {shares.cut_side} of the text {have} no share: the model reads "
            f"{read:,} of {every:,} ({read / every:.1%})."
        )
    return words


def shares_frame(position_shares: PositionShares) -> "pd.DataFrame":
    """One row per token that is read: its position, share, and the share of every token if all were equal."""
    shares = position_shares
    first = shares.cut if shares.cut_side == "beginning" else 0
    return pd.DataFrame(
        {
            "position": np.arange(len(shares.tokens)) + first,
            "token": list(shares.tokens),
            "special": shares.special,
            "share": shares.shares,
            "equal share": shares.uniform,
        }
    )


@figure("position-shares", "sentences_positions", table=shares_frame)
def position_shares_figure(position_shares: PositionShares) -> FigureSpec:
    """The share of each position of a text in its vector (--pooling, --layer)."""
    shares = position_shares
    how = f"{POOLING_WORDS[shares.pooling]}, {state_name(shares.layer)}{'' if shares.exact else ', an approximation'}"
    title = f"What the vector of the text is made of, {how} — {shares.model}"
    about = f"{title}. {shares_words(shares)} {shares.note}"
    return FigureSpec.of(title, about, about, position_bars, shares)


ROWS, ROW, MOST_QUERY = 24, 44, 60
"""Most chunks that are drawn, pixels of one, and most characters of the query."""


def drawn_chunks(late: LateChunks) -> Int[np.ndarray, " drawn"]:
    """Indices of the drawn chunks in the order of the text: of many those with the best rank in either way."""
    best = np.minimum(late.alone_ranks, late.late_ranks)
    return np.sort(np.argsort(best, kind="stable")[:ROWS])


def chunk_points(late: LateChunks, title: str, theme: Theme) -> go.Figure:
    """Draw a row per chunk: both cosines with the query, a line between them, and the cosine of both vectors."""
    chosen = drawn_chunks(late)
    figure = go.Figure(layout=layout(theme, escape(title), height=150 + ROW * len(chosen)))
    texts = [late.chunks.texts[index] for index in chosen.tolist()]
    names = sentence_names([str(index + 1) for index in chosen.tolist()], texts, theme, ROW)
    rows = np.arange(len(chosen), dtype=np.int32)
    alone, made_late = late.alone_scores[chosen], late.late_scores[chosen]
    for row, (one, other) in enumerate(zip(alone.tolist(), made_late.tolist(), strict=True)):
        add_line(figure, [one, other], [row, row], "", theme.muted, 2, mode="lines", showlegend=False)
    ranks = zip(chosen.tolist(), late.alone_ranks[chosen].tolist(), late.late_ranks[chosen].tolist(), strict=True)
    hovers = [f"chunk {index + 1}, rank {one} alone, {other} late" for index, one, other in ranks]
    marks = (
        ("embedded alone", alone, theme.colours["task head"], {"symbol": "circle-open", "line": {"width": 3}}),
        ("late, from the whole text", made_late, theme.colours["embeddings"], {"symbol": "circle"}),
    )
    for name, values, colour, marker in marks:
        hover = f"%{{customdata}}<br>{name}: %{{x:.4f}}"
        add_points(figure, values, rows, hover, 13, colour, marker, name=name, customdata=hovers)
    low, high = (float(each) for each in (min(alone.min(), made_late.min()), max(alone.max(), made_late.max())))
    span = max(high - low, 0.05)
    words = [decimals(value, 3) for value in late.cosines[chosen].tolist()]
    add_words(figure, np.full(len(rows), high + 0.08 * span), rows, words, TEXT_SIZE - 1, theme.text, showlegend=False)
    room = 0.6 if theme.slim else 0.3
    name_rows(figure, names, ROW * len(chosen))
    query = sentence_text(" ".join(late.query.split()), MOST_QUERY)
    figure.update_xaxes(title=f"cosine with “{query}”", range=[low - 0.05 * span, high + room * span])
    even_axes(figure, theme).update_yaxes(range=[len(chosen) - 0.5, -0.9], showgrid=False, automargin=False)
    place = {"xref": "x", "yref": "y", "xanchor": "left", "yanchor": "middle", "font_color": theme.muted}
    add_heading(figure, "both" if theme.slim else "cosine of both", high + 0.08 * span, -0.7, TEXT_SIZE - 1, **place)
    return figure.update_layout(margin={"b": 52, "r": 12})


def late_words(late: LateChunks) -> str:
    """Which chunk moved most, and which is nearest to the query in both ways."""
    count = len(late.cosines)
    if count == 1:
        return (
            "The text is a single chunk, so both of its vectors are the same: their cosine is "
            f"{decimals(float(late.cosines[0]))}."
        )
    moved, alone, made_late = late.moved, int(late.alone_ranks.argmin()), int(late.late_ranks.argmin())
    words = f"Chunk {moved + 1} moved most: the cosine of its two vectors is {decimals(float(late.cosines[moved]))}."
    if alone == made_late:
        return f"{words} Chunk {alone + 1} is nearest to the query in both ways."
    return f"{words} Nearest to the query is chunk {alone + 1} embedded alone, and chunk {made_late + 1} late."


def chunks_frame(late_chunks: LateChunks) -> "pd.DataFrame":
    """One row per chunk in the order of the text: cosine of both vectors, cosines with the query, and ranks."""
    late, chunks = late_chunks, late_chunks.chunks
    return pd.DataFrame(
        {
            "chunk": np.arange(len(chunks.texts)) + 1,
            "first token": chunks.starts,
            "tokens": chunks.ends - chunks.starts,
            "pooled": chunks.pooled,
            "both": late.cosines,
            "alone": late.alone_scores,
            "late": late.late_scores,
            "rank alone": late.alone_ranks,
            "rank late": late.late_ranks,
            "text": list(chunks.texts),
        }
    )


@figure("late-chunks", "sentences_chunks", table=chunks_frame)
def late_chunks_figure(late_chunks: LateChunks) -> FigureSpec:
    """Chunks of a text embedded alone and pooled from the whole text (--set chunk_tokens=N, --set chunk_query=TEXT)."""
    late, drawn = late_chunks, len(drawn_chunks(late_chunks))
    count = len(late.cosines)
    which = counted(count, "chunk") if drawn == count else f"{drawn} of {count:,} chunks"
    title = f"{which}, embedded alone and late — {late.model}"
    query = shortened(" ".join(late.query.split()), MOST_QUERY)
    about = f"{title}. {late_words(late)} The query: “{query}”."
    return FigureSpec.of(title, about, about, chunk_points, late)
