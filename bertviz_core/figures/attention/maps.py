"""Attention of a head as a map and as lines, and of all heads."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, UInt
from plotly.subplots import make_subplots

from bertviz_core.attention.results import OF_LAYERS, AttentionAtlas, AttentionMap, Axis, MapOptions, PooledMap, Weights
from bertviz_core.attention.tables import map_frame, measures_frame, pooled_frame, readings_frame
from bertviz_core.figures.base.axes import token_axis, token_text
from bertviz_core.figures.base.cells import cell_numbers
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import TEXT_SIZE, Theme, colour_bar, escape, layout, sequential
from bertviz_core.trace.results import Trace

WORDS: dict[Weights, str] = {
    "attention": "attention weight",
    "value-weighted": "weight × length of the value",
    "rollout": "share of the input",
    "value-zeroing": "share of the change",
}
ROOT_ROOM = 0.88
"""Largest share of a bar of roots at which a tick below its upper end has room."""
UNITS: dict[Weights, str] = {
    "attention": "weight",
    "value-weighted": "norm",
    "rollout": "share",
    "value-zeroing": "share",
}
KINDS: dict[Weights, str] = {
    "attention": "Attention",
    "value-weighted": "Value-weighted attention",
    "rollout": "Attention to the input (rollout)",
    "value-zeroing": "Change without a value (value zeroing)",
}
WHERE: dict[Weights, str] = {"rollout": "up to", "value-zeroing": "in"}
"""Connection of an attention map and its layer in a title, for readings that combine all heads."""


def attention_title(attention_map: AttentionMap, model: str) -> str:
    """Return the title of a map."""
    kind = KINDS[attention_map.options.weights]
    if attention_map.head is None:
        return f"{kind} {WHERE[attention_map.options.weights]} layer {attention_map.layer} — {model}"
    return f"{kind} of layer {attention_map.layer}, head {attention_map.head} — {model}"


def all_heads_title(options: MapOptions, model: str) -> str:
    """Return the title of the maps of all heads."""
    of = f"{WHERE[options.weights]} each layer" if options.weights in OF_LAYERS else "of all heads"
    return f"{KINDS[options.weights]} {of} — {model}"


def one_map(draw: Callable[..., go.Figure], description: str, attention_map: AttentionMap, trace: Trace) -> FigureSpec:
    """Build the figure of one map."""
    title = attention_title(attention_map, trace.model)
    special = np.flatnonzero(trace.tokens.special).tolist()
    return FigureSpec.of(
        title, f"{title}: {description}", "", draw, attention_map, special, second=trace.tokens.second_start
    )


def attention_bar(unit: str, top: float, full: float, root: bool = False) -> dict[str, Any]:
    """Return a bar with labelled ends for cells from 0 to `full` that represent 0 to `top`, or the roots of it."""
    bar = colour_bar(unit, 0, top, (0, full))
    if root:
        places = [(full * place) ** 0.5 for place in bar["tickvals"]]
        # Roots are dense at the upper end, whose label needs room.
        clear = [at for at, place in enumerate(places) if place <= ROOT_ROOM * full or at == len(places) - 1]
        bar["tickvals"] = [places[at] for at in clear]
        bar["ticktext"] = [bar["ticktext"][at] for at in clear]
    return bar


def divide(figure: go.Figure, first_row: int | None, first_column: int | None, theme: Theme, **where: int) -> go.Figure:
    """Add dashed lines before the first row and column of the second text."""
    line = {"color": theme.text, "width": 1.5, "dash": "dash"}
    if first_row is not None:
        figure.add_hline(y=first_row - 0.5, line=line, **where)
    if first_column is not None:
        figure.add_vline(x=first_column - 0.5, line=line, **where)
    return figure


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
    """Draw queries as rows and keys as columns."""
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


@figure("attention", "attention_figure", reported=True, table=map_frame)
def attention_map_figure(attention_map: AttentionMap, trace: Trace) -> FigureSpec:
    """What one head looks at (--layer, --head, --words)."""
    return one_map(attention_heatmap, "queries by keys", attention_map, trace)


@figure("readings", "attention_beside_chart", table=readings_frame)
def readings_figure(reading_maps: Sequence[AttentionMap], trace: Trace) -> FigureSpec:
    """Raw, value-weighted, rollout, value zeroing (--layer, --head)."""
    first = reading_maps[0]
    names = ", ".join(READ[each.options.weights] for each in reading_maps)
    title = f"Layer {first.layer}, head {first.head or 0}: {names} — {trace.model}"
    special = np.flatnonzero(trace.tokens.special).tolist()
    alt = f"{title}: queries by keys, {len(reading_maps)} maps"
    return FigureSpec.of(title, alt, "", attention_readings, reading_maps, special, second=trace.tokens.second_start)


@figure("long", "attention_long", reported=True, table=pooled_frame)
def long_figure(pooled_map: PooledMap, trace: Trace) -> FigureSpec:
    """One head of a long text (--layer, --head)."""
    title = f"Attention of layer {pooled_map.layer}, head {pooled_map.head} — {trace.model}"
    alt = f"{title}: positions of queries by positions of keys"
    return FigureSpec.of(title, alt, "", pooled_heatmap, pooled_map, second=trace.tokens.second_start)


ROW, LEAST, MOST, AROUND = 24, 320, 1400, 120
"""Pixels: height of a token's row, minimum and maximum height of the figure, and margins."""
STEPS = 24
"""Number of shades: lines of similar weight are drawn together."""
LONG_TEXT = 48
"""Number of tokens above which more weak lines are left out, as in the attention view."""


