"""A corpus in a browser: search, and moving, zooming and selecting in its map, by mouse and keyboard."""

import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import WAIT_MS

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
