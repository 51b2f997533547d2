"""Draw the module tree by parameters as a sunburst, treemap or icicle."""

import itertools
import math
import re
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

import pandas as pd
import plotly.graph_objects as go

from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import TEXT_SIZE, Theme, escape, layout, text_on, words
from bertviz_core.figures.base.text_width import text_width
from bertviz_core.parameters.results import Ledger, TreeNode
from bertviz_core.parameters.tables import parameters_frame
from bertviz_core.tables.typeset import readable

TreeForm = Literal["sunburst", "treemap", "icicle"]
ROOT_ID = "/"
"""Id of the root in a figure, since plotly does not accept an empty one; no module has this name."""


def parameter_tree_figure(nodes: Sequence[TreeNode], title: str, form: TreeForm, theme: Theme) -> go.Figure:
    """Draw the module tree; areas are shares of the parameters, colours are components.

    Args:
        nodes: parents before children, with children that sum to their parent (bertviz_core.parameters.tree).
        title: title of the figure.
        form: sunburst, treemap or icicle.
        theme: theme of the figure.
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
                node.tensors,
                share(node.numel, total),
                share(node.numel, parents.get(node.parent or "", total)),
            ]
            for node in nodes
        ],
        "textfont": {"size": TEXT_SIZE, "color": [text_on(colour) for colour in colours]},
        "hovertemplate": (
            "<b>%{label}</b><br>%{customdata[0]}<br>%{value:,} parameters in %{customdata[1]:,} tensors"
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
            named = choices[1:] if form == "sunburst" else choices
            fit = (lines for lines in named if any(lines) and any(fits(lines, *room) for room in rooms))
            choices = [next(fit, (node.label,))]
        fitting.append("<br>".join(map(escape, choices[0])))
    return fitting


def centre_lines(name: str, diameter: float) -> tuple[str, ...]:
    """Break the name of a class before its capitals into the fewest lines that fit into a circle.

    Args:
        name: such as GPT2LMHeadModel.
        diameter: diameter of the circle in pixels.
    """
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


def ledger_source(ledger: Ledger) -> str:
    """Describe the source of the numbers."""
    return f"{ledger.architecture}, counted {SOURCES[ledger.source]}"


def _tree_frame(ledger: Ledger) -> pd.DataFrame:
    """A row per named parameter."""
    return readable(parameters_frame(ledger.parameters))


@figure(
    "parameters",
    "parameters_tree",
    "the tree of modules by parameters (--form, --depth, --task)",
    reported=True,
    table=_tree_frame,
)
def tree_figure(ledger: Ledger, nodes: Sequence[TreeNode], form: TreeForm) -> FigureSpec:
    """Plot the module tree of a model."""
    title = f"{ledger.total:,} parameters — {ledger.model}"
    alt = f"{form} of the modules of {ledger.model} by parameters"
    tensors = f"{ledger.total:,} parameters in {ledger.tensors:,} tensors"
    caption = f"{ledger.model}: {tensors}, {ledger_source(ledger)}."
    return FigureSpec(title, alt, partial(parameter_tree_figure, nodes, title, form), caption)