def attention_lines(
    attention_map: AttentionMap, special: Collection[int], title: str, theme: Theme, second: int | None = None
) -> go.Figure:
    """Draw one line per cell with more than a small share of the largest weight."""
    most = max(attention_map.weights.shape)
    top, least = float(attention_map.weights.max(initial=0)) or 1.0, 0.1 if most > LONG_TEXT else 0.02
    height = min(MOST, max(LEAST, AROUND + ROW * most))
    figure = go.Figure(layout=layout(theme, escape(title), height=height, showlegend=False))
    share = attention_map.weights / np.float32(top)
    steps = np.where(share > least, np.minimum(share * STEPS, STEPS - 1).astype(np.int64), -1)
    first_hue = theme.colours["embeddings"]  # the first of the heads' hues in this theme
    for step in range(STEPS):
        queries, keys = np.nonzero(steps == step)
        if len(queries):
            figure.add_scatter(**_run(queries, keys, (step + 1) / STEPS, first_hue))
    figure.add_scatter(x=[None], y=[None], yaxis="y2", mode="markers", hoverinfo="skip")  # an axis needs a trace
    for axis, (x0, x1) in ((attention_map.queries, (0, 0.06)), (attention_map.keys, (0.94, 1))):
        place = axis.second_entry(second)
        if place is not None:
            dashes = {"color": theme.text, "width": 1.5, "dash": "dash"}
            figure.add_shape(type="line", x0=x0, x1=x1, y0=place - 0.5, y1=place - 0.5, line=dashes)
    rows = {"range": [most - 0.5, -0.5], "showgrid": False, "zeroline": False, "automargin": True}
    left, right = (
        token_axis(axis_labels(axis, special), height - AROUND) for axis in (attention_map.queries, attention_map.keys)
    )
    beside = {"font": {"size": TEXT_SIZE}, "standoff": 12}
    words = f"{UNITS[attention_map.options.weights]}, lines from {least * top:.2g} to {top:.3g}"
    return figure.update_layout(
        xaxis={"range": [0, 1], "showticklabels": False, "showgrid": False, "fixedrange": True, "title": words},
        yaxis={**rows, **left, "title": {"text": "Query (attending)", **beside}},
        yaxis2={
            **rows,
            **right,
            "title": {"text": "Key (attended to)", **beside},
            "overlaying": "y",
            "side": "right",
            "tickfont": {"size": TEXT_SIZE - 1},
        },
    )


def _run(queries: np.ndarray, keys: np.ndarray, strength: float, colour: str) -> dict[str, Any]:
    """Build one trace from lines of similar weight, separated by gaps."""
    gap = np.full(len(queries), np.nan, dtype=np.float32)
    return {
        "x": np.tile(np.array([0, 1, np.nan], dtype=np.float32), len(queries)),
        "y": np.stack([queries, keys, gap], axis=1).astype(np.float32).ravel(),
        "mode": "lines",
        "line": {"color": colour, "width": 1 + 5 * strength},
        "opacity": strength**0.5,  # so that a projector shows the weak ones
        "hoverinfo": "skip",
    }


