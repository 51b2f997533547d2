"""Wrapped words: nothing is lost, and they fit."""

import html

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bertviz_core.figures.base.axes import (
    label_width,
    lined_label,
    plain,
    shortened_label,
    text_width,
    wrapped,
    wrapped_label,
)
from bertviz_core.figures.base.export import spelled
from bertviz_core.figures.base.style import escape

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)


@settings(deadline=None)
@given(TEXTS, st.integers(60, 900))
def test_no_letter_of_a_caption_is_lost_and_lines_are_short(text: str, pixels: int) -> None:
    line = spelled(text)
    lines = wrapped(line, pixels, 14)
    assert "".join(lines).replace(" ", "") == line.replace(" ", "")
    assert all(14 * 0.34 * len(each) <= pixels for each in lines)


@settings(deadline=None)
@given(TEXTS, st.integers(60, 900))
def test_no_letter_of_a_title_is_lost_and_a_line_holds_more_than_a_word_only_where_it_fits(
    text: str, pixels: int
) -> None:
    label = escape(spelled(text))
    lines = wrapped_label(label, pixels, 18)
    assert "".join(lines).replace(" ", "") == label.replace(" ", "")
    assert all(label_width(line, 18) <= pixels or " " not in line.strip() for line in lines)


def test_a_long_word_is_broken_behind_dots() -> None:
    lines = wrapped_label("encoder.layer.0.attention.self.query.weight — tiny", 200, 18)
    assert lines == ["encoder.layer.0.", "attention.self.query.", "weight — tiny"]


def test_markup_takes_no_room_and_stays_whole() -> None:
    assert plain("W<sub>q</sub> &lt;s&gt;") == "Wq <s>"
    assert label_width("<i>&lt;s&gt;</i>", 10) == text_width("<s>", 10)
    assert label_width("short<br>much longer", 10) == text_width("much longer", 10)
    assert wrapped_label("W<sub>q</sub> of layer 3", 60, 15) == ["W<sub>q</sub> of", "layer 3"]


@settings(deadline=None)
@given(st.text(st.characters(categories=["Lu", "Ll", "Nd"]), min_size=1, max_size=80), st.integers(60, 300))
@pytest.mark.parametrize("slanted", [True, False])
def test_a_shortened_label_fits_and_keeps_its_slant(slanted: bool, words: str, pixels: int) -> None:
    label = f"<i>{html.escape(words)}</i>" if slanted else html.escape(words)
    short = shortened_label(label, pixels, 14)
    assert label_width(short, 14) <= pixels
    assert short.startswith("<i>") is slanted
    assert short == label or plain(short).endswith("…")
    assert words.startswith(plain(short).rstrip("…"))


def test_a_shortened_label_keeps_the_number_of_its_sentence() -> None:
    assert shortened_label("The bank raised its interest rates  12", 120, 14).endswith("…  12")


@settings(deadline=None)
@given(TEXTS, st.integers(60, 300))
def test_a_label_in_lines_fits_and_loses_only_its_end(text: str, pixels: int) -> None:
    label = escape(" ".join(spelled(text).split()))
    lines = lined_label(label, pixels, 14).split("<br>")
    assert len(lines) <= 2
    assert max(label_width(line, 14) for line in lines) <= pixels
    kept = "".join(map(plain, lines)).replace(" ", "")
    assert "…" in kept or kept == plain(label).replace(" ", "")


def test_a_label_of_two_lines_is_whole() -> None:
    assert lined_label("is the next sentence", 100, 14) == "is the next<br>sentence"
