"""Draw ablation effects and patching results of heads, blocks and layers as maps."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from jaxtyping import Float

from bertviz_core.figures.base.axes import even_axes, token_axis, token_labels
from bertviz_core.figures.base.cells import add_cells
from bertviz_core.figures.base.colour_bars import round_limit
from bertviz_core.figures.base.export import SELECTION
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import Theme, diverging, escape, layout
from bertviz_core.interventions.results import AblationEffects, ActivationPatching, EffectComparison, EffectKind
from bertviz_core.text import decimals

KIND_WORDS: dict[EffectKind, str] = {"zero": "taken away", "mean": "at its mean", "gradient": "estimated by gradients"}
"""Description of the ablation in a title."""
ROW, AROUND, BESIDE = 34, 150, 190
"""Pixels: height of a layer's row, margins above and below a map, width for colour bar and layer names."""
LEAST, MOST = 260, 640
"""Minimum and maximum height of a map in pixels."""


def head_name(layer: int, head: int) -> str:
    """The name of a head in texts, lists and addresses."""
    return f"layer {layer}, head {head}"


def _effects_frame(effect_comparison: EffectComparison) -> pd.DataFrame:
    """Every part with its effects, the largest first."""
    columns = [effect_columns(each)[0] for each in effect_comparison.effects]
    parts = {"FF": "feed-forward block", "all": "whole layer"}
    rows = [
        (layer, parts.get(part, f"head {part}"), *(float(each[layer, place]) for each in columns))
        for layer in range(len(columns[0]))
        for place, part in enumerate(effect_columns(effect_comparison.effects[0])[1])
    ]
    kinds = [KIND_WORDS[each.kind] for each in effect_comparison.effects]
    frame = pd.DataFrame(rows, columns=["layer", "part", *kinds]).dropna().reset_index(drop=True)
    return frame.loc[frame.iloc[:, 2].abs().sort_values(ascending=False, kind="stable").index]


def _patched_frame(values: Float[np.ndarray, "layers columns"] | None, names: Sequence[str]) -> pd.DataFrame:
    """A row for each layer."""
    frame = pd.DataFrame(values, columns=list(names), dtype=float)
    frame.insert(0, "layer", np.arange(len(frame)))
    return frame


def _states_frame(patches: ActivationPatching) -> pd.DataFrame:
    """A column for each position."""
    pairs = enumerate(zip(patches.tokens.tokens, patches.corrupt_tokens.tokens, strict=True))
    names = [f"{place} {one}" if one == other else f"{place} {one} / {other}" for place, (one, other) in pairs]
    return _patched_frame(patches.states, names)


def _heads_frame(patches: ActivationPatching) -> pd.DataFrame:
    """A column for each head."""
    return _patched_frame(patches.heads, [f"head {head}" for head in range(patches.heads.shape[1])])


@figure(
    "effects",
    "causes_effects",
    "change of a target with each head, feed-forward block and layer taken away, at its mean, and estimated",
    reported=True,
    table=_effects_frame,
)
def effects_figure(effect_comparison: EffectComparison, place: tuple[int, int] | None) -> FigureSpec:
    """Plot the effect of every head, feed-forward block and layer, all kinds on one scale.

    Args:
        effect_comparison: one result per kind.
        place: layer and head to mark; None for those of the largest effect.
    """
    first = effect_comparison.effects[0]
    layer, head, largest = first.ranked()[0]
    title = f"Change of the {first.title} with one part changed — {first.model}"
    alt = f"{title}: clean {decimals(first.clean)} {first.unit}; {KIND_WORDS[first.kind]}, largest for layer {layer}, "
    beyond = "; colours end at the largest effect of a head, darkest beyond it" if _beyond(effect_comparison) else ""
    return FigureSpec(
        title,
        f"{alt}head {head}: {decimals(largest)}",
        partial(effects_map, effect_comparison, place or (layer, head), title),
        f"{title}: {', '.join(KIND_WORDS[each.kind] for each in effect_comparison.effects)}. FF: the feed-forward "
        f"block; all: the whole layer. Clean: {decimals(first.clean)} {first.unit}{beyond}.",
    )


def effects_limit(comparison: EffectComparison) -> float:
    """Return a round upper end of the scale that suits the effects of all heads."""
    return round_limit(max(float(np.nanmax(np.abs(each.heads), initial=0)) for each in comparison.effects))


