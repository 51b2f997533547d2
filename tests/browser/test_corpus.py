"""A corpus in a browser: search, and moving, zooming and selecting in its map, by mouse and keyboard."""

import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import WAIT_MS, until

pytestmark = pytest.mark.browser
STAGE = ".corpus-map .stage"


@pytest.mark.slow
def test_a_hit_is_opened_on_another_page(page: Page, server: str) -> None:
    page.goto(f"{server}/corpus?corpus=made&corpus_query=A+storm+last+night.")
    expect(page.locator(".st-key-corpus_search .js-plotly-plot")).to_be_visible(timeout=3 * WAIT_MS)
    expect(page.get_by_text(re.compile("Among 400 rows in .* each compared with the query"))).to_be_visible()
    page.get_by_role("link", name="Open in Tokens").click()
    expect(page.get_by_role("heading", name="Tokens", level=1)).to_be_visible()
    expect(page).to_have_url(re.compile("/tokens"))
    expect(page.get_by_label("Text", exact=True)).to_have_value(re.compile(r"on day \d+\.$"))


@pytest.mark.slow
def test_the_map_is_zoomed_and_what_is_selected_is_downloaded(page: Page, server: str, tmp_path: Path) -> None:
    page.goto(f"{server}/corpus?corpus=made&view=Map&coloured=topic")
    stage, status = page.locator(STAGE), page.locator(".corpus-map .status")
    expect(status).to_contain_text("400 of 400 rows in sight", timeout=3 * WAIT_MS)
    expect(page.locator(".corpus-map .legend li")).to_have_count(8)
    stage.focus()
    page.keyboard.press("+")
    expect(page).to_have_url(re.compile("area="))
    expect(status).not_to_contain_text("400 of 400")
    page.keyboard.press("b")
    expect(page.get_by_text(re.compile("^[0-9]+ rows? selected$"))).to_be_visible()
    page.keyboard.press("0")
    expect(status).to_contain_text("400 of 400 rows in sight")
    page.get_by_role("button", name="Clear").click()
    expect(page.get_by_text(re.compile("selected$"))).to_have_count(0)
    page.get_by_role("button", name="Lasso").click()
    box = stage.bounding_box()
    assert box is not None
    left, top, right, bottom = box["x"] + 2, box["y"] + 2, box["x"] + box["width"] - 2, box["y"] + box["height"] - 2
    page.mouse.move(left, top)
    page.mouse.down()
    for x, y in ((right, top), (right, bottom), (left, bottom)):
        page.mouse.move(x, y, steps=4)
    page.mouse.up()
    expect(page.get_by_text("400 rows selected")).to_be_visible()
    with page.expect_download() as begun:
        page.locator(".st-key-corpus_plane_rows_csv button").click()
    saved = tmp_path / begun.value.suggested_filename
    begun.value.save_as(saved)
    lines = saved.read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("row,text,topic")
    assert len(lines) == 401


@pytest.mark.slow
def test_a_shared_area_of_the_map_is_the_same_in_another_browser(page: Page, server: str) -> None:
    page.goto(f"{server}/corpus?corpus=made&view=Map")
    status = page.locator(".corpus-map .status")
    expect(status).to_contain_text("400 of 400 rows in sight", timeout=3 * WAIT_MS)
    page.get_by_role("button", name="Zoom in").click()
    expect(page).to_have_url(re.compile("area="))
    expect(status).not_to_contain_text("400 of 400")
    words, address = status.inner_text(), page.url
    area = parse_qs(urlsplit(address).query)["area"][0]
    left, right, bottom, top = map(float, area.split(","))
    box = page.locator(STAGE).bounding_box()
    assert box is not None
    # Both axes have the same scale, except for a border of one pixel.
    assert (right - left) / (top - bottom) == pytest.approx((box["width"] - 2) / (box["height"] - 2), rel=1e-3)
    page.goto("about:blank")
    page.goto(address)
    expect(status).to_contain_text(words.split(".")[0], timeout=3 * WAIT_MS)


@pytest.mark.slow
def test_by_touch_a_tap_shows_a_text_one_finger_scrolls_the_page_and_two_move_the_map(
    browser: Browser, server: str
) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(f"{server}/corpus?corpus=made&view=Map&area=-0.12,0.12,-0.12,0.12")
    stage, status = page.locator(STAGE), page.locator(".corpus-map .status")
    expect(status).to_contain_text("tap a point", timeout=3 * WAIT_MS)
    stage.scroll_into_view_if_needed()
    box = stage.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    tip = page.locator(".corpus-map .tip")
    for place in range(72):
        page.touchscreen.tap(x + 40 * (place % 8 - 4), y + 40 * (place // 8 - 4))
        if tip.is_visible():
            break
    expect(tip).to_have_text(re.compile(r"^\d+ +\S"))
    expect(page).not_to_have_url(re.compile("area=-0.12%2C0.12%2C-0.12%2C0.12"))  # it now has the form of the map
    session, address = context.new_cdp_session(page), page.url

    def fingers(kind: str, *places: tuple[float, float]) -> None:
        points = [{"x": across, "y": down, "id": number} for number, (across, down) in enumerate(places)]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    scrolled = "document.querySelector('[data-testid=stMain]').scrollTop"
    before = page.evaluate(scrolled)
    fingers("touchStart", (x, y))
    for step in range(1, 9):
        fingers("touchMove", (x, y + 15 * step))
    fingers("touchEnd")
    until(page, f"{scrolled} < {before}")
    assert page.url == address
    fingers("touchStart", (x - 20, y))
    fingers("touchStart", (x - 20, y), (x + 20, y))
    for step in range(1, 9):
        fingers("touchMove", (x - 20 - 5 * step, y), (x + 20 + 5 * step, y))
    fingers("touchEnd")
    expect(page).not_to_have_url(address)
    left, right = [float(end) for end in parse_qs(urlsplit(page.url).query)["area"][0].split(",")][:2]
    start, end = [float(each) for each in parse_qs(urlsplit(address).query)["area"][0].split(",")][:2]
    assert 0.25 < (right - left) / (end - start) < 0.45  # three times as far apart
    context.close()
