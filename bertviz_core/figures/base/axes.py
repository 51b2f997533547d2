"""Axes of tokens and layers, and the width of texts."""

import html
import itertools
import math
import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from bertviz_core.figures.base.style import (
    TEXT_SIZE,
    WIDE,
    Theme,
    colour_bar,
    diverging,
    escape,
    sequential,
    tick_number,
)
from bertviz_core.text import escape_controls, isolated, ordinal
from bertviz_core.trace.results import Tokens

NARROW, TEXT_WIDTH_WIDE, USUAL, JOINED = 0.34, 1.0, 0.56, 0.8
"""Widths of letters as shares of the font size, the maximum of Source Sans and Helvetica; JOINED for Arabic letters,
the widest of which are twice as wide as most."""
CAPITAL = 0.76
MARKUP = re.compile(r"<[^<>]*>")


def text_width(text: str, size: float) -> float:
    """Return an upper bound of the width of a line of plain text, in pixels."""
    return size * sum(_letter(each) for each in text)


def label_width(label: str, size: float) -> float:
    """Return an upper bound of the width of a label in pixels, without markup; the longest of several lines."""
    return max(text_width(plain(line), size) for line in label.split("<br>"))


def plain(label: str) -> str:
    """Return the visible text of a label's line."""
    return html.unescape(MARKUP.sub("", label))


def wrapped(text: str, pixels: float, size: float) -> list[str]:
    """Break text into lines of a width; long words are broken."""
    lines, room = [""], pixels
    for word in text.split(" "):
        width = text_width(word, size)
        gap = text_width(" ", size) if lines[-1] else 0.0
        if gap + width <= room:
            lines[-1] += f"{' ' if gap else ''}{word}"
            room -= gap + width
            continue
        if lines[-1]:
            lines.append("")
            room = pixels
        for letter in word:
            if room < text_width(letter, size):
                lines.append("")
                room = pixels
            lines[-1] += letter
            room -= text_width(letter, size)
    return lines


def wrapped_label(label: str, pixels: float, size: float, beside: float = 0.0, breaks: str = "./_") -> list[str]:
    """Break a label into lines of a width; words are broken only after `breaks`.

    Markup is preserved. On the first line `beside` pixels are occupied.
    """
    lines, room = [""], pixels - beside
    for word in re.findall(r"(?:<[^<>]*>|[^ ])+", label):
        long = text_width(plain(word), size) > pixels - beside and "<" not in word and "&" not in word
        for at, part in enumerate(re.findall(rf"[^{breaks}]*[{breaks}]*", word)[:-1] if long else [word]):
            width, gap = text_width(plain(part), size), text_width(" ", size) if lines[-1] and not at else 0.0
            if lines[-1] and gap + width > room:
                lines.append("")
                room, gap = pixels, 0.0
            lines[-1] += f"{' ' if gap else ''}{part}"
            room -= gap + width
    return lines


def lined_label(label: str, pixels: float, size: float) -> str:
    """Break a label into at most two lines; the last is cut."""
    lines = wrapped_label(label, pixels, size, breaks="./_-")
    lines = lines if len(lines) <= 2 else [lines[0], " ".join(lines[1:])]
    return "<br>".join(shortened_label(line, pixels, size) for line in lines)


def shortened_label(label: str, pixels: float, size: float) -> str:
    """Cut a one-line label to a width; italics and a trailing number are preserved."""
    if label_width(label, size) <= pixels:
        return label
    slanted = label.startswith("<i>") and label.endswith("</i>")
    words = plain(label)
    number = match[0] if (match := re.search(r"  \d+$", words)) else ""
    words, room = words[: len(words) - len(number)], pixels - text_width(f"…{number}", size)
    while words and text_width(words, size) > room:
        words = words[:-1]
    cut = html.escape(f"{words.rstrip()}…{number}", quote=False)
    return f"<i>{cut}</i>" if slanted else cut


@cache
def _letter(letter: str) -> float:
    if unicodedata.east_asian_width(letter) in "WF":
        return TEXT_WIDTH_WIDE
    if letter in " \u00a0iljtfrI.,:;'|!()[]":
        return NARROW
    if unicodedata.bidirectional(letter) == "AL":
        return JOINED
    return CAPITAL if letter.isupper() or letter in "mw@%—…" else USUAL


