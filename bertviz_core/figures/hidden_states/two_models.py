"""Draw how far the hidden states of each token are apart in two models."""

from functools import partial

import numpy as np

from bertviz_core.checkpoints.results import Behaviour
from bertviz_core.figures.base.axes import token_labels
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.checkpoints.comparison import state_names, token_cosine_map
from bertviz_core.text import decimals


@figure(
    "states-compared",
    "representations_compared",
    "cosine of each token's hidden states in two models, by layer (--set other=)",
)
def states_compared_figure(run_comparison: Behaviour) -> FigureSpec:
    """Plot the cosine of each token's vectors in two models, a row per hidden state.

    Raises:
        ValueError: the comparison contains none.
    """
    cosines = run_comparison.cosines
    if cosines is None:
        raise ValueError("no cosines")
    names = " and ".join(dict.fromkeys((run_comparison.first, run_comparison.second)))
    title = f"Cosine of each token's hidden states — {names}"
    state, token = np.unravel_index(int(cosines.argmin()), cosines.shape)
    where = f"{state_names(len(cosines))[state]}, token {token}"
    alt = f"{title}: a row per hidden state, a column per token; smallest {where}: {decimals(float(cosines.min()))}"
    return FigureSpec(title, alt, partial(token_cosine_map, cosines, token_labels(run_comparison.tokens), title))
