"""Draw the cosines of the tokens of a query and a document, and the largest of each row, whose sum is the score."""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from bertviz_core.figures.base.axes import name_columns, token_axis, token_text
from bertviz_core.figures.base.cells import cell_numbers
from bertviz_core.figures.base.fitted import STANDING
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import HUES, TEXT_SIZE, Theme, diverging, escape, layout
from bertviz_core.figures.base.text_width import label_width
from bertviz_core.predictions.results import LateInteraction
from bertviz_core.text import counted, decimals, shortened

ROW, SMALLEST, LARGEST = 24, 330, 640
"""Pixels of a row, and of the height of the figure."""
AROUND, ABOVE = 150, 60
"""Pixels above and below the rows together, and above."""
BARS, SLIM_BARS = 0.26, 0.3
"""Share of the width for the bars, and where the figure is slim."""
GAP, SLIM_GAP = 0.02, 0.07
"""Share between map and bars."""
NUMBERED, NUMBER = 15, 46
"""Least pixels of a row with a number, and pixels of the number."""
LONGEST = 50


def largest_name(result: LateInteraction) -> str:
    """What is largest in a row."""
    return "largest cosine" if result.normalized else "largest dot product"


def score_words(result: LateInteraction) -> str:
    """The score and what it is, in a few words."""
    kind = "mean" if result.mean else "sum"
    return f"{decimals(result.score)}, the {kind} of {counted(len(result.query_tokens), largest_name(result))}"


def interaction_map(result: LateInteraction, title: str, theme: Theme) -> go.Figure:
    """Draw a row for each token of the query, a column for each of the document, and a bar for the largest of a row."""
    rows, columns = (list(map(token_text, each)) for each in (result.query_tokens, result.document_tokens))
    cosines, share = result.cosines.astype(np.float32), SLIM_BARS if theme.slim else BARS
    height = max(SMALLEST, min(LARGEST, AROUND + ROW * len(rows)))
    figure = go.Figure(layout=layout(theme, escape(title), height=height, showlegend=False))
    limit = float(np.abs(cosines).max(initial=0)) or 1.0
    figure.add_heatmap(
        x=np.arange(len(columns), dtype=np.int32),
        y=np.arange(len(rows), dtype=np.int32),
        z=cosines,
        zmin=-limit,
        zmax=limit,
        colorscale=diverging(theme),
        showscale=False,
        customdata=[[f"{row} · {column}" for column in columns] for row in rows],
        hovertemplate="%{customdata}: %{z:.4f}<extra></extra>",
    )
    plot, left = height - AROUND, max((label_width(name, TEXT_SIZE - 1) for name in rows), default=0.0) + 16
    ends = [0, 1 - share - (SLIM_GAP if theme.slim else GAP)]
    across = (theme.pixels - left - STANDING) * ends[1]
    name_columns(figure, columns, int(across), theme)
    _add_bars(figure, result, rows, plot / len(rows), share, theme)
    figure.update_layout(
        xaxis={"domain": ends, "title": "tokens of the document"},
        yaxis={**token_axis(rows, plot, theme=theme), "range": [len(rows) - 0.5, -0.5], "title": "query"},
        bargap=0.25,
        shapes=_frames(result, theme),
    )
    return cell_numbers(figure, cosines, ".2f", diverging(theme), (-limit, limit), (across, plot))


def _frames(result: LateInteraction, theme: Theme) -> list[dict[str, Any]]:
    """A frame around the largest cell of each row."""
    line = {"color": theme.text, "width": 2}
    return [
        {"type": "rect", "x0": column - 0.5, "x1": column + 0.5, "y0": row - 0.5, "y1": row + 0.5, "line": line}
        for row, column in enumerate(result.best.tolist())
    ]


def _add_bars(
    figure: go.Figure, result: LateInteraction, names: list[str], pixels: float, share: float, theme: Theme
) -> None:
    """Add a bar for the largest cosine of each row, with its number where a row has room for one.

    Args:
        figure: figure with the map.
        result: the late interaction.
        names: labels of the rows.
        pixels: height of a row.
        share: share of the width for the bars.
        theme: theme of the figure.
    """
    values = result.largest.astype(np.float32)
    best = [token_text(result.document_tokens[place]) for place in result.best.tolist()]
    places, numbered = 2 if theme.slim else 3, pixels >= NUMBERED
    figure.add_bar(
        x=values,
        y=np.arange(len(values), dtype=np.int32),
        orientation="h",
        xaxis="x2",
        marker={"color": [theme.muted if expanded else HUES[0] for expanded in result.expanded.tolist()]},
        text=[decimals(value, places) for value in values.tolist()] if numbered else None,
        textposition="outside",
        textfont={"size": min(TEXT_SIZE - 2, int(pixels) - 1), "color": theme.text} if numbered else None,
        cliponaxis=False,
        customdata=[f"{name} · {other}" for name, other in zip(names, best, strict=True)],
        hovertemplate="%{customdata}: %{x:.4f}<extra></extra>",
    )
    low, high = min(float(values.min(initial=0)), 0.0), max(float(values.max(initial=0)), 0.0) or 1.0
    span, width = high - low, share * theme.pixels
    room = span * NUMBER / max(width - NUMBER, NUMBER) if numbered else 0.0
    kind = "mean" if result.mean else "sum"
    figure.update_layout(
        xaxis2={
            "domain": [1 - share, 1],
            "range": [low - (room if low else 0.0), high + room],
            "nticks": 3,
            "gridcolor": theme.grid,
            "anchor": "y",
            "title": f"{kind} {decimals(result.score)}"
            if theme.slim
            else f"{largest_name(result)}, {kind} {decimals(result.score)}",
        }
    )


def interaction_frame(interaction: LateInteraction) -> pd.DataFrame:
    """One row per token of the query: the largest cosine, which is its part of the score, and where it is."""
    result = interaction
    return pd.DataFrame(
        {
            "token": list(result.query_tokens),
            "largest": result.largest,
            "document token": [result.document_tokens[place] for place in result.best.tolist()],
            "place": result.best,
            "expanded": result.expanded,
        }
    )


@figure(
    "late-interaction",
    "sentences_late_interaction",
    "a query and a text by tokens (--set query_sentence=TEXT)",
    table=interaction_frame,
)
def late_interaction_figure(interaction: LateInteraction) -> FigureSpec:
    """Plot the cosines of the tokens of a query and a document, and the largest of each row."""
    query = shortened(" ".join(interaction.query.split()), LONGEST)
    title = f"Late interaction {decimals(interaction.score)} for “{query}” — {interaction.model}"
    about = (
        "a row for each token of the query, a column for each of the document; framed is the largest of a row, and "
        f"the score is {score_words(interaction)}"
    )
    return FigureSpec(title, f"{title}: {about}", partial(interaction_map, interaction, title), f"{title}: {about}.")
