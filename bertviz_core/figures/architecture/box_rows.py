"""Draw rows of boxes connected by arrows and residual lines, with sizes and counts beside them."""

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from bertviz_core.figures.architecture.drawing import BOLD, LINE, Drawing, Fitted, fitted_words
from bertviz_core.figures.base.style import TEXT_SIZE, Theme, escape
from bertviz_core.figures.base.text_width import text_width

HEADING, FRAME, GAP, BLOCK_GAP, BETWEEN = 24, 9, 13, 21, 8
"""Pixels: height of a heading, padding of a frame, distances between rows, before a block and between boxes."""
SIDE, TAP, SPLIT, BESIDE = 34, 11, 7, 14
"""Pixels: width for residual lines at the left, distances from a branch or fork to the row, and from a column."""
SUM_SIZE = 13
"""Font size of the totals of the layers."""
SIGN = 18
"""Width in pixels of a sign between two boxes."""
SHAPE_ROOM = 0.42
"""Share of the width above which the column of shapes is left out."""


@dataclass(frozen=True, slots=True)
class Box:
    """One box of a row: name, sizes, colour."""

    label: str
    detail: str
    colour: str


@dataclass(frozen=True, slots=True)
class Row:
    """Boxes side by side, with labels beside them."""

    boxes: tuple[Box, ...]
    count: int | None = None
    """Number of parameters in the row."""
    shape: str = ""
    """Output shape."""
    group: str = ""
    """Heading of its frame; rows of one frame are adjacent."""
    begins: bool = False
    """Whether a residual line branches off above it."""
    joins: bool = False
    """Whether the last residual line is added here."""
    passed: float = 1.0
    """Share of the width of the boxes; the values pass at their right."""
    sign: str = ""
    """Sign between the boxes."""
    apart: bool = False
    """Whether it is outside the main data flow, without an incoming arrow."""


@dataclass(frozen=True, slots=True)
class Picture:
    """All rows, with title and totals."""

    rows: tuple[Row, ...]
    title: str
    enters: str
    """Input of the first row."""
    shapes: str = ""
    """Heading of the shapes."""
    counts: str = "parameters"
    """Heading of the counts."""
    sums: tuple[tuple[str, str], ...] = ()
    """(heading of a frame, its text in the column of counts)."""
    total: str = ""
    """Text below the counts."""


@dataclass(frozen=True, slots=True)
class _Columns:
    """Horizontal positions of the columns."""

    left: float
    right: float
    shapes: float | None
    counts: float


def draw_rows(picture: Picture, theme: Theme) -> go.Figure:
    """Draw the rows from top to bottom."""
    drawing = Drawing(theme)
    at = _columns(picture, drawing)
    words = [_fitted(row, at) for row in picture.rows]
    tops, heights, bottom = _places(picture.rows, words)
    _headings(drawing, picture, at)
    middle = (at.left + at.right) / 2
    drawing.note(middle, HEADING / 2, escape(picture.enters), theme.muted)
    for index, (row, fitted, top) in enumerate(zip(picture.rows, words, tops, strict=True)):
        _draw_row(drawing, row, fitted, at, (top, heights[index]))
        if not row.apart:
            _arrows(drawing, picture.rows, tops, heights, index, at)
    for index, row in enumerate(picture.rows):
        if row.group and (not index or picture.rows[index - 1].group != row.group):
            last = max(place for place, each in enumerate(picture.rows) if each.group == row.group)
            _frame(drawing, picture, row.group, (tops[index], tops[last] + heights[last]), at)
    _residuals(drawing, picture.rows, tops, heights, at)
    if picture.total:
        bottom += HEADING
        drawing.note(at.counts, bottom - HEADING / 2, f"<b>{escape(picture.total)}</b>", theme.text, "right")
        drawing.note(at.right, bottom - HEADING / 2, "<b>in all</b>", theme.text, "right")
    return drawing.figure(escape(picture.title), bottom + 6)


def _columns(picture: Picture, drawing: Drawing) -> _Columns:
    residual = any(row.joins for row in picture.rows)
    framed = any(row.group for row in picture.rows)
    texts = [f"{row.count:,}" for row in picture.rows if row.count]
    bold = [BOLD * text_width(each, TEXT_SIZE) for each in (picture.counts, picture.total)]
    small = [text_width(words, SUM_SIZE) for _, words in picture.sums]
    counts = max(*bold, *small, *(text_width(each, TEXT_SIZE) for each in texts)) + BESIDE
    shapes = [row.shape for row in picture.rows if row.shape]
    wide = max((text_width(each, TEXT_SIZE) for each in [*shapes, picture.shapes]), default=0.0) + BESIDE
    shown = bool(shapes) and (counts + wide) < SHAPE_ROOM * drawing.width
    left = (SIDE if residual else 4) + (FRAME if framed else 0)
    right = drawing.width - counts - (wide if shown else 0) - (FRAME if framed else 0)
    return _Columns(left, right, right + BESIDE + (FRAME if framed else 0) if shown else None, drawing.width - 2)


def _fitted(row: Row, at: _Columns) -> list[Fitted]:
    return [
        fitted_words(box.label, box.detail, right - left)
        for box, (left, right) in zip(row.boxes, _edges(row, at), strict=True)
    ]


