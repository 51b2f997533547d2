"""Parameters of a model: tree and bars."""

import itertools
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, Literal

import plotly.graph_objects as go

from bertviz_core.figures.base.axes import text_width, wrapped_label
from bertviz_core.figures.base.marks import add_bars, row_axis
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import TEXT_SIZE, Theme, escape, layout, text_on, words
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.parameters.results import Ledger, TreeNode, parameters_frame
from bertviz_core.tables.typeset import readable
from bertviz_core.text import counted

TreeForm = Literal["sunburst", "treemap", "icicle"]
ROOT_ID = "/"
"""Id of the root in a figure, since plotly does not accept an empty one; no module has this name."""


def parameter_tree_figure(nodes: Sequence[TreeNode], title: str, form: TreeForm, theme: Theme) -> go.Figure:
    """Draw the module tree; areas are shares of the parameters, colours are components.

    Parents come before children, with children that sum to their parent (bertviz_core.parameters.tree).
    """
    total = nodes[0].numel
    parents = {node.id: node.numel for node in nodes}
    colours = [_colour(node, theme) for node in nodes]
    marks = {
        "ids": [node.id or ROOT_ID for node in nodes],
        "parents": ["" if node.parent is None else node.parent or ROOT_ID for node in nodes],
        "labels": [escape(node.label) for node in nodes],
        "text": _fitting_words(nodes, form, theme.pixels),
        "values": [node.numel for node in nodes],
        "branchvalues": "total",
        "sort": False,
        "marker": {"colors": colours, "line": {"color": theme.edge, "width": 1}},
        "customdata": [
            [
                escape(node.id or node.label),
                counted(node.tensors, "tensor"),
                share(node.numel, total),
                share(node.numel, parents.get(node.parent or "", total)),
            ]
            for node in nodes
        ],
        "textfont": {"size": TEXT_SIZE, "color": [text_on(colour) for colour in colours]},
        "hovertemplate": (
            "<b>%{label}</b><br>%{customdata[0]}<br>%{value:,} parameters in %{customdata[1]}"
            "<br>%{customdata[2]} of the model, %{customdata[3]} of the module around it<extra></extra>"
        ),
        "texttemplate": "%{text}",
    }
    figure = go.Figure(
        _tree_trace(form, marks), layout(theme, escape(title), uniformtext={"minsize": SMALLEST, "mode": "hide"})
    )
    _explain_colours(figure, nodes, theme)
    return figure.update_layout(height=TREE_HEIGHT)


SMALLEST = 11
"""Minimum font size of a tree in pixels; smaller labels are left out."""
TREE_HEIGHT, PLOT_WIDTH, PLOT_HEIGHT = 470, 460.0, 408.0
"""Pixels: height of the figure of a tree, and size of its plot beside a table on a wide screen."""
LINE, SPARE = 14.0, 4.0
"""Pixels at the smallest font size: line height, margin around a word."""
MOST_LINES, MOST_PARTS, CENTRE = 3, 12, 0.9
"""Maximum lines of the name in a sunburst's centre; capitals of a broken name; share of the diameter it may use."""


def _fitting_words(nodes: Sequence[TreeNode], form: TreeForm, pixels: int) -> list[str]:
    """Choose the longest label of each node that fits; the longest of all if none does.

    Other labels are hidden until a click enlarges their area. The name in a sunburst's centre is broken into lines.
    """
    side, width = min(PLOT_HEIGHT, float(pixels)), min(PLOT_WIDTH, float(pixels))
    levels: dict[str, int] = {}
    for node in nodes:
        levels[node.id] = 0 if node.parent is None else levels[node.parent] + 1
    deepest, total = max(levels.values()) + 1, nodes[0].numel or 1
    fitting = []
    for node in nodes:
        choices: list[tuple[str, ...]] = [(node.label, f"{node.numel:,}"), (node.label,), (node.short,)]
        if form == "sunburst" and node.parent is None:
            choices = [centre_lines(node.label, side / deepest)]
        elif form != "treemap":
            part = node.numel / total
            rooms = (
                _ring_place(part, levels[node.id], side / 2 / deepest)
                if form == "sunburst"
                else ((width * part, PLOT_HEIGHT / deepest),)
            )
            percent = share(node.numel, total)
            shares = [(node.label, percent), (f"{node.label} {percent}",), (node.short and f"{node.short} {percent}",)]
            named = shares + choices[1:] if form == "sunburst" else choices
            fit = (lines for lines in named if any(lines) and any(fits(lines, *room) for room in rooms))
            choices = [next(fit, (node.label,))]
        fitting.append("<br>".join(map(escape, choices[0])))
    return fitting