def _beyond(comparison: EffectComparison) -> bool:
    """Return whether the effect of a block or layer exceeds the scale."""
    limit = effects_limit(comparison)
    return any(bool((np.abs(effect_columns(each)[0]) > limit).any()) for each in comparison.effects)


def effect_columns(effects: AblationEffects) -> tuple[Float[np.ndarray, "layers columns"], list[str]]:
    """Return the effects as one matrix and its column names: heads, feed-forward block, whole layer."""
    columns, names = [effects.heads], [str(head) for head in range(effects.heads.shape[1])]
    for values, name in ((effects.feed_forward, "FF"), (effects.layers, "all")):
        if values is not None:
            columns.append(values[:, None])
            names.append(name)
    return np.concatenate(columns, axis=1), names


def effects_map(comparison: EffectComparison, place: tuple[int, int], title: str, theme: Theme) -> go.Figure:
    """Draw the kinds side by side, stacked on a narrow page: layers from top to bottom, heads from left to right."""
    names = effect_columns(comparison.effects[0])[1]
    words = [
        "feed-forward block" if name == "FF" else "whole layer" if name == "all" else f"head {name}" for name in names
    ]
    blocks = [
        (KIND_WORDS[each.kind], effect_columns(each)[0], [f"{word} {KIND_WORDS[each.kind]}" for word in words])
        for each in comparison.effects
    ]
    unit = comparison.effects[0].unit
    figure, offsets = map_blocks(blocks, names, effects_limit(comparison), unit, title, theme)
    line = {"color": theme.text, "width": 2}
    for (down, across), each in zip(offsets, comparison.effects, strict=True):
        x, y = across + place[1], down + place[0]
        if not np.isnan(each.heads[place]):
            figure.add_shape(type="rect", x0=x - 0.5, x1=x + 0.5, y0=y - 0.5, y1=y + 0.5, line=line, name=SELECTION)
    return figure.update_xaxes(title="head, then the feed-forward block (FF) and the whole layer (all)")


