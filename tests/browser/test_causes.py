"""The page on heads that matter in a browser: clicking a head, opening its attention, and the width of a phone."""

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import until

pytestmark = pytest.mark.browser
CHART = ".st-key-causes_effects .js-plotly-plot"
COLUMNS, LAYERS = 3 * 14 + 2, 6
"""Columns and layers of the maps of all-MiniLM-L6-v2: 12 heads, block and layer, with a gap between two maps."""

CHOSEN_HEADS = """() => {
  window.heads = [];
  const look = () => heads.push(...new URLSearchParams(location.search).getAll("changed_head"));
  navigation.addEventListener("currententrychange", look);
}"""
"""Keeps every head that stands in the address, one after the other."""


@pytest.mark.parametrize("page", ["light", "dark"], indirect=True)
@pytest.mark.sample(1)
def test_a_clicked_head_is_told_and_its_attention_opens(page: Page, server: str) -> None:
    page.goto(f"{server}/causes?pair=I+love+coding+in+python.")
    expect(page.locator(f"{CHART} .heatmaplayer image")).to_have_count(1, timeout=60_000)
    page.locator(f"{CHART}[data-ready]").wait_for()
    spot = page.locator(f"{CHART} .heatmaplayer image").bounding_box()
    assert spot is not None
    page.mouse.move(spot["x"] + spot["width"] * 22.5 / COLUMNS, spot["y"] + spot["height"] * 2.5 / LAYERS)
    expect(page.locator(f"{CHART} .hovertext")).to_contain_text("layer 2, head 7 at its mean")
    page.mouse.down()
    page.mouse.up()
    expect(page.get_by_text("Layer 2, head 7:")).to_be_visible()
    until(page, 'new URLSearchParams(location.search).get("changed_head") === "layer 2, head 7"')
    page.get_by_role("link", name="See its attention: layer 2, head 7").click()
    until(page, 'location.pathname === "/attention"')
    until(page, 'new URLSearchParams(location.search).get("head") === "7"')


@pytest.mark.parametrize("view", ["One+head+at+a+time", "Several+heads", "Patch", "Many+sentences"])
@pytest.mark.slow
def test_a_phone_has_no_scroll_to_the_side(page: Page, server: str, view: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{server}/causes?view={view}&pair=I+love+coding+in+python.")
    expect(page.locator(".js-plotly-plot .main-svg").first).to_be_visible(timeout=60_000)
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_visible()
    until(page, "document.querySelector('[data-testid=stMain]').scrollWidth <= innerWidth")


@pytest.mark.slow
def test_by_touch_a_swipe_over_the_map_chooses_nothing_and_a_help_mark_switches_nothing(
    browser: Browser, server: str
) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(f"{server}/causes?pair=I+love+coding+in+python.")
    page.locator(f"{CHART}[data-ready]").wait_for(timeout=90_000)
    cells = page.locator(f"{CHART} .heatmaplayer image").first
    cells.scroll_into_view_if_needed()
    box = cells.bounding_box()
    assert box is not None
    x, y = box["x"] + 100, box["y"] + 60
    page.evaluate(CHOSEN_HEADS)
    session = context.new_cdp_session(page)
    swipe = {"x": x, "y": y, "yDistance": -120, "gestureSourceType": "touch"}
    session.send("Input.synthesizeScrollGesture", swipe)
    box = cells.bounding_box()
    assert box is not None
    page.touchscreen.tap(box["x"] + 200, box["y"] + 60)
    until(page, "location.search.includes('changed_head')")
    assert len(set(page.evaluate("heads"))) == 1, "that of the tap alone"
    page.goto(f"{server}/")
    switch = page.locator(".stCheckbox").filter(has_text="What the answer rests on")
    switch.get_by_test_id("stTooltipIcon").tap(timeout=90_000)
    expect(page.get_by_test_id("stTooltipContent")).to_be_visible()
    expect(switch.get_by_role("switch")).not_to_be_checked()
    context.close()
