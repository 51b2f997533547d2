"""Representations in a real browser: a clicked cell is named exactly, the layers run through without the server."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import WAIT_MS

pytestmark = pytest.mark.browser


def test_a_clicked_cell_shows_its_exact_value(page: Page, server: str) -> None:
    page.goto(f"{server}/representations")
    page.wait_for_selector(".heatmaplayer image", state="attached", timeout=WAIT_MS)
    page.wait_for_function("document.querySelector('.js-plotly-plot')?._ev?.insideBert === true")
    area = page.locator(".js-plotly-plot .nsewdrag").first.bounding_box()
    assert area is not None
    page.mouse.move(area["x"] + 40, area["y"] + 30)
    page.wait_for_selector(".hoverlayer .hovertext")
    page.mouse.click(area["x"] + 40, area["y"] + 30)
    expect(page.get_by_text("Token 0 [CLS], dimension")).to_be_visible()


def test_the_layers_are_scrubbed_in_the_browser(page: Page, server: str) -> None:
    page.goto(f"{server}/representations?states=Token+similarity")
    page.wait_for_selector(".heatmaplayer image", state="attached", timeout=WAIT_MS)
    picture = page.locator(".heatmaplayer image").first
    before = picture.get_attribute("xlink:href") or picture.get_attribute("href")
    page.locator(".slider-rail-touch-rect").first.click(position={"x": 5, "y": 5}, force=True)
    page.wait_for_function(
        "was => (document.querySelector('.heatmaplayer image').getAttribute('xlink:href')"
        " ?? document.querySelector('.heatmaplayer image').getAttribute('href')) !== was",
        arg=before,
    )
    expect(page.locator(".slider-label").first).to_have_text("layer 0")