def map_blocks(
    blocks: Sequence[tuple[str, Float[np.ndarray, "_ _"], Sequence[str]]],
    names: Sequence[str],
    limit: float,
    unit: str,
    title: str,
    theme: Theme,
) -> tuple[go.Figure, list[tuple[int, int]]]:
    """Draw maps of layers on one scale around 0, side by side or stacked on a narrow page.

    Args:
        blocks: heading of each map in HTML, its numbers, and the text of each column under the pointer.
        names: labels of the columns of the widest map.
        limit: number with the last colour.
        unit: unit of the numbers.
        title: title of the figure.
        theme: theme of the figure.

    Returns:
        The figure, and the row and column at which each map begins.
    """
    sizes = [values.shape for _, values, _ in blocks]
    downs, acrosses = (np.cumsum([0, *(size[axis] + 2 - axis for size in sizes)]).tolist() for axis in (0, 1))
    offsets = [(down, 0) if theme.slim else (0, across) for down, across in zip(downs, acrosses, strict=True)][:-1]
    places = list(zip(offsets, sizes, strict=True))
    whole = tuple(max(place[axis] + size[axis] for place, size in places) for axis in (0, 1))
    cells, hovered = np.full(whole, np.nan, dtype=np.float32), np.full(whole, "", dtype=object)
    for ((down, across), (layers, columns)), (_, values, words) in zip(places, blocks, strict=True):
        cells[down : down + layers, across : across + columns] = values
        for layer in range(layers):
            hovered[down + layer, across : across + columns] = [f"layer {layer}, {word}" for word in words]
    figure = _signed_map(cells, limit, unit, title, theme, offsets[-1][0])
    for ((down, across), (_, columns)), (heading, _, _) in zip(places, blocks, strict=True):
        middle = across + (columns - 1) / 2
        figure.add_annotation(x=middle, y=down - 0.6, text=heading, showarrow=False, yanchor="bottom")
    figure.update_traces(
        selector={"type": "heatmap"},
        customdata=hovered.tolist(),
        hovertemplate="%{customdata}: %{z:.4f}<extra></extra>",
        hoverongaps=False,
    )
    named = {across + column: names[column] for (_, across), size in places for column in range(size[1])}
    figure.update_xaxes(tickvals=list(named), ticktext=list(named.values()), showgrid=False)
    step = max(1, -(-max(size[0] for size in sizes) * 16 // (ROW * max(size[0] for size in sizes))))
    layered = {down + layer: str(layer) for (down, _), size in places for layer in range(0, size[0], step)}
    figure.update_yaxes(tickvals=list(layered), ticktext=list(layered.values()), range=[len(cells) - 0.5, -1.6])
    return even_axes(figure, theme).update_yaxes(showline=False).update_xaxes(showline=False), offsets


@figure(
    "patched-states",
    "causes_states",
    "what each hidden state of the text brings back of a target, copied into the run of a second text",
    table=_states_frame,
)
def patched_states_figure(patches: ActivationPatching) -> FigureSpec:
    """Plot the effect of patching each hidden state of the clean text, layer by position.

    Raises:
        ValueError: the family has no module for a whole layer.
    """
    if patches.states is None:
        raise ValueError("no states were patched")
    title = f"Share of the {patches.title} that a copied state brings back — {patches.model}"
    layer, place = np.unravel_index(np.abs(patches.states).argmax(), patches.states.shape)
    alt = f"{title}: the largest share, {decimals(float(patches.states[layer, place]), 2)}, in layer {layer} at {place}"
    caption = f"{_patched_caption(title, patches)} Copied is the state that goes into a layer."
    return FigureSpec(title, alt, partial(patched_states_map, patches, title), caption)


def patched_states_map(patches: ActivationPatching, title: str, theme: Theme) -> go.Figure:
    """Draw layers by positions; 0 changes nothing, 1 restores the clean target."""
    values = np.zeros((1, 1), dtype=np.float32) if patches.states is None else patches.states
    figure = _signed_map(values, round_limit(float(np.abs(values).max())), "share", title, theme)
    figure.update_traces(
        selector={"type": "heatmap"}, hovertemplate="into layer %{y}, position %{x}: %{z:.3f}<extra></extra>"
    )
    figure = even_axes(figure, theme)
    room = theme.pixels - BESIDE
    first, second = token_labels(patches.tokens), token_labels(patches.corrupt_tokens)
    names = [one if one == other else f"{one} / {other}" for one, other in zip(first, second, strict=True)]
    figure.update_xaxes(token_axis(names, room), title="token of the text / of the other")
    figure.update_yaxes(title="into layer")
    return figure


@figure(
    "patched-heads",
    "causes_heads",
    "what each head of the text brings back of a target, copied into the run of a second text",
    table=_heads_frame,
)
def patched_heads_figure(patches: ActivationPatching) -> FigureSpec:
    """Plot the effect of patching each head's output of the clean text, layer by head."""
    title = f"Share of the {patches.title} that a copied head brings back — {patches.model}"
    layer, head = np.unravel_index(np.nanargmax(np.abs(patches.heads)), patches.heads.shape)
    alt = f"{title}: the largest share, {decimals(float(patches.heads[layer, head]), 2)}, layer {layer}, head {head}"
    return FigureSpec(title, alt, partial(patched_heads_map, patches, title), _patched_caption(title, patches))


def patched_heads_map(patches: ActivationPatching, title: str, theme: Theme) -> go.Figure:
    """Draw layers by heads, patched at all positions; 0 changes nothing, 1 restores the clean target."""
    limit = round_limit(float(np.nanmax(np.abs(patches.heads))))
    figure = _signed_map(patches.heads, limit, "share", title, theme)
    figure.update_traces(selector={"type": "heatmap"}, hovertemplate="layer %{y}, head %{x}: %{z:.3f}<extra></extra>")
    figure.update_xaxes(title="head", tickvals=list(range(patches.heads.shape[1])), showgrid=False)
    return even_axes(figure, theme)


def _patched_caption(title: str, patches: ActivationPatching) -> str:
    return (
        f"{title}. Clean {decimals(patches.clean)}, other text {decimals(patches.corrupt)} {patches.unit}; a share is "
        "(patched − other) / (clean − other)."
    )


def _signed_map(
    values: Float[np.ndarray, "layers columns"], limit: float, unit: str, title: str, theme: Theme, more: int = 0
) -> go.Figure:
    """Draw a map of layers with a scale around 0, and numbers in the cells if they fit."""
    layers = len(values)
    height = min(MOST + ROW * more, max(LEAST, AROUND + ROW * layers))
    figure = go.Figure(layout=layout(theme, escape(title), height=height))
    room = (theme.pixels - BESIDE, height - AROUND)
    add_cells(figure, values, ".3f", diverging(theme), (-limit, limit), room, unit)
    step = max(1, -(-layers * 16 // (height - AROUND)))
    figure.update_yaxes(
        title="layer", range=[layers - 0.5, -0.5], tickvals=list(range(0, layers, step)), showgrid=False
    )
    return figure
