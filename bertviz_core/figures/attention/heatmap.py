"""Draw one head's attention as a heatmap of queries by keys."""

from collections.abc import Collection, Sequence
from functools import partial

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from bertviz_core.attention.results import AttentionMap, Axis, PooledMap
from bertviz_core.figures.attention.reading import UNITS, WORDS, divide, one_map
from bertviz_core.figures.base.axes import token_axis, token_text
from bertviz_core.figures.base.cells import cell_numbers
from bertviz_core.figures.base.colour_bars import colour_bar
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import Theme, escape, layout, sequential
from bertviz_core.trace.results import Trace

EXACT_CELLS = 20_000
"""Maximum number of cells sent as float32; larger maps use 65,536 steps of the range."""
HEIGHT, PART_HEIGHT = 620, 480
BESIDE, BELOW = (200, 120), 170
"""Pixels beside a map with its colour bar, and above and below it, for names, title and bar."""
STACKED, APART = 340, 133
"""Height of each map stacked below another, and distance between two, in pixels."""
ABREAST = 860
"""Width in pixels below which four maps are drawn two by two."""
READ = {
    "attention": "attention",
    "value-weighted": "value-weighted",
    "rollout": "rollout",
    "value-zeroing": "value zeroing",
}
"""Names of the readings in a title."""


