"""Training a head in a browser: visible without scrolling, saved, opened again, and applied to a list."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import WAIT_MS

pytestmark = pytest.mark.browser
CHART = ".st-key-predictions_probe .js-plotly-plot"


@pytest.mark.slow
def test_a_head_is_trained_saved_opened_and_asked_about_a_list(page: Page, server: str, tmp_path: Path) -> None:
    page.goto(f"{server}/predictions?view=Train+a+probe&layer=1&text=The+storm+blew+all+night.")
    chart = page.locator(f"{CHART} .scatterlayer .trace").first
    expect(chart).to_be_visible(timeout=3 * WAIT_MS)
    box = page.locator(CHART).bounding_box()
    assert box is not None
    assert box["y"] < 330
    bars = page.locator(".st-key-predictions_classes .js-plotly-plot")
    page.locator(".st-key-predictions_classes").scroll_into_view_if_needed()  # it is drawn when it is looked at
    expect(bars.locator(".ytick").first).to_have_text("weather")
    expect(page.get_by_text("mean pooling of layer 1, seed 0")).to_be_visible()
    page.get_by_role("button", name="Save or open").click()
    with page.expect_download() as begun:
        page.get_by_role("button", name="Save this probe").click()
    saved = tmp_path / begun.value.suggested_filename
    begun.value.save_as(saved)
    assert saved.suffix == ".zip"
    page.locator("input[type=file]").set_input_files(saved)
    expect(page.locator(CHART)).to_have_count(0)
    expect(bars.locator(".ytick").first).to_have_text("weather")
    page.get_by_role("button", name=re.compile("^Remove ")).click()
    expect(chart).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_text("Several texts", exact=True).click()
    expect(page.locator(".st-key-predictions_confusion .heatmaplayer image")).to_be_visible(timeout=WAIT_MS)
    expect(page.get_by_text(re.compile(r"Of 8 texts with a gold label: accuracy"))).to_be_visible()
    expect(page).to_have_url(re.compile("view=Several"))
