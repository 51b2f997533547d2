"""Representations in a real browser: a clicked cell is named exactly, the layers run through without the server."""

import json
import re
from typing import Any

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


def test_a_layer_drawn_ahead_of_the_server_is_the_one_that_the_server_draws(page: Page, server: str) -> None:
    page.goto(f"{server}/representations?layer=3&window=32")
    _until_layer(page, 3)
    fresh = _chart(page)
    page.goto(f"{server}/representations?layer=6&window=32")
    _until_layer(page, 6)
    # The component that hears the slider comes after the chart.
    page.locator(".st-key-representations_values_ahead [data-testid=stBidiComponentIsolated]").wait_for(
        state="attached"
    )
    other = _chart(page)
    page.get_by_role("slider", name="Layer").focus()
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    _until_layer(page, 3)
    assert other != fresh
    assert _chart(page) == fresh
    # The server's answers to all three steps leave it as it is.
    expect(page).to_have_url(re.compile("layer=3"))
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
    assert _chart(page) == fresh


def _until_layer(page: Page, layer: int) -> None:
    expect(page.locator(".js-plotly-plot .gtitle")).to_contain_text(f"layer {layer},")
    page.wait_for_selector(".heatmaplayer image", state="attached", timeout=WAIT_MS)


def _chart(page: Page) -> Any:
    """What a reader sees and hears of the first chart: pixels, exact cells, scale, title, alternative text."""
    return page.evaluate(
        """() => {
          const chart = document.querySelector('.js-plotly-plot'), { z, zmin, zmax } = chart._fullData[0];
          return [
            document.querySelector('.heatmaplayer image').href.baseVal,
            Array.from(z, (row) => Array.from(row)), zmin, zmax,
            chart.querySelector('.infolayer').textContent,
            chart.closest('[data-testid=stPlotlyChart]').getAttribute('aria-label'),
          ];
        }"""
    )
