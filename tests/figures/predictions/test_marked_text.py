"""A marked text is drawn completely: every word once, inside the figure, on its mark; segments add up to the text.

Covers `bertviz_core/figures/predictions/marked_text.py`, `bertviz_core/figures/predictions/marked_text.py`.
"""

from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest

from bertviz_core.figures.base.export import slide_width
from bertviz_core.figures.base.spec import FigureSpec
from bertviz_core.figures.base.style import LIGHT, WIDTHS
from bertviz_core.figures.predictions.marked_text import (
    DRAWN,
    FLOOR,
    PAD,
    Stretch,
    answer_map,
    answer_stretches,
    answers_figure,
    marked_text,
    span_logs,
)
from bertviz_core.figures.predictions.tags import tag_hues, tagged_stretches
from bertviz_core.predictions.results import AnswerPrediction, AnswerSpan, AnswerWindow, Entity, TagPrediction
from tests.helpers.made_traces import spelled

PARTS = {
    "plain": [Stretch("one two three")],
    "marked": [Stretch("a "), Stretch("b c", "PER 0.9", "#0072B2", hover="b c: PER"), Stretch("d " * 90)],
    "touching": [Stretch("py", "X", "#0072B2"), Stretch("thon", "Y", "#D55E00"), Stretch(".")],
    "long": [Stretch("x" * 400)],
    "right to left": [Stretch("שלום "), Stretch("עולם", "LOC", "#0072B2", edged=True)],
    "no blanks": [Stretch("語" * 300)],
    "markup": [Stretch("<b>bold</b> & \u202e", "<i>", "#0072B2")],
    "empty": [Stretch("")],
}


def words(figure: go.Figure) -> list[str]:
    return list(figure.data[0].text)


