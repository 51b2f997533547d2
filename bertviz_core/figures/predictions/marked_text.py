"""Texts with marks: answers and tags."""

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from bertviz_core.figures.base.axes import text_width, token_axis, token_text
from bertviz_core.figures.base.cells import cell_numbers
from bertviz_core.figures.base.marks import ABOVE, add_map, add_words, rows_in_place
from bertviz_core.figures.base.spec import FigureSpec, figure
from bertviz_core.figures.base.style import TEXT_SIZE, Theme, colour_bar, escape, faint, layout, sequential
from bertviz_core.lazy_imports import pandas as pd
from bertviz_core.predictions.results import AnswerPrediction, AnswerSpan, answer_log_sums
from bertviz_core.predictions.tables import answer_rows
from bertviz_core.text import decimals, escape_controls, is_right_to_left, shortened

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
            words_width = sum(text_width(escape_controls(word), self.size) for word in words)
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
        for text in _cut(escape_controls(word), self.size, self.width / 3):
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
    """Draw texts with their marks, one below another, each below its heading."""
    edges = EDGES + 2 * (PAD + ANCHOR)
    rows = rows_in_place(lambda width: _laid_out(parts, width - edges), lambda each: _tops(each)[-1], theme)
    tops, labelled = _tops(rows), any(stretch.label for stretch in rows.stretches)
    tall = rows.size * 1.45
    figure = go.Figure(layout=layout(theme, escape(title), height=round(tops[-1]) + ABOVE, showlegend=False))
    shapes: list[dict[str, Any]] = []  # added all at once: add_shape checks every earlier one again
    for index, group in itertools.groupby(rows.boxes, key=lambda box: (box.stretch, box.row)):
        shapes += _mark(rows.stretches[index[0]], list(group), tops, tall, theme)
    for row, group in itertools.groupby(
        rows.boxes, key=lambda box: box.row if rows.stretches[box.stretch].edged else None
    ):
        if row is not None:
            shapes.append(_outline(list(group), tops, tall, line={"color": theme.text, "width": 2}))
    figure.layout.shapes = shapes
    _add_words(figure, rows, tops, tall, theme)
    left, right = 0.0, rows.width
    spans = [(box.left, box.left + box.width) for box in rows.boxes]
    spans += [(0.0, text_width(each, TEXT_SIZE + 1)) for each in rows.headings.values()]
    if theme.tall and spans:  # as narrow as its words, which then fill the place
        left, right = min(each[0] for each in spans), max(each[1] for each in spans)
        figure.layout.width = math.ceil(right - left) + edges
    figure.update_xaxes(visible=False, range=[left - PAD - ANCHOR, right + PAD + ANCHOR], fixedrange=True)
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


def _mark(
    stretch: Stretch, boxes: Sequence[_WordBox], tops: Sequence[float], tall: float, theme: Theme
) -> Iterator[dict[str, Any]]:
    """Background and line of a span's part in one row."""
    if stretch.colour:
        edge, fill = {"color": stretch.colour, "width": 1}, faint(stretch.colour, stretch.strength)
        yield _outline(boxes, tops, tall, fillcolor=fill, line=edge, layer="below")
    if stretch.line:
        left, right = min(box.left for box in boxes), max(box.left + box.width for box in boxes)
        y = tops[boxes[0].row] + tall * (0.88 if stretch.line == "under" else 0.5)
        yield {"type": "line", "x0": left, "x1": right, "y0": y, "y1": y, "line": {"color": theme.text, "width": 2}}


def _outline(boxes: Sequence[_WordBox], tops: Sequence[float], tall: float, **look: Any) -> dict[str, Any]:
    left, right = min(box.left for box in boxes) - PAD, max(box.left + box.width for box in boxes) + PAD
    return {"type": "rect", "x0": left, "x1": right, "y0": (top := tops[boxes[0].row]), "y1": top + tall, **look}