def attention_readings(
    maps: Sequence[AttentionMap], special: Collection[int], title: str, theme: Theme, second: int | None = None
) -> go.Figure:
    """Draw several readings of one head, each on its own scale from 0 to its largest cell.

    They are side by side, four of them two by two in narrow places, and stacked on a phone.

    Args:
        maps: maps over the same tokens.
        special: positions of special tokens, drawn in italics.
        title: title of the figure.
        theme: theme of the figure.
        second: position of the first token of the second text, for a pair.
    """
    across = 1 if theme.narrow else 2 if theme.pixels < ABREAST and len(maps) == 4 else len(maps)
    down = -(-len(maps) // across)
    height = PART_HEIGHT if down == 1 else down * STACKED
    spacing = {"horizontal_spacing": 0.03, "vertical_spacing": APART / height if down > 1 else 0.0}
    figure = make_subplots(rows=down, cols=across, shared_yaxes=across > 1, **spacing)
    figure.update_layout(layout(theme, escape(title), height=height))
    for number, each in enumerate(maps):
        where = {"row": number // across + 1, "col": number % across + 1}
        part = _heatmap(each.weights, "", "", theme).data[0].update(showscale=False)
        figure.add_trace(part, **where)
        names = axis_labels(each.keys, special)
        top = float(each.weights.max(initial=0))
        words = f"{WORDS[each.options.weights]}, 0 to {top:.3g}"
        figure.update_xaxes(token_axis(names, 900 // len(maps)), title=words, tickangle=-90, showgrid=False, **where)
        divide(figure, each.queries.second_entry(second), each.keys.second_entry(second), theme, **where)
    rows = token_axis(axis_labels(maps[0].queries, special), (STACKED if down > 1 else PART_HEIGHT) - 190)
    figure.update_yaxes(rows, autorange="reversed", showgrid=False)
    return figure.update_layout(template=go.layout.Template(), paper_bgcolor=theme.paper, plot_bgcolor=theme.paper)


def attention_heatmap(
    attention_map: AttentionMap, special: Collection[int], title: str, theme: Theme, second: int | None = None
) -> go.Figure:
    """Draw queries as rows and keys as columns.

    Args:
        attention_map: the map.
        special: positions of special tokens, drawn in italics.
        title: title of the figure.
        theme: theme of the figure.
        second: position of the first token of the second text, for a pair.
    """
    names = [axis_labels(axis, special) for axis in (attention_map.queries, attention_map.keys)]
    figure = _heatmap(attention_map.weights, UNITS[attention_map.options.weights], title, theme)
    room = (theme.pixels - BESIDE[theme.narrow], HEIGHT - BELOW)
    ends = (0.0, float(figure.data[0].zmax))
    cell_numbers(figure, attention_map.weights, ".2f", sequential(theme), ends, room)
    divide(figure, attention_map.queries.second_entry(second), attention_map.keys.second_entry(second), theme)
    figure.update_xaxes(token_axis(names[1], 760), title="Key (attended to)", side="bottom", tickangle=-90)
    return figure.update_yaxes(token_axis(names[0], HEIGHT - 150), title="Query (attending)", autorange="reversed")


def pooled_heatmap(pooled: PooledMap, title: str, theme: Theme, second: int | None = None) -> go.Figure:
    """Draw a map of a long text: every cell is the largest weight of its block, the axes are positions."""
    figure = _heatmap(pooled.weights, "largest weight", title, theme)
    figure.data[0].update(x=pooled.column_starts.astype(np.int32), y=pooled.row_starts.astype(np.int32))
    figure.update_xaxes(title="position of the key")
    divide(figure, _within(pooled.row_starts, second), _within(pooled.column_starts, second), theme)
    return figure.update_yaxes(title="position of the query", autorange="reversed")


def _within(starts: np.ndarray, second: int | None) -> int | None:
    """Return the start of the second text, if inside these blocks."""
    return second if second is not None and starts[0] < second <= starts[-1] else None


def axis_labels(axis: Axis, special: Collection[int]) -> list[str]:
    """Return one label per entry; special tokens in italics."""
    return [
        f"<i>{token_text(label)}</i>" if positions[0] in special else token_text(label)
        for label, positions in zip(axis.labels, axis.positions, strict=True)
    ]


def _heatmap(weights: np.ndarray, unit: str, title: str, theme: Theme) -> go.Figure:
    """Build a heatmap from 0 to the largest weight, with a colour bar in its unit."""
    top = float(weights.max(initial=0)) or 1.0
    exact = weights.size <= EXACT_CELLS
    full = top if exact else 65_535
    figure = go.Figure(layout=layout(theme, escape(title), height=HEIGHT))
    figure.add_heatmap(
        z=weights.astype(np.float32) if exact else (weights / top * full).round().astype(np.uint16),
        zmin=0,
        zmax=full,
        colorscale=sequential(theme),
        colorbar=colour_bar(unit, 0, top, (0, full)),
        hovertemplate="query %{y}, key %{x}" + (": %{z:.5f}" if exact else "") + "<extra></extra>",
    )
    return figure.update_xaxes(showgrid=False).update_yaxes(showgrid=False)


@figure("attention", "attention_figure", "what one head looks at (--layer, --head, --words)", reported=True)
def attention_map_figure(attention_map: AttentionMap, trace: Trace) -> FigureSpec:
    """Plot one attention map, queries by keys."""
    return one_map(attention_heatmap, "queries by keys", attention_map, trace)


@figure("readings", "attention_beside_chart", "raw, value-weighted, rollout, value zeroing (--layer, --head)")
def readings_figure(reading_maps: Sequence[AttentionMap], trace: Trace) -> FigureSpec:
    """Plot raw weights, value-weighted attention, rollout and value zeroing, side by side."""
    first = reading_maps[0]
    names = ", ".join(READ[each.options.weights] for each in reading_maps)
    title = f"Layer {first.layer}, head {first.head or 0}: {names} — {trace.model}"
    special = np.flatnonzero(trace.tokens.special).tolist()
    alt = f"{title}: queries by keys, {len(reading_maps)} maps"
    return FigureSpec(
        title, alt, partial(attention_readings, reading_maps, special, title, second=trace.tokens.second_start)
    )


@figure("long", "attention_long", "one head of a long text (--layer, --head)", reported=True)
def long_figure(pooled_map: PooledMap, trace: Trace) -> FigureSpec:
    """Plot one head of a long text, with the largest weight of every block of cells."""
    title = f"Attention of layer {pooled_map.layer}, head {pooled_map.head} — {trace.model}"
    alt = f"{title}: positions of queries by positions of keys"
    return FigureSpec(title, alt, partial(pooled_heatmap, pooled_map, title, second=trace.tokens.second_start))
