"""Width of the first figures: from the window's width in its cookie, a desktop's if that is not a number.

Covers `ui/components/frame/__init__.py`.
"""

import pytest

from bertviz_core.figures.base.style import WIDE, WIDTHS
from ui.components.frame import first_width


@pytest.mark.parametrize(
    ("window", "expected"), [("390", 355), ("360", 320), ("900", 520), ("1400", WIDE), ("100", WIDTHS[0])]
)
def test_the_place_is_what_margins_and_sidebar_leave_of_the_window(window: str, expected: int) -> None:
    assert first_width(window) == expected


@pytest.mark.parametrize("window", ["", "wide", "-390", "٣٩٠", "3.9e2", "9" * 40, "390;"])
def test_a_cookie_that_says_no_width_is_a_desk(window: str) -> None:
    assert first_width(window) == WIDE