@figure("lines", "attention_figure", reported=True, table=map_frame)
def lines_figure(attention_map: AttentionMap, trace: Trace) -> FigureSpec:
    """One head as lines (--layer, --head, --words)."""
    return one_map(attention_lines, "lines from queries to keys", attention_map, trace)


ATLAS_HEIGHT, MARGINS, WIDTH = 860, 130, 820
"""Maximum height of the figure, margins around the maps, and approximate width of the plot, in pixels."""
MOST_CELLS = 600_000
"""Maximum number of cells; larger maps are max-pooled again."""
LIFTED = 48
"""Length above which colours follow the square root, since weights are small, as in the attention view."""
LEVELS = 255


def atlas_heatmap(atlas: AttentionAtlas, title: str, theme: Theme) -> go.Figure:
    """Draw the maps of all heads on one scale, from 0 to the largest weight."""
    maps = _pooled(atlas.thumbnails)
    layers, heads, rows, columns = maps.shape
    lifted = len(atlas.queries) > LIFTED
    top = float(maps.max(initial=0)) or 1.0
    cells = _side_by_side(maps, top, lifted)
    height = MARGINS + min(ATLAS_HEIGHT - MARGINS, max(120, round(WIDTH * layers / heads)))
    figure = go.Figure(layout=layout(theme, escape(title), height=height))
    figure.add_heatmap(
        z=cells,
        zmin=0,
        zmax=LEVELS,
        colorscale=sequential(theme),
        colorbar=attention_bar(WORDS[atlas.options.weights], top, LEVELS, lifted),
        hoverinfo="skip",
    )
    line = {"color": theme.muted, "width": 1}
    down = [{"x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "y domain"} for x in np.arange(heads + 1) * columns - 0.5]
    across = [{"y0": y, "y1": y, "x0": 0, "x1": 1, "xref": "x domain"} for y in np.arange(layers + 1) * rows - 0.5]
    # All at once: add_vline checks every earlier line again.
    figure.update_layout(shapes=[{"type": "line", "line": line, **ends} for ends in (*down, *across)])
    names = [str(head) for head in range(heads)] if atlas.options.weights not in OF_LAYERS else ["all"]
    figure.update_xaxes(_middles(names, columns), title="head", range=[-0.5, heads * columns - 0.5], showgrid=False)
    figure.update_yaxes(_middles([str(layer) for layer in range(layers)], rows), title="layer", showgrid=False)
    return figure.update_yaxes(range=[layers * rows - 0.5, -0.5])


def _pooled(maps: Float[np.ndarray, "layers heads rows columns"]) -> Float[np.ndarray, "layers heads rows2 columns2"]:
    """Max-pool the maps if there are too many cells."""
    layers, heads, rows, columns = maps.shape
    factor = 1
    while layers * heads * -(-rows // factor) * -(-columns // factor) > MOST_CELLS and factor < max(rows, columns):
        factor += 1
    if factor == 1:
        return maps
    down, across = np.arange(0, rows, factor), np.arange(0, columns, factor)
    return np.maximum.reduceat(np.maximum.reduceat(maps, down, axis=2), across, axis=3)


def _side_by_side(
    maps: Float[np.ndarray, "layers heads rows columns"], top: float, lifted: bool
) -> UInt[np.ndarray, "high wide"]:
    """Arrange all maps in one array of 256 shades."""
    layers, heads, rows, columns = maps.shape
    shares = np.clip(maps.transpose(0, 2, 1, 3).reshape(layers * rows, heads * columns) / np.float32(top), 0, 1)
    return ((np.sqrt(shares) if lifted else shares) * LEVELS).round().astype(np.uint8)


def _middles(names: list[str], size: int) -> dict[str, object]:
    """Return ticks at the centre of every map, thinned if there are many."""
    step = max(1, -(-len(names) // 24))
    return {
        "tickmode": "array",
        "tickvals": [place * size + (size - 1) / 2 for place in range(0, len(names), step)],
        "ticktext": names[::step],
    }


@figure("atlas", "attention_atlas", reported=True, table=measures_frame)
def atlas_figure(atlas: AttentionAtlas, trace: Trace) -> FigureSpec:
    """What all heads look at (--words)."""
    layers, heads = atlas.thumbnails.shape[:2]
    title = all_heads_title(atlas.options, trace.model)
    alt = f"{title}: {layers} layers by {heads} heads, in each cell a map of queries by keys"
    return FigureSpec.of(title, alt, "", atlas_heatmap, atlas)
