"""Find the sentences inside a selection on the map."""

from typing import Any

import numpy as np
from jaxtyping import Float

from bertviz_core.hidden_states.geometry import inside_polygon


def selected_points(event: Any, points: Float[np.ndarray, "sentences 2"]) -> list[int]:
    """Return the indices of all points inside a selection, also of those that are not drawn.

    Args:
        event: the selection event of the chart.
        points: coordinates of all points.
    """
    selection = event["selection"] if event else {}
    inside = np.zeros(len(points), dtype=bool)
    for lasso in selection.get("lasso", ()):
        inside |= inside_polygon(points, np.array([lasso["x"], lasso["y"]], dtype=np.float64).T)
    for box in selection.get("box", ()):
        (left, right), (low, high) = sorted(box["x"]), sorted(box["y"])
        x, y = points.T
        inside |= (x >= left) & (x <= right) & (y >= low) & (y <= high)
    if not (selection.get("lasso") or selection.get("box")):
        inside[[place for place in map(_place, selection.get("points", ())) if 0 <= place < len(points)]] = True
    return [int(place) for place in np.flatnonzero(inside)]


def _place(point: Any) -> int:
    """A point's index in the list, from its custom data."""
    place = point.get("customdata")
    return int(place[0] if isinstance(place, list) else place) if place is not None else -1