def centre_lines(name: str, diameter: float) -> tuple[str, ...]:
    """Break the name of a class before its capitals into the fewest lines that fit into a circle."""
    parts = re.findall(r"[A-Z]+[^A-Z]*|[^A-Z]+", name)
    parts = parts if 0 < len(parts) <= MOST_PARTS else [name]
    broken = [_even_lines(parts, count) for count in range(1, min(MOST_LINES, len(parts)) + 1)]
    return next((lines for lines in broken if _diagonal(lines) <= CENTRE * diameter), min(broken, key=_diagonal))


def _even_lines(parts: Sequence[str], count: int) -> tuple[str, ...]:
    """Join the parts into this number of lines, minimising the longest."""
    cuts = ((0, *inner, len(parts)) for inner in itertools.combinations(range(1, len(parts)), count - 1))
    broken = [tuple("".join(parts[start:end]) for start, end in itertools.pairwise(cut)) for cut in cuts]
    return min(broken, key=_diagonal)


def _diagonal(lines: Sequence[str]) -> float:
    """Return the diagonal of lines at the default font size in pixels, by which plotly fits text into a circle."""
    return math.hypot(max(text_width(line, TEXT_SIZE) for line in lines), 1.3 * TEXT_SIZE * len(lines))


def _ring_place(share: float, level: int, ring: float) -> tuple[tuple[float, float], ...]:
    """Return width and height for text in a ring of this breadth: along the radius, and along the ring."""
    arc = min(2 * math.pi * share, math.pi) * level * ring
    return (ring, arc), (arc, ring)


def fits(lines: Sequence[str], width: float, height: float, size: int = SMALLEST) -> bool:
    """Return whether lines of this font size fit into a rectangle."""
    return max(text_width(line, size) for line in lines) + SPARE <= width and LINE * len(lines) <= height


def share(part: int, whole: int) -> str:
    """Format a part of a whole as a percentage."""
    return f"{part / whole:.1%}" if whole else "0.0%"


def _explain_colours(figure: go.Figure, nodes: Sequence[TreeNode], theme: Theme) -> None:
    """Add a legend of the colours; plotly gives trees none, so it consists of empty traces."""
    drawn: dict[str, list[str]] = {}
    for node in nodes[1:]:
        name = words(node.part if node.part in theme.colours else node.component or "several components")
        names = drawn.setdefault(_colour(node, theme), [])
        if name not in names:
            names.append(name)
    for colour, names in drawn.items():
        mark = {"symbol": "square", "size": 13, "color": colour, "line": {"color": theme.muted, "width": 1}}
        figure.add_scatter(x=[None], y=[None], mode="markers", name=", ".join(names), marker=mark, hoverinfo="skip")
    nothing = {"visible": False, "fixedrange": True}
    figure.update_layout(xaxis=nothing, yaxis=nothing, showlegend=True)
    figure.update_layout(legend={"itemclick": False, "itemdoubleclick": False})


def _tree_trace(form: TreeForm, marks: dict[str, Any]) -> go.Sunburst | go.Treemap | go.Icicle:
    if form == "sunburst":
        return go.Sunburst(**marks, insidetextorientation="auto", rotation=90, leaf={"opacity": 1})
    if form == "treemap":
        return go.Treemap(**marks, pathbar={"visible": True}, tiling={"pad": 2})
    return go.Icicle(**marks, tiling={"orientation": "v"}, leaf={"opacity": 1})


