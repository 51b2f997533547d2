"""The module tree of a class with a task head: what the head adds stands on a band of its colour."""

import plotly.graph_objects as go

from bertviz_core.results.task_heads import HeadDifference, HeadMark, HeadNode
from figures.style import TEXT_SIZE, Theme, escape, layout

LINE, INDENT = 25, 3.0
"""Pixels of a line; hundredths of the width by which a module stands to the right of the one around it."""
MAX_LINES = 60
SIGNS: dict[HeadMark, str] = {"same": "", "changed": "", "added": "+", "removed": "−"}


def head_tree(difference: HeadDifference, title: str, look: Theme) -> go.Figure:
    """One line per module and parameter: name, class or shape, count; + is added, − the base model alone has.

    Args:
        difference: the lines.
        title: stands alone on a slide.
        look: theme.
    """
    nodes = difference.nodes[:MAX_LINES]
    places = list(range(len(nodes)))
    figure = go.Figure(layout=layout(look, escape(title)))
    marked = [(place, node.mark) for place, node in enumerate(nodes) if node.mark in ("added", "removed")]
    figure.update_layout(shapes=[_band(place, mark, look) for place, mark in marked])
    paths = [escape(node.name or difference.architecture) for node in nodes]
    _words(figure, [0.0] * len(nodes), places, [SIGNS[node.mark] for node in nodes], "middle right", look)
    at = [2.5 + INDENT * node.depth for node in nodes]
    _words(figure, at, places, [_label(node) for node in nodes], "middle right", look, paths)
    counts = [f"{node.numel:,}" if node.tied_to is None else "tied" for node in nodes]
    _words(figure, [99.0] * len(nodes), places, counts, "middle left", look, [_tie(node) for node in nodes])
    figure.update_xaxes(visible=False, range=[0, 100], fixedrange=True)
    figure.update_yaxes(visible=False, range=[len(nodes) - 0.5, -0.5], fixedrange=True)
    rest = len(difference.nodes) - len(nodes)
    if rest:
        figure.update_xaxes(visible=True, title=f"{rest:,} more lines stand in the table", showticklabels=False)
    return figure.update_layout(height=(110 if rest else 70) + LINE * len(nodes), showlegend=False, dragmode=False)


def _label(node: HeadNode) -> str:
    name = escape(node.name.rpartition(".")[2])
    what = escape(node.kind if node.shape is None else str(node.shape))
    text = f"<b>{name}</b>  {what}" if name else f"<b>{what}</b>"
    return f"<s>{text}</s>" if node.mark == "removed" else text


def _tie(node: HeadNode) -> str:
    return "" if node.tied_to is None else f"shares its values with {escape(node.tied_to)}"


def _words(
    figure: go.Figure,
    x: list[float],
    y: list[int],
    text: list[str],
    position: str,
    look: Theme,
    hover: list[str] | None = None,
) -> None:
    figure.add_scatter(
        x=x,
        y=y,
        text=text,
        mode="text",
        textposition=position,
        textfont={"size": TEXT_SIZE, "color": look.text},
        cliponaxis=False,
        customdata=hover,
        hovertemplate="%{customdata}<extra></extra>" if hover else None,
        hoverinfo=None if hover else "skip",
    )


def _band(place: int, mark: HeadMark, look: Theme) -> dict[str, object]:
    colour = look.colours["task head"] if mark == "added" else look.muted
    box = {"type": "rect", "x0": 0, "x1": 100, "y0": place - 0.5, "y1": place + 0.5, "line": {"width": 0}}
    return {**box, "fillcolor": colour, "opacity": 0.22, "layer": "below"}
