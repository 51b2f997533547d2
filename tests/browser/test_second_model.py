"""The second model in a browser: chosen in the sidebar, it stays on other pages, and Back brings the former one.

Covers `ui/server/frame.css`.
"""

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import COLD_MS, until_clicks_are_heard
from tests.browser.test_history import arrived, go
from tests.browser.test_share_every_control import settled

pytestmark = pytest.mark.browser
FIRST, SECOND, COPY = "splade-tiny", "sre-embedding-model", "itself, rounded to bfloat16"
BLOCK = ".st-key-predictions_beside"


def other(page: Page) -> list[str]:
    """The second model in the address."""
    return parse_qs(urlsplit(page.url).query).get("other", [])


def choose(page: Page, name: str) -> None:
    page.get_by_role("combobox", name="Compare with").click()
    page.get_by_role("option", name=name, exact=True).click()
    settled(page)


def compared(page: Page) -> None:
    """Look at what both models predict."""
    page.locator(BLOCK).scroll_into_view_if_needed()  # charts are drawn when they are looked at
    expect(page.locator(BLOCK).locator(".main-svg").first).to_be_visible()


@pytest.mark.slow
def test_the_choice_shows_both_stays_and_comes_back(page: Page, server: str) -> None:
    page.goto(f"{server}/predictions?model={FIRST}")
    arrived(page, "Predictions")
    expect(page.locator(BLOCK)).to_have_count(0)
    choose(page, COPY)
    compared(page)
    assert other(page) == [COPY]
    go(page, "Tokens")
    assert other(page) == [COPY]
    choose(page, SECOND)
    assert other(page) == [SECOND]
    page.go_back()
    settled(page)
    expect(page.get_by_role("combobox", name="Compare with")).to_have_value(COPY)
    page.go_back()
    arrived(page, "Predictions")
    compared(page)
    choose(page, SECOND)
    expect(page.locator(BLOCK)).to_contain_text("has no task head")
    choose(page, "none")
    expect(page.locator(BLOCK)).to_have_count(0)
    assert other(page) == []


@pytest.mark.slow
@pytest.mark.parametrize("size", [(1400, 900), (1366, 768)])
def test_both_models_the_text_and_its_button_are_in_sight(size: tuple[int, int], page: Page, server: str) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.goto(f"{server}/tokens?other={SECOND}")
    arrived(page, "Tokens")
    sidebar = page.get_by_test_id("stSidebar")
    places = []
    try:
        for each in (
            sidebar.get_by_role("combobox", name="Model"),
            sidebar.get_by_role("combobox", name="Compare with"),
            sidebar.get_by_role("textbox", name="Text", exact=True),
            sidebar.get_by_role("button", name="Apply the text"),
        ):
            box = each.bounding_box()
            assert box is not None
            places.append((box["y"], box["y"] + box["height"], box["x"] + box["width"]))
    finally:
        page.set_viewport_size({"width": 1400, "height": 900})
    assert all(above[1] <= below[0] for above, below in zip(places, places[1:], strict=False))
    assert places[-1][1] <= size[1]
    assert max(right for *_, right in places) <= 300


@pytest.mark.slow
def test_a_click_on_the_map_of_changes_opens_that_head(page: Page, server: str) -> None:
    page.goto(f"{server}/attention?other={SECOND}")
    page.locator(".st-key-attention_changed").scroll_into_view_if_needed(timeout=COLD_MS)
    plot = page.locator(".st-key-attention_changed .nsewdrag").first
    plot.scroll_into_view_if_needed()
    until_clicks_are_heard(page, ".st-key-attention_changed")
    box = plot.bounding_box()
    assert box is not None
    spot = (box["x"] + box["width"] * 10.5 / 12, box["y"] + box["height"] * 4.5 / 6)
    page.mouse.move(*spot)
    page.wait_for_selector(".hoverlayer .hovertext")
    page.mouse.click(*spot)
    expect(page.get_by_role("spinbutton", name="Head")).to_have_value("10")
    expect(page).to_have_url(re.compile(r"(?=.*\blayer=4)(?=.*\bhead=10)"))
    page.locator(".st-key-attention_compared").scroll_into_view_if_needed()  # a chart is drawn where it is in sight
    expect(page.locator(".st-key-attention_compared")).to_contain_text("layer 4, head 10")
