"""Effects of heads: maps, spread, curves, two models."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from bertviz_core.attribution.results import AttributionComparison
from bertviz_core.figures.base.axes import even_axes, shortened_label, token_axis, token_labels
from bertviz_core.figures.base.cells import add_cells
from bertviz_core.figures.base.export import SELECTION
from bertviz_core.figures.base.marks import add_band, add_line
from bertviz_core.figures.base.panels import PairSizes, Panel, head_panels, pair_grid
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import (
    TEXT_SIZE,
    Theme,
    diverging,
    escape,
    faint,
    layout,
    round_limit,
    sequential,
    supporting,
)
from bertviz_core.figures.interventions.words import METHOD_WORDS, signed_bars
from bertviz_core.figures.predictions.classes import ABSENT, MOST, signed_difference, two_model_bars
from bertviz_core.interventions.results import (
    AblationCurve,
    AblationEffects,
    ActivationPatching,
    EffectComparison,
    EffectKind,
    EffectSpread,
    JointAblation,
    TwoModelEffects,
)
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.text import counted, decimals, escape_controls

KIND_WORDS: dict[EffectKind, str] = {"zero": "taken away", "mean": "at its mean", "gradient": "estimated by gradients"}
"""Description of the ablation in a title."""
SUPPORTS = "Orange supports the number: without it, it falls."
SIGNS = (
    "Orange, below 0: without it the number is lower, so it supports the number; blue, above 0: it works against it."
)
ROW, AROUND, BESIDE = 34, 150, 190
"""Pixels: height of a layer's row, margins above and below a map, width for colour bar and layer names."""
LEAST, EFFECT_MAPS_MOST = 260, 640
"""Minimum and maximum height of a map in pixels."""


def head_name(layer: int, head: int) -> str:
    """The name of a head in texts, lists and addresses."""
    return f"layer {layer}, head {head}"


def _effects_frame(effect_comparison: EffectComparison) -> "pd.DataFrame":
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


def _patched_frame(values: Float[np.ndarray, "layers columns"] | None, names: Sequence[str]) -> "pd.DataFrame":
    frame = pd.DataFrame(values, columns=list(names), dtype=float)
    frame.insert(0, "layer", np.arange(len(frame)))
    return frame


def _states_frame(patches: ActivationPatching) -> "pd.DataFrame":
    pairs = enumerate(zip(patches.tokens.tokens, patches.corrupt_tokens.tokens, strict=True))
    names = [f"{place} {one}" if one == other else f"{place} {one} / {other}" for place, (one, other) in pairs]
    return _patched_frame(patches.states, names)


def _heads_frame(patches: ActivationPatching) -> "pd.DataFrame":
    return _patched_frame(patches.heads, [f"head {head}" for head in range(patches.heads.shape[1])])


@figure("effects", "causes_effects", reported=True, table=_effects_frame)
def effects_figure(effect_comparison: EffectComparison, place: tuple[int, int] | None) -> FigureSpec:
    """Change of a target with each head, feed-forward block and layer taken away, at its mean, and estimated."""
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
        f"block; all: the whole layer. {SIGNS} Clean: {decimals(first.clean)} {first.unit}{beyond}.",
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
    figure, offsets = map_blocks(blocks, names, effects_limit(comparison), "change", title, theme)
    line = {"color": theme.text, "width": 2}
    for (down, across), each in zip(offsets, comparison.effects, strict=True):
        x, y = across + place[1], down + place[0]
        if not np.isnan(each.heads[place]):
            figure.add_shape(type="rect", x0=x - 0.5, x1=x + 0.5, y0=y - 0.5, y1=y + 0.5, line=line, name=SELECTION)
    columns = "head, then the feed-forward block (FF) and the whole layer (all)"
    return figure.update_xaxes(title=f"{columns}. {SUPPORTS}")


