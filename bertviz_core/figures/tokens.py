"""Pictures of tokens: the nearest rows of the embedding table."""

import html
from collections.abc import Sequence
from functools import partial

import numpy as np
import plotly.graph_objects as go

from bertviz_core.figures.base.axes import token_text as label
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import TEXT_SIZE, Theme, layout
from bertviz_core.hidden_states.results import NearestRows
from bertviz_core.text import escape_controls, shortened


def neighbour_bars(names: Sequence[str], cosines: np.ndarray, norms: np.ndarray, title: str, theme: Theme) -> go.Figure:
    """Horizontal bars of cosines, the nearest row on top, each with its number.

    Args:
        names: labels of the rows, already escaped (bertviz_core.figures.base.axes.visible).
        cosines: cosine of each row to the row asked about, in the order of the names.
        norms: length of each row.
        title: stands alone on a slide.
        theme: colours and typeface.
    """
    figure = go.Figure(layout=layout(theme, html.escape(title, quote=False), height=104 + 25 * max(len(names), 4)))
    places = list(range(len(names)))
    figure.add_bar(
        x=np.asarray(cosines, dtype=np.float32),
        y=places,
        orientation="h",
        marker={"color": theme.colours["embeddings"]},
        text=[f"{cosine:.4f}" for cosine in cosines.tolist()],
        textposition="outside",
        textfont={"size": TEXT_SIZE - 1, "color": theme.text},
        cliponaxis=False,
        customdata=[[name, f"{norm:.4f}"] for name, norm in zip(names, norms.tolist(), strict=True)],
        hovertemplate="<b>%{customdata[0]}</b><br>cosine %{x:.4f}, norm %{customdata[1]}<extra></extra>",
    )
    low = min(0.0, float(cosines.min(initial=0)))
    high = max(float(cosines.max(initial=0)), 0.1)
    figure.update_xaxes(title="cosine", range=[low * 1.2, high * 1.2])
    figure.update_yaxes(tickvals=places, ticktext=list(names), autorange="reversed", showgrid=False)
    return figure.update_layout(bargap=0.3)


LONGEST = 24


@figure("nearest", "tokens_neighbours", "rows of the vocabulary nearest to a token's", ("token",))
def nearest_figure(nearest_rows: NearestRows, spelled: Sequence[str], token: str, model_name: str) -> FigureSpec:
    """The rows of the embedding table that are nearest to a token's."""
    title = f'Nearest rows to "{shortened(escape_controls(token), LONGEST)}" - {model_name}'
    names = [label(each) for each in spelled]
    alt = f"{title}: cosines of the nearest rows of the embedding table"
    draw = partial(neighbour_bars, names, nearest_rows.cosine, nearest_rows.norms, title)
    return FigureSpec(title, alt, draw, f"{title}. Cosines of static rows.")
