"""Maps of layers: the effect of each head, block and layer on a target, and what a patch brings back of it."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from bertviz_core.causes.results import EffectKind, PartEffects, Patches
from bertviz_core.figures.base.axes import even_axes, token_axis, token_labels
from bertviz_core.figures.base.cells import cell_numbers
from bertviz_core.figures.base.colour_bars import colour_bar, round_limit
from bertviz_core.figures.base.spec import FigureSpec
from bertviz_core.figures.base.style import Theme, diverging, escape, layout
from bertviz_core.text import decimals

KIND_WORDS: dict[EffectKind, str] = {"zero": "taken away", "mean": "at its mean", "gradient": "estimated by gradients"}
"""What was done to a part, in a title."""
ROW, AROUND, BESIDE = 34, 150, 190
"""Pixels of a layer's row, of what is above and below a map, and of colour bar and layer names beside it."""
LEAST, MOST = 260, 640
"""Pixels of a map's height."""


def effects_figure(effects: PartEffects, limit: float | None = None) -> FigureSpec:
    """The effect of every head, feed-forward block and layer.

    Args:
        effects: of one kind.
        limit: end of the scale, so that several kinds share one; None for the largest effect of these.
    """
    title = f"Change of the {effects.title} with each part {KIND_WORDS[effects.kind]} — {effects.model}"
    layer, head, largest = effects.ranked()[0]
    alt = f"{title}: clean {decimals(effects.clean)} {effects.unit}; largest for layer {layer}, head {head}: "
    return FigureSpec(
        title,
        f"{alt}{decimals(largest)}",
        partial(effects_map, effects, effects_limit([effects]) if limit is None else limit, title),
        f"{title}. Clean: {decimals(effects.clean)} {effects.unit}.",
    )


def effects_limit(effects: Sequence[PartEffects]) -> float:
    """End of a scale on which all effects of some kinds can be read, a round number."""
    return round_limit(max(float(np.nanmax(np.abs(effect_columns(each)[0]))) for each in effects))


def effect_columns(effects: PartEffects) -> tuple[Float[np.ndarray, "layers columns"], list[str]]:
    """The effects as one matrix and the names of its columns: heads, feed-forward block, whole layer."""
    columns, names = [effects.heads], [str(head) for head in range(effects.heads.shape[1])]
    for values, name in ((effects.feed_forward, "feed-forward"), (effects.layers, "layer")):
        if values is not None:
            columns.append(values[:, None])
            names.append(name)
    return np.concatenate(columns, axis=1), names


def effects_map(effects: PartEffects, limit: float, title: str, theme: Theme) -> go.Figure:
    """Layers from the first one at the top, heads side by side, then the feed-forward block and the whole layer.

    Args:
        effects: of one kind.
        limit: end of the scale in both directions.
        title: stands alone on a slide.
        theme: colours and typeface.
    """
    values, names = effect_columns(effects)
    figure = _signed_map(values, limit, effects.unit, title, theme)
    figure.update_traces(
        selector={"type": "heatmap"},
        customdata=[[f"head {name}" if name.isdigit() else name for name in names]] * len(values),
        hovertemplate="layer %{y}, %{customdata}: %{z:.4f}<extra></extra>",
    )
    figure.update_xaxes(title="head", tickvals=list(range(len(names))), ticktext=names, showgrid=False)
    figure.add_vline(x=effects.heads.shape[1] - 0.5, line={"color": theme.muted, "width": 1})
    return even_axes(figure, theme)


def patched_states_figure(patches: Patches) -> FigureSpec:
    """What each hidden state of the clean text brings back, layer by position.

    Raises:
        ValueError: the family has no module of a whole layer.
    """
    if patches.states is None:
        raise ValueError("no states were patched")
    title = f"Share of the {patches.title} that a copied state brings back — {patches.model}"
    layer, place = np.unravel_index(np.abs(patches.states).argmax(), patches.states.shape)
    alt = f"{title}: the largest share, {decimals(float(patches.states[layer, place]), 2)}, in layer {layer} at {place}"
    return FigureSpec(title, alt, partial(patched_states_map, patches, title), _patched_caption(title, patches))


def patched_states_map(patches: Patches, title: str, theme: Theme) -> go.Figure:
    """Layers by positions; 0 changes nothing, 1 gives the clean text's number.

    Args:
        patches: with states.
        title: stands alone on a slide.
        theme: colours and typeface.
    """
    values = np.zeros((1, 1), dtype=np.float32) if patches.states is None else patches.states
    figure = _signed_map(values, round_limit(float(np.abs(values).max())), "share", title, theme)
    figure.update_traces(
        selector={"type": "heatmap"}, hovertemplate="layer %{y}, position %{x}: %{z:.3f}<extra></extra>"
    )
    figure = even_axes(figure, theme)
    figure.update_xaxes(token_axis(token_labels(patches.tokens), theme.pixels - BESIDE), tickangle=-90)
    return figure


def patched_heads_figure(patches: Patches) -> FigureSpec:
    """What each head's output of the clean text brings back, layer by head."""
    title = f"Share of the {patches.title} that a copied head brings back — {patches.model}"
    layer, head = np.unravel_index(np.nanargmax(np.abs(patches.heads)), patches.heads.shape)
    alt = f"{title}: the largest share, {decimals(float(patches.heads[layer, head]), 2)}, layer {layer}, head {head}"
    return FigureSpec(title, alt, partial(patched_heads_map, patches, title), _patched_caption(title, patches))


def patched_heads_map(patches: Patches, title: str, theme: Theme) -> go.Figure:
    """Layers by heads, all positions of a head copied; 0 changes nothing, 1 gives the clean text's number.

    Args:
        patches: of two texts.
        title: stands alone on a slide.
        theme: colours and typeface.
    """
    limit = round_limit(float(np.nanmax(np.abs(patches.heads))))
    figure = _signed_map(patches.heads, limit, "share", title, theme)
    figure.update_traces(selector={"type": "heatmap"}, hovertemplate="layer %{y}, head %{x}: %{z:.3f}<extra></extra>")
    figure.update_xaxes(title="head", tickvals=list(range(patches.heads.shape[1])), showgrid=False)
    return even_axes(figure, theme)


def _patched_caption(title: str, patches: Patches) -> str:
    return (
        f"{title}. Clean {decimals(patches.clean)}, other text {decimals(patches.corrupt)} {patches.unit}; a share is "
        "(patched − other) / (clean − other)."
    )


def _signed_map(
    values: Float[np.ndarray, "layers columns"], limit: float, unit: str, title: str, theme: Theme
) -> go.Figure:
    """A map of layers with a scale around 0, and its numbers in the cells where they have room."""
    layers, columns = values.shape
    height = min(MOST, max(LEAST, AROUND + ROW * layers))
    scale, figure = diverging(theme), go.Figure(layout=layout(theme, escape(title), height=height))
    figure.add_heatmap(
        x=list(range(columns)),
        y=list(range(layers)),
        z=values,
        zmin=-limit,
        zmax=limit,
        colorscale=scale,
        colorbar=colour_bar(unit, -limit, limit),
        xgap=1,
        ygap=1,
    )
    cell_numbers(figure, values, ".3f", scale, (-limit, limit), (theme.pixels - BESIDE, height - AROUND))
    step = max(1, -(-layers * 16 // (height - AROUND)))
    figure.update_yaxes(
        title="layer", range=[layers - 0.5, -0.5], tickvals=list(range(0, layers, step)), showgrid=False
    )
    return figure
