"""Maps of layers by heads do not overlap, name their axes, and have each number in its own place.

Covers `bertviz_core/figures/base/panels.py`.
"""

import numpy as np
import plotly.graph_objects as go
import pytest

from bertviz_core.figures.base.panels import PairSizes, Panel, PanelGrid, head_panels, pair_grid
from bertviz_core.figures.base.style import THEMES, sequential, theme_named

SIZES = PairSizes(least=120, edges=110, between=0.14)


def panels(count: int, layers: int, heads: int) -> list[Panel]:
    cells = np.arange(count * layers * heads, dtype=np.float32).reshape(count, layers, heads)
    scale = sequential(THEMES["light"])
    return [
        Panel(f"<b>{place}</b>", str(place), each, scale, (0.0, 99.0), "nats", ".2f")
        for place, each in enumerate(cells)
    ]


def maps(figure: go.Figure) -> list[go.Heatmap]:
    return [each for each in figure.data if each.type == "heatmap"]


def boxes(figure: go.Figure, count: int) -> list[tuple[float, float, float, float]]:
    numbers = ["", *(str(place + 1) for place in range(1, count))]
    return [(*figure.layout[f"xaxis{each}"].domain, *figure.layout[f"yaxis{each}"].domain) for each in numbers]


def apart(first: tuple[float, ...], second: tuple[float, ...]) -> bool:
    """Whether two boxes (left, right, bottom, top) do not overlap."""
    beside = first[1] <= second[0] or second[1] <= first[0]
    return beside or first[3] <= second[2] or second[3] <= first[2]


@pytest.mark.parametrize("pixels", [340, 980])
def test_a_pair_stands_beside_each_other_and_on_a_phone_below(pixels: int) -> None:
    theme = theme_named("light", pixels)
    figure = head_panels(panels(2, 4, 3), pair_grid(4, SIZES, theme), "Two", theme)
    one, two = boxes(figure, 2)
    assert apart(one, two)
    assert all(0 <= each <= 1 for each in (*one, *two))
    assert (one[2] > two[2]) == theme.slim, "the first of two is above the second"
    assert [np.asarray(each.z)[3, 2] for each in maps(figure)] == [11, 23]
    assert figure.layout.xaxis2.title.text == "head"
    assert (figure.layout.xaxis.title.text == "head") != theme.slim, "named below the last line alone"


def test_four_maps_fill_two_lines_with_every_axis_named() -> None:
    theme = theme_named("dark", 980)
    grid = PanelGrid(2, 600, 200, 0.4, 0.2, 0.1, 100, {"t": 80}, every_line_named=True, hung=True)
    figure = head_panels(panels(4, 2, 2), grid, "Four", theme)
    placed = boxes(figure, 4)
    assert all(apart(one, other) for place, one in enumerate(placed) for other in placed[place + 1 :])
    assert placed[0][3] == pytest.approx(1)
    assert placed[3][1] == pytest.approx(1)
    assert placed[2][0] == placed[2][2] == 0
    assert [bar.y for bar in (each.colorbar for each in maps(figure))] == pytest.approx([1, 1, 0.4, 0.4])
