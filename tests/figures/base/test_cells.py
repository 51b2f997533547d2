"""Numbers in cells: all or none, readable on every colour of every scale, and only if they fit."""

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertviz_core.figures.base.axes import text_width
from bertviz_core.figures.base.cells import MOST_NUMBERS, cell_gaps, cell_numbers, colour_at, number_size
from bertviz_core.figures.base.style import LIGHT, THEMES, WIDTHS, Theme, diverging, sequential, text_on, theme_named
from bertviz_core.figures.checkpoints.comparison import state_names, token_cosine_map
from bertviz_core.figures.hidden_states.heatmaps import layer_map
from tests.figures.base.test_style import READABLE, contrast

SCALES = [(theme, scale) for theme in THEMES.values() for scale in (sequential(theme), diverging(theme))]


@given(st.integers(0, 0xFFFFFF))
def test_black_or_white_can_be_read_on_any_colour(colour: int) -> None:
    ground = f"#{colour:06X}"
    assert contrast(ground, text_on(ground)) >= READABLE


@pytest.mark.parametrize(("theme", "scale"), SCALES)
@given(share=st.floats(0, 1))
def test_a_colour_lies_between_its_neighbours_on_the_scale(
    theme: Theme, scale: list[list[float | str]], share: float
) -> None:
    mixed = colour_at(scale, share)
    at = next(i for i, (place, _) in enumerate(scale[1:], 1) if share <= float(place))
    low, high = (bytes.fromhex(str(scale[i][1])[1:]) for i in (at - 1, at))
    for channel, one, other in zip(bytes.fromhex(mixed[1:]), low, high, strict=True):
        assert min(one, other) <= channel <= max(one, other)


def test_ends_and_what_is_beyond_have_the_last_colours() -> None:
    scale = sequential(LIGHT)
    assert colour_at(scale, -1) == colour_at(scale, 0) == scale[0][1]
    assert colour_at(scale, 2) == colour_at(scale, 1) == scale[-1][1]


@given(st.integers(1, 30), st.integers(1, 30), st.integers(100, 1500), st.integers(100, 900))
def test_numbers_fit_their_cells(rows: int, columns: int, across: int, down: int) -> None:
    words = [["0.123"] * columns] * rows
    size = number_size(words, across, down)
    if size is None:
        assert rows * columns > MOST_NUMBERS or text_width("0.123", 11) + 6 > across / columns or down / rows < 16
    else:
        assert text_width("0.123", size) < across / columns
        assert size < down / rows


@given(st.integers(1, 600), st.integers(1, 600), st.integers(100, 1500), st.integers(100, 900))
def test_a_gap_is_a_small_part_of_its_cell(rows: int, columns: int, across: int, down: int) -> None:
    gaps = cell_gaps((across, down), (rows, columns))
    for gap, pixels, count in ((gaps["xgap"], across, columns), (gaps["ygap"], down, rows)):
        assert gap <= pixels / count / 6


@pytest.mark.parametrize("pixels", WIDTHS)
def test_a_long_text_keeps_its_colours_at_every_width(pixels: int) -> None:
    """A gap that is as wide as its cells would leave the ground alone."""
    values = np.full((7, 422), 0.2, dtype=np.float32)
    theme = theme_named("dark", pixels)
    names, rows = ["a"] * 422, state_names(7)
    for figure in (
        layer_map(values, names, rows, None, "x", "cosine distance", theme),
        token_cosine_map(values, names, "x", theme),
    ):
        (cells,) = [trace for trace in figure.data if trace.type == "heatmap"]
        assert cells.xgap == 0


def test_the_numbers_are_the_maps_and_stand_in_their_cells() -> None:
    values = np.array([[0.5, np.nan], [-1.0, -0.0001]], dtype=np.float32)
    figure = cell_numbers(go.Figure(), values, ".2f", diverging(LIGHT), (-1, 1), (400, 300))
    (trace,) = figure.data
    assert list(zip(trace.x, trace.y, trace.text, strict=True)) == [(0, 0, "0.50"), (0, 1, "−1.00"), (1, 1, "0.00")]
    assert (trace.mode, trace.hoverinfo) == ("text", "skip")
    grounds = [colour_at(diverging(LIGHT), (value + 1) / 2) for value in (0.5, -1, 0)]
    assert all(contrast(a, b) >= READABLE for a, b in zip(grounds, trace.textfont.color, strict=True))


def test_numbers_that_are_alike_have_digits_that_tell_them_apart_where_there_is_room() -> None:
    values = np.array([[0.00012, 0.00023], [0.98123, 0.98145]])
    for row, written, wide in (
        (0, ("0.00012", "0.00023"), 400),
        (1, ("0.98123", "0.98145"), 400),
        (1, ("0.98",) * 2, 90),
    ):
        room = (float(wide), 40.0)
        (trace,) = cell_numbers(go.Figure(), values[[row]], ".2f", sequential(LIGHT), (0, 1), room).data
        assert tuple(trace.text) == written


def test_without_room_there_is_no_number() -> None:
    figure = cell_numbers(go.Figure(), np.zeros((10, 10)), ".2f", sequential(LIGHT), (0, 1), (200, 300))
    assert not figure.data
