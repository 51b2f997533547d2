"""Format the attributions of two models as a data frame, and as sentences about what changed."""

import numpy as np
import pandas as pd

from bertviz_core.attribution.results import AttributionComparison
from bertviz_core.figures.predictions.two_models import signed_difference
from bertviz_core.text import decimals, escape_controls, quoted

QUOTED = 40
"""Most characters of a word in a sentence."""


def attribution_comparison_frame(compared: AttributionComparison) -> pd.DataFrame:
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
    return f"{clean} The share of {word} differs most: {shares[0]} and {shares[1]} (difference {change})."
