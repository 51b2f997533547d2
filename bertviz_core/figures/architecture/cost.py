"""Figures of the cost of a text: multiply-adds by length, activation memory by batch and length."""

import math
from functools import partial
from typing import Any

import numpy as np
import plotly.graph_objects as go

from bertviz_core.architecture.results import ActivationMemory, Crossover, MultiplyAdds
from bertviz_core.figures.base.cells import colour_at
from bertviz_core.figures.base.marks import add_line, add_points
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import TEXT_SIZE, Theme, escape, layout, sequential, text_on
from bertviz_core.lazy_imports import pandas as pd

LINES = (
    ("feed_forward", "feed-forward", "feed_forward", "solid", 3),
    ("projections", "query, key, value, output", "attention", "dot", 3),
    ("attention", "scores and mixing", "attention", "solid", 4),
)
REST, REST_DRAWN_FROM = ("other", "the rest", "other", "dash", 3), 0.02
"""Line of the remaining operations, and its minimum share of the total to be drawn."""
UNITS = ((10**9, " (G: billion)"), (10**6, " (M: million)"), (10**3, " (k: thousand)"), (0, ""))
"""(smallest number, abbreviation on the axis)."""
BINARY = ("bytes", "KiB", "MiB", "GiB", "TiB")


def cost_curves(
    costs: MultiplyAdds, counted: MultiplyAdds, crossing: Crossover, limit: int | None, title: str, theme: Theme
) -> go.Figure:
    """Draw multiply-adds of each part by length, their crossing, and PyTorch's count as circles."""
    figure = go.Figure(layout=layout(theme, escape(title)))
    hover = "%{x:,} tokens: %{y:,} multiply-adds"
    rest = [REST] if (costs.other > REST_DRAWN_FROM * costs.total).any() else []
    lines: list[tuple[str, Any, str, str, int]] = [
        (name, getattr(costs, field), theme.colours[colour], dash, width)
        for field, name, colour, dash, width in (*LINES, *rest)
    ]
    windowed = bool((costs.every_pair != costs.attention).any())
    if windowed:
        every = "scores and mixing of every pair"
        lines += [(every, costs.every_pair, theme.colours["attention"], "dash", 2)]
        lines += [("sum, pairs inside the windows only", costs.total, theme.text, "dashdot", 2)]
    lines += [("sum, every pair" if windowed else "sum", costs.whole if windowed else costs.total, theme.text, "", 2)]
    for name, values, colour, dash, width in lines:
        style = dash or ("solid" if windowed else "dashdot")
        add_line(figure, costs.lengths, values, hover, colour, width, style, mode="lines", name=name)
    named = {"name": "counted by PyTorch" + (" (every pair)" if windowed else ""), "cliponaxis": False}
    circles = {"symbol": "circle-open", "line": {"width": 2}}
    add_points(figure, counted.lengths, counted.whole, hover, 12, theme.text, circles, **named)
    last = int(costs.lengths[-1]) if len(costs.lengths) else 1
    _mark_limit(figure, limit, last, theme)
    _mark_crossing(figure, costs, crossing, last, theme)
    figure.update_xaxes(title_text="tokens of one text", range=[0, last], tickformat=",d")
    most = int(costs.whole[-1]) if len(costs.lengths) else 0
    unit = next(words for smallest, words in UNITS if most >= smallest)
    heading = "multiply-adds" if theme.narrow else f"multiply-adds of one forward pass{unit}"
    figure.update_yaxes(title_text=heading, tickformat="~s", rangemode="tozero")
    return figure.update_layout(height=440)


def _mark_limit(figure: go.Figure, limit: int | None, last: int, theme: Theme) -> None:
    if limit is None or limit >= last:
        return
    words = "too long" if theme.narrow else f"beyond the {limit:,} tokens it can read"
    figure.add_vrect(x0=limit, x1=last, fillcolor=theme.neutral, opacity=0.35, line_width=0, layer="below")
    figure.add_annotation(
        x=last, y=0.01, yref="paper", text=words, showarrow=False,
        xanchor="right", yanchor="bottom", font={"color": theme.muted, "size": TEXT_SIZE},
    )  # fmt: skip


def _mark_crossing(figure: go.Figure, costs: MultiplyAdds, crossing: Crossover, last: int, theme: Theme) -> None:
    if crossing.tokens is None or crossing.tokens == 1 or crossing.tokens > last:
        return  # the lines do not cross
    height = float(np.interp(crossing.tokens, costs.lengths, costs.attention))
    # Above to the left, where no line is; near the axis only above.
    place = {"ax": 0, "ay": -100, "xanchor": "left"} if crossing.tokens < last / 4 else {"ax": -70, "ay": -46}
    figure.add_annotation(
        x=crossing.tokens, y=height, text=f"<b>equal at {crossing.tokens:,} tokens</b>", showarrow=True, arrowhead=2,
        arrowcolor=theme.text, font={"color": theme.text, "size": TEXT_SIZE}, bgcolor=theme.paper, **place,
    )  # fmt: skip