def map_blocks(
    blocks: Sequence[tuple[str, Float[np.ndarray, "_ _"], Sequence[str]]],
    names: Sequence[str],
    limit: float,
    unit: str,
    title: str,
    theme: Theme,
) -> tuple[go.Figure, list[tuple[int, int]]]:
    """Draw maps of layers on one scale around 0, side by side or stacked on a narrow page.

    A block has a heading in HTML, its numbers, and the text of each column under the pointer. Returns the figure, and
    the row and column at which each map begins.
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
    figure = _signed_map(cells, limit, unit, title, theme, supporting(theme), offsets[-1][0])
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


@figure("patched-states", "causes_states", table=_states_frame)
def patched_states_figure(patches: ActivationPatching) -> FigureSpec:
    """What each hidden state of the text brings back of a target, copied into the run of a second text."""
    if patches.states is None:
        raise ValueError("no states were patched")
    title = f"Share of the {patches.title} that a copied state brings back — {patches.model}"
    layer, place = np.unravel_index(np.abs(patches.states).argmax(), patches.states.shape)
    alt = f"{title}: the largest share, {decimals(float(patches.states[layer, place]), 2)}, in layer {layer} at {place}"
    caption = f"{_patched_caption(title, patches)} Copied is the state that goes into a layer."
    return FigureSpec.of(title, alt, caption, patched_states_map, patches)


def patched_states_map(patches: ActivationPatching, title: str, theme: Theme) -> go.Figure:
    """Draw layers by positions; 0 changes nothing, 1 restores the clean target."""
    values = np.zeros((1, 1), dtype=np.float32) if patches.states is None else patches.states
    figure = _signed_map(values, round_limit(float(np.abs(values).max())), "share", title, theme, diverging(theme))
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


@figure("patched-heads", "causes_heads", table=_heads_frame)
def patched_heads_figure(patches: ActivationPatching) -> FigureSpec:
    """What each head of the text brings back of a target, copied into the run of a second text."""
    title = f"Share of the {patches.title} that a copied head brings back — {patches.model}"
    layer, head = np.unravel_index(np.nanargmax(np.abs(patches.heads)), patches.heads.shape)
    alt = f"{title}: the largest share, {decimals(float(patches.heads[layer, head]), 2)}, layer {layer}, head {head}"
    return FigureSpec.of(title, alt, _patched_caption(title, patches), patched_heads_map, patches)


def patched_heads_map(patches: ActivationPatching, title: str, theme: Theme) -> go.Figure:
    """Draw layers by heads, patched at all positions; 0 changes nothing, 1 restores the clean target."""
    limit = round_limit(float(np.nanmax(np.abs(patches.heads))))
    figure = _signed_map(patches.heads, limit, "share", title, theme, diverging(theme))
    figure.update_traces(selector={"type": "heatmap"}, hovertemplate="layer %{y}, head %{x}: %{z:.3f}<extra></extra>")
    figure.update_xaxes(title="head", tickvals=list(range(patches.heads.shape[1])), showgrid=False)
    return even_axes(figure, theme)


def _patched_caption(title: str, patches: ActivationPatching) -> str:
    return (
        f"{title}. Clean {decimals(patches.clean)}, other text {decimals(patches.corrupt)} {patches.unit}; a share is "
        "(patched − other) / (clean − other)."
    )


def _signed_map(
    values: Float[np.ndarray, "layers columns"],
    limit: float,
    unit: str,
    title: str,
    theme: Theme,
    colours: list[list[float | str]],
    more: int = 0,
) -> go.Figure:
    """Draw a map of layers with a scale around 0, and numbers in the cells if they fit."""
    layers = len(values)
    height = min(EFFECT_MAPS_MOST + ROW * more, max(LEAST, AROUND + ROW * layers))
    figure = go.Figure(layout=layout(theme, escape(title), height=height))
    room = (theme.pixels - BESIDE, height - AROUND)
    add_cells(figure, values, ".3f", colours, (-limit, limit), room, unit)
    step = max(1, -(-layers * 16 // (height - AROUND)))
    figure.update_yaxes(
        title="layer", range=[layers - 0.5, -0.5], tickvals=list(range(0, layers, step)), showgrid=False
    )
    return figure


HEIGHT = 400
COLOURS = {"greedy": "attention", "gradient": "task head", "random": "layer_norm"}
"""Order -> part with its colour in the theme."""


def curves_frame(ablation_curves: Sequence[AblationCurve]) -> "pd.DataFrame":
    """The number after each step; mean, least and greatest value of the random orders."""
    columns: dict[str, object] = {"heads removed": np.arange(ablation_curves[0].values.shape[1])}
    for curve in ablation_curves:
        if curve.order == "random":
            for name, each in (("mean", np.mean), ("least", np.min), ("greatest", np.max)):
                columns[f"random, {name}"] = each(curve.values, axis=0).astype(float)
            continue
        columns[curve.order] = curve.values[0].astype(float)
        columns[f"head of {curve.order}"] = ["", *(head_name(*place) for place in curve.places[0].tolist())]
    return pd.DataFrame(columns)


@figure("removal", "causes_removal", table=curves_frame)
def removal_figure(ablation_curves: Sequence[AblationCurve]) -> FigureSpec:
    """A target as heads are removed one after the other: greedy, by the gradient estimate, and at random."""
    name = ablation_curves[0].title
    return _curves(ablation_curves, f"{name[:1].upper()}{name[1:]}", 4)


def _curves(curves: Sequence[AblationCurve], what: str, places: int) -> FigureSpec:
    title = f"{what} as heads are removed"
    ends = "; ".join(
        f"{curve.order}: from {decimals(float(curve.values[:, 0].mean()), places)} to "
        f"{decimals(float(curve.values[:, -1].mean()), places)}"
        for curve in curves
    )
    return FigureSpec.of(title, f"{title}: {ends}", f"{title}.", removal_lines, tuple(curves))


def removal_lines(curves: Sequence[AblationCurve], title: str, theme: Theme) -> go.Figure:
    """Draw one line per order; for several random ones their mean, and a band from minimum to maximum."""
    figure = go.Figure(layout=layout(theme, escape(title), height=HEIGHT))
    for curve in curves:
        steps, colour = list(range(curve.values.shape[1])), theme.colours[COLOURS[curve.order]]
        mean, several = curve.values.mean(axis=0), f", mean of {len(curve.values)} orders"
        name = f"{curve.order}{several if len(curve.values) > 1 else ''}"
        if len(curve.values) > 1:
            add_band(figure, steps, curve.values, faint(colour, 0.25))
        add_line(figure, steps, mean, f"{name}, %{{x}} removed: %{{y:.4f}}", colour, name=name)
    figure.update_xaxes(title="heads removed", rangemode="tozero", dtick=1)
    return even_axes(figure.update_yaxes(title=curves[0].unit), theme)


def _joint_frame(joint_ablation: JointAblation) -> "pd.DataFrame":
    """The effect of each head alone, their sum, and the effect of all together."""
    names = [head_name(layer, head) for layer, head in joint_ablation.places.tolist()]
    effects = [*joint_ablation.single.astype(float).tolist(), joint_ablation.total, joint_ablation.joint]
    return pd.DataFrame({"removed": [*names, "sum of these", "all together"], "effect": effects})


@figure("joint-ablation", "causes_joint_ablation", table=_joint_frame)
def joint_ablation_figure(joint_ablation: JointAblation) -> FigureSpec:
    """Heads of one's choice, removed alone and all together (TEXT --set removed_heads=LAYER.HEAD,LAYER.HEAD)."""
    removal, frame = joint_ablation, _joint_frame(joint_ablation)
    title = f"Change of the {removal.title}: heads {KIND_WORDS[removal.kind]} alone and together"
    pairs = zip(frame["removed"].tolist(), frame["effect"].tolist(), strict=True)
    phrases = ", ".join(f"{name} {decimals(effect)}" for name, effect in pairs)
    names, effects = frame["removed"].tolist(), frame["effect"].tolist()
    draw = partial(signed_bars, names, effects, f"change, {removal.unit}", title, orange_above=False)
    return FigureSpec(title, f"{title}: {phrases}", draw, f"{title}. {SIGNS}")