def _add_words(figure: go.Figure, rows: _Rows, tops: Sequence[float], tall: float, theme: Theme) -> None:
    x, y = ([box.left - ANCHOR for box in rows.boxes], [tops[box.row] + tall / 2 for box in rows.boxes])
    add_words(figure, x, y, [escape(box.text) for box in rows.boxes], rows.size, theme.text)
    firsts = [next(group) for _, group in itertools.groupby(rows.boxes, key=lambda box: box.stretch)]
    named = [box for box in firsts if rows.stretches[box.stretch].label]
    below = [tops[box.row] + tall + SMALL * 0.65 for box in named]
    labels = [escape(rows.stretches[box.stretch].label) for box in named]
    add_words(figure, [box.left - ANCHOR for box in named], below, labels, SMALL, theme.muted)
    hovered = [box for box in rows.boxes if rows.stretches[box.stretch].hover]
    figure.add_scatter(
        x=[box.left + box.width / 2 for box in hovered],
        y=[tops[box.row] + tall / 2 for box in hovered],
        mode="markers",
        marker={"size": 30, "symbol": "square", "opacity": 0},
        hovertext=[rows.stretches[box.stretch].hover for box in hovered],
        hovertemplate="%{hovertext}<extra></extra>",
    )
    place = {"x": 0, "xanchor": "left", "yanchor": "middle", "showarrow": False}
    font = {"size": TEXT_SIZE + 1, "color": theme.text}
    for row, words in rows.headings.items():
        figure.add_annotation(text=f"<b>{escape(words)}</b>", y=tops[row] + TEXT_SIZE * 0.95, font=font, **place)


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


AROUND = 30
"""Number of words of context drawn before the first answer and after the last."""
FLOOR = -12.0
"""Log-probability below which all spans have the colour of the paper: about one in 160,000."""
EXACT_CELLS = 20_000
"""Maximum number of cells sent with their numbers; larger maps use 255 steps."""
ROW, SMALLEST, LARGEST = 26, 330, 620
ANSWERS_BLANK = 0
"""Step of a span that cannot be an answer."""


def apart(answers: Sequence[AnswerSpan]) -> list[int]:
    """Return the indices of answers that share no character with a better one, best first."""
    indices: list[int] = []
    for place, each in enumerate(answers):
        if all(each.end <= answers[other].start or each.start >= answers[other].end for other in indices):
            indices.append(place)
    return indices


def answer_stretches(prediction: AnswerPrediction, colour: str) -> list[Stretch]:
    """Split the context into spans: non-overlapping answers, darker if more likely, the best one outlined.

    The number and score of an answer are below it. Overlapping answers share the mark of the best one, since their
    boxes and labels would overlap.
    """
    context, stretches, at = prediction.context, [], 0
    answers = prediction.answers
    for place in sorted(apart(answers), key=lambda place: answers[place].start):
        best = answers[place]
        if best.start > at:
            stretches.append(Stretch(context[at : best.start]))
        same = [other for other, each in enumerate(answers) if each.start < best.end and each.end > best.start]
        hover = "<br>".join(escape(_listed(other, answers[other])) for other in same)
        label = f"{place + 1}: {decimals(best.score, 3)}"
        strength = 0.12 + 0.5 * min(1.0, best.score)
        text = context[best.start : best.end]
        stretches.append(Stretch(text, label, colour, strength, hover=hover, edged=place == 0))
        at = best.end
    if at < len(context):
        stretches.append(Stretch(context[at:]))
    return _around(stretches)


def _around(stretches: list[Stretch]) -> list[Stretch]:
    """Return the spans without most of the text far from every answer."""
    marked = [place for place, each in enumerate(stretches) if each.colour]
    if not marked:
        return stretches
    first, last = marked[0], marked[-1]
    before = "".join(each.text for each in stretches[:first])
    behind = "".join(each.text for each in stretches[last + 1 :])
    inside = [
        Stretch(_cut_context(each.text, AROUND, AROUND)) if not each.colour else each
        for each in stretches[first : last + 1]
    ]
    return [Stretch(_cut_context(before, 0, AROUND)), *inside, Stretch(_cut_context(behind, AROUND, 0))]


