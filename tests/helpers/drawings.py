"""What a reader finds in a drawing of boxes and notes."""

import re

import plotly.graph_objects as go

from bertviz_core.figures.base.style import Theme, text_on


def plain(text: str) -> str:
    """The words of a note in one line."""
    return " ".join(re.sub(r"</?b>", "", text).replace("<br>", " ").split())


def assert_inside_and_legible(figure: go.Figure, theme: Theme) -> None:
    """Every note lies inside the drawing, and on every ground the words have the ink that contrasts with it."""
    high, low = figure.layout.yaxis.range
    left, right = figure.layout.xaxis.range
    for note in figure.layout.annotations:
        assert low <= note.y <= high
        assert left <= note.x <= right
    fills = {shape.fillcolor for shape in figure.layout.shapes if shape.fillcolor}
    inks = {note.font.color for note in figure.layout.annotations if note.text}
    assert {text_on(fill) for fill in fills if fill not in (theme.grid, theme.neutral)} <= inks
