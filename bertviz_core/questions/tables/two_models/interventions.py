"""Format shares of words and effects of heads in two models as data frames, and as sentences about what changed."""

import numpy as np

from bertviz_core.attribution.results import AttributionComparison
from bertviz_core.figures.predictions.two_models import signed_difference
from bertviz_core.interventions.results import TwoModelEffects
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.text import decimals, escape_controls, quoted

QUOTED = 40
"""Most characters of a word in a sentence."""


def attribution_comparison_frame(compared: AttributionComparison) -> "pd.DataFrame":
    """One row per part of the text, in its order: its share in both models and the difference."""
    numbers = {"first": compared.first_shares, "second": compared.second_shares, "difference": compared.difference}
    return pd.DataFrame({"word": compared.parts, **{name: values.astype(float) for name, values in numbers.items()}})


def shares_that_changed(compared: AttributionComparison) -> str:
    """The target in both models, and the word whose share differs most, in two sentences."""
    first, second = compared.first, compared.second
    clean = (
        f"The {first.title} is {decimals(first.clean)} in {first.model} and {decimals(second.clean)} in {second.model}."
    )
    place = next((each for each in compared.ranked()[:1] if not np.isnan(compared.difference[each])), None)
    if place is None or not compared.difference[place]:
        return f"{clean} No word has another share." if place is not None else clean
    shares = [decimals(float(each[place]), 3) for each in (compared.first_shares, compared.second_shares)]
    word = quoted(escape_controls(compared.parts[place]), QUOTED)
    change = signed_difference(float(compared.difference[place]))
    return f"{clean} Of all words the share of {word} differs most: {shares[0]} and {shares[1]} (difference {change})."


def effect_comparison_frame(compared: TwoModelEffects) -> "pd.DataFrame":
    """One row per head: its effect in both models and the difference, the largest difference first.

    Where the models differ in layers or heads, a head that only one of them has is empty in the other, no head has a
    difference, and the rows are in the order of layers and heads.
    """
    first, second, change = compared.first.heads, compared.second.heads, compared.difference
    layers, heads = (max(first.shape[axis], second.shape[axis]) for axis in (0, 1))
    places = [(layer, head) for layer in range(layers) for head in range(heads)]
    numbers = {"first": first, "second": second, "difference": change}
    columns = {name: [_at(values, place) for place in places] for name, values in numbers.items()}
    frame = pd.DataFrame({"layer": [each[0] for each in places], "head": [each[1] for each in places], **columns})
    frame = frame.dropna(subset=["first", "second"], how="all")
    if change is not None:
        frame = frame.loc[frame["difference"].abs().sort_values(ascending=False, kind="stable").index]
    return frame.reset_index(drop=True)


def effects_that_changed(compared: TwoModelEffects) -> str:
    """The target in both models, and the head whose effect differs most, in two sentences."""
    first, second, change = compared.first, compared.second, compared.difference
    values = f"{decimals(first.clean)} in {first.model} and {decimals(second.clean)} in {second.model}"
    clean = f"The {first.title} is {values}."
    if change is None:
        return clean
    if not np.nan_to_num(change).any():
        return f"{clean} No head has another effect."
    layer, head = (int(each) for each in np.unravel_index(int(np.nanargmax(np.abs(change))), change.shape))
    effects = [decimals(float(each.heads[layer, head]), 3) for each in (first, second)]
    return (
        f"{clean} Of all heads the effect of layer {layer}, head {head} differs most: {effects[0]} and {effects[1]} "
        f"(difference {signed_difference(float(change[layer, head]))})."
    )


def _at(values: np.ndarray | None, place: tuple[int, int]) -> float:
    inside = values is not None and place[0] < values.shape[0] and place[1] < values.shape[1]
    return float(values[place]) if values is not None and inside else float("nan")