def _colour(node: TreeNode, theme: Theme) -> str:
    if node.part in theme.colours:
        return theme.colours[node.part]
    return theme.colours.get(node.component, theme.neutral)


FORMS: tuple[TreeForm, ...] = ("sunburst", "treemap", "icicle")
SOURCES = {
    "header": "from the header of its checkpoint file",
    "config": "from its config, without its weights",
    "module": "from the module in memory",
}


@figure(
    "parameters", "parameters_tree", reported=True, table=lambda ledger: readable(parameters_frame(ledger.parameters))
)
def tree_figure(ledger: Ledger, nodes: Sequence[TreeNode], form: TreeForm) -> FigureSpec:
    """The tree of modules by parameters (--form, --depth, --task)."""
    title = f"{ledger.total:,} parameters by module — {ledger.model}"  # also where a click has enlarged a module
    alt = f"{form} of the modules of {ledger.model} by parameters"
    tensors = f"{ledger.total:,} parameters in {ledger.tensors:,} tensors"
    caption = f"{tensors}, {ledger.architecture}, counted {SOURCES[ledger.source]}."
    return FigureSpec(title, alt, partial(parameter_tree_figure, nodes, title, form), caption)


COMPONENTS = ("embeddings", "encoder", "decoder", "pooler", "task head")
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
            fitting = (fits((f"{count:,}",), scale * count, height / len(rows), INSIDE_SIZE) for count in counts)
            inside = [f"{count:,}" if each else "" for count, each in zip(counts, fitting, strict=True)]
            hover = f"{words(part)}: %{{x:,}}<extra>layer %{{customdata}}</extra>"
            named = {"name": f"{words(part)} {share(sum(counts), whole)}", "customdata": [row.layer for row in rows]}
            _add_part(figure, counts, theme.colours[part], hover, inside, INSIDE_SIZE, theme, **named)
    step = max(1, -(-len(rows) * 17 // height))
    both = len({row.component for row in rows}) > 1
    runs = [f", runs {row.applications} times" if row.applications > 1 else "" for row in rows]
    ticks = [f"{row.component if both else 'layer'} {row.layer}{each}" for row, each in zip(rows, runs, strict=True)]
    figure.update_xaxes(title="parameters", tickformat="~s").update_yaxes(row_axis(ticks, step))
    return figure.update_layout(legend={"traceorder": "normal"}, bargap=0.2)


def _add_part(
    figure: go.Figure,
    counts: Sequence[int],
    colour: str,
    hover: str,
    inside: Any,
    size: int,
    theme: Theme,
    **named: Any,
) -> None:
    """Add a part of stacked bars, with text inside."""
    marker = {"color": colour, "line": {"color": theme.edge, "width": 1}}
    text = {"text": inside, "textposition": "inside", "insidetextanchor": "middle", "textangle": 0}
    text |= {"constraintext": "none", "insidetextfont": {"color": text_on(colour), "size": size}}
    add_bars(figure, list(counts), "", marker, hoverinfo=None, hovertemplate=hover, **text, **named)


BAR_HEIGHT, TALLEST_BARS, AROUND_BARS = 46, 330, 120
"""Pixels: height of a bar with its distance, maximum height of all bars, margins for title and axis."""
BESIDE_PLOT, LEAST_PLOT = 110, 140
"""Pixels for bar names, and minimum length of the longest bar."""
INSIDE_SIZE = TEXT_SIZE - 2
"""Font size of a number inside a bar."""


def _write_behind(figure: go.Figure, totals: Sequence[int], notes: Sequence[str], theme: Theme) -> float:
    """Add a note after each bar, extend the axis for the notes, and return the pixels per number."""
    for place, note in enumerate(notes):
        font = {"size": TEXT_SIZE, "color": theme.text}
        figure.add_annotation(x=totals[place], y=place, text=f" {note}", showarrow=False, xanchor="left", font=font)
    plot = theme.pixels - BESIDE_PLOT
    beyond = max((text_width(f" {note} ", TEXT_SIZE) for note in notes), default=0.0)
    bar = max(plot - beyond, min(plot, LEAST_PLOT))
    longest = max(totals, default=1) or 1
    figure.update_xaxes(range=[0, longest * plot / bar], showgrid=False)
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
    for component in COMPONENTS:
        counts = [sum(part.total for part in ledger.components if part.name == component) for ledger in ledgers]
        if any(counts):
            hover, named = (
                f"{component}: %{{x:,}}<extra>%{{customdata}}</extra>",
                {"name": component, "customdata": names},
            )
            inside = written.get(component, "")
            _add_part(figure, counts, theme.colours[component], hover, inside, TEXT_SIZE, theme, **named)
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
        look = {"showarrow": False, "xanchor": "left", "xshift": FROM_AXIS, "font": {"size": TEXT_SIZE}}
        figure.add_annotation(x=0, y=NOTES_AT + 0.3 * line, text=note, **look)
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


def layers_frame(layered_ledger: Ledger) -> "pd.DataFrame":
    """A row per layer; parts that no layer has are left out."""
    rows, stacks = layered_ledger.layers, len({row.component for row in layered_ledger.layers}) > 1
    parts = {words(part): [getattr(row, part) for row in rows] for part in ("attention", *LAYER_PARTS)}
    runs = [row.applications for row in rows]
    return pd.DataFrame(
        {
            **({"stack": [row.component for row in rows]} if stacks else {}),
            "layer": [row.layer for row in rows],
            "parameters": [row.total for row in rows],
            "share": [row.total / layered_ledger.total for row in rows],
            **{part: counts for part, counts in parts.items() if any(counts)},
            **({"runs per pass": runs} if any(run > 1 for run in runs) else {}),
        }
    )


def components_frame(ledger: Ledger) -> "pd.DataFrame":
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


def models_frame(ledgers: Sequence[Ledger]) -> "pd.DataFrame":
    """A row per model."""
    first = ledgers[0]
    counts = {
        part: [sum(c.total for c in each.components if c.name == part) for each in ledgers] for part in COMPONENTS
    }
    return pd.DataFrame(
        {
            "model": [each.model for each in ledgers],
            "total": [each.total for each in ledgers],
            f"relative to {first.model}": [each.total / (first.total or 1) for each in ledgers],
            "tensors": [each.tensors for each in ledgers],
            "layers run": [sum(row.applications for row in each.layers) for each in ledgers],
            "layers stored": [len(each.layers) for each in ledgers],
            **{part: totals for part, totals in counts.items() if any(totals)},
            "MiB in float32": [each.total * 4 / 2**20 for each in ledgers],
        }
    )


@figure("layers", "parameters_layers", reported=True, table=layers_frame)
def layers_figure(layered_ledger: Ledger) -> FigureSpec:
    """Parameters of each layer by part (--task)."""
    title = f"Parameters of each layer — {layered_ledger.model}"
    alt = f"Stacked bars of the parameters of each layer of {layered_ledger.model}"
    return FigureSpec.of(title, alt, "", layer_bars, layered_ledger)


@figure("components", "parameters_components", reported=True, table=components_frame)
def components_figure(ledger: Ledger) -> FigureSpec:
    """The model as one bar of components (--task)."""
    title = _components_title(ledger)
    alt = f"One bar of {ledger.model}, cut into its components"
    return FigureSpec(title, alt, partial(component_bar, ledger))


@figure("models", "parameters_compare", table=models_frame)
def models_figure(ledgers: Sequence[Ledger]) -> FigureSpec:
    """Several models side by side, named behind the first."""
    title = "Parameters by component"
    return FigureSpec.of(title, "Bars of several models by component", "", model_bars, ledgers)
