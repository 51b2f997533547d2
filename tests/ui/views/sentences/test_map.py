"""Points of the map inside a lasso or box."""

import numpy as np

from bertviz_core.hidden_states.geometry import inside_polygon
from ui.views.sentences import selected_points

POINTS = np.array([[0, 0], [1, 1], [2, 0.5], [3, 3], [0.5, 1.5]], np.float32)
SHAPE = {"x": [-1, 2.5, 2.5, -1], "y": [-1, -1, 1.2, 1.2]}


def test_a_line_holds_what_is_inside_it() -> None:
    assert selected_points({"lasso": [SHAPE], "points": []}, POINTS) == [0, 1, 2]


def test_a_line_may_be_hollow() -> None:
    horseshoe = np.array([[-1, -1], [3, -1], [3, 2], [1.8, 2], [1.8, -0.5], [0.2, -0.5], [0.2, 2], [-1, 2]], float)
    assert np.flatnonzero(inside_polygon(POINTS, horseshoe)).tolist() == [0, 2]


def test_a_box_holds_what_is_inside_it_from_whichever_corner_it_was_drawn() -> None:
    assert selected_points({"box": [{"x": [1.5, -1], "y": [1.6, 0.5]}]}, POINTS) == [1, 4]


def test_clicked_points_are_found_by_the_place_that_they_carry() -> None:
    assert selected_points({"points": [{"customdata": 3}, {"customdata": [1]}, {}]}, POINTS) == [1, 3]
    assert selected_points({}, POINTS) == []
