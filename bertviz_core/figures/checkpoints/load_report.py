"""Draw the sources of a model's parameters: one bar per component, with textures by status."""

from collections.abc import Sequence
from functools import partial

import plotly.graph_objects as go

from bertviz_core.checkpoints.load_report.results import ComponentShare, HeadDifference, HeadMark, HeadNode, LoadReport
from bertviz_core.checkpoints.results import TensorGrid
from bertviz_core.checkpoints.tables import adapter_frame, head_frame, report_frame
from bertviz_core.figures.base.marks import add_words
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import TEXT_SIZE, Theme, escape, layout
from bertviz_core.figures.checkpoints.weights import PLACES, tensor_map
from bertviz_core.parameters.adapters.results import AdapterUpdates
from bertviz_core.text import digits

STATES = (("matched", "from the file", ""), ("new", "new", "/"), ("wrong_shape", "wrong shape", "x"))
"""Field of ComponentShare, label, texture of the bar; "" is solid."""
BAR, LINE = 24, 21
"""Pixels: height of a bar, and of a line of text above it."""


def share_bars(shares: Sequence[ComponentShare], title: str, theme: Theme) -> go.Figure:
    """Draw one bar per component of the model, divided by the source of its parameters; counts are above it."""
    words = [_counts(share) for share in shares]
    slot = BAR + 8 + LINE * max((len(lines) for lines in words), default=1)
    figure = go.Figure(layout=layout(theme, escape(title), barmode="stack"))
    mixed = any(share.new or share.wrong_shape for share in shares)
    for field, state, texture in STATES:
        counts = [getattr(share, field) for share in shares]
        figure.add_bar(
            y=list(range(len(shares))),
            x=[100 * count / share.total if count else None for count, share in zip(counts, shares, strict=True)],
            width=BAR / slot,
            name=state,
            orientation="h",
            showlegend=False,
            marker=_marker([theme.colours[share.name] for share in shares], texture, theme),
            customdata=[[f"{count:,}", escape(share.name)] for count, share in zip(counts, shares, strict=True)],
            hovertemplate=f"{state}: %{{customdata[0]}} parameters, %{{x:.1f}}%<extra>%{{customdata[1]}}</extra>",
        )
        first = next((theme.colours[share.name] for share in shares if getattr(share, field)), None)
        if first is not None and mixed:  # labels above the bars suffice if all are alike
            figure.add_bar(y=[None], x=[None], name=state, orientation="h", marker=_marker([first], texture, theme))
    figure.update_layout(
        annotations=[_above(place - BAR / slot / 2, "<br>".join(lines), theme) for place, lines in enumerate(words)]
    )
    figure.update_xaxes(
        title="share of the component's parameters, %", range=[0, 100.5], tickvals=[0, 25, 50, 75, 100], showgrid=False
    )
    names = [escape(share.name) for share in shares]
    span = [len(shares) - 1 + 0.9 * BAR / slot, -1 + BAR / slot * 0.55]
    figure.update_yaxes(tickvals=list(range(len(shares))), ticktext=names, range=span, autorange=False, showgrid=False)
    return figure.update_layout(height=126 + slot * len(shares), legend={"traceorder": "normal"})


def _marker(colours: Sequence[str], texture: str, theme: Theme) -> dict[str, object]:
    """Return a solid or hatched marker, so that the status is visible without colour."""
    if not texture:
        return {"color": list(colours), "line": {"color": theme.edge, "width": 1}}
    # The encoder is a neutral background for its parts, too pale for lines.
    colours = [theme.muted if colour == theme.colours["encoder"] else colour for colour in colours]
    pattern = {"shape": texture, "fgcolor": list(colours), "bgcolor": theme.paper, "size": 9, "solidity": 0.4}
    return {"color": theme.paper, "pattern": pattern, "line": {"color": list(colours), "width": 2}}


def _counts(share: ComponentShare) -> list[str]:
    """Return the lines of text above a bar."""
    lines = []
    if share.total and share.matched in (0, share.total):
        lines.append(f"{share.total:,} {'from the file' if share.matched else 'not from the file'}")
    elif share.total:
        lines.append(f"{share.matched:,} of {share.total:,} from the file")
    if share.unused_keys:
        keys = "1 key" if share.unused_keys == 1 else f"{share.unused_keys:,} keys"
        lines.append(f"{keys} of the file unused: {share.unused:,} numbers")
    return lines


def _above(y: float, text: str, theme: Theme) -> dict[str, object]:
    font = {"size": TEXT_SIZE, "color": theme.text}
    place = {"x": 0, "y": y, "xanchor": "left", "yanchor": "bottom", "align": "left", "borderpad": 1}
    return {**place, "text": text, "showarrow": False, "font": font}


TREE_LINE, INDENT = 25, 3.0
"""Line height in pixels; indentation per level, in hundredths of the width."""
MAX_LINES = 60
SIGNS: dict[HeadMark, str] = {"same": "", "changed": "", "added": "+", "removed": "−"}