def even_axes(figure: go.Figure, theme: Theme) -> go.Figure:
    """Give all axes the same font, lines and distances."""
    same = {
        "tickfont": {"size": TEXT_SIZE - 1},
        "title": {"font": {"size": TEXT_SIZE}, "standoff": 10},
        "gridcolor": theme.grid,
        "linecolor": theme.muted,
        "zeroline": False,
        "automargin": True,
        "ticklabeloverflow": "allow",
    }
    return figure.update_xaxes(same).update_yaxes(same)


LABEL_PIXELS, SMALL_LABEL_PIXELS = 19, 14
"""Space per label along an axis with perpendicular labels; in the smallest font of fitted() in narrow places."""
LONGEST_TOKEN = 18
BESIDE, BESIDE_SHORT, SHORT_NAME = 8, 2, 3
"""Pixels between two adjacent labels, and between short ones, such as those of heads."""


def token_labels(tokens: Tokens) -> list[str]:
    """Return one label per token: escaped, control characters made visible, special tokens in italics."""
    shown = zip(tokens.tokens, tokens.special.tolist(), strict=True)
    return [f"<i>{token_text(token)}</i>" if special else token_text(token) for token, special in shown]


def token_text(token: str) -> str:
    """Format a token for a figure: markup escaped, invisible characters by code, cut when long."""
    if len(token) > LONGEST_TOKEN:
        token = f"{token[: LONGEST_TOKEN - 1]}…"
    return isolated(escape(escape_controls(token) or "∅"))


