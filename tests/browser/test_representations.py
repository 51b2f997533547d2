"""Representations in a real browser: a clicked cell is named exactly, the layers run through without the server."""

import json

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import WAIT_MS, until, until_clicks_are_heard

pytestmark = pytest.mark.browser


def test_a_clicked_cell_shows_its_exact_value(page: Page, server: str) -> None:
    page.goto(f"{server}/representations")
    page.wait_for_selector(".heatmaplayer image", state="attached", timeout=WAIT_MS)
    until_clicks_are_heard(page)
    area = page.locator(".js-plotly-plot .nsewdrag").first.bounding_box()
    assert area is not None
    page.mouse.move(area["x"] + 40, area["y"] + 30)
    page.wait_for_selector(".hoverlayer .hovertext")
    page.mouse.click(area["x"] + 40, area["y"] + 30)
    expect(page.get_by_text("Token 0 [CLS], dimension")).to_be_visible()


def test_the_layers_are_scrubbed_in_the_browser(page: Page, server: str) -> None:
    page.goto(f"{server}/representations?states=Token+similarity")
    page.wait_for_selector(".heatmaplayer image", state="attached", timeout=WAIT_MS)
    picture = "document.querySelector('.heatmaplayer image').href.baseVal"
    before = page.evaluate(picture)
    page.locator(".slider-rail-touch-rect").first.click(position={"x": 5, "y": 5}, force=True)
    until(page, f"{picture} !== {json.dumps(before)}")
    expect(page.locator(".slider-label").first).to_have_text("layer 0")