def drawn_parts(comparison: AttributionComparison) -> list[int]:
    """Indices of the drawn parts of the text, in its order: the MOST with the largest differences."""
    return sorted(comparison.ranked()[:MOST])


def compared_shares(comparison: AttributionComparison, title: str, theme: Theme) -> go.Figure:
    """Draw two bars per part of the text, one for each model, with the difference beside the second."""
    rows = drawn_parts(comparison)
    beside = [[_beside(comparison, row, side) for row in rows] for side in (0, 1)]
    if theme.narrow:  # to the left of a bar there is no room for the difference beside the words
        lower = comparison.second_shares[rows] < 0
        beside[1] = [each.partition(" ")[0] if low else each for each, low in zip(beside[1], lower, strict=True)]
    figure = two_model_bars(
        (comparison.first.model, comparison.second.model),
        [comparison.parts[row] for row in rows],
        (comparison.first_shares[rows], comparison.second_shares[rows]),
        (beside[0], beside[1]),
        title,
        theme,
    )
    return figure.update_xaxes(title={"text": f"share of the target, {comparison.first.unit}"})


def _shares_frame(attribution_comparison: AttributionComparison) -> "pd.DataFrame":
    """One row per part of the text, in its order: its share in both models and the difference."""
    compared = attribution_comparison
    numbers = {"first": compared.first_shares, "second": compared.second_shares, "difference": compared.difference}
    return pd.DataFrame({"word": compared.parts, **{name: values.astype(float) for name, values in numbers.items()}})


