"""Colours and typography of all figures; a colour has one meaning in all figures, views and pages.

Hues from Okabe and Ito's set for colour-blind readers (2008), with greys and a violet that stay apart from them in a
simulation of each kind of colour blindness; labels or order always repeat the meaning of a colour.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import plotly.graph_objects as go

FAMILY = "Source Sans"
"""Typeface of the page, the figures and the files, which embed it."""
FONT = f"{FAMILY}, Source Sans Pro, Helvetica, Arial, DejaVu Sans, sans-serif"
"""Typeface with fallbacks for programs that ignore embedded typefaces."""
TEXT_SIZE = 15
TITLE_SIZE = 18
TITLE_WEIGHT = 600
"""Weight of titles, as in the attention view and the headings of the page."""
WIDTHS = (320, 355, 400, 480, 520, 680, 860, 980)
"""Width classes of figures in pixels: each applies up to the next larger one."""
WIDE = WIDTHS[-1]
"""Width in pixels of a desktop page, and of files."""
TITLE_TOP = 11
"""Pixels above a title."""
SIDE_BY_SIDE = 600
"""Width in pixels below which plots are stacked."""
PHONE = 400
"""Width in pixels below which a figure is stacked, rotated or simplified."""


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours for a background, and the width class of the figure."""

    name: str
    """"light", "dark", or "print"."""
    paper: str
    """Background of the figure, the same as the page's."""
    text: str
    """Text and numbers."""
    muted: str
    """Secondary text and axis lines."""
    grid: str
    """Grid lines."""
    neutral: str
    """Surface without a colour of its own, such as a module that spans several parts."""
    edge: str
    """Line between two surfaces."""
    colours: Mapping[str, str]
    """Colour of every component and part."""
    pixels: int = WIDE
    """Width class of the figure, one of WIDTHS: the available width is at least this."""
    tall: int = 0
    """Height to fill, if possible; 0 for the figure's own height."""

    @property
    def narrow(self) -> bool:
        """Whether the width is that of a phone."""
        return self.pixels < PHONE

    @property
    def slim(self) -> bool:
        """Whether the width is too small for plots with axes and colour bars side by side."""
        return self.pixels < SIDE_BY_SIDE


LIGHT = Theme(
    "light",
    paper="#FFFFFF",
    text="#1B1F24",
    muted="#57606A",
    grid="#E4E8ED",
    neutral="#DDE2E9",
    edge="#FFFFFF",
    colours={
        "embeddings": "#0072B2",
        "encoder": "#CBD3DD",
        "decoder": "#AEB9C7",
        "pooler": "#CC79A7",
        "task head": "#D55E00",
        "attention": "#E69F00",
        "query": "#E69F00",
        "key": "#EFB73E",
        "value": "#F5CC76",
        "query_key_value": "#EFB73E",
        "attention_output": "#FAE0AC",
        "attention_other": "#FCEFD3",
        "feed_forward": "#009E73",
        "layer_norm": "#686E76",
        "other": "#B9C0C9",
    },
)
DARK = Theme(
    "dark",
    paper="#11151B",
    text="#E8ECF1",
    muted="#A3ADB9",
    grid="#2A323D",
    neutral="#38424F",
    edge="#11151B",
    colours={
        **LIGHT.colours,
        "embeddings": "#2C93D1",
        "encoder": "#38424F",
        "decoder": "#4C5866",
        "task head": "#E8762B",
        "feed_forward": "#14B083",
        "layer_norm": "#C4CAD2",
        "other": "#5B6673",
    },
)
PRINT = Theme(
    "print",
    paper="#FFFFFF",
    text="#000000",
    muted="#3A3F45",
    grid="#D5D9DE",
    neutral="#E9ECF0",
    edge="#000000",
    # Adjacent parts differ in lightness, not only in hue, so that they are distinct in greyscale.
    colours={
        **LIGHT.colours,
        "embeddings": "#004C80", "encoder": "#E9ECF0", "decoder": "#C3CAD4",
        "pooler": "#E9C3DA", "task head": "#9C3D00",
        "query": "#9A6500", "key": "#D99A1C", "value": "#F2C766", "query_key_value": "#D99A1C",
        "attention_output": "#FCEFD3", "attention_other": "#DCC9A0",
        "feed_forward": "#3DB891", "layer_norm": "#565D66", "other": "#E4E8ED",
    },
)  # fmt: skip
THEMES: Mapping[str, Theme] = {"light": LIGHT, "dark": DARK, "print": PRINT}

HUES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#686E76", "#8A2BE2")
"""Colours of lines without a fixed meaning, in this order."""

