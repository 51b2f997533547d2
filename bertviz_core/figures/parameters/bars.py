"""Draw parameters as bars: layers by part, one model by component, several models side by side."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from operator import itemgetter

import pandas as pd
import plotly.graph_objects as go

from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import TEXT_SIZE, Theme, escape, layout, text_on, words
from bertviz_core.figures.base.text_width import text_width, wrapped_label
from bertviz_core.figures.parameters.tree import LINE, SPARE, fits, share
from bertviz_core.parameters.results import Ledger

MAX_ARCS = 3
NOTE_MARGINS = 32
"""Pixels beside the notes below the bars."""
FROM_AXIS, NOTES_AT = 10, 1.0
"""Pixels between the axis and the notes; height of the first note, below the arcs, in bars."""
LAYER_PARTS = (
    "query",
    "key",
    "value",
    "query_key_value",
    "attention_output",
    "attention_other",
    "feed_forward",
    "layer_norm",
    "other",
)


def layer_bars(ledger: Ledger, title: str, theme: Theme) -> go.Figure:
    """Draw one bar per layer, layer 0 at the top: parameters by part, with the total after the bar.

    A shared layer shows how often it runs; an unusual layer shows its difference.
    """
    rows = ledger.layers
    whole = sum(row.total for row in rows) or 1
    height = min(max(BAR_HEIGHT * len(rows), 60), TALLEST_BARS)
    figure = go.Figure(layout=layout(theme, escape(title), barmode="stack", height=AROUND_BARS + height))
    usual = max(Counter(row.total for row in rows).items(), key=itemgetter(1), default=(0, 0))
    tall = bool(rows) and height / len(rows) >= LINE
    notes = [f"{row.total:,}{_unlike(row.total, *usual)}" for row in rows] if tall else []
    scale = _write_behind(figure, [row.total for row in rows], notes, theme)
    for part in LAYER_PARTS:
        counts = [getattr(row, part) for row in rows]
        if any(counts):
            colour = theme.colours[part]
            figure.add_bar(
                y=list(range(len(rows))),
                x=counts,
                orientation="h",
                name=f"{words(part)} {share(sum(counts), whole)}",
                marker={"color": colour, "line": {"color": theme.edge, "width": 1}},
                hovertemplate=f"{words(part)}: %{{x:,}}<extra>layer %{{customdata}}</extra>",
                customdata=[row.layer for row in rows],
                text=[_inside(count, scale * count, height / len(rows)) for count in counts],
                textposition="inside",
                insidetextanchor="middle",
                textangle=0,
                constraintext="none",
                insidetextfont={"color": text_on(colour), "size": INSIDE_SIZE},
            )
    step = max(1, -(-len(rows) * 17 // height))
    both = len({row.component for row in rows}) > 1
    ticks = [_layer_tick(row.component if both else "layer", row.layer, row.applications) for row in rows]
    figure.update_xaxes(title="parameters", tickformat="~s")
    figure.update_yaxes(
        tickvals=list(range(0, len(rows), step)),
        ticktext=ticks[::step],
        showgrid=False,
        range=[len(rows) - 0.5, -0.5],
    )
    return figure.update_layout(legend={"traceorder": "normal"}, bargap=0.2)


BAR_HEIGHT, TALLEST_BARS, AROUND_BARS = 46, 330, 120
"""Pixels: height of a bar with its distance, maximum height of all bars, margins for title and axis."""
BESIDE_PLOT, LEAST_PLOT = 110, 140
"""Pixels for bar names, and minimum length of the longest bar."""
INSIDE_SIZE = TEXT_SIZE - 2
"""Font size of a number inside a bar."""


def _inside(count: int, width: float, height: float) -> str:
    """Format the number inside a part of a bar; "" if it does not fit."""
    return f"{count:,}" if fits((f"{count:,}",), width, height, INSIDE_SIZE) else ""


def _write_behind(figure: go.Figure, totals: Sequence[int], notes: Sequence[str], theme: Theme) -> float:
    """Add a note after each bar, extend the axis for the notes, and return the pixels per number."""
    for place, note in enumerate(notes):
        font = {"size": TEXT_SIZE, "color": theme.text}
        figure.add_annotation(x=totals[place], y=place, text=f" {note}", showarrow=False, xanchor="left", font=font)
    plot = theme.pixels - BESIDE_PLOT
    beyond = max((text_width(f" {note} ", TEXT_SIZE) for note in notes), default=0.0)
    bar = max(plot - beyond, min(plot, LEAST_PLOT))
    longest = max(totals, default=1) or 1
    figure.update_xaxes(range=[0, longest * plot / bar])
    return bar / longest


def _unlike(total: int, usual: int, times: int) -> str:
    """Describe the difference of a layer from the most common size; "" if there is none or no common size."""
    if total == usual or times < 2:
        return ""
    return f" ({abs(total - usual):,} {'more' if total > usual else 'fewer'})"


def model_bars(ledgers: Sequence[Ledger], title: str, theme: Theme) -> go.Figure:
    """Draw several models side by side: horizontal bars, stacked by component, with totals."""
    figure = _component_bars(ledgers, title, theme, {})
    _write_behind(figure, [each.total for each in ledgers], [f"{each.total:,}" for each in ledgers], theme)
    return figure


def _component_bars(ledgers: Sequence[Ledger], title: str, theme: Theme, written: Mapping[str, str]) -> go.Figure:
    """Draw one bar per model, stacked by component; `written` formats the labels inside."""
    figure = go.Figure(layout=layout(theme, escape(title), barmode="stack", height=150 + 46 * len(ledgers)))
    names = [escape(ledger.model) for ledger in ledgers]
    for component in ("embeddings", "encoder", "decoder", "pooler", "task head"):
        counts = [sum(part.total for part in ledger.components if part.name == component) for ledger in ledgers]
        if any(counts):
            colour = theme.colours[component]
            figure.add_bar(
                y=list(range(len(ledgers))),
                x=counts,
                name=component,
                orientation="h",
                marker={"color": colour, "line": {"color": theme.edge, "width": 1}},
                hovertemplate=f"{component}: %{{x:,}}<extra>%{{customdata}}</extra>",
                customdata=names,
                text=written.get(component, ""),
                textposition="inside",
                insidetextanchor="middle",
                textangle=0,
                constraintext="none",
                insidetextfont={"color": text_on(colour), "size": TEXT_SIZE},
            )
    figure.update_xaxes(title="parameters", tickformat="~s")
    figure.update_yaxes(tickvals=list(range(len(ledgers))), ticktext=names, autorange="reversed", showgrid=False)
    return figure.update_layout(legend={"traceorder": "normal"}, bargap=0.35)


def component_bar(ledger: Ledger, theme: Theme) -> go.Figure:
    """Draw one model as one bar with the share of each component; narrow parts are labelled in the legend only.

    An arc connects the two ends of every tie, whose parameters are counted once.
    """
    whole = ledger.total or 1
    shares = {part.name: share(part.total, whole) for part in ledger.components}
    lines = {part.name: (f"{part.total:,}", shares[part.name]) for part in ledger.components}
    plot = theme.pixels - 2 * SPARE
    wide = {part.name for part in ledger.components if fits(lines[part.name], plot * part.total / whole, 46, TEXT_SIZE)}
    written = {name: "<br>".join(both) for name, both in lines.items() if name in wide}
    figure = _component_bars([ledger], _components_title(ledger), theme, written)
    for trace in figure.data:
        trace.name = f"{trace.name} {shares[trace.name]}"
    figure.update_xaxes(range=[0, whole])
    figure.update_yaxes(showticklabels=False)
    figure.update_layout(height=280, bargap=0.2)
    middles, position = {}, 0
    for part in ledger.components:
        middles[part.name] = position + part.total / 2
        position += part.total
    by_name = {row.name: row for row in ledger.parameters}
    ties = [row for row in ledger.parameters if row.tied_to is not None]
    notes: list[str] = []
    for index, row in enumerate(sorted(ties, key=lambda each: -each.numel)[:MAX_ARCS]):
        owner = by_name[row.tied_to or ""]
        if row.component != owner.component:
            _arc(figure, middles.get(owner.component, 0), middles.get(row.component, position), index, theme)
        text = escape(f"tied: {row.name} = {owner.name}, {row.numel:,} counted once")
        notes += wrapped_label(text, theme.pixels - NOTE_MARGINS - FROM_AXIS, TEXT_SIZE)
    for line, note in enumerate(notes):
        figure.add_annotation(
            x=0,
            y=NOTES_AT + 0.3 * line,
            text=note,
            showarrow=False,
            xanchor="left",
            xshift=FROM_AXIS,
            font={"size": TEXT_SIZE},
        )
    if notes:
        figure.update_yaxes(range=[NOTES_AT + 0.15 + 0.3 * len(notes), -0.5], autorange=False)
        figure.update_layout(height=310 + 30 * len(notes))
    return figure


def _components_title(ledger: Ledger) -> str:
    return f"Components: {ledger.total:,} parameters — {ledger.model}"


def _arc(figure: go.Figure, start: float, end: float, index: int, theme: Theme) -> None:
    low = 0.62 + 0.12 * index
    path = f"M {start},0.33 Q {(start + end) / 2},{2 * low - 0.33} {end},0.33"
    figure.add_shape(type="path", path=path, line={"color": theme.text, "width": 2, "dash": "dot"})


def _layer_tick(component: str, layer: int, applications: int) -> str:
    runs = f", runs {applications} times" if applications > 1 else ""
    return f"{component} {layer}{runs}"


def layers_frame(layered_ledger: Ledger) -> pd.DataFrame:
    """A row per layer; parts that no layer has are left out."""
    stacks = len({row.component for row in layered_ledger.layers}) > 1
    parts = {
        "attention": [row.attention for row in layered_ledger.layers],
        "query": [row.query for row in layered_ledger.layers],
        "key": [row.key for row in layered_ledger.layers],
        "value": [row.value for row in layered_ledger.layers],
        "query, key, value (fused)": [row.query_key_value for row in layered_ledger.layers],
        "attention output": [row.attention_output for row in layered_ledger.layers],
        "attention, other": [row.attention_other for row in layered_ledger.layers],
        "feed-forward": [row.feed_forward for row in layered_ledger.layers],
        "layer norm": [row.layer_norm for row in layered_ledger.layers],
        "other": [row.other for row in layered_ledger.layers],
    }
    runs = [row.applications for row in layered_ledger.layers]
    return pd.DataFrame(
        {
            **({"stack": [row.component for row in layered_ledger.layers]} if stacks else {}),
            "layer": [row.layer for row in layered_ledger.layers],
            "parameters": [row.total for row in layered_ledger.layers],
            "share": [row.total / layered_ledger.total for row in layered_ledger.layers],
            **{part: counts for part, counts in parts.items() if any(counts)},
            **({"runs per pass": runs} if any(run > 1 for run in runs) else {}),
        }
    )


def components_frame(ledger: Ledger) -> pd.DataFrame:
    """A row per component, with its arithmetic in words."""
    return pd.DataFrame(
        {
            "component": [part.name for part in ledger.components],
            "parameters": [part.total for part in ledger.components],
            "share": [part.total / (ledger.total or 1) for part in ledger.components],
            "tensors": [part.tensors for part in ledger.components],
            "arithmetic": [f"{part.arithmetic} = {part.total:,}" for part in ledger.components],
        }
    )


def models_frame(ledgers: Sequence[Ledger]) -> pd.DataFrame:
    """A row per model."""
    first = ledgers[0]
    parts = ("embeddings", "encoder", "decoder", "pooler", "task head")
    counts = {part: [sum(c.total for c in each.components if c.name == part) for each in ledgers] for part in parts}
    runs = [sum(row.applications for row in each.layers) for each in ledgers]
    return pd.DataFrame(
        {
            "model": [each.model for each in ledgers],
            "total": [each.total for each in ledgers],
            f"relative to {first.model}": [each.total / (first.total or 1) for each in ledgers],
            "tensors": [each.tensors for each in ledgers],
            "layers run": runs,
            "layers stored": [len(each.layers) for each in ledgers],
            **{part: totals for part, totals in counts.items() if any(totals)},
            "MiB in float32": [each.total * 4 / 2**20 for each in ledgers],
        }
    )


@figure("layers", "parameters_layers", "parameters of each layer by part (--task)", reported=True, table=layers_frame)
def layers_figure(layered_ledger: Ledger) -> FigureSpec:
    """Plot the layers of a model as stacked bars."""
    title = f"Parameters of each layer — {layered_ledger.model}"
    alt = f"Stacked bars of the parameters of each layer of {layered_ledger.model}"
    return FigureSpec(title, alt, partial(layer_bars, layered_ledger, title))


@figure(
    "components",
    "parameters_components",
    "the model as one bar of components (--task)",
    reported=True,
    table=components_frame,
)
def components_figure(ledger: Ledger) -> FigureSpec:
    """Plot a model as one bar, divided into components."""
    title = _components_title(ledger)
    alt = f"One bar of {ledger.model}, cut into its components"
    return FigureSpec(title, alt, partial(component_bar, ledger))


@figure("models", "parameters_compare", "several models side by side, named behind the first", table=models_frame)
def models_figure(ledgers: Sequence[Ledger]) -> FigureSpec:
    """Plot several models side by side."""
    title = "Parameters by component"
    return FigureSpec(title, "Bars of several models by component", partial(model_bars, ledgers, title))