def token_axis(names: Sequence[str], pixels: int, theme: Theme | None = None) -> dict[str, Any]:
    """Return settings of an axis with token labels: all, or every k-th if they would overlap on an axis of this length.

    The width of the theme determines the font size; without one it is the default.
    """
    label = SMALL_LABEL_PIXELS if theme is not None and theme.pixels < WIDE else LABEL_PIXELS
    step = max(1, -(-len(names) * label // max(pixels, 1)))
    places = list(range(0, len(names), step))
    return {
        "tickmode": "array",
        "tickvals": places,
        "ticktext": [names[place] for place in places],
        "ticklabelstep": step,  # plotly only uses it on numeric axes; name_thinned reads it
        "showgrid": False,
    }


def name_columns(figure: go.Figure, names: Sequence[str], across: int, theme: Theme) -> None:
    """Label the columns of a map of this width with tokens, rotated if they do not fit side by side."""
    angle = -90 if len(names) * 60 > across else 0
    figure.update_xaxes(token_axis(names, across, theme=theme), range=[-0.5, len(names) - 0.5], tickangle=angle)


MOST_THINNED = 2
"""Maximum number of axes whose titles mention thinning: one per direction."""


def name_thinned(figure: go.Figure) -> None:
    """Mention in the titles of axes that only every k-th label is shown.

    Stacked panels have no room for titles and do not mention it.
    """
    axes = (*figure.select_xaxes(), *figure.select_yaxes())
    thinned = [
        axis
        for axis in axes
        if (axis.ticklabelstep or 1) > 1 and any(tick_number(str(each)) is None for each in axis.ticktext)
    ]
    for axis in thinned if len(thinned) <= MOST_THINNED else ():
        note = f"every {ordinal(axis.ticklabelstep)} is named"
        axis.title.text = f"{axis.title.text}, {note}" if axis.title.text else note


def names_lie(axis: Any, unit: float, size: float) -> bool:
    """Return whether all labels of an axis fit side by side without rotation."""
    words, places = [str(each) for each in axis.ticktext], [float(each) for each in axis.tickvals]
    gap = BESIDE if max(len(plain(each)) for each in words) > SHORT_NAME else BESIDE_SHORT
    widths = itertools.pairwise(label_width(each, size) for each in words)
    apart = (abs(after - before) * unit for before, after in itertools.pairwise(places))
    return all((one + other) / 2 + gap <= room for (one, other), room in zip(widths, apart, strict=True))


def stride(axis: Any) -> float:
    """Return the distance between labels."""
    places = sorted(axis.tickvals)
    return float(min((after - before for before, after in itertools.pairwise(places)), default=1.0)) or 1.0


LONGEST_SENTENCE = 30
"""Maximum length of a sentence beside a figure, in characters."""
NARROWEST_AXIS = 240
"""Pixels between the first and the last sentence in the narrowest plot."""
HOVERED = 80
"""Maximum length of a sentence in a hover, in characters."""
MEASURE_WORDS = {"cosine": "cosine", "dot": "dot product", "euclidean": "Euclidean distance"}


def sentence_text(sentence: str, longest: int = LONGEST_SENTENCE) -> str:
    """Format the beginning of a sentence for a figure: markup escaped, invisible characters by code."""
    cut = sentence if len(sentence) <= longest else f"{sentence[: longest - 1]}…"
    return escape(escape_controls(cut))


def number_axis(numbers: Sequence[int], pixels: int = NARROWEST_AXIS) -> dict[str, Any]:
    """Return an axis of sentence numbers, thinned for the narrowest plot."""
    return token_axis([str(number + 1) for number in numbers], pixels)


def similarity_colours(measure: str, largest: float, theme: Theme) -> dict[str, Any]:
    """Return range, scale and colour bar of a measure: symmetric around 0, or from 0 for a distance."""
    top = 1.0 if measure == "cosine" else largest or 1.0
    distance = measure == "euclidean"
    low = 0.0 if distance else -top
    return {
        "colorscale": sequential(theme) if distance else diverging(theme),
        "cmin": low,
        "cmax": top,
        "colorbar": colour_bar(MEASURE_WORDS[measure], low, top),
    }


LETTER, LINE, MARK = 8.0, 18.0, 4.5
"""Pixels: width of a letter, line height, radius of a marker."""
SAMPLES = 12
"""Points of a path from one marker to the next, which a label avoids if it can."""


def same_scale(
    figure: go.Figure, points: Float[np.ndarray, "points 2"], plot: tuple[float, float], free: tuple[float, float]
) -> Float[np.ndarray, "2"]:
    """Return the pixels between the outermost points of a map, across and down, with equal scales on both axes.

    Units are equally long on both axes at every width and zoom; if the aspect ratios of plot and points differ, the
    longer side shows more of the plane. `plot` is the narrowest plot of its width class in pixels, `free` the margin
    around the outermost points.
    """
    low, high = points.min(axis=0).astype(np.float64), points.max(axis=0).astype(np.float64)
    room = np.maximum(np.array(plot) - 2 * np.array(free), 1.0)
    spread = high > low
    unit = float((room[spread] / (high - low)[spread]).min()) if spread.any() else 1.0
    middle, reach = (low + high) / 2, np.array(plot) / unit / 2
    (left, bottom), (right, top) = (middle - reach).tolist(), (middle + reach).tolist()
    figure.update_xaxes(range=[left, right])
    figure.update_yaxes(range=[bottom, top])
    tie_axes(figure)
    return np.asarray((high - low) * unit)


def tie_axes(figure: go.Figure) -> go.Figure:
    """Give both axes the same scale by extending the range of one."""
    figure.update_xaxes(constrain="range")
    return figure.update_yaxes(scaleanchor="x", scaleratio=1, constrain="range")


def label_sides(
    points: Float[np.ndarray, "states seq 2"],
    names: Sequence[str],
    plot: Float[np.ndarray, "2"],
    beside: float = math.inf,
) -> list[str]:
    """Return the side of each end's label, best off all paths; "" if it would overlap a label, an end or an edge."""
    return [side for _, side in point_labels(points, [[name] for name in names], plot, beside)]


def point_labels(
    points: Float[np.ndarray, "states seq 2"],
    names: Sequence[Sequence[str]],
    plot: Float[np.ndarray, "2"],
    beside: float = math.inf,
) -> list[tuple[str, str]]:
    """Return, for each end of a path, the longest label that fits and its side; ("", "") if none fits.

    `names` has the labels of each end, from the shortest to the longest form; `plot` is the distance of the outermost
    points in pixels in the narrowest plot, so that nothing overlaps in a wider one, and `beside` what is free beside
    them.
    """
    low, high = points.min(axis=(0, 1)), points.max(axis=(0, 1))
    pixels = (points - low) / np.where(high > low, high - low, 1) * plot
    spots, steps = pixels[-1].tolist(), np.linspace(0, 1, SAMPLES)[:, None, None, None]
    lines = (pixels[:-1] + steps * np.diff(pixels, axis=0)).reshape(-1, 2)
    width = float(plot[0])
    marks = [(x - MARK, y - MARK, x + MARK, y + MARK) for x, y in spots]

    def free(box: Box, place: int) -> bool:
        inside = -beside <= box[0] and box[2] <= width + beside
        others = (*marks[:place], *marks[place + 1 :], *(each for at, each in boxes.items() if at != place))
        return inside and not any(_cover(box, other) for other in others)

    def crossed(box: Box) -> int:
        return int(((lines > box[:2]) & (lines < box[2:])).all(axis=1).sum())

    boxes: dict[int, Box] = {}
    labels = [("", "")] * len(spots)
    for form in range(max(map(len, names), default=0)):
        for place, (spot, forms) in enumerate(zip(spots, names, strict=True)):
            name, before = forms[min(form, len(forms) - 1)], labels[place][1]
            if form and not before:
                continue
            sides = _label_boxes(spot, name)
            for side in sorted(sides, key=lambda each: (before != each, crossed(sides[each]))):
                if free(sides[side], place):
                    boxes[place], labels[place] = sides[side], (name, side)
                    break
    return labels


Box = tuple[float, float, float, float]
"""Left, bottom, right and top in pixels."""


def _label_boxes(spot: Sequence[float], name: str) -> dict[str, Box]:
    """Return side of a point -> box of its label there."""
    (x, y), width = spot, LETTER * len(html.unescape(re.sub("<[^<>]*>", "", name)))
    corners = {
        "middle right": (x + MARK, y - LINE / 2),
        "middle left": (x - MARK - width, y - LINE / 2),
        "top center": (x - width / 2, y + MARK),
        "bottom center": (x - width / 2, y - MARK - LINE),
    }
    return {side: (left, bottom, left + width, bottom + LINE) for side, (left, bottom) in corners.items()}


def _cover(one: Sequence[float], other: Sequence[float]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


LABEL = "second text"
ROOM = 20
"""Width in pixels of the label beside the plot."""
NEAR_THE_END = 0.25
"""Share of the axis after the line below which the label is right-aligned before the end of the axis."""


def second_text_start(tokens: Tokens, first: int = 0, count: int | None = None) -> int | None:
    """Return the index of the second text's first token among the drawn tokens; None if it is not among them."""
    shown = tokens.sequence[first : None if count is None else first + count]
    place = next((place for place, sequence in enumerate(shown) if sequence == 1), 0)
    return place or None


def mark_second_text(
    figure: go.Figure,
    place: int | None,
    count: int,
    theme: Theme,
    axis: str = "x",
    across: str = "y",
    *,
    inside: bool = False,
) -> go.Figure:
    """Add a line at the start of the second text, if there is one.

    The tokens are at 0, 1, 2 ... on `axis`, and `across` is the perpendicular one. With a legend above the plot the
    label is inside, at its upper edge.
    """
    if place is None:
        return figure
    at, end = place - 0.5, count - 0.5
    line = {"type": "line", "line": {"color": theme.text, "width": 2, "dash": "dash"}}
    words = {"text": LABEL, "showarrow": False, "font": {"size": TEXT_SIZE - 1, "color": theme.text}}
    behind = (count - place) / count >= NEAR_THE_END
    start = at if behind else end
    if axis.startswith("x"):
        ends = {"x0": at, "x1": at, "xref": axis, "y0": 0, "y1": 1, "yref": f"{across} domain"}
        spot = {"x": start, "xref": axis, "xanchor": "left" if behind else "right", "xshift": 3 if behind else 0}
        spot |= {"y": 1, "yref": f"{across} domain", "yanchor": "top" if inside else "bottom"}
        if axis == "x" and not inside:
            figure.update_layout(margin={"t": (figure.layout.margin.t or 0) + ROOM})
    else:
        ends = {"y0": at, "y1": at, "yref": axis, "x0": 0, "x1": 1, "xref": f"{across} domain"}
        spot = {"y": start, "yref": axis, "yanchor": "top" if behind else "bottom", "textangle": 90}
        spot |= {"x": 1, "xref": f"{across} domain", "xanchor": "left"}
        figure.update_traces(selector=_has_bar, colorbar={"xpad": 10 + ROOM})
        if theme.narrow:  # the bar will be horizontal
            figure.update_layout(margin={"r": max(figure.layout.margin.r or 0, ROOM)})
    return figure.add_shape(**line, **ends).add_annotation(**words, **spot)


def _has_bar(trace: Any) -> bool:
    return trace.type == "heatmap" and bool(trace.colorbar.to_plotly_json())
