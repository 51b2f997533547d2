"""Checks of drawings with boxes and notes."""

import re

import plotly.graph_objects as go

from bertviz_core.figures.base.style import Theme, text_on


def plain(text: str) -> str:
    """The text of a note as one line."""
    return " ".join(re.sub(r"</?b>", "", text).replace("<br>", " ").split())


def assert_inside_and_legible(figure: go.Figure, theme: Theme) -> None:
    """Assert that every note lies inside the drawing, and that its ink contrasts with its ground."""
    high, low = figure.layout.yaxis.range
    left, right = figure.layout.xaxis.range
    for note in figure.layout.annotations:
        assert low <= note.y <= high
        assert left <= note.x <= right
    fills = {shape.fillcolor for shape in figure.layout.shapes if shape.fillcolor}
    inks = {note.font.color for note in figure.layout.annotations if note.text}
    assert {text_on(fill) for fill in fills if fill not in (theme.grid, theme.neutral)} <= inks
