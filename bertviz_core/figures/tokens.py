"""Tokens of a text as boxes, and the neighbours of one."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go

from bertviz_core.figures.base.axes import text_width
from bertviz_core.figures.base.axes import token_text as label
from bertviz_core.figures.base.cells import colour_at
from bertviz_core.figures.base.export import SELECTION
from bertviz_core.figures.base.marks import ABOVE, add_words, rows_in_place
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import TEXT_SIZE, Theme, diverging, escape, faint, layout, sequential, text_on
from bertviz_core.figures.sentences.bars import named_score_bars
from bertviz_core.hidden_states.results import NearestRows
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.text import counted, escape_controls, is_right_to_left, shortened
from bertviz_core.trace.results import Piece, PieceRun, TextPieces, Tokens

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
ONLY_APART = "Shades tell neighbouring words apart and have no value."
"""The other part, since other figures' shades have one."""
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

    def __init__(self, size: int, below: Notes, width: float) -> None:
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
                unread, text = run.gap.strip(), escape(shortened(run.gap.strip(), LONGEST))
                self._label(f"<s>{text}</s>" if run.cut else text, text_width(unread[: LONGEST + 24], TEXT_SIZE))
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

    @property
    def tall(self) -> float:
        """Height of a box in pixels."""
        return self.size * 1.4 + TEXT_SIZE * 1.3 + 10

    @property
    def tops(self) -> list[float]:
        """The top of every row in pixels, and the end of the last."""
        return [0.0, *accumulate(TEXT_SIZE * 1.9 if heading else self.tall + 8 for heading in self.headings)]

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
    shown, left = [], most
    for run in runs:
        if left <= 0:
            break
        shown.append(replace(run, pieces=run.pieces[:left]))
        left -= len(run.pieces)
    return shown


def token_rows(parts: Sequence[tuple[str, TextPieces]], below: Notes, width: float) -> TokenRows:
    """Arrange the tokens in rows, at the largest font size that needs few of them; a smaller one may save a row."""
    best: TokenRows | None = None
    for size in SIZES:
        rows = TokenRows(size, below, width)
        for name, pieces in parts:
            rows.add(name, pieces)
        if best is not None and rows.count >= best.count <= FEW * len(parts):
            return best
        best = rows
    return rows


WORDS_BELOW = {"id": "its id", "token": "its spelling in the vocabulary", "position": "its position"}
PAIR_HUES = (0, 7)
"""Places in HUES of the colours of the first and of the second text."""
NO_FILLS: Mapping[int, str] = {}
EDGE_LINE = 1
"""Pixels around the boxes, so that the outer half of their lines is visible."""


def token_strip(
    parts: Sequence[tuple[str, TextPieces]],
    below: Notes,
    title: str,
    theme: Theme,
    chosen: int | None = None,
    fills: Mapping[int, str] = NO_FILLS,
    beside: int = 0,
) -> go.Figure:
    """Draw texts as tokens, one below another, each below its name.

    The token at the position `chosen` is outlined; `fills` has the colour of the box at a position. At the right
    `beside` pixels are free for a colour bar.
    """
    across = EDGES + beside
    rows = rows_in_place(lambda width: token_rows(parts, below, width - across), lambda each: each.tops[-1], theme)
    tall, (*tops, y) = rows.tall, rows.tops
    figure = go.Figure(layout=layout(theme, escape(title), height=round(y) + ABOVE, showlegend=False))
    _add_boxes(figure, [box for box in rows.boxes if box.piece.position not in fills], tops, tall, theme)
    for colour in dict.fromkeys(fills.values()):
        alike = [box for box in rows.boxes if fills.get(box.piece.position) == colour]
        _outline(figure, alike, tops, tall, fillcolor=colour, line={"color": theme.muted, "width": 1})
    if outlined := [box for box in rows.boxes if box.piece.position == chosen]:
        thick = {"color": theme.text, "width": 3}
        _outline(figure, outlined, tops, tall, fillcolor="rgba(0, 0, 0, 0)", line=thick, meta=SELECTION)
    _add_words(figure, rows, tops, below, theme, fills)
    left, right = _ends(rows)
    if theme.tall:  # as narrow as its boxes, which then fill the place
        figure.layout.width = math.ceil(right - left) + across
    else:  # boxes that no text stands beside are in the middle
        aside = 0.0 if rows.labels else (rows.width - left - right) / 2
        left, right = -EDGE_LINE - aside, rows.width + EDGE_LINE - aside
    figure.update_xaxes(visible=False, range=[left, right], fixedrange=True)
    figure.update_yaxes(visible=False, range=[y, -EDGE_LINE], fixedrange=True)
    return figure.update_layout(hovermode="closest", dragmode=False, hoverdistance=40)