def _cut_context(text: str, first: int, last: int) -> str:
    """Return the first and the last words of a text, and the number of words omitted between them."""
    words = text.split()
    left = len(words) - first - last
    if left <= 0:
        return text
    shortened = [*words[:first], f"[… {left:,} words …]", *words[len(words) - last :]]
    return f" {' '.join(shortened)} "


def _listed(place: int, answer: AnswerSpan) -> str:
    return f"{place + 1}: {escape_controls(shortened(answer.text, 80))}, {decimals(answer.score)}"


def answer_text(parts: Sequence[tuple[str, AnswerPrediction]], title: str, theme: Theme) -> go.Figure:
    """Draw contexts with their answers, one below another, each below its heading."""
    colour = theme.colours["task head"]
    return marked_text([(name, answer_stretches(each, colour)) for name, each in parts], title, theme)


def span_logs(prediction: AnswerPrediction, window: int, longest: int) -> Float[np.ndarray, "start end"]:
    """Compute ln p(start) + ln p(end) of all spans of context tokens in one window, see AnswerSpan.score.

    NaN if the end precedes the start, or the span exceeds the maximum length of an answer.
    """
    start, end = answer_log_sums(prediction.windows, prediction.null_logit is not None)
    part = prediction.windows[window]
    table = (part.start_logits[part.context] - start)[:, None] + (part.end_logits[part.context] - end)[None, :]
    places = np.arange(len(table))
    length = places[None, :] - places[:, None]
    return np.where((length >= 0) & (length < longest), table, np.nan).astype(np.float32)


def answer_map(prediction: AnswerPrediction, window: int, longest: int, title: str, theme: Theme) -> go.Figure:
    """Draw the spans of one window: first tokens as rows, last tokens as columns, dark for likely ones."""
    part = prediction.windows[window]
    places = np.flatnonzero(part.context)
    logs, names = span_logs(prediction, window, longest), [token_text(part.tokens[place]) for place in places]
    height = max(SMALLEST, min(LARGEST, 150 + ROW * len(names)))
    figure = go.Figure(layout=layout(theme, escape(title), height=height, showlegend=False))
    exact = logs.size <= EXACT_CELLS
    low, high = (FLOOR, 0) if exact else (ANSWERS_BLANK, 255)
    bar = colour_bar("ln p", FLOOR, 0.0, None if exact else (ANSWERS_BLANK, 255))
    scale = {"zmin": low, "zmax": high, "colorscale": sequential(theme), "colorbar": bar, "hoverongaps": False}
    hover = f"from token %{{y}} to %{{x}}{': ln p %{z:.3f}' if exact else ''}"
    add_map(figure, logs if exact else _steps(logs), hover, **scale)
    _add_best(figure, prediction, window, places, theme)
    figure.update_xaxes(token_axis(names, 760), title="last token of the answer", tickangle=-90, side="bottom")
    figure.update_yaxes(token_axis(names, height - 130), title="first token", autorange="reversed")
    figure.update_layout(plot_bgcolor=theme.neutral)
    room = (theme.pixels - (120 if theme.narrow else 220), height - 150)
    shares = np.where(np.isnan(logs), np.nan, np.exp(logs)).astype(np.float32)
    if len(names) <= 24:
        cell_numbers(figure, np.where(shares < 0.0005, np.nan, shares), ".3f", sequential(theme), (0, 1), room)
    return figure


def _steps(logs: Float[np.ndarray, "start end"]) -> np.ndarray:
    """Quantise the cells to steps from 1 at FLOOR to 255; BLANK for spans that cannot be answers."""
    shares = np.clip((logs - FLOOR) / -FLOOR, 0, 1)
    return np.where(np.isnan(logs), ANSWERS_BLANK, 1 + np.round(254 * np.nan_to_num(shares))).astype(np.uint8)