def _edges(row: Row, at: _Columns) -> list[tuple[float, float]]:
    """Return the left and right edges of every box of a row."""
    between = SIGN if row.sign else BETWEEN
    whole = (at.right - at.left) * row.passed - (BETWEEN if row.passed < 1 else 0)
    width = (whole - between * (len(row.boxes) - 1)) / len(row.boxes)
    lefts = [at.left + index * (width + between) for index in range(len(row.boxes))]
    return [(left, left + width) for left in lefts]


def _places(rows: Sequence[Row], words: Sequence[Sequence[Fitted]]) -> tuple[list[float], list[float], float]:
    """Return the top and height of each row, and the end of the last."""
    tops: list[float] = []
    heights = [LINE * max((each.lines for each in fitted), default=1) + 11.0 for fitted in words]
    y = float(HEADING)
    for index, row in enumerate(rows):
        before = rows[index - 1] if index else None
        y += BLOCK_GAP if row.begins else GAP
        if row.group and (before is None or before.group != row.group):
            y += HEADING + (FRAME if not row.begins else 2)
        if before is not None and before.group and before.group != row.group:
            y += FRAME
        tops.append(y)
        y += heights[index]
    return tops, heights, y + (FRAME if rows and rows[-1].group else 0)


def _headings(drawing: Drawing, picture: Picture, at: _Columns) -> None:
    drawing.note(at.counts, HEADING / 2, f"<b>{escape(picture.counts)}</b>", drawing.theme.text, "right")
    if at.shapes is not None and picture.shapes:
        drawing.note(at.shapes, HEADING / 2, f"<b>{escape(picture.shapes)}</b>", drawing.theme.text, "left")


def _draw_row(drawing: Drawing, row: Row, words: Sequence[Fitted], at: _Columns, place: tuple[float, float]) -> None:
    top, height = place
    theme, middle = drawing.theme, top + height / 2
    edges = _edges(row, at)
    for index, ((left, right), box, fitted) in enumerate(zip(edges, row.boxes, words, strict=True)):
        drawing.box((left, top, right, top + height), fitted.text, theme.colours[box.colour], fitted.size)
        if index and row.sign:
            drawing.note(left - SIGN / 2, middle, row.sign, theme.text)
    if row.shape and at.shapes is not None:
        drawing.note(at.shapes, middle, row.shape, theme.text, "left")
    if row.count:
        drawing.note(at.counts, middle, f"{row.count:,}", theme.muted, "right")


def _arrows(
    drawing: Drawing, rows: Sequence[Row], tops: Sequence[float], heights: Sequence[float], index: int, at: _Columns
) -> None:
    """Draw arrows into the boxes of a row: from the boxes above, the values past the scores."""
    row, top, middle = rows[index], tops[index], (at.left + at.right) / 2
    before = next((place for place in range(index - 1, -1, -1) if not rows[place].apart), None)
    above = None if before is None else rows[before]
    end = HEADING - 3.0 if before is None else tops[before] + heights[before]
    centres = [(left + right) / 2 for left, right in _edges(row, at)]
    if above is not None and above.passed < 1:
        (left, right), *_ = _edges(above, at)
        drawing.arrow(((left + right) / 2, end), ((left + right) / 2, top))
        value = (right + BETWEEN + at.right) / 2
        drawing.arrow((value, tops[index - 2] + heights[index - 2]), (value, top))
    elif above is not None and len(above.boxes) > 1 and not above.sign:
        limit = _edges(row, at)[-1][1]
        for start in ((left + right) / 2 for left, right in _edges(above, at)):
            if start < limit:
                drawing.arrow((start, end), (start, top))
    elif len(centres) == 1 or row.sign:
        place = middle if row.passed == 1 else centres[0]
        drawing.arrow((place, end), (place, top))
    else:
        fork = top - SPLIT
        drawing.line([(middle, end), (middle, fork)])
        drawing.line([(centres[0], fork), (centres[-1], fork)])
        for centre in centres:
            drawing.arrow((centre, fork), (centre, top))


def _frame(drawing: Drawing, picture: Picture, group: str, ends: tuple[float, float], at: _Columns) -> None:
    """Draw the frame of a group, with its heading at the top left and its total beside it."""
    begins = next(row.begins for row in picture.rows if row.group == group)
    top, bottom = ends[0] - HEADING - (TAP if begins else FRAME / 2), ends[1] + FRAME
    left = at.left - FRAME - (SIDE - 6 if any(row.joins for row in picture.rows if row.group == group) else 0)
    drawing.frame((left, top, at.right + FRAME, bottom))
    drawing.note(left + 8, top + HEADING / 2, f"<b>{escape(group)}</b>", drawing.theme.text, "left")
    beside = dict(picture.sums).get(group)
    if beside:
        drawing.note(at.counts, top + HEADING / 2, escape(beside), drawing.theme.text, "right", SUM_SIZE)


def _residuals(
    drawing: Drawing, rows: Sequence[Row], tops: Sequence[float], heights: Sequence[float], at: _Columns
) -> None:
    middle, side, start = (at.left + at.right) / 2, at.left - 14, 0.0
    for row, top, height in zip(rows, tops, heights, strict=True):
        if row.begins:
            start = top - TAP
        if row.joins:
            end = top + height / 2
            drawing.line([(middle, start), (side, start), (side, end)])
            drawing.arrow((side, end), (at.left, end))
            if end - start > text_width("residual", TEXT_SIZE - 2) + 8:
                drawing.note(
                    side - 10, (start + end) / 2, "residual", drawing.theme.muted, size=TEXT_SIZE - 2, angle=-90
                )
