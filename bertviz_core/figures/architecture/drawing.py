"""Collect the shapes and texts of a drawing, in pixels from the top left."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import plotly.graph_objects as go

from bertviz_core.figures.base.axes import text_width
from bertviz_core.figures.base.style import TEXT_SIZE, Theme, escape, layout, text_on

SIZES = (TEXT_SIZE, 13, 12, 11)
"""Font sizes; the first that fits is used."""
BOLD = 1.06
"""Relative width of bold text."""
LINE = 17
"""Line height in a box in pixels."""
PAD = 12
"""Horizontal padding of a box in pixels, both sides together."""
RADIUS = 6
MARGIN_TOP, MARGIN = 48, 8
Edges = tuple[float, float, float, float]
"""Left, top, right and bottom."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """Text that fits a box."""

    text: str
    """Text with plotly markup."""
    size: int
    lines: int


@dataclass(frozen=True, slots=True)
class Drawing:
    """Collects shapes and annotations of one figure, since plotly validates all of them at each addition."""

    theme: Theme
    shapes: list[dict[str, Any]] = field(default_factory=list)
    notes: list[dict[str, Any]] = field(default_factory=list)

    @property
    def width(self) -> float:
        """Width in pixels."""
        return self.theme.pixels - 2 * MARGIN

    def box(self, at: Edges, text: str, colour: str, size: int = TEXT_SIZE) -> None:
        """Add a filled box with text in black or white, by contrast."""
        left, top, right, bottom = at
        path = {"type": "path", "path": _rounded(*at), "fillcolor": colour, "line": {"width": 0}, "layer": "below"}
        self.shapes.append(path)
        self.note((left + right) / 2, (top + bottom) / 2, text, text_on(colour), size=size)

    def cells(self, cells: Sequence[Edges], colour: str) -> None:
        """Add small filled squares of one colour."""
        path = " ".join(f"M {x0},{y0} L {x1},{y0} L {x1},{y1} L {x0},{y1} Z" for x0, y0, x1, y1 in cells)
        self.shapes.append({"type": "path", "path": path, "fillcolor": colour, "line": {"width": 0}})

    def frame(self, at: Edges, dash: str = "solid") -> None:
        """Add an outlined box."""
        line = {"color": self.theme.muted, "width": 1.5, "dash": dash}
        self.shapes.append({"type": "path", "path": _rounded(*at), "line": line, "layer": "below"})

    def ground(self, at: Edges) -> None:
        """Add a surface behind everything else."""
        left, top, right, bottom = at
        path = f"M {left},{top} L {right},{top} L {right},{bottom} L {left},{bottom} Z"
        shape = {"type": "path", "path": path, "fillcolor": self.theme.neutral, "opacity": 0.4, "line": {"width": 0}}
        self.shapes.append({**shape, "layer": "below"})

    def arrow(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Add a straight arrow."""
        axes = {"xref": "x", "yref": "y", "axref": "x", "ayref": "y"}
        style = {"showarrow": True, "arrowhead": 2, "arrowwidth": 1.5, "arrowcolor": self.theme.muted, "text": ""}
        self.notes.append({"x": end[0], "y": end[1], "ax": start[0], "ay": start[1], **axes, **style})

    def line(self, points: Sequence[tuple[float, float]]) -> None:
        """Add a line through points."""
        path = " L ".join(f"{x},{y}" for x, y in points)
        self.shapes.append({"type": "path", "path": f"M {path}", "line": {"color": self.theme.muted, "width": 1.5}})

    def note(
        self, x: float, y: float, text: str, colour: str, anchor: str = "center", size: int = TEXT_SIZE, angle: int = 0
    ) -> None:
        """Add text without a box."""
        place = {"x": x, "y": y, "xanchor": anchor, "textangle": angle, "borderpad": 0}
        self.notes.append({**place, "text": text, "showarrow": False, "font": {"size": size, "color": colour}})

    def figure(self, title: str, bottom: float) -> go.Figure:
        """Build the figure with this height."""
        figure = go.Figure(layout=layout(self.theme, title))
        height = int(bottom) + MARGIN_TOP + MARGIN
        figure.update_layout(shapes=self.shapes, annotations=self.notes, height=height, dragmode=False)
        figure.update_xaxes(visible=False, range=[0, self.width], fixedrange=True)
        return figure.update_yaxes(visible=False, range=[bottom, 0], fixedrange=True)


def fitted_words(label: str, detail: str, width: float) -> Fitted:
    """Format a bold label and details behind or below it, in the first form and size that fits a box of this width.

    If nothing fits, the details are left out, and finally the label is broken into lines.
    """
    room, details = width - PAD, detail.split("\n") if detail else []
    for size in SIZES:
        wide = text_width(label, size) * BOLD
        below = [text_width(each, size) for each in details]
        if len(details) <= 1 and wide + sum(below) + (text_width("   ", size) if below else 0) <= room:
            text = f"<b>{escape(label)}</b>" + (f"   {escape(details[0])}" if details else "")
            return Fitted(text, size, 1)
        if details and max(wide, *below) <= room:
            return Fitted("<br>".join([f"<b>{escape(label)}</b>", *map(escape, details)]), size, 1 + len(details))
    for size in SIZES:
        words = broken(label, room, size)
        if max(text_width(each, size) for each in words) * BOLD <= room:
            return Fitted("<br>".join(f"<b>{escape(each)}</b>" for each in words), size, len(words))
    return Fitted("<br>".join(f"<b>{escape(each)}</b>" for each in words), SIZES[-1], len(words))


def broken(text: str, room: float, size: float) -> list[str]:
    """Break text into the fewest lines that fit, without breaking words."""
    lines: list[str] = []
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, size) * BOLD <= room:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def _rounded(left: float, top: float, right: float, bottom: float) -> str:
    r = RADIUS
    return (
        f"M {left + r},{top} L {right - r},{top} Q {right},{top} {right},{top + r} L {right},{bottom - r} "
        f"Q {right},{bottom} {right - r},{bottom} L {left + r},{bottom} Q {left},{bottom} {left},{bottom - r} "
        f"L {left},{top + r} Q {left},{top} {left + r},{top} Z"
    )


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
    enters: str = ""
    """What enters here in place of the row above."""


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
        y += LINE + TAP / 2 if row.enters else 0
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
    if row.enters:
        above, end = None, top - HEADING - (TAP if row.begins else FRAME) - TAP / 2
        drawing.note(middle, end - LINE / 2, escape(row.enters), drawing.theme.muted)
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
    drawing.notes[-1]["bgcolor"] = drawing.theme.paper  # an arrow may pass behind it
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
