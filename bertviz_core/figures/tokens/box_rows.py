"""Arrange the boxes of a text's tokens in rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from bertviz_core.figures.base.style import TEXT_SIZE, escape
from bertviz_core.figures.base.text_width import text_width
from bertviz_core.text import escape_controls, shortened
from bertviz_core.trace.results import Piece, PieceRun, TextPieces

Below = Literal["id", "token", "position"]
BELOW: tuple[Below, ...] = ("id", "token", "position")
"""Annotations below a token."""
Notes = Below | Sequence[str]
"""Annotations below the tokens: one of these, or text for each by its position."""
SIZES = (32, 26, 22, 19, 16)
"""Font sizes in pixels: the largest at which a text takes at most FEW rows is used."""
FEW = 3
EDGES = 16
"""Horizontal margins of the plot in pixels."""
PAD, APART, JOINED, LEAST = 9, 12, 2, 30
"""Pixels: padding of a box, distance between words, between the pieces of one, minimum width of a box."""
DRAWN = 600
"""Maximum number of drawn tokens."""
LONGEST = 44
PARTS = ("First text", "Second text")
WRITTEN = "Boxes: the text as it is written."
"""Part of the caption of figures with boxes, since the vocabulary may spell a token otherwise: sin for Sin."""
SPELLED = f"{WRITTEN} Tables and sentences: each token as the vocabulary spells it."
"""The same for a page that shows both."""


@dataclass(frozen=True, slots=True)
class TokenBox:
    """A drawn token, in pixels from the left and from the top."""

    piece: Piece
    run: PieceRun
    left: float
    width: float
    row: int


@dataclass(frozen=True, slots=True)
class StripLabel:
    """Text between the boxes: the name of a part, or characters that are no token."""

    text: str
    left: float
    width: float
    row: int
    heading: bool = False


class TokenRows:
    """Boxes arranged in rows at one font size."""

    def __init__(self, size: int, below: Notes, width: int) -> None:
        """Start without rows, for a font size and a plot width in pixels."""
        self.size, self.below, self.width = size, below, width
        self.boxes: list[TokenBox] = []
        self.labels: list[StripLabel] = []
        self.headings: list[bool] = []
        self.used = 0.0
        self.left = 0

    def add(self, name: str, pieces: TextPieces) -> None:
        """Add another text below the existing ones."""
        first_box, first_label = len(self.boxes), len(self.labels)
        if name:
            self._heading(name)
        self._break()
        part: int | None = None
        for run in _within(pieces.runs, DRAWN):
            if pieces.pair and run.sequence is not None and run.sequence != part:
                part = run.sequence
                self._part(part)
            if run.pieces:
                self._word(run)
            elif run.gap.strip():
                self._unread(run)
        if len(pieces) > DRAWN:
            self._label(f"… {len(pieces) - DRAWN:,} more tokens")
        if pieces.right_to_left:
            self.boxes[first_box:] = [
                replace(box, left=self.width - box.left - box.width) for box in self.boxes[first_box:]
            ]
            self.labels[first_label:] = [
                label if label.heading else replace(label, left=self.width - label.left - label.width)
                for label in self.labels[first_label:]
            ]

    @property
    def count(self) -> int:
        """Number of rows of boxes."""
        return len(self.headings) - sum(self.headings)

    def _part(self, part: int) -> None:
        """Start a new row for the first or second text, with its name above."""
        if part == 0 and self.used:  # leading special tokens are in the row of the first text
            place = len(self.headings) - 1
            self.headings.insert(place, True)
            self.boxes = [replace(box, row=box.row + (box.row >= place)) for box in self.boxes]
            self.labels.append(StripLabel(PARTS[0], 0, self.width, place, True))
            return
        if not self.used:
            self.headings.pop()
        self._heading(PARTS[part])
        self._break()

    def _heading(self, text: str) -> None:
        self.headings.append(True)
        self.labels.append(StripLabel(text, 0, self.width, len(self.headings) - 1, True))

    def _break(self) -> None:
        self.headings.append(False)
        self.used = 0.0

    def _word(self, run: PieceRun) -> None:
        """Add the boxes of a word; it moves to the next row as a whole if it fits there."""
        widths = [self._across(piece) for piece in run.pieces]
        whole = sum(widths) + JOINED * (len(widths) - 1)
        if self.used and self.used + whole > self.width:
            self._break()
        for piece, width in zip(run.pieces, widths, strict=True):
            if self.used and self.used + width > self.width:
                self._break()
            self.boxes.append(TokenBox(piece, run, self.used, width, len(self.headings) - 1))
            self.used += width + JOINED
        self.used += APART - JOINED

    def _unread(self, run: PieceRun) -> None:
        text = escape(shortened(run.gap.strip(), LONGEST))
        self._label(f"<s>{text}</s>" if run.cut else text, text_width(run.gap.strip()[: LONGEST + 24], TEXT_SIZE))

    def _label(self, text: str, width: float = 200) -> None:
        if self.used and self.used + width > self.width:
            self._break()
        self.labels.append(StripLabel(text, self.used, width, len(self.headings) - 1))
        self.used += width + APART

    def _across(self, piece: Piece) -> float:
        most = self.width - 2 * PAD
        letters = text_width(shown(piece, self.size, most), self.size) + text_width(piece.mark, self.size * 0.7)
        return max(letters, text_width(note(piece, self.below, most), TEXT_SIZE), LEAST - 2 * PAD) + 2 * PAD


def shown(piece: Piece, size: float, room: float) -> str:
    """Return the characters of a token in its box, at a font size, as many as fit."""
    return _fitted(piece.text, size, room - text_width(piece.mark, size * 0.7))


def note(piece: Piece, below: Notes, room: float) -> str:
    """Return the annotation below a token, as much of it as fits."""
    if not isinstance(below, str):
        return _fitted(escape_controls(below[piece.position]), TEXT_SIZE, room)
    if below == "token":
        return _fitted(escape_controls(piece.spelling), TEXT_SIZE, room)
    return str(piece.position if below == "position" else piece.token_id)


def _fitted(text: str, size: float, room: float) -> str:
    """Return as many leading characters as fit, with a mark if cut."""
    if len(text) <= LONGEST and text_width(text, size) <= room:
        return text
    shown = text[: LONGEST - 1]
    while shown and text_width(f"{shown}…", size) > room:
        shown = shown[:-1]
    return f"{shown}…"


def _within(runs: Sequence[PieceRun], most: int) -> list[PieceRun]:
    """Return the runs up to this number of pieces."""
    shown, left = [], most
    for run in runs:
        if left <= 0:
            break
        shown.append(replace(run, pieces=run.pieces[:left]))
        left -= len(run.pieces)
    return shown


def token_rows(parts: Sequence[tuple[str, TextPieces]], below: Notes, width: int) -> TokenRows:
    """Arrange the tokens in rows, at the largest font size that needs few of them.

    Args:
        parts: name of a tokenizer, "" for none, and its tokens of the text.
        below: annotation below each token.
        width: width of the plot in pixels.
    """
    for size in SIZES:
        rows = TokenRows(size, below, width)
        for name, pieces in parts:
            rows.add(name, pieces)
        if rows.count <= FEW * len(parts):
            break
    return rows
