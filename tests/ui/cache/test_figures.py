"""Figures kept by what they were drawn from: the same is drawn once, and anything else anew."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
import pytest

from bertviz_core.figures.base.picture import FigureSpec
from bertviz_core.figures.base.style import DARK, LIGHT, Theme
from ui.cache import figures
from ui.cache.figures import cached_figure, content_digest


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """Stands for a result of the core."""

    values: np.ndarray
    names: tuple[str, ...]


def heatmap(result: Result, look: Theme) -> go.Figure:
    return go.Figure(go.Heatmap(z=result.values), layout={"title": {"text": f"{result.names} {look.name}"}})


def picture(result: Result) -> FigureSpec:
    return FigureSpec("title", "alt", lambda look: heatmap(result, look))


def other_picture(result: Result) -> FigureSpec:
    return FigureSpec("title", "alt", lambda look: heatmap(Result(result.values + 0, result.names), look))


def result(last: float = 1.0, name: str = "a") -> Result:
    return Result(np.array([[0.0, last]], np.float32), (name,))


def test_a_figure_drawn_from_the_same_is_the_one_drawn_before() -> None:
    first = cached_figure(picture(result()), LIGHT)
    assert cached_figure(picture(result()), LIGHT) is first
    assert first.data[0].z.tolist() == [[0.0, 1.0]]


@pytest.mark.parametrize("other", [picture(result(0.5)), picture(result(name="b")), other_picture(result())])
def test_another_number_name_or_drawing_makes_another_figure(other: FigureSpec) -> None:
    assert cached_figure(other, LIGHT) is not cached_figure(picture(result()), LIGHT)
    assert cached_figure(other, LIGHT).to_dict() == other.draw(LIGHT).to_dict()


def test_a_theme_has_its_own_figure() -> None:
    one = picture(result())
    assert "dark" in cached_figure(one, DARK).layout.title.text
    assert "light" in cached_figure(one, LIGHT).layout.title.text


def _numbers() -> Callable[[Theme], go.Figure]:
    held = iter([result(0.1), result(0.2)])  # what cannot be written: it is a generator's state
    lazily = (each for each in held)
    return lambda look: heatmap(next(lazily), look)


def test_what_cannot_be_compared_is_drawn_each_time() -> None:
    draw = _numbers()
    assert content_digest(draw) is None
    assert cached_figure(FigureSpec("t", "a", draw), LIGHT).data[0].z[0, 1] == np.float32(0.1)
    assert cached_figure(FigureSpec("t", "a", draw), LIGHT).data[0].z[0, 1] == np.float32(0.2)


def test_more_than_is_worth_looking_through_is_drawn_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    assert content_digest(picture(result()).draw) is not None
    monkeypatch.setattr(figures, "MOST_BYTES", 32)
    assert content_digest(picture(result()).draw) is None


def test_a_figure_that_is_no_picture_is_shown_as_it_is() -> None:
    figure = go.Figure()
    assert cached_figure(figure, LIGHT) is figure