def memory_map(memory: ActivationMemory, title: str, theme: Theme) -> go.Figure:
    """Draw bytes by batch (rows) and length (columns), coloured by their logarithm, as text in every cell."""
    known = memory.nbytes > 0
    powers = np.where(known, np.log2(np.maximum(memory.nbytes, 1)), np.nan).astype(np.float32)
    low, high = (float(np.nanmin(powers)), float(np.nanmax(powers))) if known.any() else (20.0, 22.0)
    words = [[binary_bytes(int(each)) if each > 0 else "not run" for each in row] for row in memory.nbytes]
    # Ends at round ticks, the lower one low enough to distinguish the smallest value from the background.
    ends = 2 * math.floor(low / 2 - 0.3), 2 * math.ceil(high / 2)
    ticks = range(ends[0], ends[1] + 1, 2)
    scale = sequential(theme)
    figure = go.Figure(layout=layout(theme, escape(title)))
    figure.add_heatmap(
        z=powers,
        customdata=memory.nbytes,
        colorscale=scale,
        zmin=ends[0],
        zmax=ends[1],
        xgap=2,
        ygap=2,
        colorbar={
            "title": {"text": "memory", "side": "top"},
            "tickvals": list(ticks),
            "ticktext": [binary_bytes(2**tick) for tick in ticks],
        },
        hovertemplate="%{customdata:,} bytes<extra></extra>",
    )
    notes = []
    for row, cells in enumerate(words):
        for column, text in enumerate(cells):
            share = (powers[row, column] - ends[0]) / (ends[1] - ends[0]) if known[row, column] else 0.0
            colour = text_on(colour_at(scale, float(share))) if known[row, column] else theme.muted
            font = {"size": 11 if theme.narrow else TEXT_SIZE, "color": colour}
            text = text.replace(" ", "<br>") if theme.narrow else text
            notes.append({"x": column, "y": row, "text": text, "showarrow": False, "font": font})
    columns, rows = list(range(len(memory.lengths))), list(range(len(memory.batches)))
    figure.update_xaxes(title_text="tokens of each text", tickvals=columns, ticktext=[f"{n:,}" for n in memory.lengths])
    figure.update_yaxes(title_text="texts in a batch", tickvals=rows, ticktext=[f"{n:,}" for n in memory.batches])
    return figure.update_layout(height=150 + 56 * len(rows), annotations=notes)


def binary_bytes(value: int) -> str:
    """Format bytes in the largest suitable binary unit, with three digits."""
    size, power = float(value), 0
    while size >= 1000 and power < len(BINARY) - 1:
        size, power = size / 1024, power + 1
    return (
        f"{size:.0f} {BINARY[power]}"
        if size >= 100 or power == 0
        else f"{size:.{1 if size >= 10 else 2}f} {BINARY[power]}"
    )


def _cost_frame(costs: MultiplyAdds) -> "pd.DataFrame":
    return pd.DataFrame(
        {
            "tokens": costs.lengths,
            "projections": costs.projections,
            "scores and mixing": costs.attention,
            "scores and mixing of every pair": costs.every_pair,
            "feed-forward": costs.feed_forward,
            "the rest": costs.other,
            "total": costs.total,
        }
    )


@figure("cost", "architecture_cost", reported=True, table=_cost_frame)
def cost_figure(
    costs: MultiplyAdds,
    counts: MultiplyAdds,
    crossing: Crossover,
    position_limit: int | None,
    model_name: str,
    by_formula: bool,
) -> FigureSpec:
    """Multiply-adds by length, of a text."""
    title = f"Multiply-adds of one text — {model_name}"
    at_most = f": {int(costs.whole[-1]):,} at {int(costs.lengths[-1]):,} tokens" if len(costs.lengths) else ""
    equal = ""
    if crossing.tokens == 1:
        equal = " Scores and mixing cost as much as the feed-forward blocks or more at every length."
    elif crossing.tokens is not None:
        equal = f" Scores and mixing reach the feed-forward blocks at {crossing.tokens:,} tokens."
    listed = zip(counts.lengths.tolist(), counts.whole.tolist(), strict=True)
    own = ", ".join(f"{count:,} at {seq:,} tokens" for seq, count in listed)
    rings = f" Circles, counted by PyTorch for every pair of tokens: {own}." if own else ""
    what = f"Multiply-adds of one forward pass of {model_name} on a text of so many tokens"
    how = "by the formula" if by_formula else "counted by PyTorch at the circles, which lines join"
    draw = partial(cost_curves, costs, counts, crossing, position_limit, title)
    return FigureSpec(title, f"{title}, part by part{at_most}", draw, f"{what}, {how}.{equal}{rings}")


def _memory_frame(memory: ActivationMemory) -> "pd.DataFrame":
    frame = pd.DataFrame(memory.nbytes, columns=[f"{seq} tokens" for seq in memory.lengths])
    frame.insert(0, "batch", list(memory.batches))
    return frame


@figure("memory", "architecture_memory", reported=True, table=_memory_frame)
def memory_figure(memory: ActivationMemory) -> FigureSpec:
    """Memory of activations."""
    title = f"Memory of activations in {memory.holding} — {memory.model}"
    known = memory.nbytes[memory.nbytes > 0]
    ends = f", {binary_bytes(int(known.min()))} to {binary_bytes(int(known.max()))}" if known.size else ""
    what = (
        "the largest sum of tensors alive at once in a forward pass without gradients"
        if memory.holding == "inference"
        else "what a forward pass keeps for the backward pass, dropout off"
    )
    caption = f"{title}: {what}; float32, attention step by step, without the weights."
    alt = f"{title}: texts in a batch by tokens of each{ends}"
    return FigureSpec.of(title, alt, caption, memory_map, memory)
