"""The text in boxes: every token once, in its place, for any length or direction; no boxes overlap.

Covers `bertviz_core/figures/tokens.py`.
"""

from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest

from bertviz_core.figures.base.export import slide_width
from bertviz_core.figures.base.spec import FigureSpec
from bertviz_core.figures.base.style import LIGHT, THEMES, WIDTHS, Theme
from bertviz_core.figures.tokens import (
    DRAWN,
    FEW,
    SIZES,
    Below,
    TokenRows,
    token_rows,
    token_strip,
    tokenizers_figure,
    tokens_figure,
)
from bertviz_core.trace.results import Piece, PieceRun, TextPieces


def made(words: str, pair: str = "", right_to_left: bool = False) -> TextPieces:
    """Pieces of words: "ab-cd e" is a word of two pieces and one of one; special tokens surround each text."""
    runs, position = [PieceRun((Piece(0, "[CLS]", "", "[CLS]", 7, True, False),), 1, None)], 1
    for place, text in enumerate(filter(None, (words, pair))):
        for tone, word in enumerate(text.split(" ")):
            pieces = []
            for number, part in enumerate(word.split("-")):
                mark = "##" if number else ""
                pieces.append(Piece(position, part, mark, f"{mark}{part}", 7 + 3 * position, False, part == "?"))
                position += 1
            runs += [PieceRun(tuple(pieces), tone % 2, place), PieceRun(sequence=place, gap=" ")]
        runs.append(PieceRun((Piece(position, "[SEP]", "", "[SEP]", 8, True, False),), 1, None))
        position += 1
    return TextPieces(tuple(runs), right_to_left, bool(pair))


def points(figure: go.Figure) -> dict[int, tuple[float, float]]:
    """Position of a token -> centre of its box."""
    (trace,) = (trace for trace in figure.data if trace.customdata is not None)
    return {int(at): (x, y) for at, x, y in zip(trace.customdata, trace.x, trace.y, strict=True)}


def boxes(figure: go.Figure) -> list[tuple[float, float, float, float]]:
    """(left, top, right, bottom) of every box."""
    found = []
    for trace in figure.data:
        if trace.fill == "toself" and trace.line.width < 3:
            for begin in range(0, len(trace.x), 6):
                x, y = trace.x[begin : begin + 5], trace.y[begin : begin + 5]
                found.append((min(x), min(y), max(x), max(y)))
    return found


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
@pytest.mark.parametrize("words", ["a", "ab-cd e ? fgh", "word " * 80 + "end", "x" * 300 + "-y"], ids=len)
@pytest.mark.parametrize("right_to_left", [False, True])
@pytest.mark.parametrize("pixels", WIDTHS)
@pytest.mark.sample(28)
def test_every_token_is_a_box_of_its_own_inside_the_picture(
    words: str, right_to_left: bool, theme: Theme, pixels: int
) -> None:
    pieces = made(words, right_to_left=right_to_left)
    figure = token_strip([("", pieces)], "id", "x", replace(theme, pixels=pixels))
    found = boxes(figure)
    assert len(found) == len(pieces) == len(points(figure))
    low, high = figure.layout.yaxis.range[1], figure.layout.yaxis.range[0]
    left, right = figure.layout.xaxis.range
    assert right - left <= pixels
    for place, one in enumerate(found):
        assert left <= one[0] < one[2] <= right
        assert low <= one[1] < one[3] <= high
        for other in found[:place]:
            assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
    assert figure.layout.height > high


@pytest.mark.parametrize(("right_to_left", "step"), [(False, 1), (True, -1)])
def test_tokens_follow_each_other_in_the_direction_of_the_text(right_to_left: bool, step: int) -> None:
    places = points(token_strip([("", made("ab-cd e fg-hi", right_to_left=right_to_left))], "id", "x", LIGHT))
    x = np.array([places[at][0] for at in sorted(places)])
    assert (np.diff(x) * step > 0).all()
    assert len({y for _, y in places.values()}) == 1


@pytest.mark.parametrize(("below", "expected"), [("id", "10"), ("token", "##b"), ("position", "2")])
def test_below_a_token_stands_what_was_chosen(below: Below, expected: str) -> None:
    pieces = made("a-b" if below == "token" else "a b")
    _, notes = (trace for trace in token_strip([("", pieces)], below, "x", LIGHT).data if trace.mode == "text")
    assert notes.text[1 if below == "id" else 2] == expected


