"""Draw two models' answers for one target: shares of words, effects of heads, each on one scale."""

from functools import partial

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from bertviz_core.attribution.results import AttributionComparison
from bertviz_core.figures.base.colour_bars import round_limit
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import TEXT_SIZE, Theme, escape
from bertviz_core.figures.base.text_width import shortened_label
from bertviz_core.figures.interventions.effect_maps import BESIDE, map_blocks
from bertviz_core.figures.interventions.words import METHOD_WORDS
from bertviz_core.figures.predictions.classes import MOST
from bertviz_core.figures.predictions.two_models import ABSENT, signed_difference, two_model_bars
from bertviz_core.interventions.results import TwoModelEffects
from bertviz_core.text import decimals, escape_controls


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


def _shares_frame(attribution_comparison: AttributionComparison) -> pd.DataFrame:
    """One row per part of the text, in its order: its share in both models and the difference."""
    compared = attribution_comparison
    numbers = {"first": compared.first_shares, "second": compared.second_shares, "difference": compared.difference}
    return pd.DataFrame({"word": compared.parts, **{name: values.astype(float) for name, values in numbers.items()}})


@figure(
    "words-compared",
    "words_compared",
    "what each word adds to the same target in two models (TEXT --pair TEXT, --set other=, target=, method=)",
    table=_shares_frame,
)
def words_compared_figure(attribution_comparison: AttributionComparison) -> FigureSpec:
    """Plot the share of each word in two models, in the order of the text, with the differences."""
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
    return FigureSpec(title, f"{title}: {listed}", partial(compared_shares, compared, title), caption)


def _effects_frame(effects_of_two: TwoModelEffects) -> pd.DataFrame:
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


@figure(
    "effects-compared",
    "causes_compared",
    "change of the same target with each head taken away in two models (TEXT --pair TEXT, --set other=, target=)",
    table=_effects_frame,
)
def effects_compared_figure(effects_of_two: TwoModelEffects) -> FigureSpec:
    """Plot the effect of every head in two models and the difference, all on one scale."""
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
    return FigureSpec(title, alt, partial(compared_effects_map, compared, title), f"{title}{third}; {cleans}.")


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
