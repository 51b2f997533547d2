"""Draw running text in rows, with labelled spans on a coloured background."""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import plotly.graph_objects as go

from bertviz_core.figures.base.style import TEXT_SIZE, Theme, escape, faint, layout
from bertviz_core.figures.base.text_width import text_width
from bertviz_core.text import escape_controls, is_right_to_left

SIZES = (26, 22, 19, 16)
"""Font sizes in pixels: the largest at which a text takes at most FEW rows is used."""
FEW = 4
EDGES, PAD = 16, 6
"""Horizontal margins of the plot, and padding of a mark, in pixels."""
BLANK, WIDE_BLANK = 0.38, 0.7
"""Width of a space as a share of the font size, and of one between right-to-left words, which have joined letters of
any width."""
ANCHOR = 3
"""Distance in pixels that plotly keeps between a text and its point."""
SMALL = TEXT_SIZE - 2
DRAWN = 500
"""Maximum number of drawn words per part."""
LONGEST = 28
"""Maximum length of a label below a mark."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive characters of a text with one mark, or none."""

    text: str
    """Characters, spaces included."""
    label: str = ""
    """Label below the text; "" for none."""
    colour: str = ""
    """Background colour; "" for none."""
    strength: float = 0.3
    """Opacity of the colour, 0 to 1."""
    hover: str = ""
    """Hover text."""
    line: str = ""
    """"under" or "through" for a line, "" for none."""
    edged: bool = False
    """Whether it is outlined."""


@dataclass(frozen=True, slots=True)
class _WordBox:
    """A drawn word, in pixels from the left of its row."""

    text: str
    stretch: int
    left: float
    width: float
    row: int


class _Rows:
    """The words of several parts arranged in rows, each part below its heading."""

    def __init__(self, size: int, width: float) -> None:
        self.size, self.width = size, width
        self.boxes: list[_WordBox] = []
        self.stretches: list[Stretch] = []
        self.headings: dict[int, str] = {}
        self.row, self.used = -1, 0.0

    @property
    def count(self) -> int:
        return self.row + 1 - len(self.headings)

    def add(self, heading: str, part: Sequence[Stretch]) -> None:
        """Add another text below the existing ones."""
        if heading:
            self.row += 1
            self.headings[self.row] = heading
        self.row, self.used = self.row + 1, 0.0
        first, left = len(self.boxes), DRAWN
        backwards = is_right_to_left("".join(stretch.text for stretch in part))
        blank = WIDE_BLANK if backwards else BLANK
        for stretch in part:
            self.stretches.append(stretch)
            pad = PAD if stretch.colour else 0
            words = re.findall(r"\s+|\S+", stretch.text)
            words_width = sum(text_width(_shown(word), self.size) for word in words)
            least = text_width(stretch.label, SMALL)
            wide = least - words_width if stretch.label else 0.0
            self.used += pad
            for word in words:
                if word.isspace():
                    self.used += blank * self.size if self.used else 0.0
                    continue
                blank = WIDE_BLANK if backwards or is_right_to_left(word) else BLANK
                left -= 1
                if left < 0:
                    break
                self._word(word, pad, least)
                least = 0.0
            self._widen(max(0.0, wide), pad)
        if left < 0:
            more = sum(len(stretch.text.split()) for stretch in part) - DRAWN
            self.stretches.append(Stretch(""))
            self._word(f"… {more:,} more words", 0)
        if backwards:
            self.boxes[first:] = [replace(box, left=self.width - box.left - box.width) for box in self.boxes[first:]]

    def _word(self, word: str, pad: int, least: float = 0.0) -> None:
        """Add a word, in the next row if it or its label does not fit; cut it if no row fits."""
        for text in _cut(_shown(word), self.size, self.width / 3):
            width = text_width(text, self.size)
            if self.used > pad and self.used + max(width, least) + pad > self.width:
                self.row, self.used = self.row + 1, float(pad)
            self.boxes.append(_WordBox(text, len(self.stretches) - 1, self.used, width, self.row))
            self.used += width

    def _widen(self, more: float, pad: int) -> None:
        """Extend a mark to the right for its label."""
        if self.boxes and self.boxes[-1].stretch == len(self.stretches) - 1:
            last = self.boxes[-1]
            self.boxes[-1] = replace(last, width=last.width + more)
            self.used += more + pad


def marked_text(parts: Sequence[tuple[str, Sequence[Stretch]]], title: str, theme: Theme) -> go.Figure:
    """Draw texts with their marks, one below another, each below its name.

    Args:
        parts: heading of a text, "" for none, and its spans.
        title: title of the figure.
        theme: theme of the figure.
    """
    rows = _laid_out(parts, theme.pixels - EDGES - 2 * (PAD + ANCHOR))
    tops, labelled = _tops(rows), any(stretch.label for stretch in rows.stretches)
    tall = rows.size * 1.45
    figure = go.Figure(layout=layout(theme, escape(title), height=round(tops[-1]) + 62, showlegend=False))
    for index, group in itertools.groupby(rows.boxes, key=lambda box: (box.stretch, box.row)):
        _add_mark(figure, rows.stretches[index[0]], list(group), tops, tall, theme)
    for row, group in itertools.groupby(
        rows.boxes, key=lambda box: box.row if rows.stretches[box.stretch].edged else None
    ):
        if row is not None:
            _outline(figure, list(group), tops, tall, line={"color": theme.text, "width": 2})
    _add_words(figure, rows, tops, tall, theme)
    figure.update_xaxes(visible=False, range=[-PAD - ANCHOR, rows.width + PAD + ANCHOR], fixedrange=True)
    figure.update_yaxes(visible=False, range=[tops[-1] + (4 if labelled else 0), 0], fixedrange=True)
    return figure.update_layout(hovermode="closest", dragmode=False, hoverdistance=30)