def _ends(rows: TokenRows) -> tuple[float, float]:
    """Left and right end of what is drawn, lines included; a name above boxes is as wide as its letters."""
    drawn = [(each.left, each.width) for each in rows.boxes]
    drawn += [(each.left, text_width(each.text, TEXT_SIZE + 1) if each.heading else each.width) for each in rows.labels]
    return min(left for left, _ in drawn) - EDGE_LINE, max(left + width for left, width in drawn) + EDGE_LINE


BAR = 92
"""Width in pixels of a colour bar; omitted on a phone, where the boxes contain the numbers."""
LONGEST_BAR = 320
"""Height in pixels of the colour bar of a long text, at its beginning."""
SHADES = 24
"""Number of shades, so that similar tokens share an outline."""


def coloured_strip(
    pieces: TextPieces,
    values: Sequence[float],
    ends: tuple[float, float],
    written: Callable[[float], str],
    bar: Mapping[str, Any],
    title: str,
    theme: Theme,
) -> go.Figure:
    """Draw a text as tokens coloured by their values, none for NaN, with the numbers below and a colour bar."""
    (low, high), signed = ends, ends[0] < 0
    scale, steps = (diverging(theme), SHADES // 2) if signed else (sequential(theme), SHADES)
    known = {place: value for place, value in enumerate(values) if not np.isnan(value)}
    shares = {place: round(value / high * steps) / steps for place, value in known.items()}
    fills = {place: colour_at(scale, (each + 1) / 2 if signed else each) for place, each in shares.items()}
    notes = [written(known[place]) if place in known else "" for place in range(len(values))]
    beside = 0 if theme.narrow else BAR
    figure = token_strip((("", pieces),), notes, title, theme, fills=fills, beside=beside)
    if not beside:
        return figure
    marker = {"color": [0], "cmin": low, "cmax": high, "colorscale": scale, "showscale": True, "opacity": 0}
    return figure.add_scatter(x=[None], y=[None], mode="markers", marker={**marker, "colorbar": bar}, hoverinfo="skip")


def hover(piece: Piece) -> str:
    """Format a token in one line for a hover."""
    kind = "special token" if piece.special else "not in the vocabulary" if piece.unknown else ""
    spelling = escape(escape_controls(shortened(piece.spelling, LONGEST)))
    return ", ".join(filter(None, (f"position {piece.position}", spelling, f"id {piece.token_id}", kind)))


def _add_boxes(figure: go.Figure, boxes: Sequence[TokenBox], tops: Sequence[float], tall: float, theme: Theme) -> None:
    """Draw the boxes with few outlines: one per style."""
    looks: dict[tuple[str, int, int], list[TokenBox]] = {}
    for box in boxes:
        kind = "special" if box.piece.special else "unknown" if box.piece.unknown else "known"
        looks.setdefault((kind, box.run.tone, box.run.sequence or 0), []).append(box)
    for (kind, tone, part), alike in looks.items():
        hue = theme.hues[PAIR_HUES[part]]
        special = kind == "special"
        line = {"color": theme.muted if special else theme.text if kind == "unknown" else faint(hue, 0.55)}
        _outline(
            figure,
            alike,
            tops,
            tall,
            fillcolor="rgba(0, 0, 0, 0)" if special else faint(hue, (0.34, 0.13)[tone]),
            line={**line, "width": 2 if kind == "unknown" else 1.2, "dash": "dot" if kind == "unknown" else "solid"},
        )


def _outline(
    figure: go.Figure,
    boxes: Sequence[TokenBox],
    tops: Sequence[float],
    tall: float,
    fillcolor: str,
    line: dict[str, object],
    meta: str | None = None,
) -> None:
    x: list[float | None] = []
    y: list[float | None] = []
    for box in boxes:
        left, right, top = box.left, box.left + box.width, tops[box.row]
        x += [left, right, right, left, left, None]
        y += [top, top, top + tall, top + tall, top, None]
    figure.add_scatter(
        x=x, y=y, mode="lines", fill="toself", fillcolor=fillcolor, line=line, hoverinfo="skip", meta=meta
    )


def _add_words(
    figure: go.Figure, rows: TokenRows, tops: Sequence[float], below: Notes, theme: Theme, fills: Mapping[int, str]
) -> None:
    """Add the text in and between the boxes, and the points for hovering and selecting tokens."""
    boxes, size, room = rows.boxes, rows.size, rows.width - 2 * PAD
    middles = [box.left + box.width / 2 for box in boxes]
    own, second = size * 0.7 + 5, size * 1.4 + TEXT_SIZE * 0.65 + 6
    on_fill = [text_on(fills[at]) if (at := box.piece.position) in fills else "" for box in boxes]
    texts = [_written(box.piece, size, room, ink or theme.muted) for box, ink in zip(boxes, on_fill, strict=True)]
    notes = [f"{_side(box.piece)}{escape(note(box.piece, below, room))}" for box in boxes]
    heights = [tops[box.row] + own for box in boxes]
    for levels, words, letters, colour in (
        (heights, texts, size, theme.text),
        ([tops[box.row] + second for box in boxes], notes, TEXT_SIZE, theme.muted),
    ):
        inks = [ink or colour for ink in on_fill] if fills else colour
        add_words(figure, middles, levels, words, letters, inks, None, cliponaxis=None)
    for name in rows.labels:
        text = f"<b>{escape(name.text)}</b>" if name.heading else name.text
        font = {"size": TEXT_SIZE + name.heading, "color": theme.text if name.heading else theme.muted}
        place = {"xanchor": "left", "yanchor": "middle", "showarrow": False}
        y = tops[name.row] + (TEXT_SIZE * 0.95 if name.heading else own)
        figure.add_annotation(x=name.left, y=y, text=text, font=font, **place)
    unseen = {"marker": {"opacity": 0}}  # a click must neither fade unselected points nor show the selected one
    figure.add_scatter(
        x=middles,
        y=heights,
        mode="markers",
        marker={"size": 40, "symbol": "square", "opacity": 0},
        customdata=[box.piece.position for box in boxes],
        hovertext=[hover(box.piece) for box in boxes],
        hovertemplate="%{hovertext}<extra></extra>",
        selected=unseen,
        unselected=unseen,
    )


def _written(piece: Piece, size: int, room: float, mark_colour: str) -> str:
    """Format a token's mark, in small type, and its characters, in plotly markup."""
    text = escape(shown(piece, size, room))
    text = f"<i>{text}</i>" if piece.special else f"<u>{text}</u>" if piece.unknown else text
    mark = f'<span style="font-size:{round(size * 0.7)}px;color:{mark_colour}">{escape(piece.mark)}</span>'
    return f"{_side(piece)}{mark}{text}" if piece.mark else text


def _side(piece: Piece) -> str:
    """Return the control character that places the mark of a right-to-left piece at its right."""
    return "\u200f" if is_right_to_left(piece.text) else ""


def tokens_frame(tokens: Tokens) -> "pd.DataFrame":
    """The rows of the token table; columns that the tokenizer does not provide are left out."""
    flags = zip(tokens.special.tolist(), tokens.unknown.tolist(), strict=True)
    columns: dict[str, object] = {
        "position": range(len(tokens)),
        "token": list(tokens.tokens),
        "id": tokens.input_ids,
        "vocabulary": ["special" if special else "unknown" if unknown else "known" for special, unknown in flags],
    }
    if tokens.word_ids is not None:
        columns["word"] = pd.array(list(tokens.word_ids), dtype="Int64")
    if tokens.offsets is not None:
        columns["characters"] = [
            f"{span[0]}:{span[1]}" if span is not None and span[0] < span[1] else "" for span in tokens.offsets
        ]
    if tokens.token_type_ids is not None:
        columns["type id"] = tokens.token_type_ids
    if tokens.pair is not None:
        columns["text"] = ["" if place is None else ("first", "second")[place] for place in tokens.sequence]
    return pd.DataFrame(columns)


def _frame_of_two(tokens: Tokens, second_tokens: Tokens, model_name: str, second_name: str) -> "pd.DataFrame":
    read = {model_name: tokens, second_name: second_tokens}
    rows = [
        (name, position, token, token_id)
        for name, each in read.items()
        for position, (token, token_id) in enumerate(zip(each.tokens, each.input_ids.tolist(), strict=True))
    ]
    return pd.DataFrame(rows, columns=["tokenizer", "position", "token", "id"])


@figure("tokens", "tokens_text", reported=True, table=tokens_frame)
def tokens_figure(text_pieces: TextPieces, below: Below, position: int, model_name: str) -> FigureSpec:
    """The text cut into its tokens."""
    read = "Two texts" if text_pieces.pair else "The text"
    title = f"{read} in {counted(len(text_pieces), 'token')} — {model_name}"
    alt = f"{title}: {' '.join(piece.spelling for run in text_pieces.runs for piece in run.pieces)}"
    caption = f"{title}. {WRITTEN} Below each token is {WORDS_BELOW[below]}. {ONLY_APART}"
    return FigureSpec.of(title, alt, caption, token_strip, (("", text_pieces),), below, chosen=position)


@figure("tokenizers", "tokens_second", reported=True, table=_frame_of_two)
def tokenizers_figure(
    text_pieces: TextPieces, second_pieces: TextPieces, model_name: str, second_name: str
) -> FigureSpec:
    """The same text under a second tokenizer."""
    title = f"One text, two tokenizers — {model_name} and {second_name}"
    parts = tuple(
        (f"{name}: {counted(len(pieces), 'token')}", pieces)
        for name, pieces in ((model_name, text_pieces), (second_name, second_pieces))
    )
    alt = f"{title}: {'; '.join(name for name, _ in parts)}"
    caption = f"{title}. {WRITTEN} Below each token is its id. {ONLY_APART}"
    return FigureSpec.of(title, alt, caption, token_strip, parts, "id")


def neighbour_bars(names: Sequence[str], cosines: np.ndarray, norms: np.ndarray, title: str, theme: Theme) -> go.Figure:
    """Draw horizontal bars of cosines, nearest row on top, each with its number."""
    hover = [f"<b>{name}</b>, norm {norm:.4f}, cosine" for name, norm in zip(names, norms.tolist(), strict=True)]
    unit = "cosine of static embeddings"
    return named_score_bars(names, cosines, hover, theme.colours["embeddings"], unit, title, theme)


NEAREST_LONGEST = 24


def _nearest_frame(nearest_rows: NearestRows, spelled: Sequence[str]) -> "pd.DataFrame":
    return pd.DataFrame(
        {"token": list(spelled), "id": nearest_rows.ids, "cosine": nearest_rows.cosine, "norm": nearest_rows.norms}
    )


@figure("nearest", "tokens_neighbours", reported=True, table=_nearest_frame)
def nearest_figure(nearest_rows: NearestRows, spelled: Sequence[str], token: str, model_name: str) -> FigureSpec:
    """Rows of the vocabulary nearest to a token's."""
    title = f'Tokens nearest to "{shortened(escape_controls(token), NEAREST_LONGEST)}" in the vocabulary — {model_name}'
    names = [label(each) for each in spelled]
    alt = f"{title}: a bar of the cosine for each"
    caption = f"{title}. Cosines of static embeddings."
    return FigureSpec.of(title, alt, caption, neighbour_bars, names, nearest_rows.cosine, nearest_rows.norms)
