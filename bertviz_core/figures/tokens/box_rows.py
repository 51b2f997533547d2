"""Lay out the boxes of a text's tokens in rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from bertviz_core.figures.base.style import TEXT_SIZE, escape
from bertviz_core.figures.base.text_width import text_width
from bertviz_core.text import escape_controls, shortened
from bertviz_core.trace.results import Piece, PieceRun, TextPieces

Below = Literal["id", "token", "position"]
BELOW: tuple[Below, ...] = ("id", "token", "position")
"""What can stand below a token."""
Notes = Below | Sequence[str]
"""What stands below the tokens: one of these, or words for each by its position."""
SIZES = (32, 26, 22, 19, 16)
"""Pixels of the letters: the largest in which a text takes at most FEW rows."""
FEW = 3
EDGES = 16
"""Pixels of a picture's place that are no part of the plot."""
PAD, APART, JOINED, LEAST = 9, 12, 2, 30
"""Pixels: around the letters of a box, between words, between the pieces of one, and width of the narrowest box."""
DRAWN = 600
"""Most tokens that are drawn."""
LONGEST = 44
PARTS = ("First text", "Second text")


@dataclass(frozen=True, slots=True)
class TokenBox:
    """A token where it is drawn, in pixels from the left and from the top."""

    piece: Piece
    run: PieceRun
    left: float
    width: float
    row: int


@dataclass(frozen=True, slots=True)
class StripLabel:
    """Words between the boxes: a part's name, or characters that are no token."""

    text: str
    left: float
    width: float
    row: int
    heading: bool = False


class TokenRows:
    """The boxes laid out in rows of one size of letters."""

    def __init__(self, size: int, below: Notes, width: int) -> None:
        """No rows yet, for letters of a size and a plot of a width, both in pixels."""
        self.size, self.below, self.width = size, below, width
        self.boxes: list[TokenBox] = []
        self.labels: list[StripLabel] = []
        self.headings: list[bool] = []
        self.used = 0.0
        self.left = 0

    def add(self, name: str, pieces: TextPieces) -> None:
        """Another text below what is there."""
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
        """Rows of boxes."""
        return len(self.headings) - sum(self.headings)

    def _part(self, part: int) -> None:
        """The first or the second text begins on a row of its own, with its name above."""
        if part == 0 and self.used:  # what the tokenizer puts in front of all stands in the first text's row
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
        """The boxes of a word; it moves to the next row as a whole where it fits one."""
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
    """The characters of a token as they stand in its box, in letters of a size, as many as fit the room in pixels."""
    return _fitted(piece.text, size, room - text_width(piece.mark, size * 0.7))


def note(piece: Piece, below: Notes, room: float) -> str:
    """What stands below a token, as much of it as fits the room in pixels."""
    if not isinstance(below, str):
        return _fitted(escape_controls(below[piece.position]), TEXT_SIZE, room)
    if below == "token":
        return _fitted(escape_controls(piece.spelling), TEXT_SIZE, room)
    return str(piece.position if below == "position" else piece.token_id)


def _fitted(text: str, size: float, room: float) -> str:
    """As many of the first letters as fit; what is cut off leaves its mark."""
    if len(text) <= LONGEST and text_width(text, size) <= room:
        return text
    shown = text[: LONGEST - 1]
    while shown and text_width(f"{shown}…", size) > room:
        shown = shown[:-1]
    return f"{shown}…"


def _within(runs: Sequence[PieceRun], most: int) -> list[PieceRun]:
    """The runs up to so many pieces."""
    shown, left = [], most
    for run in runs:
        if left <= 0:
            break
        shown.append(replace(run, pieces=run.pieces[:left]))
        left -= len(run.pieces)
    return shown


def token_rows(parts: Sequence[tuple[str, TextPieces]], below: Notes, width: int) -> TokenRows:
    """The rows in the largest letters in which the texts take few of them.

    Args:
        parts: name of a tokenizer, "" for none, and what it makes of the text.
        below: annotation below each token.
        width: of the plot in pixels.
    """
    for size in SIZES:
        rows = TokenRows(size, below, width)
        for name, pieces in parts:
            rows.add(name, pieces)
        if rows.count <= FEW * len(parts):
            break
    return rows
