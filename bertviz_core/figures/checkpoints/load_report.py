"""Where a model's parameters would come from: a bar per component, in its colour, the texture telling the status."""

from collections.abc import Sequence

import plotly.graph_objects as go

from bertviz_core.results.load_report import ComponentShare
from figures.style import TEXT_SIZE, Theme, escape, layout

STATES = (("matched", "from the file", ""), ("new", "new", "/"), ("wrong_shape", "wrong shape", "x"))
"""Field of a share, words, texture of the bar: "" is solid."""
BAR, LINE = 24, 21
"""Pixels: height of a bar, of a line of words above it."""


def share_bars(shares: Sequence[ComponentShare], title: str, look: Theme) -> go.Figure:
    """One bar per component of the model, cut by where its parameters come from; counts and what is unused above it.

    Args:
        shares: components in the order of the data's way through the model.
        title: stands alone on a slide.
        look: theme.
    """
    words = [_counts(share) for share in shares]
    slot = BAR + 14 + LINE * max((len(lines) for lines in words), default=1)
    figure = go.Figure(layout=layout(look, escape(title), barmode="stack"))
    for field, state, texture in STATES:
        counts = [getattr(share, field) for share in shares]
        figure.add_bar(
            y=list(range(len(shares))),
            x=[100 * count / share.total if count else None for count, share in zip(counts, shares, strict=True)],
            width=BAR / slot,
            name=state,
            orientation="h",
            showlegend=False,
            marker=_marker([_colour(share.name, look) for share in shares], texture, look),
            customdata=[[f"{count:,}", escape(share.name)] for count, share in zip(counts, shares, strict=True)],
            hovertemplate=f"{state}: %{{customdata[0]}} parameters, %{{x:.2f}} %<extra>%{{customdata[1]}}</extra>",
        )
        if any(counts) or field == "matched":
            figure.add_bar(y=[None], x=[None], name=state, orientation="h", marker=_marker([look.muted], texture, look))
    figure.update_layout(
        annotations=[_above(place - BAR / slot / 2, "<br>".join(lines), look) for place, lines in enumerate(words)]
    )
    figure.update_xaxes(
        title="share of the component's parameters, %", range=[0, 100.5], tickvals=[0, 25, 50, 75, 100], showgrid=False
    )
    names = [escape(share.name) for share in shares]
    span = [len(shares) - 1 + 0.9 * BAR / slot, -1 + BAR / slot * 0.55]
    figure.update_yaxes(tickvals=list(range(len(shares))), ticktext=names, range=span, autorange=False, showgrid=False)
    return figure.update_layout(height=156 + slot * len(shares), margin={"t": 86}, legend={"traceorder": "normal"})


def _marker(colours: Sequence[str], texture: str, look: Theme) -> dict[str, object]:
    """Solid, or lines of the colour on the paper: a texture is told apart without seeing colours."""
    if not texture:
        return {"color": list(colours), "line": {"color": look.edge, "width": 1}}
    pattern = {"shape": texture, "fgcolor": list(colours), "bgcolor": look.paper, "size": 9, "solidity": 0.4}
    return {"color": look.paper, "pattern": pattern, "line": {"color": list(colours), "width": 2}}


def _counts(share: ComponentShare) -> list[str]:
    """The lines above a bar: only what there is."""
    told = []
    if share.total and share.matched in (0, share.total):
        told.append(f"{share.total:,} {'from the file' if share.matched else 'not from the file'}")
    elif share.total:
        told.append(f"{share.matched:,} of {share.total:,} from the file")
    if share.unused_keys:
        keys = "1 key" if share.unused_keys == 1 else f"{share.unused_keys:,} keys"
        told.append(f"{keys} of the file unused: {share.unused:,} numbers")
    return told


def _above(y: float, text: str, look: Theme) -> dict[str, object]:
    font = {"size": TEXT_SIZE, "color": look.text}
    place = {"x": 0, "y": y, "xanchor": "left", "yanchor": "bottom", "align": "left", "borderpad": 1}
    return {**place, "text": text, "showarrow": False, "font": font}


def _colour(component: str, look: Theme) -> str:
    """The encoder is neutral ground for its parts in a tree; beside other components it needs a colour."""
    return look.colours["feed_forward"] if component == "encoder" else look.colours[component]