@figure("words-compared", "words_compared", table=_shares_frame)
def words_compared_figure(attribution_comparison: AttributionComparison) -> FigureSpec:
    """What each word adds to the same target in two models (TEXT --pair TEXT, --set other=, target=, method=)."""
    compared, rows = attribution_comparison, drawn_parts(attribution_comparison)
    first, second = compared.first, compared.second
    models = first.model if compared.same_model else f"{first.model} and {second.model}"
    left = len(compared.parts) - len(rows)
    part = f", the {MOST} of {len(compared.parts):,} with the largest differences" if left else ""
    title = f"What each word adds to the {first.title}{part}, {METHOD_WORDS[first.method]} — {models}"
    listed = "; ".join(
        f"{escape_controls(compared.parts[row])} {_beside(compared, row, 0)}, {_beside(compared, row, 1)}"
        for row in rows
    )
    cleans = f"clean {decimals(first.clean)} and {decimals(second.clean)} {first.unit}"
    caption = f"{title}. Grey: the first model; in brackets: second − first; {cleans}."
    return FigureSpec.of(title, f"{title}: {listed}", caption, compared_shares, compared)


def _two_models_effects_frame(effects_of_two: TwoModelEffects) -> "pd.DataFrame":
    """One row per head: its effect in both models and the difference, the largest difference first.

    Where the models differ in layers or heads, a head that only one of them has is empty in the other, no head has a
    difference, and the rows are in the order of layers and heads.
    """
    first, second, change = effects_of_two.first.heads, effects_of_two.second.heads, effects_of_two.difference
    layers, heads = (max(first.shape[axis], second.shape[axis]) for axis in (0, 1))
    places = [(layer, head) for layer in range(layers) for head in range(heads)]
    numbers = {"first": first, "second": second, "difference": change}
    columns = {name: [_at(values, place) for place in places] for name, values in numbers.items()}
    frame = pd.DataFrame({"layer": [each[0] for each in places], "head": [each[1] for each in places], **columns})
    frame = frame.dropna(subset=["first", "second"], how="all")
    if change is not None:
        frame = frame.loc[frame["difference"].abs().sort_values(ascending=False, kind="stable").index]
    return frame.reset_index(drop=True)


def _at(values: np.ndarray | None, place: tuple[int, int]) -> float:
    inside = values is not None and place[0] < values.shape[0] and place[1] < values.shape[1]
    return float(values[place]) if values is not None and inside else float("nan")


@figure("effects-compared", "causes_compared", table=_two_models_effects_frame)
def effects_compared_figure(effects_of_two: TwoModelEffects) -> FigureSpec:
    """Change of the same target with each head taken away in two models (TEXT --pair TEXT, --set other=, target=)."""
    compared, change = effects_of_two, effects_of_two.difference
    first, second = compared.first, compared.second
    models = first.model if compared.same_model else f"{first.model} and {second.model}"
    title = f"Change of the {first.title} without each head — {models}"
    alt, third = f"{title}: two maps on one scale", ""
    if change is not None:
        layer, head = np.unravel_index(int(np.nanargmax(np.abs(change))), change.shape)
        most = signed_difference(float(change[layer, head]))
        alt = f"{title}: largest difference for layer {layer}, head {head}: {most}"
        third = "; third map: second − first"
    cleans = f"clean {decimals(first.clean)} and {decimals(second.clean)} {first.unit}"
    return FigureSpec.of(title, alt, f"{title}{third}; {cleans}.", compared_effects_map, compared)


