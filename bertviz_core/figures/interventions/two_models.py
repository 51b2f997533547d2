"""Draw what two models have for the same target: shares of words on one scale, with their differences."""

from functools import partial

import numpy as np
import plotly.graph_objects as go

from bertviz_core.attribution.results import AttributionComparison
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import Theme
from bertviz_core.figures.interventions.words import METHOD_WORDS
from bertviz_core.figures.predictions.classes import MOST
from bertviz_core.figures.predictions.two_models import ABSENT, signed_difference, two_model_bars
from bertviz_core.text import decimals, escape_controls


def drawn_parts(comparison: AttributionComparison) -> list[int]:
    """Indices of the drawn parts of the text, in its order: the MOST with the largest differences."""
    return sorted(comparison.ranked()[:MOST])


def compared_shares(comparison: AttributionComparison, title: str, theme: Theme) -> go.Figure:
    """Draw two bars per part of the text, one for each model; beside the second stands the difference."""
    rows = drawn_parts(comparison)
    beside = [[_beside(comparison, row, side) for row in rows] for side in (0, 1)]
    figure = two_model_bars(
        (comparison.first.model, comparison.second.model),
        [comparison.parts[row] for row in rows],
        (comparison.first_shares[rows], comparison.second_shares[rows]),
        (beside[0], beside[1]),
        title,
        theme,
    )
    return figure.update_xaxes(title={"text": f"share of the target, {comparison.first.unit}"})


@figure(
    "words-compared",
    "words_compared",
    "what each word adds to the same target in two models (TEXT --pair TEXT, --set other=, target=, method=)",
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


def _beside(compared: AttributionComparison, row: int, side: int) -> str:
    """Text beside a bar: the share, and for the second model the difference."""
    value, change = float((compared.first_shares, compared.second_shares)[side][row]), float(compared.difference[row])
    number = ABSENT if np.isnan(value) else decimals(value, 3)
    return number if side == 0 or np.isnan(change) else f"{number} ({signed_difference(change)})"