def cut_label(label: str) -> str:
    """Format a label for a mark: one line, cut if long."""
    line = escape_controls(" ".join(label.split()))
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


def _laid_out(parts: Sequence[tuple[str, Sequence[Stretch]]], width: float) -> _Rows:
    for size in SIZES:
        rows = _Rows(size, width)
        for heading, part in parts:
            rows.add(heading, part)
        if rows.count <= FEW * len(parts):
            break
    return rows


def _tops(rows: _Rows) -> list[float]:
    """Return the top of every row in pixels, and the end of the last; rows without labels are lower."""
    named = {box.row for box in rows.boxes if rows.stretches[box.stretch].label}
    tops, y = [], 0.0
    for row in range(rows.row + 1):
        tops.append(y)
        plain = rows.size * 1.45 + 8
        y += TEXT_SIZE * 1.9 if row in rows.headings else plain + (SMALL * 1.3 if row in named else 0.0)
    return [*tops, y]


def _add_mark(
    figure: go.Figure, stretch: Stretch, boxes: Sequence[_WordBox], tops: Sequence[float], tall: float, theme: Theme
) -> None:
    """Add the background of a span's part in one row, and a point for its hover."""
    if stretch.colour:
        edge = {"color": stretch.colour, "width": 1}
        _outline(figure, boxes, tops, tall, fillcolor=faint(stretch.colour, stretch.strength), line=edge, layer="below")
    if stretch.line:
        left, right, top = (
            min(box.left for box in boxes),
            max(box.left + box.width for box in boxes),
            tops[boxes[0].row],
        )
        y = top + tall * (0.88 if stretch.line == "under" else 0.5)
        line = {"color": theme.text, "width": 2}
        figure.add_shape(type="line", **{"x0": left, "x1": right, "y0": y, "y1": y}, line=line)


def _outline(figure: go.Figure, boxes: Sequence[_WordBox], tops: Sequence[float], tall: float, **look: Any) -> None:
    """Draw a rectangle around neighbouring words of a row."""
    ends = {"x0": min(box.left for box in boxes) - PAD, "x1": max(box.left + box.width for box in boxes) + PAD}
    figure.add_shape(type="rect", **ends, y0=tops[boxes[0].row], y1=tops[boxes[0].row] + tall, **look)


def _add_words(figure: go.Figure, rows: _Rows, tops: Sequence[float], tall: float, theme: Theme) -> None:
    """Add the words, labels and headings, and hover texts."""
    figure.add_scatter(
        x=[box.left - ANCHOR for box in rows.boxes],
        y=[tops[box.row] + tall / 2 for box in rows.boxes],
        mode="text",
        text=[escape(box.text) for box in rows.boxes],
        textposition="middle right",
        textfont={"size": rows.size, "color": theme.text},
        hoverinfo="skip",
        cliponaxis=False,
    )
    firsts = [next(group) for _, group in itertools.groupby(rows.boxes, key=lambda box: box.stretch)]
    named = [box for box in firsts if rows.stretches[box.stretch].label]
    figure.add_scatter(
        x=[box.left - ANCHOR for box in named],
        y=[tops[box.row] + tall + SMALL * 0.65 for box in named],
        mode="text",
        text=[escape(rows.stretches[box.stretch].label) for box in named],
        textposition="middle right",
        textfont={"size": SMALL, "color": theme.muted},
        hoverinfo="skip",
        cliponaxis=False,
    )
    hovered = [box for box in rows.boxes if rows.stretches[box.stretch].hover]
    figure.add_scatter(
        x=[box.left + box.width / 2 for box in hovered],
        y=[tops[box.row] + tall / 2 for box in hovered],
        mode="markers",
        marker={"size": 30, "symbol": "square", "opacity": 0},
        hovertext=[rows.stretches[box.stretch].hover for box in hovered],
        hovertemplate="%{hovertext}<extra></extra>",
    )
    for row, words in rows.headings.items():
        figure.add_annotation(
            **{"x": 0, "y": tops[row] + TEXT_SIZE * 0.95, "xanchor": "left", "yanchor": "middle"},
            text=f"<b>{escape(words)}</b>",
            font={"size": TEXT_SIZE + 1, "color": theme.text},
            showarrow=False,
        )


def _shown(word: str) -> str:
    return escape_controls(word)


def _cut(word: str, size: float, room: float) -> list[str]:
    """Return the word, or parts of it that fit a width."""
    parts, used = [""], 0.0
    for letter in word:
        width = text_width(letter, size)
        if used + width > room and parts[-1]:
            parts.append("")
            used = 0.0
        parts[-1] += letter
        used += width
    return parts