def _add_best(figure: go.Figure, prediction: AnswerPrediction, window: int, places: np.ndarray, theme: Theme) -> None:
    """Outline the cells of all listed answers found in this window."""
    rows = {int(place): row for row, place in enumerate(places)}
    for each in prediction.answers:
        if each.window == window:
            x, y = rows[each.last], rows[each.first]
            line = {"color": theme.colours["task head"], "width": 2}
            figure.add_shape(type="rect", x0=x - 0.5, x1=x + 0.5, y0=y - 0.5, y1=y + 0.5, line=line)


def answer_frame(answer_prediction: AnswerPrediction) -> "pd.DataFrame":
    """A row for every answer, the best first, among them that there is none."""
    listed = answer_rows(answer_prediction)
    return pd.DataFrame(
        {
            "answer": [each["text"] or each["label"] for each in listed],
            "score": np.array([each["score"] for each in listed], dtype=float),
            "logit": [each["logit"] for each in listed],
            "characters": ["" if each["start"] is None else f"{each['start']}:{each['end']}" for each in listed],
            "window": pd.array([None if each["window"] is None else each["window"] + 1 for each in listed], "Int64"),
        }
    )


def _logit_frame(answer_prediction: AnswerPrediction, answer_window: int) -> "pd.DataFrame":
    """The two logits of every token in one window, from which the map is computed."""
    part = answer_prediction.windows[answer_window]
    places = np.flatnonzero(part.context)
    columns = {"token": [part.tokens[place] for place in places], "position": places}
    return pd.DataFrame({**columns, "start logit": part.start_logits[places], "end logit": part.end_logits[places]})


@figure("answers", "predictions_answers", reported=True, table=answer_frame)
def answers_figure(answer_prediction: AnswerPrediction) -> FigureSpec:
    """Answers in their context (TEXT the question, --pair)."""
    title = f"{question_line(answer_prediction)} — {answer_prediction.model}"
    caption = (
        f"{title}. Below an answer: its place and its score; darker answers are likelier{_hidden(answer_prediction)}"
    )
    return FigureSpec.of(
        title, f"{title}: {listed_answers(answer_prediction)}", caption, answer_text, (("", answer_prediction),)
    )


@figure("answer-map", "predictions_answer_map", reported=True, table=_logit_frame)
def answer_map_figure(answer_prediction: AnswerPrediction, answer_window: int, longest_answer: int) -> FigureSpec:
    """All spans of a context, start by end."""
    count = len(answer_prediction.windows)
    part = f", window {answer_window + 1} of {count}" if count > 1 else ""
    title = f"Spans as answers, first token by last{part} — {answer_prediction.model}"
    caption = f"{title}. Framed: the listed answers. Grey: no answer, since it ends before it begins or is too long"
    alt = f"{title}: {listed_answers(answer_prediction)}"
    return FigureSpec.of(title, alt, caption, answer_map, answer_prediction, answer_window, longest_answer)


def _hidden(prediction: AnswerPrediction) -> str:
    """Describe the listed answers without their own mark, after a semicolon; "" if there are none."""
    marked = apart(prediction.answers)
    rest = [str(place + 1) for place in range(len(prediction.answers)) if place not in marked]
    if not rest:
        return ""
    if len(rest) == 1:
        return f"; {rest[0]} overlaps a better answer and is not marked"
    return f"; {', '.join(rest[:-1])} and {rest[-1]} overlap a better answer and are not marked"


def question_line(prediction: AnswerPrediction) -> str:
    """Format the question for a title."""
    return escape_controls(shortened(" ".join(prediction.question.split()), 70))


def listed_answers(prediction: AnswerPrediction) -> str:
    """List the answers with their scores."""
    return "; ".join(_listed(place, each) for place, each in enumerate(prediction.answers))
