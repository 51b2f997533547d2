"""Figures are cached by their content: the same content is drawn once, anything else again."""

from dataclasses import dataclass

import msgspec
import numpy as np
import plotly.graph_objects as go
import pytest

from bertviz_core.figures.base import spec
from bertviz_core.figures.base.spec import DeclaredFigure, FigureSpec, figure, fitted
from bertviz_core.figures.base.style import DARK, LIGHT, Theme
from tests.helpers.charts import sent_charts
from tests.pages.opened import opened
from ui.cache import figures
from ui.cache.figures import cached_figure, key_digest


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """Represents a result of the core."""

    values: np.ndarray
    names: tuple[str, ...]


class Row(msgspec.Struct, frozen=True):
    """Represents an entry of a ledger."""

    name: str
    value: object


class OtherRow(Row, frozen=True):
    """Another type with the same fields."""


def heatmap(result: Result, scale: float, theme: Theme) -> go.Figure:
    layout = {"title": {"text": f"{result.names} {theme.name} {scale}"}}
    return go.Figure(go.Heatmap(z=result.values), layout=layout)


@pytest.fixture
def declared(monkeypatch: pytest.MonkeyPatch) -> DeclaredFigure[...]:
    """A figure declared by this test only."""
    monkeypatch.setattr(spec, "DECLARED", {})

    @figure("test", "heads_test", "a map")
    def test_figure(result: Result, scale: float = 1.0) -> FigureSpec:
        return FigureSpec("title", "alt", lambda theme: heatmap(result, scale, theme))

    return test_figure


def result(last: float = 1.0, name: str = "a") -> Result:
    return Result(np.array([[0.0, last]], np.float32), (name,))


def test_a_figure_of_equal_results_is_the_one_drawn_before(declared: DeclaredFigure[...]) -> None:
    first = cached_figure(declared(result()), LIGHT)
    assert cached_figure(declared(result()), LIGHT) is first
    assert first.data[0].z.tolist() == [[0.0, 1.0]]


@pytest.mark.parametrize("other", [(result(0.5),), (result(name="b"),), (result(), 2.0)])
def test_another_number_name_or_option_makes_another_figure(
    other: tuple[object, ...], declared: DeclaredFigure[...]
) -> None:
    made = declared(*other)
    assert cached_figure(made, LIGHT) is not cached_figure(declared(result()), LIGHT)
    assert cached_figure(made, LIGHT).to_dict() == fitted(made.draw(LIGHT), LIGHT).to_dict()


def test_another_declaration_of_the_same_results_is_another_figure() -> None:
    assert key_digest(("one", result())) != key_digest(("two", result()))


def test_a_theme_has_its_own_figure(declared: DeclaredFigure[...]) -> None:
    one = declared(result())
    assert "dark" in cached_figure(one, DARK).layout.title.text
    assert "light" in cached_figure(one, LIGHT).layout.title.text


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        (1, True),
        ("1", 1),
        (("ab", "c"), ("a", "bc")),
        ((("a",), "b"), ("a", ("b",))),
        (np.zeros((2, 3)), np.zeros((3, 2))),
        (np.zeros(2, np.float32), np.zeros(1, np.float64)),
        ({"a": 1, "b": 2}, {"a": 2, "b": 1}),
        (["a"], ("a",)),
        (Row("ab", "c"), Row("a", "bc")),
        (Row("a", 1), Row("a", 1.0)),
        (Row("a", 1), OtherRow("a", 1)),
        ((Row("a", 1), Row("b", 2)), (Row("b", 2), Row("a", 1))),
    ],
)
def test_values_that_differ_have_different_digests(one: object, other: object) -> None:
    assert key_digest((one,)) is not None
    assert key_digest((one,)) != key_digest((other,))
    assert key_digest((one,)) == key_digest((one,))


def test_what_cannot_be_compared_is_drawn_each_time(declared: DeclaredFigure[...]) -> None:
    assert key_digest((object(),)) is None
    assert key_digest((np.array([object()]),)) is None
    for value in (object(), "\ud800", 2**70):
        assert key_digest((Row("a", value),)) is None
    assert cached_figure(declared(result(), None), LIGHT) is not None
    odd = Result(np.array([[0.0, 1.0]], np.float32), (object(),))  # type: ignore[arg-type]  # no name
    assert cached_figure(declared(odd), LIGHT) is not cached_figure(declared(odd), LIGHT)


def test_more_than_is_worth_looking_through_is_drawn_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    assert key_digest((result(), *range(100))) is not None
    monkeypatch.setattr(figures, "MOST_BYTES", 4)
    assert key_digest((result(),)) is None
    assert key_digest((*range(3), "a long name")) is None


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("page", "view"),
    [("overview", ""), *(("parameters", view) for view in ("", "Layers")), ("checkpoint", ""),
     ("checkpoint", "Weights")],
)  # fmt: skip
def test_a_page_opened_again_draws_nothing_anew(page: str, view: str, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    draw = FigureSpec.drawn
    monkeypatch.setattr(FigureSpec, "drawn", lambda spec, theme: drawn.append(spec.chart) or draw(spec, theme))
    assert sent_charts(opened(page, view=view))
    drawn.clear()
    assert sent_charts(opened(page, view=view))
    assert drawn == []