INPUT_COLOURS: Mapping[str, tuple[str, float]] = {
    "word": ("embeddings", 0.0),
    "position": ("embeddings", -0.35),
    "token type": ("embeddings", -0.6),
    "other": ("embeddings", -0.8),
    "sum": ("embeddings", 0.55),
    "after layer norm": ("layer_norm", 0.0),
}
"""Part of a token's input -> part with its base colour, and the amount mixed with the text colour, or if negative with
the paper: all embeddings are tints of one hue."""

WORDS: Mapping[str, str] = {
    "query_key_value": "query, key, value (fused)",
    "attention_output": "attention output",
    "attention_other": "attention, other",
    "feed_forward": "feed-forward",
    "layer_norm": "layer norm",
}
"""Display names of parts, if different from the names in the data."""


def theme_named(name: str, pixels: int = WIDE) -> Theme:
    """Return the theme of this name (light for an unknown one) for this width."""
    theme = THEMES.get(name, LIGHT)
    return theme if pixels == theme.pixels else replace(theme, pixels=pixels)


def width_class(pixels: float) -> int:
    """Return the entry of WIDTHS for a width in pixels."""
    return max((width for width in WIDTHS if width <= pixels), default=WIDTHS[0])


def words(part: str) -> str:
    """Return the display name of a part or component."""
    return WORDS.get(part, part)


def sequential(theme: Theme) -> list[list[float | str]]:
    """Return the colour scale of probabilities, counts and lengths; 0 is the background."""
    steps = (
        ("#123A57", "#1F6391", "#4FA3D6", "#D6EEFB")
        if theme.name == "dark"
        else ("#CFE3F2", "#7FB6DA", "#2C82BE", "#08306B")
    )
    return _even(theme.paper, *steps)


def diverging(theme: Theme) -> list[list[float | str]]:
    """Return a symmetric colour scale: negative blue, 0 the background, positive vermilion.

    In print it goes from dark to bright with a grey 0, after cividis (Nunez, Anderton and Renslow 2018), since blue and
    vermilion are the same grey on paper.
    """
    if theme.name == "print":
        return _even("#00204D", "#414D6B", "#7C7B78", "#BCAF6F", "#FFEA46")
    return (
        _even("#08306B", "#3B8BC4", theme.paper, "#E8762B", "#7F2704")
        if theme.name == "light"
        else _even("#9BD3F7", "#2C7FB8", theme.paper, "#D55E00", "#FFC9A3")
    )


def _even(*colours: str) -> list[list[float | str]]:
    return [[index / (len(colours) - 1), colour] for index, colour in enumerate(colours)]


def escape(text: str) -> str:
    """Escape text for plotly, which supports only these three entities."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def text_on(colour: str) -> str:
    """Return black or white, whichever has more contrast with a colour: at least 4.5 to 1 (WCAG 2.2)."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#FFFFFF" if 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05 else "#000000"


def faint(colour: str, share: float) -> str:
    """Return a translucent colour."""
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {share})"


def layout(theme: Theme, title: str, **more: Any) -> go.Layout:
    """Return the base layout of every figure, with its own template, since importing streamlit changes plotly's."""
    axis = {
        "gridcolor": theme.grid,
        "linecolor": theme.muted,
        "zeroline": False,
        "automargin": True,
        "separatethousands": True,
        "exponentformat": "none",  # 0.0005 and 30,000, without prefixes such as µ or k
        "ticklabeloverflow": "allow",  # margins contain all labels; the check for labels outside is slow
        "title": {"font": {"size": TEXT_SIZE}, "standoff": 12},
        "tickfont": {"size": TEXT_SIZE - 1},
    }
    base = go.Layout(
        template=go.layout.Template(),
        font={"family": FONT, "size": TEXT_SIZE, "color": theme.text},
        title={
            "text": title,
            "font": {"size": TITLE_SIZE, "weight": TITLE_WEIGHT},
            **{"x": 0.008, "xref": "container", "xanchor": "left"},
            # At the very top, so that a legend fits below it.
            **{"y": 1, "yref": "container", "yanchor": "top", "pad": {"t": TITLE_TOP}},
        },
        paper_bgcolor=theme.paper,
        plot_bgcolor=theme.paper,
        margin={"l": 8, "r": 8, "t": 48 if title else 8, "b": 8},
        xaxis=axis,
        yaxis=axis,
        hoverlabel={
            "bgcolor": theme.paper,
            "bordercolor": theme.muted,
            "font": {"family": FONT, "size": TEXT_SIZE, "color": theme.text},
            "align": "left",
        },
        legend={
            "orientation": "h",
            "x": 0,
            "y": 1.0,
            "yanchor": "bottom",
            "font": {"size": TEXT_SIZE},
            "title": {"font": {"size": TEXT_SIZE}},
        },
    )
    return base.update(more)


def of_two(theme: Theme) -> tuple[tuple[str, str], tuple[str, str]]:
    """Return colour and dash of the first and of the second of two models."""
    return (theme.colours["embeddings"], "solid"), (theme.colours["task head"], "dot")
