"""Themes, widths, colours, and bars of colours."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import plotly.graph_objects as go

from bertviz_core.text import digits

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
AIR = 6
"""Pixels between a figure on a slide and what is above and below it."""
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
    tools: bool = True
    """Whether the title leaves room for the buttons of plotly."""
    slide: bool = False
    """Whether it is for a slide, which a flat figure fills with larger text: it is drawn narrower, and enlarged."""

    def on_slide(self, tall: float) -> "Theme":
        """The theme of a figure on a slide, on which it has this height in pixels, with some room at its ends."""
        return replace(self, tall=round(tall) - 2 * AIR, slide=True)

    @property
    def narrow(self) -> bool:
        """Whether the width is that of a phone."""
        return self.pixels < PHONE

    @property
    def hues(self) -> tuple[str, ...]:
        """HUES on this background: in dark those of its parts, which are lighter."""
        own = {LIGHT.colours[part]: colour for part, colour in self.colours.items()} if self.name == "dark" else {}
        return tuple(own.get(hue, hue) for hue in HUES)

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
        "encoder": "#5A6675",
        "decoder": "#74808F",
        "task head": "#E8762B",
        "feed_forward": "#14B083",
        "layer_norm": "#C4CAD2",
        "other": "#738090",
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
    "position": ("embeddings", -0.3),
    "token type": ("embeddings", 0.28),
    "other": ("embeddings", 0.5),
    "sum": ("embeddings", 0.75),
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


def common_colours(theme: Theme) -> dict[str, Any]:
    """The colours that every drawing of JavaScript has, by the names that its code has for them."""
    names = ("name", "paper", "text", "muted", "grid", "neutral")
    return {**{name: getattr(theme, name) for name in names}, "scale": sequential(theme)}


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


def supporting(theme: Theme) -> list[list[float | str]]:
    """Return the diverging scale turned round, for what a number changes by without a part.

    A part without which the number falls supports it, and has the colour of a word that does.
    """
    return [[1 - float(place), colour] for place, colour in reversed(diverging(theme))]


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


LIMITS = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
"""Round numbers of one power of ten with round halves."""
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
"""Round steps of one power of ten."""
END_ROOM = 0.72
"""Distance of a round tick from an end that is labelled, in distances of the most ticks that a bar has."""
THICKNESS = 14
"""Thickness of a colour bar in pixels."""


def round_limit(limit: float) -> float:
    """Return the smallest round number that is at least the limit, as the end of a scale; 1 for 0 and NaN."""
    if not math.isfinite(limit) or limit <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(limit))
    return next((_exact(each * power) for each in LIMITS if each * power >= limit * (1 - 1e-9)), _exact(10 * power))


def round_ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Return multiples of one round number from low to high, as many as allowed."""
    if not low < high:
        return [low]
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    for step in (each * power * more for more in (1, 10, 100) for each in STEPS):
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first < most:
            return [_exact(place * step) for place in range(first, last + 1)]
    return [low, high]


def tick_words(ticks: Sequence[float]) -> list[str]:
    """Format ticks with the decimals that the finest needs."""
    if not ticks:
        return []
    if (
        max(abs(tick) for tick in ticks) >= 10_000
        or 0 < min(abs(tick) for tick in ticks if tick or len(ticks) == 1) < 1e-4
    ):
        return [digits(tick, 3) for tick in ticks]
    places = max(len(f"{tick:.6f}".rstrip("0").partition(".")[2]) for tick in ticks)
    return [f"{tick:,.{places}f}".replace("-", "−") for tick in ticks]


def bar_ticks(low: float, high: float, most: int = 5) -> tuple[list[float], list[str]]:
    """Return ticks of a scale and their labels: both ends, and round numbers between that leave the ends room.

    An end that is no round number is labelled to a ten-thousandth of the scale or finer.
    """
    ticks = round_ticks(low, high, most)
    near = 1e-6 * (high - low)
    if not low < high or (ticks[0] - low <= near and high - ticks[-1] <= near):
        return ticks, tick_words(ticks)
    room = END_ROOM * (high - low) / max(most - 1, 1)
    inner = [tick for tick in ticks if low + room <= tick <= high - room]
    if len(inner) >= most:
        inner = [tick for tick in round_ticks(low, high, most - 1) if low + room <= tick <= high - room]
    words = tick_words(inner)
    places = max((len(word.partition(".")[2]) for word in words if "e" not in word), default=0)
    return [low, *inner, high], [_end_words(low, high - low, places), *words, _end_words(high, high - low, places)]


