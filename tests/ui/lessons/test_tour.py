"""Reaching a lesson's step from the address; tests/pages/test_lesson.py does it on the pages."""

import pytest

from ui.lessons.library import View
from ui.lessons.tour import detour

STEP = View(page="heads", query={"view": ("One cell",), "layer": ("3",)})
BARE = View(page="heads", query={})
ALL, SOME, NONE = ("lesson", "step", "view", "layer"), ("lesson", "step", "view"), ("lesson", "step")


@pytest.mark.parametrize(
    ("view", "here", "named", "at_step", "fresh", "first_run", "way"),
    [
        (STEP, "heads", ALL, True, True, True, ""),  # a step's link in another browser
        (STEP, "heads", SOME, True, True, True, ""),  # names that it leaves out have their defaults
        (STEP, "heads", NONE, True, True, True, "go"),  # a link that names only lesson and step
        (BARE, "heads", NONE, True, True, True, ""),
        (STEP, "overview", ("lesson",), False, True, True, "go"),
        (STEP, "heads", ALL, False, True, True, "go"),
        (STEP, "heads", ALL, True, False, False, ""),  # a click at the step
        (STEP, "heads", SOME, True, False, False, ""),  # which set a widget to its default
        (STEP, "heads", SOME, True, False, True, "open"),  # Streamlit has dropped the layer of the previous page
        (STEP, "heads", ALL, True, False, True, ""),
        (BARE, "heads", NONE, True, False, True, ""),
        (STEP, "tokens", ALL, True, False, True, "open"),
        (STEP, "heads", ALL, False, False, False, "open"),
    ],
)
def test_the_way_to_a_step(
    view: View, here: str, named: tuple[str, ...], at_step: bool, fresh: bool, first_run: bool, way: str
) -> None:
    assert detour(view, here, named, at_step, fresh, first_run) == way
