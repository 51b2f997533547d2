"""Draw the tokens nearest to one token in the embedding table."""

import html
from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from bertviz_core.figures.base.axes import token_text as label
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import Theme, layout
from bertviz_core.figures.sentences.bars import add_score_bars
from bertviz_core.hidden_states.results import NearestRows
from bertviz_core.text import escape_controls, shortened


def neighbour_bars(names: Sequence[str], cosines: np.ndarray, norms: np.ndarray, title: str, theme: Theme) -> go.Figure:
    """Draw horizontal bars of cosines, nearest row on top, each with its number.

    Args:
        names: escaped labels of the rows (bertviz_core.figures.base.axes.visible).
        cosines: cosine of each row to the chosen row, in the order of the names.
        norms: norm of each row.
        title: title of the figure.
        theme: theme of the figure.
    """
    figure = go.Figure(layout=layout(theme, html.escape(title, quote=False), height=104 + 25 * max(len(names), 4)))
    hover = [f"<b>{name}</b>, norm {norm:.4f}, cosine" for name, norm in zip(names, norms.tolist(), strict=True)]
    add_score_bars(figure, cosines, hover, theme.colours["embeddings"], theme)
    figure.update_xaxes(title="cosine of static embeddings")
    figure.update_yaxes(tickvals=list(range(len(names))), ticktext=list(names), autorange="reversed", showgrid=False)
    return figure


LONGEST = 24


def _nearest_frame(nearest_rows: NearestRows, spelled: Sequence[str]) -> pd.DataFrame:
    """A row per neighbour."""
    return pd.DataFrame(
        {
            "token": list(spelled),
            "id": nearest_rows.ids,
            "cosine": nearest_rows.cosine,
            "norm": nearest_rows.norms,
        }
    )


@figure(
    "nearest", "tokens_neighbours", "rows of the vocabulary nearest to a token's", reported=True, table=_nearest_frame
)
def nearest_figure(nearest_rows: NearestRows, spelled: Sequence[str], token: str, model_name: str) -> FigureSpec:
    """Plot the rows of the embedding table nearest to a token's."""
    title = f'Tokens nearest to "{shortened(escape_controls(token), LONGEST)}" in the vocabulary — {model_name}'
    names = [label(each) for each in spelled]
    alt = f"{title}: a bar of the cosine for each"
    draw = partial(neighbour_bars, names, nearest_rows.cosine, nearest_rows.norms, title)
    return FigureSpec(title, alt, draw, f"{title}. Cosines of static embeddings.")
