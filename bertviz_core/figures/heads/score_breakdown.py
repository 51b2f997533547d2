"""One cell of attention as a picture: the chain of its arithmetic, the products that make it, the row it stands in."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from bertviz_core.results.head_cell import CellArithmetic
from figures.axes import even_axes
from figures.head_chain import add_chain, signed
from figures.style import TEXT_SIZE, Theme, diverging, escape, layout
from figures.tokens_axis import token_axis

HEIGHT = 560
CHAIN = 0.54
"""Where the chain begins, as a share of the height; the bars stand below it."""


def cell_figure(
    cell: CellArithmetic, names: Sequence[str], title: str, look: Theme, pixels: tuple[int, int] = (480, 480)
) -> go.Figure:
    """From two vectors to one weight: above the steps with their shapes and numbers, below the products and the row.

    Args:
        cell: the arithmetic.
        names: labels of the tokens.
        title: stands alone on a slide.
        look: theme.
        pixels: widths of the two bar charts, by which labels are thinned.
    """
    figure = go.Figure(layout=layout(look, escape(title), height=HEIGHT, showlegend=False))
    score = cell.score
    places = np.arange(len(score.products))
    figure.add_bar(
        x=places,
        y=score.products,
        marker={"color": signs(score.products, look)},
        customdata=np.stack([score.query, score.key], axis=1),
        hovertemplate="%{x}: %{customdata[0]:.5f} × %{customdata[1]:.5f} = <b>%{y:.5f}</b><extra></extra>",
        unselected={"marker": {"opacity": 1}},
    )
    colours = [look.colours["attention"] if key == cell.key_position else look.muted for key in range(len(names))]
    figure.add_bar(
        x=np.arange(len(names)),
        y=score.weights,
        xaxis="x2",
        yaxis="y2",
        marker={"color": colours},
        customdata=[[name, f"{one:.4f}"] for name, one in zip(names, score.scores.tolist(), strict=True)],
        hovertemplate="%{x} %{customdata[0]}: score %{customdata[1]}, weight <b>%{y:.5f}</b><extra></extra>",
        unselected={"marker": {"opacity": 1}},
    )
    add_chain(figure, cell, names, CHAIN, look)
    _name_bar(figure, cell, names, look)
    below, angle = [0, CHAIN - 0.13], {"tickangle": -90} if len(names) > 12 else {"autotickangles": [0, -90]}
    figure.update_layout(
        xaxis={"domain": [0, 0.46], "title": f"dimension d of the head's {len(places)}", "showgrid": False},
        yaxis={"domain": below},
        xaxis2={
            **token_axis(names, pixels[1]),
            "domain": [0.54, 1],
            "anchor": "y2",
            "title": "key",
            **angle,
        },
        yaxis2={"domain": below, "anchor": "x2", "rangemode": "tozero"},
        bargap=0.15,
    )
    heading = {"xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "bottom", "y": below[1] + 0.01}
    sums = f"<b>products q<sub>d</sub> k<sub>d</sub></b>, sum {signed(score.total)}"
    row = f"<b>weights of the row</b>, sum {float(score.weights.sum()):.3f}"
    for words, left in ((sums, 0), (row, 0.54)):
        figure.add_annotation(text=words, showarrow=False, x=left, **heading)
    return even_axes(figure, look).update_yaxes(zeroline=True, zerolinecolor=look.muted)


def _name_bar(figure: go.Figure, cell: CellArithmetic, names: Sequence[str], look: Theme) -> None:
    """The chosen key's name and weight at its bar, which may be one of hundreds."""
    weight = float(cell.score.weights[cell.key_position])
    figure.add_annotation(
        x=cell.key_position, y=weight, xref="x2", yref="y2", text=f"{names[cell.key_position]} {weight:.4f}",
        showarrow=True, arrowhead=2, arrowcolor=look.text, ax=0, ay=-34, bgcolor=look.paper, opacity=0.9,
        font={"size": TEXT_SIZE - 1},
    )  # fmt: skip


def mix_figure(cell: CellArithmetic, title: str, look: Theme) -> go.Figure:
    """Behind the weights: the mix of values, what the head hands on, and how long that is beside the other heads'."""
    mix = cell.mix
    figure = go.Figure(layout=layout(look, escape(title), height=340, showlegend=False))
    heads = np.arange(len(mix.head_norms))
    chosen = [look.colours["attention"] if head == cell.head else look.muted for head in heads]
    charts = (
        (mix.mix, signs(mix.mix, look), f"<b>mix of the values</b> ({len(mix.mix)},)", "dimension of the value"),
        (
            mix.head_output,
            signs(mix.head_output, look),
            f"<b>through W<sub>o</sub></b> ({len(mix.head_output)},)",
            "dimension of the output",
        ),
        (mix.head_norms, chosen, "<b>its length</b>", "head"),
    )
    for index, (values, colours, words, below) in enumerate(charts):
        number, left = "" if index == 0 else str(index + 1), index * 0.36
        figure.add_bar(
            x=np.arange(len(values)),
            y=values,
            xaxis=f"x{number}",
            yaxis=f"y{number}",
            marker={"color": colours, "line": {"width": 0}},
            hovertemplate="%{x}: %{y:.5f}<extra></extra>",
        )
        side = {"domain": [left, left + 0.28], "anchor": f"y{number}", "title": below, "showgrid": False}
        figure.update_layout({f"xaxis{number}": side, f"yaxis{number}": {"anchor": f"x{number}"}})
        place = {"xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "bottom", "y": 1}
        figure.add_annotation(text=words, showarrow=False, x=left, **place)
    return even_axes(figure, look).update_layout(bargap=0.08, margin={"t": 82})


def signs(values: np.ndarray, look: Theme) -> list[str]:
    """Colours of the diverging scale: positive and negative numbers."""
    scale = diverging(look)
    return [str(scale[3][1] if value >= 0 else scale[1][1]) for value in values.tolist()]