def _end_words(end: float, length: float, places: int) -> str:
    """Format an end of a scale of some length, with at least as many decimals as the ticks between the ends."""
    if abs(end) >= 10_000 or length < 1e-4:
        return digits(end, 4)
    finest = max(3 - math.floor(math.log10(length)), places)
    whole, _, decimals = f"{end:,.{finest}f}".partition(".")
    decimals = decimals.rstrip("0").ljust(places, "0")
    return f"{whole}.{decimals}".removesuffix(".").replace("-", "−")


def colour_bar(
    unit: str, low: float, high: float, drawn: tuple[float, float] | None = None, most: int = 5
) -> dict[str, Any]:
    """Return settings of a colour bar with a tick at each end and round ticks between.

    `drawn` are the cell values of the two ends, for cells drawn as steps.
    """
    ticks, words = bar_ticks(low, high, most)
    start, stop = drawn or (low, high)
    share = (stop - start) / (high - low) if high > low else 0.0
    return {
        "title": {"text": unit, "side": "right"},
        "thickness": THICKNESS,
        "ticklabeloverflow": "allow",
        "tickvals": [start + (tick - low) * share for tick in ticks],
        "ticktext": words,
    }


def thin_ticks(bar: Any, length_of: Callable[[str], float], pixels: float) -> None:
    """Keep as many ticks of a bar as have room along it, evenly, with both ends; a word takes this many pixels."""
    words, places = list(bar.ticktext or ()), list(bar.tickvals or ())
    last = len(words) - 1
    if last > 1:
        fits = (
            each
            for each in range(1, last)
            if last % each == 0
            and all((length_of(a) + length_of(b)) / 2 <= pixels * each / last for a, b in pairwise(words[::each]))
        )
        every = next(fits, last)
        bar.tickvals, bar.ticktext = places[::every], words[::every]


SPACINGS: Mapping[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "": (np.asarray, float),
    "logarithmic": (np.log10, lambda place: 10.0**place),
    "log(1 + x)": (np.log1p, np.expm1),
    "by the square root": (np.sqrt, np.square),
}
"""Spacing of the numbers of a bar -> its function and inverse."""


def tick_number(word: str) -> float | None:
    """Parse the number of a tick; None for other text."""
    try:
        return float(word.replace("−", "-").replace(",", ""))
    except ValueError:
        return None


def spacing(words: Sequence[str], places: Sequence[float]) -> tuple[str, Callable[[float], float]] | None:
    """Determine the spacing of a bar's ticks, one of SPACINGS, and the function from positions on the bar to numbers.

    A logarithmic bar may have a tick for 0 below all others. None for ticks that are not numbers or have another
    spacing.
    """
    numbers = [tick_number(word) for word in words]
    values = [number for number in numbers if number is not None]
    if len(values) != len(places) or len(values) < 2 or places[0] == places[-1]:
        return None
    if found := _spacing(values, places):
        return found
    behind_zero = _spacing(values[1:], places[1:]) if values[0] == 0 and len(values) > 3 else None
    if behind_zero is None or behind_zero[0] != "logarithmic":
        return None
    return behind_zero[0], lambda place: 0.0 if place <= places[0] else behind_zero[1](place)


def _spacing(values: Sequence[float], places: Sequence[float]) -> tuple[str, Callable[[float], float]] | None:
    for name, (forward, inverse) in SPACINGS.items():
        if name and (len(values) < 3 or min(values) < 0 or (name == "logarithmic" and min(values) == 0)):
            continue
        along = forward(np.array(values, dtype=np.float64))
        rise = (along[-1] - along[0]) / (places[-1] - places[0])
        even = along[0] + (np.array(places, dtype=np.float64) - places[0]) * rise
        if np.allclose(along, even, rtol=1e-4, atol=1e-4 * abs(along[-1] - along[0])):
            return name, partial(_number_at, origin=places[0], start=along[0], slope=rise, inverse=inverse)
    return None


def _number_at(place: float, origin: float, start: float, slope: float, inverse: Callable[[Any], Any]) -> float:
    return float(inverse(start + (place - origin) * slope))


def scale_words(unit: str, low: str, high: str, how: str = "") -> str:
    """Describe a scale, the same in a figure, its caption and its table: "weight, 0 to 0.946, logarithmic"."""
    return f"{unit}, {low} to {high}{f', {how}' if how else ''}"


def _exact(number: float) -> float:
    """Round the number to twelve digits."""
    return float(f"{number:.12g}")