def compared_effects_map(compared: TwoModelEffects, title: str, theme: Theme) -> go.Figure:
    """Draw the heads of both models and their difference, on one scale that ends at the largest number."""
    maps = [(f"first: {compared.first.model}", compared.first.heads)]
    maps.append((f"second: {compared.second.model}", compared.second.heads))
    if compared.difference is not None:
        maps.append(("second − first", compared.difference))
    width = (theme.pixels - BESIDE) / (1 if theme.slim else len(maps))
    heads = max(values.shape[1] for _, values in maps)
    blocks = [
        (
            shortened_label(escape(name), width, TEXT_SIZE),
            values,
            [f"head {head}, {escape(name)}" for head in range(heads)][: values.shape[1]],
        )
        for name, values in maps
    ]
    limit = round_limit(max(float(np.nanmax(np.abs(values), initial=0)) for _, values in maps))
    names = [str(head) for head in range(heads)]
    figure, _ = map_blocks(blocks, names, limit, compared.first.unit, title, theme)
    return figure.update_xaxes(title="head")


def _beside(compared: AttributionComparison, row: int, side: int) -> str:
    """Text beside a bar: the share, and for the second model the difference."""
    value, change = float((compared.first_shares, compared.second_shares)[side][row]), float(compared.difference[row])
    number = ABSENT if np.isnan(value) else decimals(value, 3)
    return number if side == 0 or np.isnan(change) else f"{number} ({signed_difference(change)})"


SIZES = PairSizes(least=150, edges=120, between=0.15)


def _spread_frame(effect_spread: EffectSpread) -> "pd.DataFrame":
    """Mean and standard deviation of every head's effect, the largest mean first."""
    places = np.argwhere(~np.isnan(effect_spread.mean))
    at = tuple(places.T)
    numbers = {"mean effect": effect_spread.mean[at], "standard deviation": effect_spread.spread[at]}
    columns = {name: values.astype(float) for name, values in numbers.items()}
    frame = pd.DataFrame({"layer": places[:, 0], "head": places[:, 1], **columns})
    return frame.loc[frame["mean effect"].abs().sort_values(ascending=False, kind="stable").index]


def _accuracy_frame(accuracy_curves: Sequence[AblationCurve]) -> "pd.DataFrame":
    return curves_frame(accuracy_curves)


@figure("effect-spread", "causes_spread", table=_spread_frame)
def effect_spread_figure(effect_spread: EffectSpread) -> FigureSpec:
    """Mean and standard deviation of each head's effect over texts (by default some of the example set)."""
    kind, texts = KIND_WORDS[effect_spread.kind], counted(effect_spread.texts, "sentence")
    title = f"Change of the {effect_spread.title} with one head {kind}, over {texts} — {effect_spread.model}"
    layer, head = np.unravel_index(np.nanargmax(np.abs(effect_spread.mean)), effect_spread.mean.shape)
    mean, spread = float(effect_spread.mean[layer, head]), float(effect_spread.spread[layer, head])
    alt = (
        f"{title}: largest mean {decimals(mean)} {effect_spread.unit} for layer {layer}, head {head}, standard "
        f"deviation {decimals(spread)}"
    )
    return FigureSpec.of(title, alt, f"{title}. Left: mean; right: spread.", spread_maps, effect_spread)


def spread_maps(spread: EffectSpread, title: str, theme: Theme) -> go.Figure:
    """Draw the mean on a scale around 0 and the standard deviation from 0, stacked on a phone."""
    high, wide = (round_limit(float(np.nanmax(np.abs(each), initial=0))) for each in (spread.mean, spread.spread))
    panels = [
        Panel(f"<b>{name}</b>", name, cells, scale, ends, spread.unit, ".3f")
        for name, cells, scale, ends in (
            ("mean", spread.mean, supporting(theme), (-high, high)),
            ("standard deviation", spread.spread, sequential(theme), (0.0, wide)),
        )
    ]
    return head_panels(panels, pair_grid(len(spread.mean), SIZES, theme), title, theme)


@figure(
    "accuracy",
    "causes_accuracy",
    "the share of right answers to labelled texts as heads are removed (TEXT, tab, label; by default the example set)",
    table=_accuracy_frame,
)
def accuracy_figure(accuracy_curves: Sequence[AblationCurve]) -> FigureSpec:
    """Plot the accuracy as heads are ablated in several orders; random orders as a band."""
    return _curves(accuracy_curves, f"Share of {accuracy_curves[0].title}", 2)