@pytest.mark.parametrize("pixels", WIDTHS[::3])
@pytest.mark.parametrize("name", PARTS)
def test_every_word_is_drawn_once_inside_the_picture(name: str, pixels: int) -> None:
    part = PARTS[name]
    figure = marked_text([("A heading", part)], "x", replace(LIGHT, pixels=pixels))
    shown = "".join(words(figure))
    whole = "".join(stretch.text for stretch in part).replace("\u202e", "U+202E")
    expected = "".join(whole.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert shown == expected
    low, high = figure.layout.xaxis.range
    assert all(low <= x <= high for x in figure.data[0].x)
    assert all(low <= shape.x0 <= shape.x1 <= high for shape in figure.layout.shapes)
    assert all(0 <= y <= figure.layout.yaxis.range[0] for y in figure.data[0].y)


def test_marks_of_different_stretches_do_not_cover_each_other_nor_words_each_other() -> None:
    figure = marked_text([("", PARTS["marked"]), ("", PARTS["touching"])], "x", LIGHT)
    rows: dict[float, list[tuple[float, float]]] = {}
    for shape in figure.layout.shapes:
        rows.setdefault(shape.y0, []).append((shape.x0, shape.x1))
    for spans in rows.values():
        ends = sorted(spans)
        assert all(end <= start + PAD for (_, end), (start, _) in zip(ends, ends[1:], strict=False))
    places = list(zip(figure.data[0].y, figure.data[0].x, strict=True))
    assert len(set(places)) == len(places)


@pytest.mark.parametrize("words", [1, 5, 17, 60, 400])
def test_words_fill_the_width_or_the_height_of_a_slide(words: int) -> None:
    part, room = [Stretch(f"river{place} ", "PER 0.5", "#0072b2") for place in range(words)], 480
    figure = FigureSpec.of("x", "", "", marked_text, (("", part),)).drawn(LIGHT.on_slide(room))
    assert len(figure.layout.shapes) == words
    (left, right), wide, high = figure.layout.xaxis.range, slide_width(figure, room), figure.layout.height
    ends = [end for shape in figure.layout.shapes for end in (shape.x0, shape.x1)]
    assert left <= min(ends)
    assert max(ends) <= right
    scale = min(1000 / wide, room / high)  # as large as both allow
    assert max(scale * wide * (max(ends) - min(ends)) / (right - left) / 1000, scale * high / room) > 0.9


def test_a_long_text_says_how_much_is_left_out() -> None:
    figure = marked_text([("", [Stretch("w " * (DRAWN + 7))])], "x", LIGHT)
    assert " ".join(words(figure)[-4:]).endswith("7 more words")


def prediction_of(text: str, pair: str | None = None, offsets: bool = True) -> TagPrediction:
    tokens = spelled("[CLS] Ann sees Bonn [SEP]", text, pair=pair, sequence=".AAA.")
    if offsets:
        tokens = replace(tokens, offsets=(None, (0, 3), (4, 8), (9, 13), None))
    logits = np.zeros((5, 3), np.float32)
    return TagPrediction("made", tokens, ("O", "B-PER", "B-LOC"), logits, logits)


@pytest.mark.parametrize("offsets", [True, False])
def test_tagged_stretches_make_up_the_text(offsets: bool) -> None:
    prediction = prediction_of("Ann sees Bonn", offsets=offsets)
    where = ((0, 3), (9, 13)) if offsets else ((None, None), (None, None))
    listed = [
        Entity("PER", 0.9, "Ann", *where[0], first=1, last=1, sequence=0),
        Entity("LOC", 0.8, "Bonn", *where[1], first=3, last=3, sequence=0),
    ]
    stretches = tagged_stretches(prediction, listed, 0)
    assert "".join(each.text for each in stretches).split() == ["Ann", "sees", "Bonn"]
    hues = tag_hues(prediction.labels)
    assert [(each.text, each.label, each.colour) for each in stretches if each.colour] == [
        ("Ann", "PER 0.900", hues["PER"]),
        ("Bonn", "LOC 0.800", hues["LOC"]),
    ]
    assert hues["PER"] != hues["LOC"]


def answers_of(count: int, windows: int = 1) -> AnswerPrediction:
    """Answers in a context of this many one-letter words, read in windows of all of them."""
    rng = np.random.default_rng(0)
    context = " ".join("abcdefghij"[place % 10] for place in range(count))
    inside = np.array([False, *[True] * count, False])
    parts = tuple(
        AnswerWindow(
            ("[CLS]", *context.split(), "[SEP]"),
            0,
            len(context),
            inside,
            *(rng.normal(size=count + 2).astype(np.float32) for _ in range(2)),
        )
        for _ in range(windows)
    )
    spans = ((1, 2, 0.5), (0, 3, 0.25), (2, 2, 0.125), (6, 7, 0.0625))
    listed = tuple(
        AnswerSpan(context[2 * a : 2 * b + 1], 2 * a, 2 * b + 1, 0.0, score, 0, a + 1, b + 1) for a, b, score in spans
    )
    return AnswerPrediction("made", "who?", context, listed, None, parts)


def test_answers_that_overlap_a_better_one_have_no_mark_of_their_own() -> None:
    prediction = answers_of(10)
    stretches = answer_stretches(prediction, "#D55E00")
    assert "".join(each.text for each in stretches) == prediction.context
    marked = {each.text: (each.strength - 0.12) / 0.5 for each in stretches if each.colour}
    assert marked == pytest.approx({"b c": 0.5, "g h": 0.0625}, abs=1e-6)
    assert [each.text for each in stretches if each.edged] == ["b c"]
    assert [each.label for each in stretches if each.label] == ["1: 0.500", "4: 0.062"]
    (best,) = [each.hover for each in stretches if each.edged]
    assert [line[:2] for line in best.split("<br>")] == ["1:", "2:", "3:"]  # the hover text lists covered answers
    assert "2 and 3 overlap a better answer" in answers_figure(prediction).caption


@pytest.mark.parametrize("windows", [1, 3])
def test_cells_are_the_probabilities_of_their_spans(windows: int) -> None:
    prediction = answers_of(6, windows)
    starts, ends = (
        np.concatenate([getattr(part, name)[1:-1] for part in prediction.windows]).astype(float)
        for name in ("start_logits", "end_logits")
    )
    logs = span_logs(prediction, windows - 1, 3)
    for first in range(6):
        for last in range(6):
            if first <= last < first + 3:
                p = np.exp(starts[-6 + first]) / np.exp(starts).sum() * np.exp(ends[-6 + last]) / np.exp(ends).sum()
                assert logs[first, last] == pytest.approx(np.log(p), abs=1e-5)
            else:
                assert np.isnan(logs[first, last])


def test_a_large_map_is_sent_in_steps_whose_bar_says_what_they_mean() -> None:
    prediction = answers_of(200)
    figure = answer_map(prediction, 0, 30, "x", LIGHT)
    cells, logs = figure.data[0].z, span_logs(prediction, 0, 30)
    assert cells.dtype == np.uint8
    assert np.array_equal(cells == 0, np.isnan(logs))
    values = FLOOR + (cells.astype(float) - 1) / 254 * -FLOOR
    within = (logs > FLOOR) & np.isfinite(logs)
    np.testing.assert_allclose(values[within], logs[within], atol=-FLOOR / 254)