def head_tree(difference: HeadDifference, title: str, theme: Theme) -> go.Figure:
    """Draw one line per module and parameter: name, class or shape, count; + is added, − only in the base model."""
    nodes = difference.nodes[:MAX_LINES]
    places = list(range(len(nodes)))
    figure = go.Figure(layout=layout(theme, escape(title)))
    marked = [(place, node.mark) for place, node in enumerate(nodes) if node.mark in ("added", "removed")]
    figure.update_layout(shapes=[_band(place, mark, theme) for place, mark in marked])
    paths = [escape(node.name or difference.architecture) for node in nodes]
    _words(figure, [0.0] * len(nodes), places, [SIGNS[node.mark] for node in nodes], "middle right", theme)
    at = [2.5 + INDENT * node.depth for node in nodes]
    _words(figure, at, places, [_label(node) for node in nodes], "middle right", theme, paths)
    counts = [f"{node.numel:,}" if node.tied_to is None else "tied" for node in nodes]
    ties = ["" if each.tied_to is None else f"shares its values with {escape(each.tied_to)}" for each in nodes]
    _words(figure, [99.0] * len(nodes), places, counts, "middle left", theme, ties)
    figure.update_xaxes(visible=False, range=[0, 100], fixedrange=True)
    figure.update_yaxes(visible=False, range=[len(nodes) - 0.5, -0.5], fixedrange=True)
    rest = len(difference.nodes) - len(nodes)
    if rest:
        figure.update_xaxes(visible=True, title=f"{rest:,} more lines are in the table", showticklabels=False)
    return figure.update_layout(height=(110 if rest else 70) + TREE_LINE * len(nodes), showlegend=False, dragmode=False)


def _label(node: HeadNode) -> str:
    name = escape(node.name.rpartition(".")[2])
    what = escape(node.kind if node.shape is None else str(node.shape))
    text = f"<b>{name}</b>  {what}" if name else f"<b>{what}</b>"
    return f"<s>{text}</s>" if node.mark == "removed" else text


def _words(
    figure: go.Figure,
    x: list[float],
    y: list[int],
    text: list[str],
    position: str,
    theme: Theme,
    hover: list[str] | None = None,
) -> None:
    hovers = {"customdata": hover, "hovertemplate": "%{customdata}<extra></extra>", "hoverinfo": None} if hover else {}
    add_words(figure, x, y, text, TEXT_SIZE, theme.text, position, **hovers)


def _band(place: int, mark: HeadMark, theme: Theme) -> dict[str, object]:
    colour = theme.colours["task head"] if mark == "added" else theme.muted
    box = {"type": "rect", "x0": 0, "x1": 100, "y0": place - 0.5, "y1": place + 0.5, "line": {"width": 0}}
    return {**box, "fillcolor": colour, "opacity": 0.22, "layer": "below"}


@figure("load-report", "checkpoint_report", reported=True, table=report_frame)
def report_figure(report: LoadReport) -> FigureSpec:
    """What loads from the file (--task)."""
    title = f"What {report.architecture} takes from the file — {report.model}"
    alt = f"Bars of the components of {report.model} by what comes from the file"
    caption = f"{title}: {report.matched:,} of {report.expected:,} tensors"
    return FigureSpec.of(title, alt, caption, share_bars, report.shares)


@figure("task-head", "checkpoint_head", table=head_frame)
def task_head_figure(head_difference: HeadDifference) -> FigureSpec:
    """What a task's head adds (--task)."""
    difference = head_difference
    title = f"{difference.architecture} beside {difference.base_architecture} — {difference.model}"
    alt = f"Module tree of {difference.architecture}, the lines of the head marked"
    caption = f"{title}: {difference.base_total:,} and {difference.total:,} parameters."
    return FigureSpec.of(title, alt, caption, head_tree, difference)


RELATIVE, STABLE = "norm of the update", "stable rank"
UPDATE_MEASURES = (RELATIVE, STABLE)
TITLES = {
    RELATIVE: ("Norm of the update over that of the matrix", "relative norm"),
    STABLE: ("Stable rank of the update", "stable rank"),
}
"""Measure -> title of its figure, unit."""


def update_numbers(updates: AdapterUpdates, measure: str) -> list[float]:
    """Return one number of every update."""
    return [each.relative_norm if measure == RELATIVE else each.stable_rank for each in updates.updates]


@figure("adapter-updates", "checkpoint_adapter", table=adapter_frame)
def adapter_updates_figure(update_grid: TensorGrid, adapter_updates: AdapterUpdates, update_measure: str) -> FigureSpec:
    """How much an adapter adds to each matrix of its base."""
    words, unit = TITLES[update_measure]
    title = f"{words} — {adapter_updates.adapter}"
    largest = _largest(adapter_updates, update_measure)
    alt = f"{title}, of every matrix of {adapter_updates.base} that the adapter changes{largest}: {PLACES}"
    return FigureSpec(title, alt, partial(tensor_map, update_grid, title, unit))


def _largest(updates: AdapterUpdates, measure: str) -> str:
    """Name the update with the largest number, for readers who do not see the map; "" without updates."""
    named = zip(update_numbers(updates, measure), updates.updates, strict=True)
    value, update = max(named, key=lambda each: each[0], default=(0.0, None))
    return "" if update is None else f" (largest {digits(value, 2)}, of {update.name})"
