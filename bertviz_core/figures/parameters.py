"""Pictures of the parameter ledger: the tree as sunburst, treemap or icicle, the layers as stacked bars."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

import plotly.graph_objects as go

from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import TEXT_SIZE, Theme, escape, layout, text_on, words
from bertviz_core.parameters.results import Ledger, TreeNode

TreeForm = Literal["sunburst", "treemap", "icicle"]
ROOT_ID = "/"
"""Id of the whole model in a figure, where plotly takes no empty one; no module is called so."""
MAX_ARCS = 3
MIN_SLOTS = 6
"""Room for this many bars at least, so that one layer is a bar and no wall."""
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


def parameter_tree_figure(nodes: Sequence[TreeNode], title: str, form: TreeForm, theme: Theme) -> go.Figure:
    """The module tree; the area of every module is its share of the parameters.

    Args:
        nodes: parents before children, children adding up to their parent (bertviz_core.parameters.tree).
        title: stands alone on a slide.
        form: rings, nested boxes, or steps.
        theme: colours and typeface.
    """
    total = nodes[0].numel
    parents = {node.id: node.numel for node in nodes}
    colours = [_colour(node, theme) for node in nodes]
    marks = {
        "ids": [node.id or ROOT_ID for node in nodes],
        "parents": ["" if node.parent is None else node.parent or ROOT_ID for node in nodes],
        "labels": [escape(node.label) for node in nodes],
        "values": [node.numel for node in nodes],
        "branchvalues": "total",
        "sort": False,
        "marker": {"colors": colours, "line": {"color": theme.edge, "width": 1}},
        "customdata": [
            [
                escape(node.id or node.label),
                node.tensors,
                _share(node.numel, total),
                _share(node.numel, parents.get(node.parent or "", total)),
            ]
            for node in nodes
        ],
        "textfont": {"size": TEXT_SIZE, "color": [text_on(colour) for colour in colours]},
        "hovertemplate": (
            "<b>%{customdata[0]}</b><br>%{value:,} parameters in %{customdata[1]:,} tensors"
            "<br>%{customdata[2]} of the model, %{customdata[3]} of the module around it<extra></extra>"
        ),
        "texttemplate": "%{label}" if form == "sunburst" else "%{label}<br>%{value:,}",
    }
    figure = go.Figure(
        _tree_trace(form, marks), layout(theme, escape(title), uniformtext={"minsize": 11, "mode": "hide"})
    )
    return figure.update_layout(height=440)


def layer_bars(ledger: Ledger, title: str, theme: Theme) -> go.Figure:
    """Stacked bars: the parameters of each layer by part; a shared layer says how often it runs."""
    rows = ledger.layers
    both = len({row.component for row in rows}) > 1
    figure = go.Figure(layout=layout(theme, escape(title), barmode="stack", height=460))
    for part in LAYER_PARTS:
        counts = [getattr(row, part) for row in rows]
        if any(counts):
            figure.add_bar(
                x=list(range(len(rows))),
                y=counts,
                name=words(part),
                marker={"color": theme.colours[part], "line": {"color": theme.edge, "width": 1}},
                hovertemplate=f"{words(part)}: %{{y:,}}<extra>layer %{{customdata}}</extra>",
                customdata=[row.layer for row in rows],
            )
    ticks = [_layer_tick(row.component if both else "", row.layer, row.applications) for row in rows]
    step = max(1, -(-len(rows) // 32))
    spare = max(0, MIN_SLOTS - len(rows)) / 2
    span = [-0.5 - spare, len(rows) - 0.5 + spare]
    figure.update_xaxes(
        title="layer", tickvals=list(range(0, len(rows), step)), ticktext=ticks[::step], showgrid=False, range=span
    )
    figure.update_yaxes(title="parameters", tickformat="~s")
    return figure.update_layout(legend={"traceorder": "normal"}, bargap=0.25, margin={"t": 88})


def model_bars(ledgers: Sequence[Ledger], title: str, theme: Theme) -> go.Figure:
    """Several models side by side: horizontal bars, stacked by component."""
    figure = go.Figure(layout=layout(theme, escape(title), barmode="stack", height=150 + 46 * len(ledgers)))
    names = [escape(ledger.model) for ledger in ledgers]
    for component in ("embeddings", "encoder", "decoder", "pooler", "task head"):
        counts = [sum(part.total for part in ledger.components if part.name == component) for ledger in ledgers]
        if any(counts):
            figure.add_bar(
                y=list(range(len(ledgers))),
                x=counts,
                name=component,
                orientation="h",
                marker={"color": _bar_colour(component, theme), "line": {"color": theme.edge, "width": 1}},
                hovertemplate=f"{component}: %{{x:,}}<extra>%{{customdata}}</extra>",
                customdata=names,
            )
    for index, ledger in enumerate(ledgers):
        figure.add_annotation(
            x=ledger.total,
            y=index,
            text=f" {ledger.total:,}",
            showarrow=False,
            xanchor="left",
            font={"size": TEXT_SIZE},
        )
    most = max((ledger.total for ledger in ledgers), default=1)
    figure.update_xaxes(title="parameters", tickformat="~s", range=[0, most * 1.32])
    figure.update_yaxes(tickvals=list(range(len(ledgers))), ticktext=names, autorange="reversed", showgrid=False)
    return figure.update_layout(legend={"traceorder": "normal"}, bargap=0.35, margin={"t": 84})


def component_bar(ledger: Ledger, theme: Theme) -> go.Figure:
    """One model as one bar; an arc joins the two ends of every tie, whose parameters are counted once."""
    figure = model_bars([ledger], f"Components of {ledger.model}: {ledger.total:,} parameters", theme)
    middles, position = {}, 0
    for part in ledger.components:
        middles[part.name] = position + part.total / 2
        position += part.total
    by_name = {row.name: row for row in ledger.parameters}
    ties = [row for row in ledger.parameters if row.tied_to is not None]
    for index, row in enumerate(sorted(ties, key=lambda each: -each.numel)[:MAX_ARCS]):
        owner = by_name[row.tied_to or ""]
        if row.component != owner.component:
            _arc(figure, middles.get(owner.component, 0), middles.get(row.component, position), index, theme)
        text = f"tied: {row.name} = {owner.name}, {row.numel:,} counted once"
        figure.add_annotation(
            x=0, y=0.95 + 0.3 * index, text=escape(text), showarrow=False, xanchor="left", font={"size": TEXT_SIZE}
        )
    if ties:
        figure.update_yaxes(range=[1.1 + 0.3 * min(len(ties), MAX_ARCS), -0.5], autorange=False)
        figure.update_layout(height=280 + 30 * min(len(ties), MAX_ARCS))
    return figure


def _arc(figure: go.Figure, start: float, end: float, index: int, theme: Theme) -> None:
    low = 0.62 + 0.12 * index
    path = f"M {start},0.33 Q {(start + end) / 2},{2 * low - 0.33} {end},0.33"
    figure.add_shape(type="path", path=path, line={"color": theme.text, "width": 2, "dash": "dot"})


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


def _bar_colour(component: str, theme: Theme) -> str:
    """The encoder is neutral ground for its parts in the tree; beside other components it needs a colour."""
    return theme.colours["feed_forward"] if component == "encoder" else theme.colours[component]


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "0.0%"


def _layer_tick(component: str, layer: int, applications: int) -> str:
    runs = f"<br>runs {applications} times" if applications > 1 else ""
    return f"{component} {layer}".strip() + runs


FORMS: tuple[TreeForm, ...] = ("sunburst", "treemap", "icicle")
SOURCES = {
    "header": "counted from the header of its checkpoint file",
    "config": "counted from its config, without its weights",
    "module": "counted from the module in memory",
}


def ledger_source(ledger: Ledger) -> str:
    """Where the numbers come from, in words."""
    return f"{ledger.architecture}, {SOURCES[ledger.source]}"


@figure("parameters", "parameters_tree", "the tree of modules by parameters (--form, --depth, --task)")
def tree_figure(ledger: Ledger, nodes: Sequence[TreeNode], form: TreeForm) -> FigureSpec:
    """The module tree of a model."""
    title = f"Parameters of {ledger.model}: {ledger.total:,}"
    alt = f"{form} of the modules of {ledger.model} by parameters"
    tensors = f"{ledger.total:,} parameters in {ledger.tensors:,} tensors"
    caption = f"Parameters of {ledger.model}: {tensors}, {ledger_source(ledger)}."
    return FigureSpec(title, alt, partial(parameter_tree_figure, nodes, title, form), caption)


@figure("layers", "parameters_layers", "parameters of each layer by part (--task)")
def layers_figure(layered_ledger: Ledger) -> FigureSpec:
    """The layers of a model as stacked bars."""
    title = f"Parameters of each layer - {layered_ledger.model}"
    alt = f"Stacked bars of the parameters of each layer of {layered_ledger.model}"
    return FigureSpec(title, alt, partial(layer_bars, layered_ledger, title))


@figure("components", "parameters_components", "the model as one bar of components (--task)")
def components_figure(ledger: Ledger) -> FigureSpec:
    """A model as one bar, cut into its components."""
    title = f"Components of {ledger.model}: {ledger.total:,} parameters"
    alt = f"One bar of {ledger.model}, cut into its components"
    return FigureSpec(title, alt, partial(component_bar, ledger))


@figure("models", "parameters_compare", "several models side by side, named behind the first")
def models_figure(ledgers: Sequence[Ledger]) -> FigureSpec:
    """Several models side by side."""
    title = "Parameters by component"
    return FigureSpec(title, "Bars of several models by component", partial(model_bars, ledgers, title))
