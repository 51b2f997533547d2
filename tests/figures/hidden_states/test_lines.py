"""Labels at the ends of paths: none covers another.

Covers `bertviz_core/figures/base/axes.py`.
"""

import numpy as np

from bertviz_core.figures.base.axes import LETTER, LINE, NARROWEST_PLOT, label_sides


def test_labels_far_apart_all_stand_and_those_of_one_spot_do_not_cover_each_other() -> None:
    corners = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.float32)
    assert all(label_sides(corners[None], ["a", "b", "c", "d"]))
    heap = label_sides(np.zeros((3, 9, 2), np.float32), ["word"] * 9)
    assert sum(map(bool, heap)) <= 4


def test_no_two_labels_share_area_in_the_narrowest_plot() -> None:
    rng = np.random.default_rng(3)
    ends = rng.normal(size=(60, 2)).astype(np.float32)
    names = ["<i>[CLS]</i>", "a&amp;b", *["token"] * 58]
    letters = [5, 3, *[5] * 58]
    spots = (ends - ends.min(0)) / np.ptp(ends, axis=0) * NARROWEST_PLOT
    boxes = []
    for (x, y), count, side in zip(spots.tolist(), letters, label_sides(ends[None], names), strict=True):
        wide = LETTER * count
        left = {"middle right": x, "middle left": x - wide, "": None}.get(side, x - wide / 2)
        low = {"top center": y, "bottom center": y - LINE}.get(side, y - LINE / 2)
        if left is not None:
            boxes.append((left, low, left + wide, low + LINE))
    assert len(boxes) > 20
    slack = 9  # labels stand a mark's radius away from their ends, on one side or the other
    for i, one in enumerate(boxes):
        for other in boxes[:i]:
            across = min(one[2], other[2]) - max(one[0], other[0])
            down = min(one[3], other[3]) - max(one[1], other[1])
            assert across <= slack or down <= slack