def test_a_second_text_begins_in_a_row_of_its_own_under_its_name() -> None:
    figure = token_strip([("", made("a b", "c d"))], "id", "x", LIGHT)
    places = points(figure)
    first, second = {places[at][1] for at in range(4)}, {places[at][1] for at in range(4, 7)}
    assert (len(first), len(second)) == (1, 1)
    headings = {each.text: each.y for each in figure.layout.annotations}
    assert headings["<b>First text</b>"] < first.pop() < headings["<b>Second text</b>"] < second.pop()
    colours = {trace.fillcolor for trace in figure.data if trace.fill == "toself"}
    assert len(colours) == 5  # two shades for each text, and none for special tokens


def test_markup_in_a_text_is_text_and_a_mark_stands_in_front() -> None:
    pieces = made("<b>x</b>-py [CLS]")
    texts = next(trace for trace in token_strip([("", pieces)], "token", "<i>", LIGHT).data if trace.mode == "text")
    assert texts.text[1] == "&lt;b&gt;x&lt;/b&gt;"
    assert texts.text[2].startswith("<span")
    assert texts.text[2].endswith(">##</span>py")
    assert token_strip([("", pieces)], "id", "<i>", LIGHT).layout.title.text == "&lt;i&gt;"


def test_the_token_looked_at_has_a_thick_edge() -> None:
    figure = tokens_figure(made("ab cd"), "id", 2, "m").drawn(LIGHT)
    (edge,) = (trace for trace in figure.data if trace.fill == "toself" and trace.line.width == 3)
    assert min(edge.x[:5]) < points(figure)[2][0] < max(edge.x[:5])


def test_a_very_long_text_is_drawn_up_to_a_limit_and_says_so() -> None:
    figure = token_strip([("", made("a " * DRAWN + "b"))], "id", "x", LIGHT)
    assert len(points(figure)) == DRAWN
    assert [each.text for each in figure.layout.annotations] == ["… 3 more tokens"]


def test_what_is_cut_off_is_struck_through() -> None:
    pieces = made("a b")
    rest = PieceRun(sequence=0, gap="<cut> off " * 9, cut=True)
    figure = token_strip([("", replace(pieces, runs=(*pieces.runs[:-1], rest, pieces.runs[-1])))], "id", "x", LIGHT)
    (words,) = figure.layout.annotations
    assert words.text.startswith("<s>&lt;cut&gt; off")


def test_two_tokenizers_stand_one_below_the_other_under_their_names() -> None:
    figure = tokenizers_figure(made("ab"), made("a-b"), "one", "two").drawn(LIGHT)
    assert [each.text for each in figure.layout.annotations] == ["<b>one: 3 tokens</b>", "<b>two: 4 tokens</b>"]
    assert len(boxes(figure)) == 7


@pytest.mark.parametrize("words", range(1, 60))
def test_the_letters_are_as_large_as_the_fewest_rows_that_the_next_size_would_not_lower(words: int) -> None:
    pieces = made(" ".join(["river"] * words))
    counts = []
    for size in SIZES:
        rows = TokenRows(size, "id", 900)
        rows.add("", pieces)
        counts.append(rows.count)
    place = SIZES.index(token_rows([("", pieces)], "id", 900).size)
    assert counts[place] <= FEW or place == len(SIZES) - 1
    assert place == len(SIZES) - 1 or counts[place + 1] >= counts[place], "a smaller size would save a row"
    first = next((at for at, count in enumerate(counts) if count <= FEW), len(SIZES) - 1)
    assert all(counts[at + 1] < counts[at] for at in range(first, place)), "letters are smaller without a row less"


@pytest.mark.parametrize("right_to_left", [False, True])
@pytest.mark.parametrize("words", [1, 5, 17, 60, 400])
def test_boxes_fill_the_width_or_the_height_of_a_slide(words: int, right_to_left: bool) -> None:
    pieces, room = made(" ".join(["river"] * words), right_to_left=right_to_left), 480
    figure = FigureSpec.of("x", "", "", token_strip, (("", pieces),), "id").drawn(LIGHT.on_slide(room))
    assert len(boxes(figure)) == len(pieces)
    (left, right), wide, high = figure.layout.xaxis.range, slide_width(figure, room), figure.layout.height
    ends = [end for box in boxes(figure) for end in (box[0], box[2])]
    assert left <= min(ends)
    assert max(ends) <= right
    scale = min(1000 / wide, room / high)  # as large as both allow
    assert max(scale * wide * (max(ends) - min(ends)) / (right - left) / 1000, scale * high / room) > 0.9
